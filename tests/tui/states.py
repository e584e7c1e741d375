"""Every screen and dialog in every state that it can be seen in: with data, without, in error, while it waits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from debugger.errors import StoreError
from debugger.replay.model import Difference, ReplayJob, ReplayReport
from debugger.store.notebook import Note
from debugger.store.rows import IssueRow
from debugger.tui.screens.editor import AskScreen
from runtime.journal import Question
from runtime.messages import Call, Message, TextPart
from tests.tui.driver import Desk, Typed
from tests.tui.fake_session import PLAN, T0, TRAVEL, FakeSession, diverged_report, same_report, travel_call

FAULT = StoreError("the segment is damaged", hint="load the file again")


@dataclass(frozen=True)
class State:
    """How a screen comes into a state."""

    keys: Sequence[str] = ()
    """Pressed on the list of traces, or where the state before was seen."""
    given: Mapping[str, object] = field(default_factory=dict)
    """What the session has otherwise, as long as the state is seen."""
    fails: str = ""
    """What the session cannot do meanwhile."""
    prepare: Callable[[Desk], None] | None = None
    """Done before the keys."""
    until: str = ""
    """Words that are seen while something still runs, which goes on once the gate opens."""
    stays: bool = False
    """It begins where the state before was seen."""


def session() -> FakeSession:
    """The made-up traces, with notes on their input."""
    made = FakeSession()
    made.issue_rows = [
        IssueRow(path="travel.jsonl", line=7, reason="half a value"),
        IssueRow(path="travel.jsonl", line=1_200, reason="a clock that runs backwards; the order of the file counts"),
        IssueRow(path="poller.jsonl", line=None, reason="3 spans have no end"),
    ]
    return made


def failed_report(job: ReplayJob) -> ReplayReport:
    """A replay whose agent raised."""
    report = same_report(job)
    error = "Traceback (most recent call last):\n  File \"travel.py\", line 41, in desk\nKeyError: 'museum'"
    calls = (*report.calls[:2], replace(report.calls[2], status="error"))
    return replace(report, ended="failed", same_output=False, output=None, error=error, calls=calls,
                   printed=("planning…", "booking…"))  # fmt: skip


def cut_report(job: ReplayJob) -> ReplayReport:
    """A replay that came to its cut."""
    return replace(same_report(job), ended="past_cut", same_output=None, output=None)


def quiet_report(job: ReplayJob) -> ReplayReport:
    """A replay that called nothing and left no trace."""
    return replace(same_report(job), same_output=False, output=None, calls=(), trace_id=None, trace_path=None,
                   saved_nano_usd=None, saved_ns=0)  # fmt: skip


def write_notes(desk: Desk) -> None:
    """A notebook with a note of every kind."""
    about = {"source": "travel.jsonl", "trace_id": "a" * 32, "span_id": TRAVEL[4].span_id}
    long = "The answer names a museum that the tool never confirmed, since its booking had failed before. " * 3
    for note in (
        Note(kind="span", title="chat gpt-4o-mini", body="", **about),
        Note(kind="text", title="result of book_museum", body="booking service returned 503\nsecond try: the same",
             **about),
        Note(kind="lineage", title="where “Musée des Beaux-Arts” came from", body="1 the answer\n2 the tool", **about),
        Note(kind="page", title="state after chat gpt-4o-mini", body="memory: 2 keys", **about),
        Note(kind="note", title="a note of your own", body=long),
    ):  # fmt: skip
        desk.app.session.notebook.add(note)
    with sqlite3.connect(desk.app.session.notebook.path) as connection:
        connection.execute("update note set made_unix_nano = ?", (T0,))
    connection.close()


def spoil_notes(desk: Desk) -> None:
    """A notebook that is no notebook."""
    Path("notes").write_text("no database", encoding="utf-8")


def ask(desk: Desk) -> None:
    """A call of a running replay wants an answer."""
    differs = Difference(part="arguments", path="arguments.day", recorded="2026-05-04", actual="2026-05-05")
    question = Question(kind="tool", name="book_museum", call_id="root/tool:book_museum:1", differences=(differs,),
                        reason="its arguments differ from the nearest recorded call", proposal={"booked": True},
                        request={"museum": "Musée des Beaux-Arts", "day": "2026-05-05"})  # fmt: skip
    desk.app.push_screen(AskScreen(question))


def differing(trace_id: str, *_: object) -> list[Call]:
    """A replay that asked another model, got another answer, and made no call after it."""
    calls = [travel_call(row) for row in TRAVEL]
    if trace_id == "a" * 32:
        return calls
    answer = Message("assistant", (TextPart("It rains in Lyon, so the day begins in the museum."),))
    return [calls[0], replace(calls[1], model="gpt-4.1-mini", output_messages=(answer,))]


def no_calls(*_: object) -> list[Call]:
    """A trace in which nothing was called."""
    return []


def cannot(desk: Desk) -> None:
    """Numbers cannot be counted any more."""

    def fail(*_: object) -> None:
        raise FAULT

    desk.app.session.sql.numbers = fail


STATES: dict[str, dict[str, State]] = {
    "traces": {
        "list": State(),
        "list-empty": State(given={"rows": []}),
        "list-none-shown": State(["slash", Typed("service:nowhere"), "enter"]),
        "list-mistake": State(["slash", Typed("tokens"), ">", "x"]),
        "list-completion": State(["escape", "slash", Typed("ser")], stays=True),
        "list-groups": State(["escape", "u", "space", "down", "down", "space"], stays=True),
        "list-error": State(fails="traces"),
    },
    "trace": {
        "trace": State(["enter", *["down"] * 4]),
        "trace-empty": State(["enter"], {"span_rows": []}),
        "trace-error": State(["enter"], fails="spans"),
        "trace-critical": State(["enter", "down", "C"]),
        "trace-matches": State(["slash", Typed("lyon kind:llm"), "enter", "f"], stays=True),
        "trace-no-match": State(["slash", "ctrl+u", Typed("nowhere"), "enter"], stays=True),
        "trace-mistake": State(["slash", "ctrl+u", Typed("kind"), Typed(":lm")], stays=True),
        "attributes": State(["escape", "2"], stays=True),
        "request": State(["4"], stays=True),
        "events": State(["5"], stays=True),
        "request-none": State(["enter", "4"]),
        "snapshot": State(["enter", "down", "down", "a"]),
        "snapshot-changed": State(["right_square_bracket"], stays=True),
        "no-state": State(["enter", "b"]),
        "detail-error": State(["enter", "down", "tab"], fails="call"),
    },
    "thread": {
        "thread": State(["enter", "t"]),
        "thread-empty": State(["enter", "t"], {"span_rows": []}),
        "thread-error": State(["enter", "t"], fails="calls"),
    },
    "lineage": {
        "lineage-asks": State(["enter", "H"]),
        "lineage": State([*"museum", "enter"], stays=True),
        "lineage-none": State(["p", *"nowhere", "enter"], stays=True),
        "lineage-error": State(["p", *"museum", "enter"], fails="calls", stays=True),
    },
    "compare": {
        "compare-same": State(["space", "c"]),
        "compare-differs": State(["c"], {"calls": differing}),
        "compare-difference": State(["n", "f", "tab"], {"calls": differing}, stays=True),
        "compare-empty": State(["c"], {"calls": no_calls}),
        "compare-error": State(["c"], fails="calls"),
    },
    "question": {
        "question": State(["enter", "down", "b", "r"]),
        "question-whole": State(["w", "m", "o", "o"], stays=True),
        "question-impossible": State(["escape", "escape", "r"], {"the_plan": replace(
            PLAN, problem="The trace names no program.", entry_point=None)}, stays=True),
        "question-error": State(["escape", "r"], fails="plan", stays=True),
    },
    "replay": {
        "replay-same": State(["enter", "r", "enter"]),
        "replay-diverged": State(["escape", "r", "enter"], {"make_report": diverged_report}, stays=True),
        "replay-failed": State(["escape", "r", "enter"], {"make_report": failed_report}, stays=True),
        "replay-empty": State(["escape", "r", "enter"], {"make_report": quiet_report}, stays=True),
        "replay-error": State(["escape", "r", "enter"], fails="replay", stays=True),
        "replay-running": State(["escape", "r", "enter"], until="running…", stays=True),
        "replay-cancelled": State(["escape"], stays=True),
        "replay-past-cut": State(["escape", "down", "a", "r", "enter"], {"make_report": cut_report}, stays=True),
    },
    "notebook": {
        "notebook-empty": State(["B"]),
        "notebook": State(["B"], prepare=write_notes),
        "notebook-error": State(["B"], prepare=spoil_notes),
    },
    "query": {
        "sql-empty": State(["Q"]),
        "sql": State([Typed("from calls"), "enter"], stays=True),
        "sql-row": State(["space"], stays=True),
        "sql-error": State(["escape", "escape", Typed(" nope"), "enter"], stays=True),
        "sql-none": State(["ctrl+u", Typed("from calls where false"), "enter"], stays=True),
        "sql-queries": State(["ctrl+o"], stays=True),
    },
    "numbers": {
        "numbers": State(["number_sign"]),
        "numbers-empty": State(["right"], stays=True),
        "numbers-error": State(["right"], prepare=cannot, stays=True),
    },
    "help": {"help": State(["enter", "question_mark"])},
    "issues": {
        "issues": State(["i"]),
        "issues-empty": State(["i"], {"issue_rows": []}),
    },
    "palette": {
        "palette": State(["enter", "colon"]),
        "palette-search": State([Typed("export")], stays=True),
    },
    "export": {
        "export": State(["enter", "S"]),
        "export-changed": State(["ctrl+t", "ctrl+r", "ctrl+r"], stays=True),
        "export-no-folder": State(["ctrl+u", Typed("no/such/x"), "enter"], stays=True),
        "export-error": State(["escape", "S", "enter"], fails="export", stays=True),
    },
    "fork": {
        "fork": State(["enter", "down", "E"]),
        "fork-changed": State([Typed("Be brief. ")], stays=True),
    },
    "note": {
        "note-empty": State(["B", "a"]),
        "note": State([Typed("Ask why the museum is named.")], stays=True),
    },
    "name": {
        "name": State(["Q", Typed("select 1"), "ctrl+s"]),
        "name-needed": State(["enter"], stays=True),
    },
    "branch name": {"branch-name": State(["enter", "r", "n"])},
    "file": {
        "file": State(["Q", Typed("from calls"), "enter", "ctrl+e"]),
        "file-ending": State(["ctrl+u", Typed("rows.xls"), "enter"], stays=True),
    },
    "ask": {"ask": State(prepare=ask)},
}  # fmt: skip
"""By screen and by the name of what is seen; the names of screens are those of ``test_keys``, and of the dialogs."""
