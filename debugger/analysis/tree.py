"""Spans as a forest, in flat arrays: what the timeline shows, in the order it shows it.

Every span of the input is in the forest exactly once, whatever its parent says: a parent that is not in the trace, a
span that names itself and a cycle all end at the top level with a mark. Nothing recurses, so depth has no limit.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from operator import le
from typing import Literal, TypeAlias

from runtime.messages import Call

from ..store.rows import SpanRow
from .text import duration, one_line

MarkKind: TypeAlias = Literal["orphan", "cycle", "self", "outside", "backwards", "untimed", "twice", "reported"]
"""What is odd about a span's place, times or counts."""


_REPORTERS = frozenset(("agent", "chain"))
_COUNTED = frozenset(("llm", "embedding"))
_NEVER = 1 << 80
"""Sorts spans without a start after all others."""


@dataclass(frozen=True, slots=True)
class TreeMark:
    """One oddity of a span."""

    kind: MarkKind
    text: str
    """For the details."""
    short: str = ""
    """For the row; empty where the text is short enough."""

    @property
    def label(self) -> str:
        """What the row says."""
        return self.short or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """The spans of one trace in display order (a parent before its children, siblings by start)."""

    rows: tuple[SpanRow, ...]
    depth: Sequence[int]
    """0 for a top-level span."""
    size: Sequence[int]
    """Spans in the subtree, itself included: the next span that is not below it is ``i + size[i]``."""
    parent: Sequence[int]
    """Index of the parent, -1 at the top level."""
    marks: dict[int, tuple[TreeMark, ...]]
    """By index: what is odd about a span's place in the tree. See ``marks_of`` for its times too."""
    errors: tuple[int, ...]
    """Indices of the spans in error, ascending."""
    failures: tuple[int, ...]
    """The same, each after those below it: where it went wrong comes before what only passed that on."""
    first: dict[str, int] = field(repr=False)
    """The place of each span id in the order of the input, of the earliest where it occurs twice."""
    moved: Sequence[int] = field(repr=False)
    """The index of each place in that order."""

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, span_id: str) -> int | None:
        """The index of a span, of the earliest one where its id occurs twice; None if it is not here."""
        at = self.first.get(span_id)
        return None if at is None else self.moved[at]

    @property
    def origin(self) -> int | None:
        """The start of the first top-level span that has one: the zero of all relative times."""
        i = 0
        while i < len(self.rows):
            if (start := self.rows[i].start_unix_nano) is not None:
                return start
            i += self.size[i]
        return next((row.start_unix_nano for row in self.rows if row.start_unix_nano is not None), None)

    def marks_of(self, index: int) -> tuple[TreeMark, ...]:
        """Everything odd about the span: its place in the tree, then its times."""
        above = self.parent[index]
        found = time_marks(self.rows[index], self.rows[above] if above >= 0 else None)
        placed = self.marks.get(index)
        return placed + found if placed else found

    def last_child(self, index: int) -> bool:
        """True when no sibling follows."""
        parent = self.parent[index]
        after = index + self.size[index]
        return after >= (len(self.rows) if parent < 0 else parent + self.size[parent])


def with_ancestors(forest: Forest, indices: Sequence[int]) -> array[int]:
    """The spans and everything above them, ascending. Cost: linear; each ancestor is met once."""
    shown = bytearray(len(forest))
    for index in indices:
        at = index
        while at >= 0 and not shown[at]:
            shown[at] = 1
            at = forest.parent[at]
    return array("i", [i for i, is_shown in enumerate(shown) if is_shown])


def name_of(span: SpanRow) -> str:
    """What a row calls a span: the agent's or tool's own name where it has one."""
    named = span.agent_name if span.kind == "agent" else span.tool_name if span.kind == "tool" else None
    return one_line(named or span.name)


def called(call: Call) -> str:
    """What a call is called, as it was recorded: its agent, tool or model where one is named, else its span."""
    named = {"agent": call.agent_name, "tool": call.tool_name, "llm": call.model}.get(call.kind)
    return named or call.name


def build_forest(rows: Sequence[SpanRow]) -> Forest:
    """The forest of a trace's spans.

    Cost: linear after sorting. Marks of times are left to ``Forest.marks_of``, which looks at one span.
    """
    rows = _sorted(rows)
    first = dict(zip([row.span_id for row in reversed(rows)], range(len(rows) - 1, -1, -1), strict=True))
    marks: dict[int, list[TreeMark]] = {}
    if len(first) < len(rows):
        for i, row in enumerate(rows):
            if first[row.span_id] != i:
                marks.setdefault(i, []).append(TreeMark("twice", "same span id as another span"))
    parent = _parents(rows, first, marks)
    _cut_cycles(parent, marks)
    return _flatten(rows, parent, first, marks)


def _sorted(rows: Sequence[SpanRow]) -> Sequence[SpanRow]:
    """By start, then by order of input; spans without a start last."""
    keys = [_NEVER if (start := row.start_unix_nano) is None else start for row in rows]
    if all(map(le, keys, islice(keys, 1, None))):
        return rows
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: (keys[i], rows[i].seq))]


def _parents(rows: Sequence[SpanRow], first: dict[str, int], marks: dict[int, list[TreeMark]]) -> list[int]:
    wanted = [row.parent_span_id or "" for row in rows]
    find = first.get
    parent = [find(span_id, -1) for span_id in wanted]
    for i, above in enumerate(parent):
        if above < 0 and wanted[i]:
            marks.setdefault(i, []).append(TreeMark("orphan", f"parent …{_tail(wanted[i])} missing"))
        elif above == i or (i in marks and wanted[i] == rows[i].span_id):
            parent[i] = -1
            marks.setdefault(i, []).append(TreeMark("self", "names itself as parent"))
    return parent


def _tail(span_id: str) -> str:
    return one_line(span_id[-4:].lstrip("0"), "0")


def _cut_cycles(parent: list[int], marks: dict[int, list[TreeMark]]) -> None:
    """Walk up from every span once; a walk that meets itself has found a cycle, which is cut at its earliest start."""
    seen = [0] * len(parent)  # 0 = not yet, else the number of the walk that came by
    for i, above in enumerate(parent):
        if above < 0 or (above < i and seen[above]):
            seen[i] = i + 1
            continue
        at, walk = i, i + 1
        while at >= 0 and not seen[at]:
            seen[at] = walk
            at = parent[at]
        if at < 0 or seen[at] != walk:
            continue
        # Rows are sorted by start, so the smallest index of the cycle starts first.
        cut, on = at, parent[at]
        while on != at:
            cut = min(cut, on)
            on = parent[on]
        parent[cut] = -1
        marks.setdefault(cut, []).append(TreeMark("cycle", "cycle cut here"))


def time_marks(row: SpanRow, parent: SpanRow | None) -> tuple[TreeMark, ...]:
    """What is odd about the times of a span: none at all, an end before the start, or outside its parent's."""
    start, end = row.start_unix_nano, row.end_unix_nano
    if start is None and end is None:
        return (TreeMark("untimed", "no time recorded"),)
    found = []
    if start is not None and end is not None and end < start:
        found.append(TreeMark("backwards", f"ends {duration(start - end)} before it starts", "ends before start"))
        end = start
    if parent is not None and (mark := _outside(start, end, parent)):
        found.append(mark)
    return tuple(found)


def _outside(start: int | None, end: int | None, parent: SpanRow) -> TreeMark | None:
    """How far the interval sticks out of the parent's, or None."""
    low, high = parent.start_unix_nano, parent.end_unix_nano
    if low is None:
        return None
    if high is not None and high < low:
        high = None
    early = low - start if start is not None and start < low else 0
    last = end if end is not None else start
    late = last - high if last is not None and high is not None and last > high else 0
    if not early and not late:
        return None
    sides = [f"{duration(by)} {side}" for by, side in ((early, "before it"), (late, "after it")) if by]
    return TreeMark(
        "outside", f"outside its parent by {' and '.join(sides)}", f"outside by {duration(max(early, late))}"
    )


def _reported_marks(rows: Sequence[SpanRow], size: Sequence[int]) -> Iterator[tuple[int, TreeMark]]:
    """Spans that report tokens for what is below them, where the calls below add up to something else.

    Cost: linear, and a pass over the agents inside each such span that does not agree; none where nothing reports.
    """
    reporting = [i for i, row in enumerate(rows) if row.kind in _REPORTERS
                 and (row.input_tokens is not None or row.output_tokens is not None)]  # fmt: skip
    if not reporting:
        return
    calls = [i for i, row in enumerate(rows) if row.kind in _COUNTED]
    agents = [i for i, row in enumerate(rows) if row.kind == "agent"]
    all_given = [0, *accumulate([rows[i].input_tokens or 0 for i in calls])]
    all_told = [0, *accumulate([rows[i].output_tokens or 0 for i in calls])]
    for i in reporting:
        end = i + size[i]
        first, last = bisect_left(calls, i), bisect_left(calls, end)
        given, told = all_given[last] - all_given[first], all_told[last] - all_told[first]
        own = (rows[i].input_tokens, rows[i].output_tokens)
        if (given, told) == own or not (given or told):
            continue
        # An agent may leave out what the agents inside it spent; those report it themselves.
        inner_given = inner_told = 0
        at = bisect_left(agents, i + 1)
        while at < len(agents) and agents[at] < end:
            past = agents[at] + size[agents[at]]
            first, last = bisect_left(calls, agents[at]), bisect_left(calls, past)
            inner_given += all_given[last] - all_given[first]
            inner_told += all_told[last] - all_told[first]
            at = bisect_left(agents, past)
        if (given - inner_given, told - inner_told) != own:
            said = f"reported {_told(own[0])}/{_told(own[1])}, its calls add up to {given}/{told}"
            yield i, TreeMark("reported", said, f"calls: {given}/{told}")


def _told(tokens: int | None) -> str:
    return "-" if tokens is None else str(tokens)


def _flatten(
    rows: Sequence[SpanRow], parent: list[int], first: dict[str, int], marks: dict[int, list[TreeMark]]
) -> Forest:
    total = len(rows)
    order = _preorder(*_links(rows, parent))
    new = array("i", bytes(4 * (total + 1)))
    new[-1] = -1  # where the top level's -1 points
    for position, old in enumerate(order):
        new[old] = position
    above_new = array("i", [new[parent[old]] for old in order])
    depth = array("i", bytes(4 * (total + 1)))
    depth[-1] = -1
    for i, above in enumerate(above_new):
        depth[i] = depth[above] + 1
    depth.pop()
    size = array("i", [1]) * (total + 1)
    for i in range(total - 1, 0, -1):
        size[above_new[i]] += size[i]
    size.pop()
    shown = tuple([rows[old] for old in order])
    placed = {new[old]: tuple(found) for old, found in marks.items()}
    for i, mark in _reported_marks(shown, size):
        placed[i] = (*placed.get(i, ()), mark)
    errors = tuple([i for i, row in enumerate(shown) if row.status_code == 2 or row.error_type is not None])
    return Forest(
        rows=shown,
        depth=depth,
        size=size,
        parent=above_new,
        marks=placed,
        errors=errors,
        failures=tuple(sorted(errors, key=lambda i: (i + size[i], -i))),
        first=first,
        moved=new,
    )


def _links(rows: Sequence[SpanRow], parent: list[int]) -> tuple[list[int], list[int], int]:
    """First child and next sibling of every span, and the first of the top level; -1 ends a chain.

    Siblings of one emitter follow its own sequence, since its clock may tie or run backwards.
    """
    total = len(rows)
    child, sibling = [-1] * (total + 1), [-1] * total
    unsorted: set[int] = set()
    for i in range(total - 1, -1, -1):
        above = parent[i]  # -1 is the last place of child: the top level
        following = child[above]
        if following >= 0 and (own := rows[i].run_id) is not None and own == rows[following].run_id:
            a, b = rows[i].start_seq, rows[following].start_seq
            if a is not None and b is not None and a > b:
                unsorted.add(above)
        sibling[i] = following
        child[above] = i
    for above in unsorted:
        group = []
        at = child[above]
        while at >= 0:
            group.append(at)
            at = sibling[at]
        if not _by_emitter(rows, group):
            continue
        child[above] = group[0]
        for i, following in zip(group, [*group[1:], -1], strict=True):
            sibling[i] = following
    return child, sibling, child[-1]


def _by_emitter(rows: Sequence[SpanRow], group: list[int]) -> bool:
    """Sort the siblings by sequence, if they all come from one emitter."""
    emitter = rows[group[0]].run_id
    keys: dict[int, int] = {}
    for i in group:
        sequence = rows[i].start_seq
        if rows[i].run_id != emitter or sequence is None:
            return False
        keys[i] = sequence
    group.sort(key=keys.__getitem__)
    return True


def _preorder(child: list[int], sibling: list[int], top: int) -> list[int]:
    order: list[int] = []
    stack: list[int] = []
    at = top
    while at >= 0:
        order.append(at)
        below = child[at]
        after = sibling[at]
        if below >= 0:
            if after >= 0:
                stack.append(after)
            at = below
        elif after >= 0:
            at = after
        else:
            at = stack.pop() if stack else -1
    return order
