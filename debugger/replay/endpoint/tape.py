"""A recording as one journal: a program's requests have no frame, so all journals of the trace, in time order, are one.

Tool results are taken from the tools' own spans, and where there is none from the conversation: the request after a
tool call holds what the model was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runtime.journal import Journal, JournalEntry, ReplayPolicy, ReplayRow, ReplaySession
from runtime.messages import (
    Call,
    ErrorInfo,
    Json,
    Outcome,
    Request,
    ToolCallPart,
    ToolCallResponsePart,
    ToolDefinition,
    ToolRequest,
    text_of,
)
from runtime.models.wire import to_text
from runtime.trace import ModelTurnEnd, ToolAttempt, ToolEnd, outcome_of

from ..compared import Comparison
from ..model import ReplayJob
from ..recording import Recording
from .form import Change, form_for, holds_part_only

SCOPE = "trace"
"""The one scope of the session."""


@dataclass(slots=True)
class Tape:
    """A recording ready to answer a program."""

    session: ReplaySession
    providers: dict[str, str]
    """The provider of each recorded model: a request does not tell it."""
    requests: dict[str, ToolRequest] = field(default_factory=dict)
    """What the model asked for, by tool call id: a framework may have filled in or converted the arguments."""
    texts: dict[str, str] = field(default_factory=dict)
    """What the model was shown of a tool's result, by tool call id."""
    texts_of_spans: dict[str, str] = field(default_factory=dict)
    """The same by the id of the tool's span."""
    inside: dict[str, frozenset[str]] = field(default_factory=dict)
    """The model turns and tool calls below each tool's span."""
    tools: tuple[str, ...] = ()
    """The names of all tools that were called or offered."""
    definitions: tuple[ToolDefinition, ...] = ()
    """The tools that models were offered, each name once."""
    models: tuple[str, ...] = ()
    comparison: Comparison = field(default_factory=lambda: Comparison(()))
    """What requests tell and the recording does not."""
    last_text: str | None = None
    """The text of the last recorded answer."""
    last_error: ErrorInfo | None = None
    """How the last recorded model call failed, if it did."""


def tape_of(
    recording: Recording, job: ReplayJob, *, left_out: Change | None, on_row: Callable[[ReplayRow], None]
) -> Tape:
    """The recording as the job wants it to answer.

    Raises: RestoreError: the cut cannot be restored.
    """
    calls = recording.calls
    journal, shown = _whole(recording)
    untold = _untold(calls)
    for call in untold:
        known = Request(messages=(), tools=None, model=call.model)
        journal.prompt[call.span_id] = JournalEntry(call.span_id, [outcome_of(call)], untold=known)
    cut = None
    if job.span_id is not None and not job.rest_recorded:
        snapshot = recording.snapshot(job.span_id, job.anchor)
        before = [frame.journal for frame in snapshot.frames.values()]
        time = recording.time_of(job.span_id, job.anchor)
        before.append(_loose_before(journal, time))
        cut = before
    session = ReplaySession(
        {SCOPE: journal},
        cut=cut,
        policy=ReplayPolicy(
            models=job.mode,
            tools=job.tools,
            reuse_exhausted=False,
            compare_parameters=job.compare_parameters,
        ),
        on_row=on_row,
        form=form_for(calls, left_out=left_out),
    )
    turns = [call for call in calls if call.kind == "llm"]
    told = (c for c in turns if (c.output_messages or c.error) and (c.input_messages is not None or c in untold))
    by_start = sorted(told, key=lambda c: c.start_unix_nano or 0)
    last = by_start[-1] if by_start else None
    return Tape(
        session=session,
        providers={c.model: c.provider for c in turns if c.model and c.provider},
        requests=shown.requests,
        texts=shown.by_id,
        texts_of_spans=shown.by_span,
        inside=_inside(calls),
        tools=tuple(sorted(_tool_names(calls))),
        definitions=tuple({tool.name: tool for turn in turns for tool in turn.tool_definitions or ()}.values()),
        models=tuple(sorted({c.model for c in turns if c.model})),
        comparison=Comparison(turns, _lost_of(calls, untold)),
        last_text=text_of(last.output_messages or ()) if last and last.error is None else None,
        last_error=last.error if last else None,
    )


@dataclass(slots=True)
class _Shown:
    """Results of tools as models were shown them."""

    by_id: dict[str, str] = field(default_factory=dict)
    requests: dict[str, ToolRequest] = field(default_factory=dict)
    by_span: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One tool call in a conversation, with its result."""

    id: str | None
    request: ToolRequest
    response: Json
    turn: Call
    """The model call whose request shows the result."""


def _untold(calls: Sequence[Call]) -> list[Call]:
    """The model calls whose outcome is recorded, but not what they asked: most producers keep no request of a failure.

    One that lies within a told one, or around it, and ended like it, is that one as another instrumentation saw it.
    """
    turns = [call for call in calls if call.kind == "llm" and not call.aborted and call.lost is None]
    told = [call for call in turns if call.input_messages is not None or call.content_hash is not None]
    return [
        call
        for call in turns
        if call.input_messages is None
        and call.content_hash is None
        and (call.output_messages or call.error)
        and not any(_is_same(call, other) for other in told)
    ]


def _lost_of(calls: Sequence[Call], untold: Sequence[Call]) -> tuple[str, ...]:
    """What the recording is known to lack, in words."""
    lost: list[str] = []
    if holds_part_only(calls):
        lost.append("system texts, tool calls and tool results in requests")
    if untold:
        lost.append(f"what {len(untold)} model call{'s' * (len(untold) != 1)} asked (answered in their turn)")
    return tuple(lost)


def _is_same(one: Call, other: Call) -> bool:
    times = (one.start_unix_nano, one.end_unix_nano, other.start_unix_nano, other.end_unix_nano)
    if None in times or (one.error is None) != (other.error is None) or one.model not in (None, other.model):
        return False
    start, end, other_start, other_end = (time or 0 for time in times)
    return (start <= other_start and other_end <= end) or (other_start <= start and end <= other_end)


def _whole(recording: Recording) -> tuple[Journal, _Shown]:
    journal = Journal()
    counted: dict[str, int] = {}
    ambiguous: set[str] = set()
    for event in recording.events:
        if isinstance(event, ModelTurnEnd) and event.content_hash is not None:
            journal.record("prompt", event.content_hash, event.outcome, event.request)
        elif isinstance(event, ToolEnd) and event.attempts is not None:
            continue  # its attempts are the entries
        elif isinstance(event, ToolAttempt | ToolEnd) and event.content_hash is not None:
            journal.record("tool", event.content_hash, event.outcome, event.request)
    shown = _Shown()
    spans = [call for call in recording.calls if call.kind == "tool"]
    by_id = {call.tool_call_id: call for call in spans if call.tool_call_id}
    by_hash: dict[str, list[Call]] = {}
    for call in spans:
        if call.arguments is not None:
            by_hash.setdefault(call.tool_request().content_hash, []).append(call)
    for seen in _seen_in(recording.calls):
        if seen.id is not None:
            # Some servers count their ids anew in each conversation; such an id tells nothing.
            again = seen.id in shown.by_id or seen.id in ambiguous
            if again:
                ambiguous.add(seen.id)
                shown.by_id.pop(seen.id, None)
                shown.requests.pop(seen.id, None)
            else:
                shown.by_id[seen.id] = to_text(seen.response)
                shown.requests[seen.id] = seen.request
        key = seen.request.content_hash
        number = counted[key] = counted.get(key, -1) + 1
        same = by_hash.get(key, [])
        span = by_id.get(seen.id) if seen.id else None
        span = span or (same[number] if number < len(same) else None)
        if span is not None:
            shown.by_span.setdefault(span.span_id, to_text(seen.response))
        if span is None or (span.error is None and not span.has_result) or span.arguments is None:
            outcome = Outcome(
                status="ok",
                output=seen.response,
                trace_id=seen.turn.trace_id,
                span_id=span.span_id if span else None,
                start_unix_nano=seen.turn.start_unix_nano,
            )
            journal.record("tool", key, outcome, seen.request)
    return journal, shown


def _seen_in(calls: Sequence[Call]) -> Iterator[_Seen]:
    """Each tool call whose result stands in a request, once, by the start of the request that shows it first."""
    known: set[tuple[str, ...]] = set()
    for turn in sorted((c for c in calls if c.kind == "llm"), key=lambda c: c.start_unix_nano or 0):
        asked: dict[str | None, ToolCallPart] = {}
        order: list[ToolCallPart] = []
        before = ""
        for message in turn.input_messages or ():
            before = f"{before[:64]}{message.digest}"
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    asked[part.id] = part
                    order.append(part)
                elif isinstance(part, ToolCallResponsePart):
                    # Some producers write one id for the call and another for its result; then the order tells.
                    call = asked.get(part.id) or (order[0] if order else None)
                    if call is None:
                        continue
                    if call in order:
                        order.remove(call)
                    # The conversation is repeated by every later request; without an id its place tells.
                    key = (part.id or before, call.name, to_text(part.response))
                    if key not in known:
                        known.add(key)
                        request = ToolRequest(name=call.name, arguments=call.arguments)
                        yield _Seen(part.id, request, part.response, turn)


def _loose_before(journal: Journal, time: int | None) -> Journal:
    """What of the journal began before a time and lies in no frame: calls beside all agents, results without a span."""
    out = Journal()
    for kind, entry in journal:
        for outcome in entry.outcomes:
            if time is not None and (outcome.start_unix_nano or 0) + (outcome.duration_ns or 0) <= time:
                out.record(kind, entry.content_hash, outcome)
    return out


def _inside(calls: Sequence[Call]) -> dict[str, frozenset[str]]:
    parents = {call.span_id: call.parent_span_id for call in calls}
    tools = {call.span_id: call for call in calls if call.kind == "tool"}
    # An agent that ran while one tool did, and lies below none, is that tool's: some producers hang it under the run.
    for call in calls:
        if call.kind == "agent" and not any(each in tools for each in _above(call.span_id, parents)):
            around = [tool for tool in tools.values() if _lies_within(call, tool)]
            if len(around) == 1 and call.span_id not in _above(around[0].span_id, parents):
                parents[call.span_id] = around[0].span_id
    found: dict[str, set[str]] = {}
    for call in calls:
        if call.kind in ("llm", "tool"):
            for above in _above(call.span_id, parents):
                if above in tools:
                    found.setdefault(above, set()).add(call.span_id)
    return {tool: frozenset(spans) for tool, spans in found.items()}


def _above(span_id: str, parents: Mapping[str, str | None]) -> list[str]:
    """The spans above one, from its parent up; each once, should they go round in a circle."""
    out: dict[str, None] = {}
    above = parents.get(span_id)
    while above is not None and above not in out:
        out[above] = None
        above = parents.get(above)
    return list(out)


def _lies_within(call: Call, tool: Call) -> bool:
    start, end = tool.start_unix_nano, tool.end_unix_nano
    if None in (start, end, call.start_unix_nano, call.end_unix_nano) or call.trace_id != tool.trace_id:
        return False
    return (start or 0) <= (call.start_unix_nano or 0) and (call.end_unix_nano or 0) <= (end or 0)


def _tool_names(calls: Sequence[Call]) -> set[str]:
    """What a program may call while it is replayed: what was offered to a model, and what was called."""
    names = {tool.name for call in calls for tool in call.tool_definitions or ()}
    return names | {call.tool_name for call in calls if call.kind == "tool" and call.tool_name}
