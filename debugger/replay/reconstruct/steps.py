"""The order and nesting in which a trace's model calls, tools and agents ran.

What lies in what is told by the spans' parents, and for agents beside their tool by time. Chains, and spans that are
no calls, only group and do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import structs

from runtime.messages import Call, ToolCallPart, text_of

from .forms import same
from .script import AgentStep, Frame, Ref, Step, ToolStep, TurnStep
from .turns import Turns, answer_of

ROOT: Final = ""
"""The name of what lies in no agent."""

_KINDS: Final = ("agent", "llm", "tool")


@dataclass(slots=True)
class Layout:
    """Where the calls of a trace lie."""

    calls: dict[str, Call]
    """Agents, model calls and tools by span, in timeline order."""
    above: dict[str, str]
    """For each of them the agent or tool around it; ``ROOT`` where there is none."""
    below: dict[str, list[str]] = field(default_factory=dict)
    """The same the other way round, in timeline order."""

    def frame_of(self, span_id: str) -> str:
        """The agent around a call, also through tools; ``ROOT`` where there is none."""
        above = self.above.get(span_id, ROOT)
        while above != ROOT and self.calls[above].kind != "agent":
            above = self.above[above]
        return above


def layout_of(calls: Sequence[Call]) -> Layout:
    """Where each agent, model call and tool lies.

    Args: calls: of one trace, in timeline order.
    """
    all_of_them = {call.span_id: call for call in calls}
    found = {span: call for span, call in all_of_them.items() if call.kind in _KINDS}
    above: dict[str, str] = {}
    for span in found:
        above[span] = _container(span, all_of_them)
    layout = Layout(found, above)
    for span, call in found.items():
        if call.kind == "agent" and (tool := _tool_beside(span, layout)) is not None:
            above[span] = tool
    for span in found:
        layout.below.setdefault(above[span], []).append(span)
    return layout


def _container(span: str, calls: Mapping[str, Call]) -> str:
    seen = {span}
    parent = calls[span].parent_span_id
    while parent is not None and parent in calls and parent not in seen:
        if calls[parent].kind in ("agent", "tool"):
            return parent
        seen.add(parent)
        parent = calls[parent].parent_span_id
    return ROOT


def _tool_beside(span: str, layout: Layout) -> str | None:
    """The one tool that ran as long as an agent: some producers put the two, or the two agents, side by side."""
    agent = layout.calls[span]
    if agent.start_unix_nano is None or agent.end_unix_nano is None:
        return None
    around = [
        tool.span_id
        for tool in layout.calls.values()
        if tool.kind == "tool"
        and tool.start_unix_nano is not None
        and tool.end_unix_nano is not None
        and tool.start_unix_nano <= agent.start_unix_nano
        and tool.end_unix_nano >= agent.end_unix_nano
        and _is_beside(tool, agent, layout)
    ]
    return around[0] if len(around) == 1 else None


def _is_beside(tool: Call, agent: Call, layout: Layout) -> bool:
    """Whether both are under one caller, or the tool is the caller's and gave back what the agent said last."""
    above, beside = layout.above[tool.span_id], layout.above[agent.span_id]
    if above == beside:
        return True
    if above == ROOT or layout.calls[above].kind != "agent" or layout.above[above] != beside or above == agent.span_id:
        return False
    said = [c for c in layout.calls.values() if c.kind == "llm" and layout.above[c.span_id] == agent.span_id]
    answer = answer_of(said[-1]) if said else None
    return answer is not None and same(text_of([answer]).strip() or None, tool.result)


class Steps:
    """Makes the frames of a trace.

    Args:
        layout: where things lie.
        turns: its model turns, with their places by span.
    """

    def __init__(self, layout: Layout, turns: Turns) -> None:
        self._layout = layout
        self._turns = turns
        self._place = {turn.span_id: n for n, turn in enumerate(turns.turns)}
        self._frames = [layout.frame_of(turn.span_id) for turn in turns.turns]
        self._by_id: dict[str | None, list[Ref]] = {}
        self._by_name: dict[str | None, list[Ref]] = {}
        for ref, part in turns.asked.items():
            self._by_id.setdefault(part.id, []).append(ref)
            self._by_name.setdefault(part.name, []).append(ref)
        self._refs = self._refs_of_tools()

    @property
    def taken(self) -> set[Ref]:
        """The model's tool calls that a tool or an agent of the trace carried out."""
        return set(self._refs.values())

    def root(self, run: Call | None) -> Frame:
        """The run's own frame; a run of ours has a span that says how it ended."""
        return Frame(
            agent_id="",
            span_id=None,
            input=None,
            steps=tuple(self._steps(ROOT)),
            has_ended=run is None or run.end_unix_nano is not None,
            has_result=run is not None and run.has_result,
            result=run.result if run else None,
            error=_error(run) if run else None,
        )

    def _refs_of_tools(self) -> dict[str, Ref]:
        """For each tool span the model's tool call that it carried out, where there is one."""
        out: dict[str, Ref] = {}
        taken: set[Ref] = set()
        tools = [call for call in self._layout.calls.values() if call.kind == "tool"]
        # Those that name their call first: what they take is not open to the others.
        for with_id in (True, False):
            for call in tools:
                if call.span_id in out or (with_id and call.tool_call_id is None):
                    continue
                ref = self._ref_of(call, taken, with_id)
                if ref is not None:
                    out[call.span_id] = ref
                    taken.add(ref)
        return out | self._refs_of_agents(taken)

    def _ref_of(self, call: Call, taken: set[Ref], with_id: bool) -> Ref | None:
        """The open tool call, of the same id or else name, in the latest turn before the tool in the same frame."""
        frame = self._layout.frame_of(call.span_id)
        named = self._by_id.get(call.tool_call_id, ()) if with_id else self._by_name.get(call.tool_name, ())
        fits = [
            (self._frames[ref.turn] == frame, ref.turn, ref)
            for ref in named
            if ref not in taken and self._start(self._turns.turns[ref.turn].span_id) <= self._start(call.span_id)
        ]
        if not with_id:
            fits = [each for each in fits if each[0]]
        if not fits:
            return None
        near, latest, _ = max(fits, key=lambda each: each[:2])
        here = [ref for same_frame, turn, ref in fits if (same_frame, turn) == (near, latest)]
        return next((ref for ref in here if same(self._turns.asked[ref].arguments, call.arguments)), here[0])

    def _start(self, span: str) -> int:
        return self._layout.calls[span].start_unix_nano or 0

    def _refs_of_agents(self, taken: set[Ref]) -> dict[str, Ref]:
        """For agents in no tool: the model's tool call that opened them, where nothing else carried it out."""
        out: dict[str, Ref] = {}
        for span, call in self._layout.calls.items():
            if call.kind != "agent":
                continue
            above = self._layout.above[span]
            if above != ROOT and self._layout.calls[above].kind == "tool":
                continue
            open_ = [ref for ref in self._open_before(call, above) if ref not in taken]
            fits = [ref for ref in open_ if self._shows(ref, call)]
            if not fits and len(open_) == 1:
                fits = [ref for ref in open_ if ref not in self._turns.shown or _names(self._turns.asked[ref], call)]
            if fits:
                out[span] = fits[0]
                taken.add(fits[0])
        return out

    def _open_before(self, agent: Call, above: str) -> list[Ref]:
        """The tool calls of the last turn beside an agent that ended before it started."""
        ended = [
            n
            for n, turn in enumerate(self._turns.turns)
            if self._layout.above[turn.span_id] == above
            and (self._layout.calls[turn.span_id].end_unix_nano or 0) <= (agent.start_unix_nano or 0)
        ]
        return [ref for ref in self._turns.asked if ended and ref.turn == ended[-1]]

    def _shows(self, ref: Ref, agent: Call) -> bool:
        """Whether the result of the tool call is what the agent said."""
        if ref not in self._turns.shown:
            return False
        said = self.said(agent.span_id)
        return bool(said) and (said.strip() in str(self._turns.shown[ref][1]) or same(said, self._turns.shown[ref][1]))

    def said(self, span: str) -> str:
        """The text of the last model turn of an agent, of its own or of an agent inside."""
        last = ""
        for inner in self._layout.below.get(span, ()):
            call = self._layout.calls[inner]
            answer = answer_of(call) if call.kind == "llm" else None
            last = (text_of([answer]) if answer else self.said(inner) if call.kind != "llm" else "") or last
        return last

    def _steps(self, above: str) -> list[Step]:
        out: list[Step] = []
        for span in self._layout.below.get(above, ()):
            call = self._layout.calls[span]
            start = call.start_unix_nano or call.end_unix_nano or 0
            end = None if call.end_unix_nano is None else max(start, call.end_unix_nano)
            if call.kind == "llm":
                out.append(TurnStep(turn=self._place[span], start=start, end=end))
            elif call.kind == "agent":
                step = AgentStep(frame=self._frame(call), ref=self._refs.get(span), start=start, end=end)
                out.append(step)
            else:
                out.append(self._tool(call, start, end))
        return _with_fatal(out, self._layout.calls.get(above))

    def _frame(self, call: Call) -> Frame:
        return Frame(
            agent_id=call.agent_name or call.name or "unknown",
            span_id=call.span_id,
            input=call.input,
            steps=tuple(self._steps(call.span_id)),
            has_ended=call.end_unix_nano is not None,
            has_result=call.has_result,
            result=call.result,
            error=_error(call),
        )

    def _tool(self, call: Call, start: int, end: int | None) -> ToolStep:
        inside = self._steps(call.span_id)
        if not any(_asks_a_model(step) for step in inside):
            # Tools inside are how this one did its work; it is answered as a whole.
            inside = []
        return ToolStep(
            span_id=call.span_id,
            name=call.tool_name or call.name,
            arguments=call.arguments,
            ref=self._refs.get(call.span_id),
            tool_call_id=call.tool_call_id,
            result=call.result,
            error=_error(call),
            start=start,
            end=end,
            inside=tuple(inside),
        )


def _names(part: ToolCallPart, agent: Call) -> bool:
    """Whether a tool call names the agent."""
    name = (agent.agent_name or "").lower()
    return bool(name) and name in f"{part.name} {part.arguments}".lower()


def _asks_a_model(step: Step) -> bool:
    if isinstance(step, ToolStep):
        return bool(step.inside)
    return isinstance(step, TurnStep) or bool(step.frame.steps)


def _with_fatal(steps: list[Step], above: Call | None) -> list[Step]:
    """Marks the steps after whose failure nothing else was begun, in an agent or a run that failed."""
    if above is not None and above.error is None and above.end_unix_nano is not None:
        return steps
    last = max((step.start for step in steps), default=0)
    return [structs.replace(step, is_fatal=True) if step.end is None or step.end >= last else step for step in steps]


def _error(call: Call) -> tuple[str, str] | None:
    return (call.error.type, call.error.message) if call.error else None
