"""From a recorded trace to the agent that it implies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from runtime.messages import Call, Json, parse_json_text

from ...errors import NothingToReplayError, ReplayError
from ..recording import Recording
from .elsewhere import answers_elsewhere, results_elsewhere
from .ends import recorded_end
from .script import AgentStep, Derived, Given, RecordedEnd, ResultsOf, Script, Step, ToolStep, Turn, TurnStep
from .steps import ROOT, Layout, Steps, layout_of
from .turns import Turns, turns_of

RUN_SPAN: Final = "the run"
"""The id of a span that no trace can hold."""

SHORTEST: Final = 3
"""Characters of an argument that a prompt may repeat by chance, if it is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """An agent rebuilt from a trace, with the recording that answers it."""

    script: Script
    recording: Recording
    """The trace, completed with what only later requests show."""
    shown_by: Mapping[str, str]
    """For each tool call without a span of its own, the span of the request that shows its result."""
    end: RecordedEnd
    notes: tuple[str, ...]
    """What the trace does not tell, or what was given as recorded because it cannot be derived; one sentence each."""
    lacks_content: bool
    """Some model call was left out, since its messages were not recorded."""

    @property
    def names(self) -> tuple[str, ...]:
        """The agents, in order of their starts."""
        return tuple(dict.fromkeys(_agents(self.script.root.steps)))


def rebuild(recording: Recording) -> Rebuilt:
    """The agent that the trace implies.

    Raises:
        NothingToReplayError: the trace holds no model call.
        ReplayError: it holds the messages of none.
    """
    llms = [call for call in recording.calls if call.kind == "llm"]
    if not llms:
        raise NothingToReplayError("this trace holds no model call, so there is no agent to rebuild from it")
    if all(call.input_messages is None for call in llms):
        raise ReplayError(
            f"the messages of the {len(llms)} model call{'s' * (len(llms) != 1)} of this trace were not recorded, "
            "so none can be asked again",
            hint="load the trace together with its log records, or record it with message content switched on",
        )
    layout = layout_of(recording.calls)
    recorded, completed = answers_elsewhere(recording.calls, layout)
    if completed:
        layout = layout_of(recorded)
        llms = [call for call in recorded if call.kind == "llm"]
    turns = turns_of(llms, {call.span_id: layout.frame_of(call.span_id) for call in llms})
    steps = Steps(layout, turns)
    calls, shown_by = results_elsewhere(recorded, turns, steps.taken)
    if shown_by:
        layout = layout_of(calls)
        steps = Steps(layout, turns)
    root = steps.root(recording.run)
    with_arguments = _with_arguments(root.steps, turns)
    name = recording.run.name.removeprefix("invoke_workflow ") if recording.run else _name_of(recording.calls)
    script = Script(name=name, turns=with_arguments, settings=tuple(turns.settings), root=root)
    return Rebuilt(
        script=script,
        recording=Recording(
            recording.trace_id, _under_a_run(calls, recording, layout), recording.sources, recording.service
        ),
        shown_by=shown_by,
        end=recorded_end(script),
        notes=tuple(_notes(script, shown_by, completed, recording.calls)),
        lacks_content=any(not turn.is_known for turn in script.turns),
    )


def _under_a_run(calls: Sequence[Call], recording: Recording, layout: Layout) -> Sequence[Call]:
    """The calls under the span of a run, which other frameworks do not write.

    A span without a parent would be taken for part of whatever agent is open then; here each lies where ``steps`` sees
    it, so that every frame of the run finds its journal.
    """
    if recording.run is not None:
        return calls
    spans = {call.span_id for call in calls}
    times = [t for call in calls for t in (call.start_unix_nano, call.end_unix_nano) if t is not None]
    first = calls[0]
    run = Call(
        trace_id=first.trace_id,
        span_id=RUN_SPAN,
        parent_span_id=None,
        kind="chain",
        name="invoke_workflow",
        start_unix_nano=min(times, default=None),
        end_unix_nano=max(times, default=None),
        convention="retrospan",
        call_id="root",
    )
    return [run, *(replace(call, parent_span_id=_parent_of(call, spans, layout)) for call in calls)]


def _parent_of(call: Call, spans: Collection[str], layout: Layout) -> str | None:
    if call.kind == "agent":
        above = layout.above[call.span_id]
        if above != ROOT and layout.calls[above].kind == "tool":
            return above  # also where the producer put the agent beside the one that called it
    return call.parent_span_id if call.parent_span_id in spans else RUN_SPAN


def _name_of(calls: Sequence[Call]) -> str:
    """What the run is called: its first agent, else its first span."""
    named = next((call.agent_name for call in calls if call.kind == "agent" and call.agent_name), None)
    return named or (calls[0].name if calls else "run")


def _agents(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, AgentStep):
            yield step.frame.agent_id
            yield from _agents(step.frame.steps)
        elif isinstance(step, ToolStep):
            yield from _agents(step.inside)


# Prompts that repeat an argument -------------------------------------------------------------------------


def _with_arguments(steps: Sequence[Step], turns: Turns) -> tuple[Turn, ...]:
    """The turns, with the texts marked that repeat an argument of the tool call that opened their agent."""
    out = list(turns.turns)
    for turn, arguments in _opened(steps, turns, None):
        slots = tuple(_derived(slot, arguments) if isinstance(slot, Given) else slot for slot in out[turn].slots)
        out[turn] = structs.replace(out[turn], slots=slots)
    return tuple(out)


def _opened(steps: Sequence[Step], turns: Turns, arguments: Json) -> Iterator[tuple[int, Json]]:
    """The turns inside agents and tools that a tool call opened, with its arguments."""
    for step in steps:
        if isinstance(step, TurnStep):
            if arguments is not None:
                yield step.turn, arguments
            continue
        given = parse_json_text(turns.asked[step.ref].arguments) if step.ref is not None else None
        inner = step.inside if isinstance(step, ToolStep) else step.frame.steps
        yield from _opened(inner, turns, given if given is not None else arguments)


def _derived(slot: Given, arguments: Json) -> Given:
    if slot.message.get("role") != "user" or not isinstance(arguments, Mapping):
        return slot
    found = []
    for i, part in enumerate(slot.message.get("parts", ())):
        text = part.get("content") if part.get("type") == "text" else None
        for name, value in arguments.items():
            if isinstance(text, str) and isinstance(value, str) and len(value) >= SHORTEST and value in text:
                found.append(Derived(part=i, argument=name, value=value))
    return structs.replace(slot, derived=tuple(found))


# What is said about it -----------------------------------------------------------------------------------


def _notes(script: Script, shown_by: Mapping[str, str], completed: int, calls: Sequence[Call]) -> Iterator[str]:
    slots = [slot for turn in script.turns for slot in turn.slots]
    reasons = Counter(slot.reason for slot in slots if isinstance(slot, Given))
    unknown = sum(not turn.is_known for turn in script.turns)
    if unknown:
        yield f"{_of(unknown, 'model call')} left out: the trace does not hold the messages"
    if reasons["input"]:
        yield f"{_of(reasons['input'], 'later message')} of the user given as recorded"
    if reasons["rewritten"]:
        yield f"{_of(reasons['rewritten'], 'message')} given as recorded: the trace does not tell how the program made"
    if completed:
        yield f"{_of(completed, 'answer')} taken from the next request or the agent's result, since no span holds it"
    if shown_by:
        yield f"{_of(len(shown_by), 'tool result')} taken from the next request, since the tool has no span"
    loose = sum(ref is None for slot in slots if isinstance(slot, ResultsOf) for ref in slot.refs)
    if loose:
        yield f"{_of(loose, 'part')} beside tool results given as recorded"
    others = sum(call.kind in ("retriever", "embedding") for call in calls)
    if others:
        yield f"{_of(others, 'retrieval')} not made again: what came of it stands in the requests"


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
