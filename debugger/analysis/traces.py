"""The trace list as a view model: filter, sort, groups, replays under what they replay, one line of text per trace."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, TypeAlias

from ..store.rows import TraceRow
from .branches import BranchWords
from .filter_fields import trace_filter
from .filter_language import Filter
from .text import clock, cost, count, cut, duration, one_line, plural, width_of

Sort: TypeAlias = Literal["started", "name", "took", "tokens", "cost", "errors"]

SORTS: dict[Sort, str] = {
    "started": "started",
    "took": "took",
    "tokens": "tokens in/out",
    "cost": "cost",
    "errors": "errors",
    "name": "trace",
}
"""The orders of the list, each with the column that shows it; the biggest or newest is first, names from A to Z."""


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """What is known of a trace beyond its row, once its calls were read."""

    opening: str = ""
    """What it was asked."""
    fidelity: str = ""
    branch: BranchWords | None = None
    """What it is, where it is a replay."""


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One trace with its texts made."""

    row: TraceRow
    name: str
    service: str
    started: str
    took: str
    source: str
    is_replay: bool
    is_nested: bool
    """Stands under the trace that it replays."""
    has_own_name: bool
    """A replay that was given another name than the trace that it replays has, as far as that one is here."""


@dataclass(frozen=True, slots=True)
class GroupLine:
    """The heading of a group."""

    name: str
    """The service, conversation or file as it was recorded; empty where there is none."""
    label: str
    traces: int
    errors: int
    tokens: str
    """Input and output tokens of all its traces."""
    cost_nano_usd: int | None
    is_folded: bool


Group: TypeAlias = Literal["nothing", "service", "conversation", "file"]

GROUPS: tuple[Group, ...] = ("nothing", "service", "conversation", "file")
"""What the list can be grouped by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Which traces the list shows, and in which order."""

    wanted: Filter = field(default_factory=lambda: trace_filter(""))
    found: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    """Traces that hold the texts of the filter."""
    sort: Sort = "started"
    is_reversed: bool = False
    group: Group = "nothing"
    conversations: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Conversation by trace; only needed where it is grouped by."""
    folded: frozenset[str] = frozenset()
    """Names of the groups of which only the heading is shown."""


def trace_lines(
    traces: Sequence[TraceRow], arrangement: Arrangement | None = None
) -> tuple[TraceLine | GroupLine, ...]:
    """The traces that match, in order, replays right below their origin where both are shown.

    A replay whose origin is filtered away, not loaded or in another group stands on its own. Groups come in the order
    of their first trace.
    """
    how = arrangement or Arrangement()
    shown = [row for row in traces if how.wanted.test(row, how.found)]
    shown.sort(key=lambda row: _sort_key(row, how.sort), reverse=how.sort != "name")
    if how.is_reversed:
        shown.reverse()
    if how.group == "nothing":
        return tuple(_nested(shown))
    groups: dict[str, list[TraceRow]] = {}
    for row in shown:
        groups.setdefault(_group_of(row, how), []).append(row)
    out: list[TraceLine | GroupLine] = []
    for name, members in groups.items():
        out.append(_heading(name, members, how))
        if name not in how.folded:
            out.extend(_nested(members))
    return tuple(out)


def _heading(name: str, members: Sequence[TraceRow], how: Arrangement) -> GroupLine:
    costs = [row.cost_nano_usd for row in members if row.cost_nano_usd is not None]
    read = [row.input_tokens for row in members if row.input_tokens is not None]
    written = [row.output_tokens for row in members if row.output_tokens is not None]
    tokens = f"{count(sum(read))} / {count(sum(written))} tok" if read or written else ""
    return GroupLine(
        name=name,
        label=one_line(name, f"no {how.group}"),
        traces=len(members),
        errors=sum(row.errors for row in members),
        tokens=tokens,
        cost_nano_usd=sum(costs) if costs else None,
        is_folded=name in how.folded,
    )


def _group_of(row: TraceRow, how: Arrangement) -> str:
    match how.group:
        case "service":
            return row.service or ""
        case "conversation":
            return how.conversations.get(row.trace_id) or how.conversations.get(row.origin_trace_id or "", "")
        case "file":
            return row.source
        case "nothing":
            return ""


def _nested(shown: Sequence[TraceRow]) -> list[TraceLine]:
    here = {row.trace_id: row for row in shown}
    below: dict[str, list[TraceRow]] = {}
    tops = []
    for row in shown:
        origin = row.origin_trace_id
        if origin is not None and origin in here and origin != row.trace_id:
            below.setdefault(origin, []).append(row)
        else:
            tops.append(row)
    out: list[TraceLine] = []
    stack = [(row, False) for row in reversed(tops)]
    placed: set[str] = set()
    while stack:
        row, nested = stack.pop()
        placed.add(row.trace_id)
        out.append(_line(row, nested, here.get(row.origin_trace_id or "")))
        stack.extend((branch, True) for branch in reversed(below.pop(row.trace_id, [])))
    # Replays that name each other as origin have no top; they are listed all the same.
    out.extend(_line(row, False) for row in shown if row.trace_id not in placed)
    return out


def _sort_key(row: TraceRow, sort: Sort) -> tuple[int | str, int, str]:
    start = row.start_unix_nano or 0
    match sort:
        case "name":
            return (trace_name(row.name).casefold(), -start, row.trace_id)
        case "started":
            return (start, 0, row.trace_id)
        case "took":
            return (row.duration_ns or 0, start, row.trace_id)
        case "tokens":
            return ((row.input_tokens or 0) + (row.output_tokens or 0), start, row.trace_id)
        case "cost":
            return (row.cost_nano_usd or 0, start, row.trace_id)
        case "errors":
            return (row.errors, start, row.trace_id)


def _line(row: TraceRow, nested: bool, origin: TraceRow | None = None) -> TraceLine:
    return TraceLine(
        row=row,
        name=trace_name(row.name),
        service=one_line(row.service, "-"),
        started=clock(row.start_unix_nano),
        took=_took(row),
        source=one_line(PurePath(row.source).name or row.source, "-"),
        is_replay=row.origin_trace_id is not None,
        is_nested=nested,
        has_own_name=origin is not None and origin.name != row.name,
    )


def _took(row: TraceRow) -> str:
    text = duration(row.duration_ns)
    return f"{text}+" if row.unfinished and row.duration_ns is not None else text


def counts_of(row: TraceRow) -> tuple[tuple[str, str, int], ...]:
    """Glyph, style and number of agents, model calls and tool calls."""
    counted = (("●", "agent", row.agents), ("◆", "llm", row.llm_calls), ("▲", "tool", row.tool_calls))
    return tuple(item for item in counted if item[2])


def tokens_of(row: TraceRow) -> str:
    """``2.1k / 310``; a dash where nothing is known."""
    if row.input_tokens is None and row.output_tokens is None:
        return "-"
    return f"{count(row.input_tokens)} / {count(row.output_tokens)}"


def list_title(traces: Sequence[TraceRow], temporary: Collection[str], *, with_files: bool = True) -> str:
    """``3 files · 12 traces``.

    Args:
        traces: all that are listed.
        temporary: ids of those that are in no file of the user's: replays that are not kept.
        with_files: name the files too. Where other words count those that are followed, a second count beside them
            would contradict: a file may hold no trace, and a trace may lie in several files.
    """
    if not traces:
        return "no traces"
    files = {row.source for row in traces if row.trace_id not in temporary}
    return f"{plural(len(files), 'file')} · " * with_files + plural(len(traces), "trace")


_OPERATIONS = ("invoke_workflow ", "invoke_agent ")


def trace_name(name: str) -> str:
    """What a trace is called on the screen: what runs, without the operation that the span's name begins with."""
    return one_line(next((name[len(o) :] for o in _OPERATIONS if name.startswith(o) and len(name) > len(o)), name))


def branches_text(family: Sequence[TraceRow], room: int) -> str:
    """``↺ 2 branches: shorter prompt``: a recording's replays, with the names that they were given.

    Args:
        family: the recording and its replays.
        room: cells for the names.
    """
    own, *others = (trace_name(row.name) for row in family)
    names = ", ".join(name for name in dict.fromkeys(others) if name != own)
    return f"↺ {plural(len(others), 'branch', 'branches')}{cut(f': {names}', room) if names else ''}"


def trace_facts(row: TraceRow, room: int) -> list[str]:
    """What the header of a trace says after its name, each after `` · ``: what fits into the room, whole.

    The list says the date, and the timeline how many spans there are, so these are left out first.
    """
    facts = {"date": clock(row.start_unix_nano), "took": _took(row), "spans": plural(row.spans, "span")}
    if row.input_tokens is not None or row.output_tokens is not None:
        facts["tokens"] = f"{tokens_of(row)} tok"
    if row.cost_nano_usd is not None:
        facts["cost"] = cost(row.cost_nano_usd)
    for name in ("date", "spans", "tokens", "cost"):
        if sum(width_of(fact) + 3 for fact in facts.values()) > room:
            facts.pop(name, None)
    return list(facts.values())
