"""Runs a rebuilt agent, in the child process: the recorded steps in their order, each request made anew.

As long as answers ask for the tools that they asked for when recorded, the recorded steps follow. Where an answer asks
for something else, the loop goes on by itself (``loop``) until the model has answered; what the recording then did
because of the old answer is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.agents import Agent, current_context
from runtime.agents._tool_calls import execute_tool
from runtime.agents._turns import model_turn
from runtime.errors import ReplayedError, StepLimitError
from runtime.messages import (
    ErrorInfo,
    Json,
    Message,
    Request,
    ToolCallPart,
    ToolDefinition,
    message_from_json,
    text_of,
)
from runtime.models import Model

from .ends import final_source, last_turn, recorded_output, recorded_value, said_in, source_of, turns_in
from .forms import rewritten, same
from .messages import Result, Said, Style
from .script import AgentStep, AnswerOf, Frame, Given, Ref, ResultsOf, Script, Step, ToolStep, Turn, TurnStep
from .tools import Implementation, stand_in
from .turns import calls_in

MAX_STEPS: Final = 50
"""Model turns of a loop that left the recording, before it is taken for endless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a rebuilt agent works with where the recording has no answer."""

    model: Callable[[str | None, str | None], Model]
    """A model by its name and provider."""
    tools: Mapping[str, Implementation] = field(default_factory=dict)
    keeps_inputs: bool = True
    """Later messages of the user are given as recorded, also after the agent took another way."""
    inputs: tuple[Message, ...] = ()
    """What the user says after the recorded end."""


class AsRecorded(ReplayedError):
    """The failure that was recorded at this place."""


class Player:
    """One run of a script, or of one of its frames once more.

    Args:
        script: what to run.
        means: for what is not recorded.
        steps: those of the script that are run; by default all.
        arguments: of the tool call that opened the frame.
    """

    def __init__(
        self, script: Script, means: Means, steps: Sequence[Step] | None = None, arguments: Json = None
    ) -> None:
        self._script = script
        self._means = means
        self._arguments = arguments
        self._said = Said(script)
        self._asked: dict[int, list[Message]] = {}
        """The messages of each turn's request."""
        self._gone: dict[int, list[Message]] = {}
        """Turns that took another way, or that were left out because of one: the conversation instead."""
        self._settled = {n: asyncio.Event() for n in range(len(script.turns))}
        self._order = _order_of(script.root.steps if steps is None else steps)
        self._values: dict[int, Json] = {}
        """What agents and tools with agents gave, by the identity of their steps."""

    async def run(self) -> Json:
        """The output of the run. Raises what the recorded run had raised, or what was new."""
        root = self._script.root
        output = await self.frame(root)
        return output if root.has_result else self._value(final_source(self._script))

    async def frame(self, frame: Frame) -> Json:
        """Run one frame's steps; its output."""
        try:
            await self._steps(frame.steps)
            await self._go_on(frame)
        except AsRecorded as failure:
            raise AsRecorded(*(frame.error or (failure.type_name, failure.message))) from None
        finally:
            self._settle(frame.steps)
        if frame.error is not None and not self._has_left(frame.steps):
            # Nothing that was recorded inside had failed for good: the program's own code did.
            raise AsRecorded(*frame.error)
        return self._output(frame)

    def _output(self, frame: Frame) -> Json:
        source = source_of(self._script, frame.steps, frame.result, frame.has_result)
        now = self._value(source)
        if not frame.has_result:
            return now
        return rewritten(frame.result, recorded_value(self._script, source), now)

    def _value(self, step: Step | None) -> Json:
        if isinstance(step, TurnStep):
            if step.turn in self._gone:
                return said_in(self._gone[step.turn][-1])
            return said_in(self._said.answers.get(step.turn))
        return self._values.get(id(step)) if step is not None else None

    # Order -----------------------------------------------------------------------------------------------

    async def _steps(self, steps: Sequence[Step]) -> None:
        """Run the steps: each starts when those have ended that had ended before it when it was recorded."""
        running: list[tuple[int | None, asyncio.Task[None]]] = []
        try:
            for i, step in enumerate(steps):
                ended = [task for end, task in running if end is not None and end <= step.start]
                running = [each for each in running if each[1] not in ended]
                await asyncio.gather(*ended)
                follower = steps[i + 1] if i + 1 < len(steps) else None
                if not running and step.end is not None and (follower is None or step.end <= follower.start):
                    await self._step(step)
                else:
                    running.append((step.end, asyncio.ensure_future(self._step(step))))
            await asyncio.gather(*(task for _, task in running))
        except BaseException:
            for _, task in running:
                task.cancel()
            await asyncio.gather(*(task for _, task in running), return_exceptions=True)
            raise

    async def _step(self, step: Step) -> None:
        if isinstance(step, TurnStep):
            try:
                await self._turn(step)
            finally:
                self._settled[step.turn].set()
            return
        if step.ref is not None:
            await self._wait(id(step), [step.ref.turn])
            if step.ref.turn in self._gone or step.ref.turn not in self._said.answers:
                self._leave_out(step)
                return
        await (self._tool(step) if isinstance(step, ToolStep) else self._agent(step))

    async def _wait(self, place: int, turns: Sequence[int]) -> None:
        """Until the turns have ended that a step is made from; those that a wrong clock puts after it cannot be."""
        for n in turns:
            if n in self._order and self._order[n] < self._order[place]:
                await self._settled[n].wait()

    def _settle(self, steps: Sequence[Step]) -> None:
        for step in steps:
            for n in turns_in(step):
                self._settled[n].set()

    def _leave_out(self, step: ToolStep | AgentStep) -> None:
        """A step of the way that was not taken."""
        assert step.ref is not None
        for n in turns_in(step):
            self._gone[n] = self._gone.get(step.ref.turn, [])
        self._settle([step])

    def _has_left(self, steps: Sequence[Step]) -> bool:
        return any(n in self._gone for step in steps for n in turns_in(step))

    # Model turns -----------------------------------------------------------------------------------------

    async def _turn(self, step: TurnStep) -> None:
        turn = self._script.turns[step.turn]
        if not turn.is_known:
            return
        await self._wait(step.turn, _needs(turn))
        gone = self._gone_before(turn)
        messages = self._messages(turn) if gone is None else self._later_input(step.turn, turn, gone)
        if messages is None:
            return
        self._asked[step.turn] = messages
        try:
            answer = await self.ask(turn.settings, messages)
        except Exception as error:  # noqa: BLE001 - whatever a model raises; raised again unless it was recorded so
            self._failed(step, turn.error, error)
            return
        self._said.answers[step.turn] = answer
        recorded = message_from_json(turn.answer) if turn.answer is not None else None
        if gone is not None or self._is_another_way(recorded, answer):
            self._gone[step.turn] = await self._loop(step.turn, messages, answer)

    def _is_another_way(self, recorded: Message | None, answer: Message) -> bool:
        """Other tools are asked for; and where later inputs are dropped, other last words, which they had answered."""
        if not _asks_the_same(calls_in(recorded), calls_in(answer)):
            return True
        if recorded is None or calls_in(answer):
            return False
        return not self._means.keeps_inputs and text_of([recorded]) != text_of([answer])

    def _gone_before(self, turn: Turn) -> int | None:
        """The turn that this one goes on from, where that took another way or was left out."""
        heard = [n for n in reversed(_heard(turn)) if n in self._gone]
        if not heard and turn.base in self._gone and turn.base not in self._asked:
            return turn.base
        return heard[0] if heard else None

    def _messages(self, turn: Turn) -> list[Message]:
        """The messages of a turn's request."""
        kept = [] if turn.base is None else self._asked.get(turn.base, [])[: turn.kept]
        return [*kept, *(self._said.message(slot, self._arguments) for slot in turn.slots)]

    def _later_input(self, n: int, turn: Turn, gone: int) -> list[Message] | None:
        """What the user said next, after the conversation that took another way; None where that is all."""
        inputs = _inputs(turn)
        if not inputs or not self._means.keeps_inputs:
            self._gone[n] = self._gone[gone]
            return None
        return [*self._gone[gone], *(self._said.message(slot, self._arguments) for slot in inputs)]

    async def ask(self, settings: int, messages: Sequence[Message]) -> Message:
        """One request to the model."""
        context = current_context()
        asked = self._script.settings[settings]
        request = Request(
            messages=tuple(messages),
            tools=None if asked.tools is None else tuple(map(ToolDefinition.from_json, asked.tools)),
            output_schema=asked.output_schema,
            model=asked.model,
            provider=asked.provider,
            parameters=asked.parameters,
            api=asked.api,
        )
        model = self._means.model(asked.model, asked.provider)
        return await model_turn(context, model, request, context.next_call_id("prompt", "prompt"))

    def _failed(self, step: Step, recorded: tuple[str, str] | None, error: Exception) -> None:
        """A failure as recorded ends the agent only where it did so then; a new one always does."""
        info = _info(error)
        if recorded is None or (info.type, info.message) != recorded:
            raise error
        if step.is_fatal:
            raise AsRecorded(*recorded) from None

    async def _loop(self, n: int, messages: Sequence[Message], answer: Message) -> list[Message]:
        """Go on without the recorded steps: tools, then the model again, until it has answered."""
        style = Style.of(self._script, [n])
        conversation = [*messages, style.answer(answer)]
        for _ in range(MAX_STEPS):
            calls = calls_in(answer)
            if not calls:
                return conversation
            results = await asyncio.gather(*(self._new_tool(call) for call in calls))
            conversation.extend(style.results(calls, results))
            answer = await self.ask(self._script.turns[n].settings, conversation)
            conversation.append(style.answer(answer))
        raise StepLimitError(current_context().agent_id, MAX_STEPS)

    async def _go_on(self, frame: Frame) -> None:
        """Past the recorded end, in the frame that gave the last answer."""
        n = last_turn(self._script)
        if not self._means.inputs or not any(isinstance(step, TurnStep) and step.turn == n for step in frame.steps):
            return
        assert n is not None
        style = Style.of(self._script, [n])
        conversation = self._gone.get(n) or [*self._asked[n], *self._answered(n, style)]
        session = current_context().run.session
        for number, message in enumerate(self._means.inputs):
            conversation = [*conversation, message]
            if session is not None:
                session.reached.add(f"input {number}")
            answer = await self.ask(self._script.turns[n].settings, conversation)
            conversation = await self._loop(n, conversation, answer)
        self._gone[n] = conversation

    def _answered(self, n: int, style: Style) -> list[Message]:
        """The last answer of a turn, with what came of its tool calls: a final answer given as one has no result."""
        answer = self._said.answers[n]
        calls = calls_in(answer)
        results = [self._said.results.get(Ref(n, place), Result("")) for place in range(len(calls))]
        return [style.answer(answer), *style.results(calls, results)]

    # Tools and agents ------------------------------------------------------------------------------------

    async def _tool(self, step: ToolStep) -> None:
        arguments = step.arguments
        if step.ref is not None and arguments is None:
            arguments = calls_in(self._said.answers[step.ref.turn])[step.ref.place].arguments
        session = current_context().run.session
        if step.inside and not (session is not None and session.is_edited(step.span_id)):
            result = await self._call(step.name, arguments, step.tool_call_id, lambda _: self._inside(step))
        else:
            result = await self._call(step.name, arguments, step.tool_call_id)
        self._values[id(step)] = result.value
        recorded = Result(step.result, ErrorInfo(*step.error) if step.error else None)
        if step.ref is not None:
            self._said.recorded[step.ref] = recorded
            self._said.results[step.ref] = result
        if result.error is not None and step.is_fatal:
            raise (AsRecorded if result.is_same(recorded) else ReplayedError)(result.error.type, result.error.message)

    async def _call(
        self, name: str, arguments: Json, tool_call_id: str | None, inside: Implementation | None = None
    ) -> Result:
        tool = stand_in(name, inside or self._means.tools.get(name), runs_agent=inside is not None)
        served = await execute_tool(current_context(), tool, name, arguments, tool_call_id)
        if served.error is not None:
            return Result(error=_info(served.error))
        return Result(served.outcome.output)

    async def _inside(self, step: ToolStep) -> Json:
        """The agents and model turns inside a tool; its result."""
        await self._steps(step.inside)
        if step.error is not None and not self._has_left(step.inside):
            raise AsRecorded(*step.error)
        source = source_of(self._script, step.inside, step.result, step.error is None)
        return rewritten(step.result, recorded_value(self._script, source), self._value(source))

    async def _agent(self, step: AgentStep) -> None:
        async def play(input: Json = None) -> Json:
            return await self.frame(step.frame)

        try:
            output = await Agent(fn=play, id=step.frame.agent_id)(step.frame.input)
        except AsRecorded:
            if step.is_fatal:
                raise
            return
        finally:
            self._settle([step])
        self._values[id(step)] = output
        if step.ref is not None:
            self._said.recorded[step.ref] = Result(recorded_output(self._script, step.frame))
            self._said.results[step.ref] = Result(output)

    async def _new_tool(self, call: ToolCallPart) -> Result:
        """A tool call that the recorded steps do not hold; one that had opened an agent opens it again."""
        opened = _opened_by(self._script, self._script.root.steps, call.name)
        if opened is None:
            return await self._call(call.name, call.arguments, call.id)
        again = Player(self._script, self._means, [opened], call.arguments)
        if isinstance(opened, ToolStep):
            return await self._call(call.name, call.arguments, call.id, lambda _: again._inside(opened))
        await again._agent(opened)
        return Result(again._values.get(id(opened)))


def _order_of(steps: Sequence[Step]) -> dict[int, int]:
    """The place of each turn, and of each other step by its identity, in the order in which they begin."""
    out: dict[int, int] = {}
    pending = list(reversed(steps))
    while pending:
        step = pending.pop()
        out[step.turn if isinstance(step, TurnStep) else id(step)] = len(out)
        if not isinstance(step, TurnStep):
            pending.extend(reversed(step.inside if isinstance(step, ToolStep) else step.frame.steps))
    return out


def _info(error: BaseException) -> ErrorInfo:
    return ErrorInfo(error.type_name, error.message) if isinstance(error, ReplayedError) else ErrorInfo.of(error)


def _heard(turn: Turn) -> list[int]:
    """The turns whose answers, or whose tools' results, a request holds, in order."""
    needed: set[int] = set()
    for slot in turn.slots:
        if isinstance(slot, AnswerOf):
            needed.add(slot.turn)
        elif isinstance(slot, ResultsOf):
            needed.update(ref.turn for ref in slot.refs if ref is not None)
    return sorted(needed)


def _needs(turn: Turn) -> list[int]:
    """The turns that a request is made from, in order."""
    return sorted({*_heard(turn), *([] if turn.base is None else [turn.base])})


def _inputs(turn: Turn) -> list[Given]:
    """The user's messages at the end of a request, after all that the agent made itself."""
    out: list[Given] = []
    for slot in reversed(turn.slots):
        if not isinstance(slot, Given) or slot.reason != "input":
            break
        out.insert(0, slot)
    return out


def _asks_the_same(recorded: Sequence[ToolCallPart], now: Sequence[ToolCallPart]) -> bool:
    return len(recorded) == len(now) and all(
        was.name == call.name and same(was.arguments, call.arguments) for was, call in zip(recorded, now, strict=True)
    )


def _opened_by(script: Script, steps: Sequence[Step], name: str) -> ToolStep | AgentStep | None:
    """The first recorded step that ran agents because of a tool call of that name."""
    for step in steps:
        if isinstance(step, TurnStep):
            continue
        inside = step.inside if isinstance(step, ToolStep) else step.frame.steps
        if inside and _name_of(script, step) == name:
            return step
        found = _opened_by(script, inside, name)
        if found is not None:
            return found
    return None


def _name_of(script: Script, step: ToolStep | AgentStep) -> str | None:
    if isinstance(step, ToolStep):
        return step.name
    ref: Ref | None = step.ref
    answer = script.turns[ref.turn].answer if ref is not None else None
    return calls_in(message_from_json(answer))[ref.place].name if ref is not None and answer is not None else None
