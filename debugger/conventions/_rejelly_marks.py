"""Rejelly's events as marks: the points of the timeline that restore reads, each at its own time and place.

Every event becomes at least one mark, with the meaning that rejelly's own restore gives it. Starts and ends come as
marks too, since several events may share a span id, an end may come twice, or before its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from runtime.messages import ErrorInfo, Mark, Outcome, Usage
from runtime.trace import Span

from ..importers import load_text

NANO_USD: Final = "nano_usd"
_IN_NANO_USD: Final = {NANO_USD: 1, "micro_usd": 1_000, "usd_cents": 10_000_000}
"""Units of money that rejelly's users count in, as billionths of a dollar; others are no money that is known here."""


class Recorded(NamedTuple):
    """One event of a span with its place."""

    event: dict[str, Any]
    seq: int
    time: int
    parent: str | None


def events_of_span(events: Any, places: Any) -> list[Recorded]:
    """The events that lie on a span, in timeline order; damaged attributes hold none."""
    items = load_text(events) if isinstance(events, str) else None
    where = load_text(places) if isinstance(places, str) else None
    if not isinstance(items, list) or not isinstance(where, list) or len(items) != len(where):
        return []
    return [
        Recorded(event, *place)
        for event, place in zip(items, where, strict=True)
        if isinstance(event, dict) and isinstance(place, list) and len(place) == 3
    ]


def nano_usd(costs: Mapping[str, Any]) -> dict[str, int]:
    """Costs by unit, those in dollars together. Amounts must be whole numbers, as in rejelly; others are left out."""
    out: dict[str, int] = {}
    for unit, amount in costs.items():
        if type(amount) is int:
            known = NANO_USD if unit in _IN_NANO_USD else unit
            out[known] = out.get(known, 0) + amount * _IN_NANO_USD.get(unit, 1)
    return out


def error_of(event: dict[str, Any] | Any) -> ErrorInfo | None:
    """The error of an end or a result; thrown things that are no errors are text in rejelly."""
    error = event.get("error")
    if isinstance(error, dict):
        return ErrorInfo(str(error.get("name", "Error")), str(error.get("message", "")))
    return None if error is None else ErrorInfo("Error", str(error))


def is_aborted(event: dict[str, Any] | Any) -> bool:
    """True for a cancelled call: rejelly names it ``AbortError``, or keeps the words of the abort."""
    error = error_of(event)
    if event.get("success") or error is None:
        return False
    return error.type == "AbortError" or error.message.startswith("Operation aborted")


def _outcome(
    event: dict[str, Any], output: Any, span: Span, usage: Usage | None = None, start: int | None = None
) -> dict[str, Any]:
    """What came of a call, as plain data."""
    error = error_of(event)
    status: Any = "ok" if event.get("success") else "aborted" if is_aborted(event) else "error"
    return Outcome(
        status=status,
        output=output if status == "ok" else None,
        error=None if status == "ok" else error or ErrorInfo("Error", ""),
        trace_id=span.trace_id,
        span_id=span.span_id,
        usage=usage or Usage(),
        start_unix_nano=span.start_unix_nano if start is None else start,
        duration_ns=None if span.end_unix_nano is None or span.start_unix_nano is None
        else span.end_unix_nano - span.start_unix_nano,
    ).to_json()  # fmt: skip


def tool_marks(span: Span, result: dict[str, Any] | Any, start: int | None, end: int | None) -> tuple[Mark, ...]:
    """A tool call of a batch: it counts where the batch ends, as in rejelly."""
    began, ended = span.start_unix_nano or 0, span.end_unix_nano or 0
    outcome = _outcome(result, result.get("output"), span)
    return (
        Mark(type="tool.start", time_unix_nano=began, seq=start, data={}),
        Mark(type="tool.end", time_unix_nano=ended, seq=end, data={"outcome": outcome}),
    )


def marks_of(recorded: list[Recorded], span: Span, usage: Usage, *, has_span: bool) -> tuple[Mark, ...]:
    """All marks of a span. Without a span id of its own, rejelly only reads what goes to the top of its stack."""
    out = []
    for each in recorded:
        kind = each.event.get("type")
        made = _made(each.event, span, usage)
        if not has_span and kind not in ("turn:end", "generation:end"):
            made = iter([("log", {"level": "debug", "message": str(kind)})])
        for i, (type_, data) in enumerate(made):
            if each.parent != span.parent_span_id and has_span:
                data["parent_span_id"] = each.parent
            out.append(Mark(type=type_, time_unix_nano=each.time, seq=each.seq + i, data=data))
    return tuple(out)


def _made(event: dict[str, Any], span: Span, usage: Usage) -> Iterator[tuple[str, dict[str, Any]]]:
    """The types and fields of an event's marks."""
    kind = str(event.get("type"))
    match kind:
        case "agent:start":
            agent_id = event.get("agentId")
            yield "agent.start", {"agent_id": str(agent_id) if agent_id else "unknown", "input": event.get("props")}
        case "agent:end":
            yield "agent.end", {"outcome": _outcome(event, event.get("result"), span)}
        case "runWith:start":
            yield "run.start", {"input": event.get("props")}
        case "runWith:end":
            yield "run.end", {"outcome": _outcome(event, event.get("result"), span)}
        case "generation:start":
            yield "span.start", {}
            yield "generation.start", {"generation": _generation(event), "input": event.get("props")}
        case "generation:end":
            reason = str(event.get("endReason", "return"))
            memory = event.get("memory")
            yield "generation.end", {"generation": _generation(event), "memory": memory, "reason": reason}
            yield "span.end", {}
        case "turn:start":
            yield "model_turn.start", {}
        case "turn:end":
            yield "model_turn.end", _turn_end(event, span, usage)
        case _ if kind.endswith(":start"):
            yield "span.start", {}
        case _ if kind.endswith(":end"):
            yield "span.end", {}
        case _:
            yield from _point(kind, event)


def _point(kind: str, event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The marks of an event that neither starts nor ends anything."""
    if kind == "sys:log":
        yield "log", {"level": str(event.get("level", "info")), "message": str(event.get("message", ""))}
        return
    if kind == "budget:update":  # what models used stands on their turns
        for item in _items(event):
            yield "tool.usage", item
    yield "log", {"level": "debug", "message": kind}


def _items(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What tools used up."""
    delta = event.get("delta")
    items = delta.get("items") if isinstance(delta, dict) else None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("type") == "tool":
            costs = item.get("costs")
            yield {
                "name": str(item.get("name", "unknown")),
                "quantity": item.get("quantity") if type(item.get("quantity")) is int else 0,
                "unit": item.get("unit"),
                "costs": nano_usd(costs) if isinstance(costs, dict) else {},
            }


def _turn_end(event: dict[str, Any], span: Span, usage: Usage) -> dict[str, Any]:
    """A turn's end. An answer that was not written down has no key, as in rejelly: it could answer nothing."""
    key = event.get("contentHash")
    has_answer = "message" in event or not event.get("success")
    return {
        "content_hash": str(key) if key and has_answer else None,
        "outcome": _outcome(event, event.get("message"), span, usage),
    }


def _generation(event: dict[str, Any]) -> int:
    number = event.get("generationId")
    return number if type(number) is int else 0
