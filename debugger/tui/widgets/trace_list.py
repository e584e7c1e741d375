"""The list of traces, drawn by line, with branches under their origins."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from ...analysis.branches import BranchWords
from ...analysis.document import Style
from ...analysis.text import cost, cut_left, fit, plural, width_of
from ...analysis.traces import (
    SORTS,
    Arrangement,
    GroupLine,
    TraceFacts,
    TraceLine,
    counts_of,
    tokens_of,
    trace_lines,
)
from ...store.rows import TraceRow
from .drawn import Drawable, Drawn, Run, key_for

FIDELITY_STYLES: Mapping[str, Style] = {"exact": "good", "inferred": "warning", "missing": "warning"}

_STARTED = 15
"""Cells of a date; one of another year is longer."""


_LEAST_NAME = 14
"""Cells that a trace's name keeps before another column is shown."""

_OPENING = "opening"
_LEAST_OPENING = 20
"""Cells of what a trace was asked, which stands after its name; below that it says too little."""
_MOST_NAME = 40
"""Cells that the longest name takes beside what was asked."""

_FIRST = (
    "started", "took", "errors", _OPENING, "calls", "cost", "tokens in/out", "service", "fidelity", "spans", "source",
)  # fmt: skip
"""Columns as they are left out where room is short, the last ones first."""
_NOTHING_KNOWN = TraceFacts()


class TraceList(Drawn):
    """The traces that pass the filter. Cost of a key: two rows drawn; of a filter or sort: one pass over the rows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.traces: tuple[TraceRow, ...] = ()
        self.lines: tuple[TraceLine | GroupLine, ...] = ()
        self.arrangement = Arrangement()
        self._started = _STARTED
        self.shown = 0
        """Traces that pass the filter."""
        self.empty_text: tuple[str, ...] = ("Loading…",)
        self.marked: tuple[str, ...] = ()
        """Ids of marked traces, in the order in which they were marked."""
        self.facts: Mapping[str, TraceFacts] = {}
        """What is known beyond the rows, of the traces whose calls have been read."""
        self.is_searching = False
        """What was recorded is still looked through for the filter: traces may come."""
        self._longest_name = _LEAST_NAME

    def show(self, traces: Sequence[TraceRow]) -> None:
        """Show these traces, keeping the cursor on its trace; marks go with their traces."""
        self.traces = tuple(traces)
        if self.marked:
            known = {row.trace_id for row in self.traces}
            self.marked = tuple(trace_id for trace_id in self.marked if trace_id in known)
        self.rearrange()

    def in_view(self) -> Iterator[TraceRow]:
        """The traces on the screen, from the top."""
        top = self.scroll_offset.y
        for line in self.lines[top : top + self.size.height]:
            if isinstance(line, TraceLine):
                yield line.row

    def shows(self, column: str) -> bool:
        """Whether there is room for a column."""
        return column in self._fitting(self._row_width)

    def show_facts(self, facts: Mapping[str, TraceFacts]) -> None:
        """Show what was found out about traces beyond their rows."""
        self.facts = facts
        self.refresh()  # The words are part of the rows' keys; the cursor may be out of view, and stays there.

    def mark(self, trace_id: str) -> None:
        """Mark a trace, or take its mark away."""
        kept = tuple(other for other in self.marked if other != trace_id)
        self.marked = kept if len(kept) < len(self.marked) else (*kept, trace_id)
        self.redraw_rows(self.cursor)

    def rearrange(self) -> None:
        """Filter, sort and group again; the cursor stays on its trace or heading, and that where it is on the screen.

        Where the list shows its beginning, it goes on doing so: what is new comes there.
        """
        kept, group, was_at = self.selected, self.group_here, self.cursor
        self.lines = trace_lines(self.traces, self.arrangement)
        shown = [line for line in self.lines if isinstance(line, TraceLine)]
        self._started = max([_STARTED, *(len(line.started) for line in shown)])
        self._longest_name = min(max([_LEAST_NAME, *(width_of(line.name) for line in shown)]), _MOST_NAME)
        self.shown = sum(line.traces for line in self.lines if isinstance(line, GroupLine)) or len(shown)
        place = self._place_of(kept, group)
        top = self.scroll_offset.y
        self.redraw(len(self.lines), place)
        if top and place != was_at:
            self.scroll_to(y=min(max(top + place - was_at, 0), self.max_scroll_y), animate=False)
            self.show_cursor()

    def _place_of(self, kept: TraceRow | None, group: str | None) -> int:
        """Where a trace stands now, else the heading of its group, else the first trace."""
        if kept is not None:
            for i, line in enumerate(self.lines):
                if isinstance(line, TraceLine) and line.row.trace_id == kept.trace_id:
                    return i
        if group is not None:
            for i, line in enumerate(self.lines):
                if isinstance(line, GroupLine) and line.name == group:
                    return i
        return next((i for i, line in enumerate(self.lines) if isinstance(line, TraceLine)), 0)

    @property
    def group_here(self) -> str | None:
        """The group that the cursor is in, by its name; None where there are no groups."""
        above = (self.lines[i] for i in range(min(self.cursor, len(self.lines) - 1), -1, -1))
        return next((line.name for line in above if isinstance(line, GroupLine)), None)

    @property
    def groups(self) -> list[str]:
        """The names of all groups that are shown."""
        return [line.name for line in self.lines if isinstance(line, GroupLine)]

    def column_at(self, x: int) -> str | None:
        """The column whose heading is at a cell of the header."""
        at = 1
        for name, cells, _ in self._with_name(self._row_width):
            if at <= x < at + cells:
                return name
            at += cells + 2
        return None

    @property
    def selected(self) -> TraceRow | None:
        """The trace under the cursor; None on the heading of a group."""
        line = self.lines[self.cursor] if self.cursor < len(self.lines) else None
        return line.row if isinstance(line, TraceLine) else None

    @property
    def branch_here(self) -> BranchWords | None:
        """What the replay under the cursor is; None on a recording."""
        row = self.selected
        return None if row is None else self._facts_of(row.trace_id).branch

    def _facts_of(self, trace_id: str) -> TraceFacts:
        return self.facts.get(trace_id, _NOTHING_KNOWN)

    def columns(self, width: int) -> list[tuple[str, int, bool]]:
        """Name, cells and right-alignment of the columns that fit the width; the trace's name takes the rest."""
        fitting = self._fitting(width)
        return [(name, *how) for name, how in self._wanted().items() if name in fitting and name != _OPENING]

    def _wanted(self) -> dict[str, tuple[int, bool]]:
        return {
            "started": (self._started, False),
            "service": (14, False),
            "took": (9, True),
            "spans": (6, True),
            "calls": (14, False),
            "errors": (8, False),
            "tokens in/out": (15, True),
            "cost": (9, True),
            "fidelity": (8, False),
            "source": (16, False),
            _OPENING: (_LEAST_OPENING, False),
        }

    def _fitting(self, width: int) -> set[str]:
        wanted = self._wanted()
        room = width - 2 - _LEAST_NAME
        fitting: set[str] = set()
        for name in _FIRST:
            cells = wanted[name][0] + 2
            if cells <= room:
                fitting.add(name)
                room -= cells
        return fitting

    @property
    def _row_width(self) -> int:
        return max(self.scrollable_content_region.width - 1, 0)

    @property
    def shows_sorting(self) -> bool:
        """False where the column that the list is sorted by has no room."""
        sorted_by = SORTS[self.arrangement.sort]
        return sorted_by == "trace" or self.shows(sorted_by)

    def header_pieces(self) -> tuple[Drawable, ...]:
        """Column names; the sorted one is marked."""
        width = self._row_width
        sorted_by = SORTS[self.arrangement.sort]
        arrow = " ▴" if self.arrangement.is_reversed != (sorted_by == "trace") else " ▾"
        out: list[Drawable] = [Run(" ")]
        for name, cells, right in self._with_name(width):
            label = name + (arrow if name == sorted_by else "")
            if name == "trace" and (own := self._own_cells(cells)) < cells:
                label = fit(label, own) + "  asked"
            out.append(Run(fit(label, cells, right=right) + "  ", "strong" if name == sorted_by else "dim"))
        # The gap after the last column is no text that could be cut.
        return (*out[:-1], Run(out[-1].text.rstrip(), out[-1].style))

    def _with_name(self, width: int) -> list[tuple[str, int, bool]]:
        columns = self.columns(width)
        room = max(width - sum(cells + 2 for _, cells, _ in columns) - 2, 8)
        at = 1 if columns and columns[0][0] == "started" else 0
        return [*columns[:at], ("trace", room, False), *columns[at:]]

    def row_key(self, row: int) -> Hashable:
        """The trace as it is now, and whether it is marked."""
        line = self.lines[row]
        if isinstance(line, GroupLine):
            return line, False, None, 0
        trace_id = line.row.trace_id
        return line, trace_id in self.marked, self.facts.get(trace_id), self._longest_name

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """The columns of one trace."""
        line = self.lines[row]
        if isinstance(line, GroupLine):
            return _heading(line, width)
        out: list[Drawable] = []
        for name, cells, right in self._with_name(width):
            out.extend(self._cell(line, name, cells, right=right))
            out.append(Run("  "))
        return out

    def _cell(self, line: TraceLine, name: str, cells: int, *, right: bool) -> Sequence[Drawable]:
        trace = line.row
        if name == "trace":
            return self._name_cell(line, cells)
        if name == "errors":
            return (Run(fit(f"✗{trace.errors:,}" if trace.errors else "", cells), "error"),)
        if name == "fidelity":
            word = self._facts_of(trace.trace_id).fidelity
            return (Run(fit(word, cells), FIDELITY_STYLES.get(word, "")),)
        if name == "calls":
            return _counted(counts_of(trace), cells)
        text = {
            "started": line.started,
            "service": line.service,
            "took": line.took,
            "spans": f"{trace.spans:,}",
            "tokens in/out": tokens_of(trace),
            "cost": cost(trace.cost_nano_usd),
            "source": line.source,
        }[name]
        return (Run(fit(text, cells, right=right), "dim" if name in ("started", "service", "source") else ""),)

    def _name_cell(self, line: TraceLine, cells: int) -> Sequence[Drawable]:
        """Marks and name, then what a replay is or what was asked."""
        sign = Run("└ ↺ ", "good") if line.is_nested else Run("↺ ", "good") if line.is_replay else Run("")
        if line.row.trace_id in self.marked:
            sign = Run(f"✓ {sign.text}", "warning")
        live = Run("◌ " if line.row.unfinished and cells - len(sign.text) > 2 else "", "warning")
        marks = len(sign.text) + len(live.text)
        facts = self._facts_of(line.row.trace_id)
        if (words := facts.branch) is not None:
            # Below its recording a replay of the same name is told by what it is.
            own_name = "" if line.is_nested and not line.has_own_name else f"{line.name}  "
            return (
                sign,
                live,
                Run(own_name, "strong"),
                Run(fit(words.short, max(cells - marks - width_of(own_name), 0))),
            )
        own = self._own_cells(cells)
        name = Run(fit(line.name, own - marks), "dim" if line.is_replay else "strong")
        return (sign, live, name, Run(fit(f"  {facts.opening}", cells - own), "dim"))

    def _own_cells(self, room: int) -> int:
        """Cells of the name itself, where what was asked follows it."""
        if not self.shows(_OPENING):
            return room
        return min(self._longest_name, max(room * 2 // 5, min(_LEAST_NAME, room)))  # What was asked tells more.

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """What to do when there is nothing to show."""
        if not self.arrangement.wanted.is_empty and self.traces:
            if self.is_searching:
                return (Run("  Looking in everything that was recorded…", "dim"),) if y == 1 else ()
            return (
                (Run(f"  No trace matches the filter; {key_for(self, 'traces.cancel')} clears it.", "dim"),)
                if y == 1
                else ()
            )
        return (Run("  " + self.empty_text[y - 1]),) if 0 < y <= len(self.empty_text) else ()


def _heading(line: GroupLine, width: int) -> Sequence[Drawable]:
    """What a group holds, and what it came to; a long name keeps its end, which in a path is the file."""
    facts = [plural(line.traces, "trace"), line.tokens]
    if line.cost_nano_usd is not None:
        facts.append(cost(line.cost_nano_usd))
    told = "  ".join(filter(None, facts))
    errors = f"  ✗{line.errors:,}" if line.errors else ""
    # A narrow screen cuts the facts rather than all of the name.
    room = max(width - width_of(told) - width_of(errors) - 4, _LEAST_NAME)
    return (
        Run("▸ " if line.is_folded else "▾ ", "dim"),
        Run(f"{cut_left(line.label, room)}  ", "heading"),
        Run(told, "dim"),
        Run(errors, "error"),
    )


def _counted(counts: Sequence[tuple[str, str, int]], cells: int) -> Sequence[Drawable]:
    out: list[Drawable] = []
    room = cells
    for glyph, style, number in counts:
        text = fit(f"{glyph}{number}", 5)[:room]
        out.append(Run(text, style))
        room -= len(text)
    return (*out, Run(" " * room))
