"""How long the screen takes from a key to the picture, on traces of any size, in CPU time.

Usage, at the top of a checkout: ``python -m tests.bench.bench_screen [SPANS ...]``. The session behind the screen is
made up and answers at once, so that only the screen is measured; the playhead's states are real ones.

What Textual itself takes is measured in turn with ours, by an app of one widget that is driven by the same keys: its
``down`` draws two lines of it, its ``pagedown`` all of them. A key of ours is printed with its share beyond that floor.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any, ClassVar

from msgspec import structs
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.scroll_view import ScrollView
from textual.strip import Strip

from debugger.analysis.playhead import States, StateView, Track, track_of
from debugger.replay.model import Anchor
from debugger.tui.app import RetrospanApp
from debugger.tui.screens.trace import TraceScreen
from runtime.snapshot import SnapshotCursor
from tests.bench.bench_restore import mixed
from tests.tui.driver import WIDE, Desk
from tests.tui.fake_session import FakeSession, span_row, travel_call, travel_traces

KINDS = ("llm", "tool", "llm", "tool", "chain", "llm", "tool", "retriever", "llm", "agent")
STEPS = 10
PART = 2048
"""Spans of which a search tells at once."""


def rows_of(count: int) -> list[Any]:
    """One root, agents of a hundred spans below it."""
    rows = [span_row(1, None, "agent", "root", 0, count * 2)]
    for n in range(2, count + 1):
        parent = 1 if n % 100 == 2 else n - (n - 2) % 100
        kind = "agent" if n % 100 == 2 else KINDS[n % len(KINDS)]
        length = 150 if n % 100 == 2 else n % 7 + 1
        status = 2 if n % 997 == 0 else 0
        row = span_row(n, parent, kind, f"{kind} {n % 50}", n, n + length, status_code=status, input_tokens=n % 3000)
        rows.append(row)
    return rows


class BenchSession(FakeSession):
    """A trace of many spans, with real states of another trace of about as many events."""

    def __init__(self, count: int) -> None:
        super().__init__(spans=rows_of(count))
        self.rows = [structs.replace(travel_traces()[0], spans=count)]
        events = mixed(min(count, 100_000))
        began = time.process_time()
        self.cursor = SnapshotCursor(events)
        self.pass_seconds = time.process_time() - began
        self.states = States(self.cursor.at, self.cursor.has_state, "bench")
        self._by_id = {row.span_id: row for row in self.span_rows}

    def _row(self, span_id: str) -> Any:
        return self._by_id[span_id]

    def search(self, texts: Any, trace_id: str | None) -> Any:
        found = (1 << len(texts)) - 1
        for start in range(0, len(self.span_rows), PART):
            part = enumerate(self.span_rows[start : start + PART], start)
            yield [(row.trace_id, row.seq, 0 if at % 50 else found) for at, row in part]

    def calls(self, trace_id: str) -> Any:
        return [travel_call(row) for row in self.span_rows[:5000]]

    def track(self, trace_id: str) -> Track:
        return track_of(trace_id, self.cursor.timeline.events)

    def position_of(self, trace_id: str, span_id: str, anchor: Anchor) -> int:
        return len(self.cursor) * 7 // 10

    def state(self, trace_id: str, position: int, since: int | None) -> StateView:
        return self.states.view(position, since, None)


class Page(ScrollView, can_focus=True):
    """A page of plain lines."""

    def render_line(self, y: int) -> Strip:
        """A line that is another one each time."""
        return Strip([Segment(f"{y} {time.process_time_ns()}".ljust(self.size.width))], self.size.width)


class FloorApp(App[None]):
    """The least that Textual does for a key."""

    BINDINGS: ClassVar[list[BindingType]] = [("down", "lines", ""), ("pagedown", "page", "")]

    def compose(self) -> ComposeResult:
        """One widget."""
        yield Page()

    def action_lines(self) -> None:
        """Draw two lines anew."""
        page = self.query_one(Page)
        page.refresh_line(3)
        page.refresh_line(4)

    def action_page(self) -> None:
        """Draw all lines anew."""
        self.query_one(Page).refresh()


async def spent_on(desk: Desk, key: str, times: int) -> float:
    """CPU milliseconds of a key until all that it begins is done."""
    spent = []
    for _ in range(times):
        began = time.process_time()
        await desk.press(key)
        spent.append(time.process_time() - began)
    return median(spent) * 1000


async def floor() -> dict[str, float]:
    """CPU milliseconds of the two keys of the least app."""
    app = FloorApp()
    async with app.run_test(size=WIDE) as pilot:
        desk = Desk(app, pilot)  # type: ignore[arg-type]  # it needs no more of the app than any has
        await desk.settle()
        return {key: await spent_on(desk, key, STEPS) for key in ("down", "pagedown")}


class Bench:
    """Measures actions of one app."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def key(self, key: str, times: int = STEPS) -> str:
        """CPU of a key until all that it begins is done."""
        return f"{await spent_on(self.desk, key, times):8.1f}"


def cpu_of(work: Callable[[], object], times: int = 5) -> str:
    """CPU of what happens on the screen's own loop."""
    spent = []
    for _ in range(times):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return f"{median(spent) * 1000:8.1f}"


async def measure(count: int) -> None:
    """Print the figures for a trace of so many spans."""
    session = BenchSession(count)
    before = await floor()
    app = RetrospanApp(session, ascii_only=False, clock=lambda: 0.0)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        desk = Desk(app, pilot)
        await desk.settle()
        gc.collect()
        gc.freeze()  # A collection over a million rows would drown what a key costs.
        bench = Bench(desk)
        print(f"{count:,} spans (CPU in ms; a key with everything that it begins)")
        print("  idle pilot round ", await bench.key("ctrl+c", 5))
        print("  open the trace   ", await bench.key("enter", 1))
        assert isinstance(app.screen, TraceScreen)
        timeline = app.screen.timeline
        ours = {key: await spent_on(desk, key, STEPS) for key in ("down", "pagedown")}
        for label, key in (("next error", "x"), ("next model call", "m"),
                           ("next of this name", "y"), ("zoom in", "plus"), ("slowest call", "z")):  # fmt: skip
            print(f"  {label:<17}", await bench.key(key, 8))
        await desk.press("0")
        print("  fold, unfold all ", cpu_of(timeline.action_toggle_all, 6), "on the loop")
        print("  fold all, drawn  ", await bench.key("e", 4))
        await desk.press("slash", "l", "l")
        print("  search, a letter ", await bench.key("m", 1))
        await desk.press("enter")
        print("  next match       ", await bench.key("n", 8))
        print("  only matches     ", await bench.key("f", 2))
        await desk.press("escape", "home")
        print(f"  playhead: one pass {session.pass_seconds * 1000:8.1f} over {len(session.cursor):,} events")
        await desk.press("a")
        print("  playhead step    ", await bench.key("right_square_bracket"))
        at = len(session.cursor) * 7 // 10
        print("  one state        ", cpu_of(lambda: session.state("", at, at - 1), 9))
    after = await floor()
    for key, spent in ours.items():
        least = (before[key] + after[key]) / 2
        print(f"  {key:<17} {spent:8.1f}, of which Textual's floor {least:.1f}: ours {spent - least:.1f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory       {peak:8.0f} MB")


def main() -> None:
    """Measure each size."""
    for count in [int(text) for text in sys.argv[1:]] or [10_000, 100_000]:
        asyncio.run(measure(count))


if __name__ == "__main__":
    main()
