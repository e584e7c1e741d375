"""Text that attacks the screen, in every place that shows text."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from rich.style import Style

from debugger.analysis.branches import branch_words
from debugger.analysis.opening import opening_of
from debugger.analysis.playhead import StateView
from debugger.analysis.sql_completion import SqlNames
from debugger.analysis.sql_view import ResultView, result_view
from debugger.analysis.state_changes import StateChange
from debugger.analysis.text import one_line
from debugger.errors import SqlError
from debugger.receiver.status import Status
from debugger.replay.model import ReplayCall, ReplayJob, ReplayReport
from debugger.replay.run import stop_here
from debugger.store.rows import IssueRow, NumbersBy, NumbersRow, SpanRow
from debugger.tui import screens, widgets
from debugger.tui.screens.editor import AskScreen, ForkScreen
from debugger.tui.settings import Settings
from debugger.tui.widgets.drawn import Look
from debugger.tui.widgets.safe_area import SafeArea
from runtime.journal import Difference, Question, Supplied
from runtime.messages import Call, ErrorInfo, Message, TextPart, ToolCallPart
from runtime.trace import Span
from tests.support.frame import strips
from tests.tui.driver import NARROW, WIDE, Desk, Typed, drive
from tests.tui.fake_desk import FakeDesk
from tests.tui.fake_session import PLAN, FakeSession, same_report, span_row, trace_row, travel_state

CASE = Path(__file__).parent.parent / "data" / "cases" / "06-hostile-text.jsonl"
MARKUP = "[red]not red[/red] [/] [b [@click=app.quit]quit[/]"


def spans_of_case() -> list[dict]:
    lines = CASE.read_bytes().decode("utf-8", "replace").splitlines()
    return [span for line in lines for group in json.loads(line)["resourceSpans"]
            for scope in group["scopeSpans"] for span in scope["spans"]]  # fmt: skip


RAW = spans_of_case()
ESCAPES = RAW[1]["name"]
WIDE_SIGNS = "👨\u200d👩\u200d👧 🇫🇷 e" + "\u0301" * 40 + " 漢字 שלום"
EVIL = (
    ESCAPES
    + MARKUP
    + WIDE_SIGNS
    + "".join(map(chr, [*range(32), *range(127, 160)]))
    + "\u202egnp\u2066\u200b\ud800\u2028"
    + "long" * 99
)
BAD = {chr(code) for code in [*range(32), *range(127, 160)]}
HIDDEN = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200d\u200e\u200f\ufeff\u2028\u2029")


def case_rows() -> list[SpanRow]:
    rows = []
    for seq, raw in enumerate(RAW, 1):
        start, end = (
            int(raw[key]) // 1_000_000 - 1_760_000_000_000 for key in ("startTimeUnixNano", "endTimeUnixNano")
        )
        row = span_row(seq, 1 if seq > 1 else None, "other", raw["name"], start, end)
        rows.append(structs.replace(row, status_code=2 if "message" in raw.get("status", {}) else 0))
    return rows


class HostileDesk(FakeDesk):
    """Names, rows, numbers and mistakes that attack."""

    def names(self) -> SqlNames:
        return SqlNames({EVIL: ((EVIL, EVIL),)}, (EVIL,))

    def ask(self, text: str) -> ResultView:
        if "nope" in text:
            raise SqlError(EVIL, line=1, column=1)
        return result_view([(EVIL, "VARCHAR"), ("j", "JSON")], [(EVIL, json.dumps({EVIL: EVIL}))])

    def numbers(self, by: NumbersBy, trace_ids: Collection[str] | None) -> list[NumbersRow]:
        return [structs.replace(row, name=EVIL) for row in super().numbers("model", trace_ids)]


class HostileSession(FakeSession):
    """Every text that comes from outside is an attack."""

    def __init__(self) -> None:
        traces = [trace_row("a" * 32, EVIL, 0, service=EVIL, source=EVIL),
                  trace_row("b" * 32, EVIL, 1, service=EVIL, source=EVIL, origin_trace_id="a" * 32)]  # fmt: skip
        super().__init__(traces, case_rows())
        self.sql = HostileDesk()
        run = replace(self.call("b" * 32, "1"), origin_trace_id="a" * 32, origin_span_id="1", replay_ended=EVIL,
                      edits=({"path": EVIL, "value": {EVIL: EVIL}},))  # fmt: skip
        self.words = branch_words([run], EVIL)
        self.receiver_status = Status(state="listening", http=EVIL, grpc=EVIL, library=EVIL, problem=EVIL)
        self.issue_rows = [IssueRow(path=EVIL, line=1, reason=EVIL)]
        self.the_plan = replace(PLAN, entry_point=EVIL, sentence=EVIL, warning=EVIL)

    def call(self, trace_id: str, span_id: str) -> Call:
        message = Message(EVIL, (TextPart(EVIL), ToolCallPart(EVIL, EVIL, {EVIL: [EVIL, {EVIL: EVIL}]})), EVIL)
        return Call(
            trace_id=trace_id, span_id=span_id, parent_span_id=None, kind="llm", name=EVIL, start_unix_nano=1,
            end_unix_nano=2, model=EVIL, provider=EVIL, input_messages=(message,), output_messages=(message,),
            arguments=EVIL, result={EVIL: EVIL}, has_result=True, finish_reasons=(EVIL,), lost=EVIL,
            error=ErrorInfo(EVIL, EVIL),
        )  # fmt: skip

    def opening(self, trace_id: str) -> str:
        return opening_of(self.calls(trace_id))

    def conversations(self) -> dict[str, str]:
        return {"a" * 32: EVIL}

    def calls(self, trace_id: str, *_: object) -> list[Call]:
        return [self.call(trace_id, row.span_id) for row in self.span_rows]

    def span(self, trace_id: str, span_id: str) -> list[Span]:
        raw = next(raw for raw in RAW if raw["spanId"].endswith(f"f{int(span_id, 16)}"))
        attributes = {a["key"]: a["value"]["stringValue"] for a in raw.get("attributes", [])}
        return [Span(trace_id=trace_id, span_id=span_id, parent_span_id=None, name=raw["name"], start_unix_nano=1,
                     end_unix_nano=2, status_code=2, status_message=EVIL, attributes=attributes | {EVIL: EVIL},
                     resource={EVIL: {EVIL: EVIL}}, scope_name=EVIL, scope_version=EVIL)]  # fmt: skip

    def state(self, trace_id: str, position: int, since: int | None) -> StateView:
        view = travel_state(trace_id, None, "after")
        frame = replace(view.frames[0], call_id=EVIL, agent_id=EVIL, status=EVIL, memory={EVIL: EVIL}, error=EVIL,
                        notes=(EVIL,), budget=EVIL)  # fmt: skip
        entry = replace(frame.entries[0], name=EVIL, content_hash=EVIL, last=EVIL)
        change = StateChange(call_id=EVIL, agent_id=EVIL, kind="memory", how="changed", what=EVIL, before=EVIL,
                             after=f"{EVIL} {EVIL}")  # fmt: skip
        return StateView(
            position=position,
            snapshot=replace(view, source=EVIL, frames=(replace(frame, entries=(entry,)),)),
            changes=(change,),
            since=since,
            summary=one_line(EVIL),  # the only text that a view model gives as a line
        )

    def replay(
        self,
        job: ReplayJob,
        on_call: Callable[[ReplayCall], None],
        cancelled: Callable[[], bool],
        on_ask: Callable[[Question], Supplied] = stop_here,
    ) -> ReplayReport:
        call = ReplayCall(call_id=EVIL, kind="llm", name=EVIL, status="live")
        on_call(call)
        return replace(same_report(job), calls=(call,), output={EVIL: EVIL}, recorded_output=EVIL, same_output=False,
                       error=EVIL, printed=(EVIL,), fidelity=EVIL)  # fmt: skip


DIFFERS = Difference(part="messages", path=EVIL, recorded=EVIL, actual=EVIL)

PLACES = {
    "list": [],
    "filter": ["slash", "left_square_bracket", "b", "right_square_bracket"],
    "issues": ["i"],
    "conversation": ["enter", "tab", "e"],
    "attributes": ["enter", "2", "tab", "e"],
    "second attributes": ["enter", "down", "2", "tab", "e"],
    "state": ["enter", "down", "a", "e"],
    "question": ["enter", "r"],
    "result": ["enter", "r", "enter", "tab", "e"],
    "toast": ["enter", "down", "down", "p", "p"],
}


def harmless(desk: Desk, size: tuple[int, int]) -> str:
    """All that is on the screen, once it was seen that none of it does anything."""
    shown = strips(desk.app)
    for strip in shown:
        assert not BAD & set(strip.text), f"a control character reached the screen: {strip.text!r}"
        assert not HIDDEN & set(strip.text), f"a hidden character reached the screen: {strip.text!r}"
        assert strip.cell_length == size[0]
        for segment in strip:
            assert segment.style is None or not segment.style.meta.get("@click")
            assert is_sent_as_it_is(segment.style), f"{segment!r} leaves its colour to the terminal"
    return "\n".join(strip.text for strip in shown)


def is_sent_as_it_is(style: Style | None) -> bool:
    """Whether a look needs none of Textual's translations, which the app leaves out: a true colour, and not faint."""
    return style is None or not (style.dim or any(c and c.triplet is None for c in (style.color, style.bgcolor)))


@pytest.mark.parametrize("size", [NARROW, pytest.param(WIDE, marks=pytest.mark.thorough)], ids=["80x24", "160x50"])
def test_nothing_of_the_text_is_obeyed(size):
    async def scene(desk: Desk) -> None:
        for place, keys in PLACES.items():
            await desk.press(*keys)
            seen = ""
            for _ in range(4):
                seen += harmless(desk, size).partition("\n")[2]  # the header names the trace everywhere
                await desk.press("pagedown")
            if place not in ("filter", "toast"):
                assert "[red]not red[/red]" in seen or "]52;c;" in seen, place
            await desk.press(*["escape"] * (place == "filter"))
            await desk.back_to_list()

    drive(HostileSession(), scene, size)


def test_bars_start_in_the_same_column_whatever_the_name():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        hostile = [strip for strip in strips(desk.app)]
        desk.app.pop_screen()
        desk.app.session.span_rows = [structs.replace(row, name="plain") for row in case_rows()]
        await desk.settle()
        await desk.press("enter")
        plain = [strip for strip in strips(desk.app)]
        for y in range(3, 8):
            assert bar_cell(hostile[y]) == bar_cell(plain[y])

    drive(HostileSession(), scene, NARROW)


def bar_cell(strip) -> int:
    """The cell in which the bar of a row starts."""
    for at in range(41, strip.cell_length):
        if strip.crop(at, at + 1).text in "▏▎▍▌▋▊▉█▐":
            return at
    raise AssertionError(f"no bar in {strip.text!r}")


def test_a_name_with_line_breaks_takes_one_row_and_an_empty_one_has_a_stand_in():
    async def scene(desk: Desk) -> None:
        await desk.press("enter")
        assert "(no name)" in desk.screen
        assert "bad utf8 \ufffd\ufffd here" in desk.screen
        assert desk.app.screen.timeline.row_total == 5

    drive(HostileSession(), scene)


def recorded(text: str) -> str:
    """A text as it must be copied: as it was recorded, but for control characters, which are escapes of JSON."""
    keep = ("\n", "\t")
    return "".join(
        json.dumps(c)[1:-1] if (c in BAD and c not in keep) or "\ud800" <= c <= "\udfff" else c for c in text
    )


def test_what_is_copied_is_what_was_recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "2", "tab", "Y")
        page = desk.app.clipboard
        for name, value in ((a["key"], a["value"]["stringValue"]) for a in RAW[0]["attributes"]):
            assert recorded(name) in page
            assert recorded(value) in page
        assert recorded(EVIL) in page
        assert not [mark for mark in ("␛", "␇", "␀", "<U+202E>", "\ufffd") if mark in page]
        assert not (BAD - {"\n", "\t"}) & set(page)
        await desk.press("ctrl+s")
        (written,) = tmp_path.iterdir()
        assert written.read_text("utf-8").rstrip("\n") == page.rstrip("\n")
        await desk.press("slash", Typed("bell"), "enter", "y")
        assert recorded(RAW[0]["attributes"][0]["value"]["stringValue"]) in desk.app.clipboard
        await desk.press("1", "slash", Typed("bell"), "enter", "y")
        assert not (BAD - {"\n", "\t"}) & set(desk.app.clipboard)
        assert "\u202e" in desk.app.clipboard
        assert "<U+" not in desk.app.clipboard

    drive(HostileSession(), scene)


WALK = {
    "groups": ["u"],
    "conversations": ["u"],
    "what a replay is": ["u", "u", "down"],
    "commands": ["colon", "escape"],
    "what a filter is completed with": ["slash", Typed("service:")],
    "numbers": ["escape", "number_sign"],
    "queries and columns": ["escape", "Q", "tab", "tab", "space"],
    "rows": ["escape", Typed("x"), "enter"],
    "a whole row": ["tab", "space"],
    "what a query is completed with": ["escape", "ctrl+u", Typed("from ")],
    "a mistake in SQL": [Typed("nope"), "enter"],
    "compare": ["escape", "escape", "escape", "space", "c"],
    "what differs": ["tab", "e"],
    "pinned": ["escape", "P", "B"],
    "a note is edited": ["E"],
    "the whole conversation": ["escape", "escape", "escape", "enter", "t", "e"],
    "where from": ["escape", "H", "r", "e", "d", "enter"],
    "export": ["escape", "S"],
    "state at the playhead": ["escape", "right_square_bracket"],
    "the question of a replay": ["r"],
    "the replay": ["enter", "home"],
}
"""From one place to the next, on one app."""


def test_nothing_is_obeyed_where_findings_are_made():
    met: set[type] = set()

    async def scene(desk: Desk) -> None:
        for place, keys in WALK.items():
            await desk.press(*keys)
            if place == "queries and columns":
                desk.app.screen._book.save(EVIL, EVIL)
                await desk.press("ctrl+o")
            harmless(desk, WIDE)  # with notices
            desk.app.clear_notifications()
            await desk.settle()
            seen = harmless(desk, WIDE)
            assert "[red]" in seen or "31mRED" in seen, f"{place} does not show the text"
            met.update(type(widget) for widget in desk.app.screen.walk_children() if widget.display)
        desk.app.push_screen(AskScreen(Question(kind="tool", name=EVIL, call_id=EVIL, reason=EVIL, request={EVIL: EVIL},
                                                differences=(DIFFERS,))))  # fmt: skip
        await desk.settle()
        assert "[red]" in harmless(desk, WIDE)

    drive(HostileSession(), scene, WIDE, settings=Settings(problems=(EVIL,)))
    assert drawing() <= met, "each widget that draws text was given the text that attacks"


def drawing() -> set[type]:
    """Our widgets that stand on a screen: all but those that others are made from."""
    found = set()
    for package in (widgets, screens):
        for module in pkgutil.iter_modules(package.__path__):
            inside = vars(importlib.import_module(f"{package.__name__}.{module.name}")).values()
            found.update(each for each in inside if isinstance(each, type) and issubclass(each, Look | SafeArea))
    return {each for each in found if not any(each in other.__bases__ for other in found)}


def test_an_editor_shows_stand_ins_and_keeps_the_text():
    text = f"{ESCAPES}\u202egnp\t{MARKUP}\n" * 12
    answered = []

    async def scene(desk: Desk) -> None:
        desk.app.push_screen(ForkScreen([(EVIL, text)]), answered.append)
        await desk.settle()
        assert "[red]not red[/red]" in harmless(desk, NARROW)
        await desk.press("ctrl+s")
        assert not answered, "nothing was changed"
        # What undoes the whole text makes a scroll bar needless, and needed again.
        await desk.press("ctrl+a", "x", "ctrl+z", "ctrl+y", "ctrl+z", "ctrl+home", "y")
        harmless(desk, NARROW)
        await desk.press("ctrl+s")

    drive(HostileSession(), scene, NARROW)
    assert [edit.value for edits in answered for edit in edits] == ["y" + text]
