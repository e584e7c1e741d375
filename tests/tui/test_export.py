"""Exports from the screen: what is written, that nothing is written over unasked, and what is taken out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debugger.errors import DebuggerError
from debugger.store import Store
from debugger.tui.exporting import ExportJob, FileExistsAlreadyError
from debugger.tui.screens.export import ExportScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.store_session import StoreSession
from runtime.snapshot import snapshot_from_json
from tests.tui.driver import NARROW, Desk, drive
from tests.tui.fake_session import FakeSession

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "travel_desk.otlp.jsonl"


def test_the_dialog_asks_what_where_and_whether_a_file_may_be_replaced():
    session = FakeSession()

    async def scene(desk: Desk) -> None:
        await desk.press("enter", "S")
        assert isinstance(desk.app.screen, ExportScreen)
        Path("travel_desk.md").write_text("mine", encoding="utf-8")
        await desk.press("ctrl+t", "ctrl+r")
        assert "travel_desk-2.md" in desk.screen
        assert "secrets are taken out" in desk.screen
        desk.app.screen.area.load_text("travel_desk.md")
        await desk.press("ctrl+s")
        assert "is there already" in desk.screen
        assert session.exports == []
        await desk.press("ctrl+s")
        assert isinstance(desk.app.screen, TraceScreen)
        (job,) = session.exports
        assert (job.what, job.redaction, job.overwrites) == ("conversation", ("secret",), True)
        await desk.press("S")
        desk.app.screen.query_one("TextArea").load_text("no/such/x")
        await desk.press("ctrl+s")
        assert "There is no folder" in desk.screen
        for text in ("x" * 300, "~nobody-of-this-name/x"):
            desk.app.screen.area.load_text(text)
            await desk.press("ctrl+s")
            assert "No file can be written there" in desk.screen
        await desk.press("escape")
        session.fail["export"] = DebuggerError("the disk is full")
        await desk.press("S", "enter")
        assert "the disk is full" in desk.screen
        await desk.press("escape", "t", "S")
        assert desk.app.screen.job.what == "conversation", "from the thread, the conversation is what is proposed"

    drive(session, scene, NARROW)


def test_what_is_written_reads_again(tmp_path):
    with StoreSession([SAMPLE]) as session:
        session.load(lambda _: None, lambda: False)
        (row,) = session.traces()

        def write(what: str, name: str, *rules: str) -> Path:
            job = ExportJob(what=what, path=tmp_path / name, trace_id=row.trace_id, title=row.name, redaction=rules)
            return session.export(job)

        trace = write("trace", "t.otlp.jsonl")
        with pytest.raises(FileExistsAlreadyError):
            write("trace", "t.otlp.jsonl")
        with Store.memory() as store:
            store.load([trace])
            assert [span.span_id for span in store.spans(row.trace_id)] == [
                span.span_id for span in session.spans(row.trace_id)
            ]
        whole = json.loads(write("snapshot", "s.json").read_text("utf-8"))
        assert snapshot_from_json(whole)
        safe = json.loads(write("snapshot", "r.json", "all", "/Lyon/").read_text("utf-8"))
        assert snapshot_from_json(safe)
        assert "Lyon" in json.dumps(whole)
        assert "Lyon" not in json.dumps(safe)
        text = write("conversation", "c.md", "/Lyon/").read_text("utf-8")
        assert "Plan a day in [redacted]" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.md", "r.json", "s.json", "t.otlp.jsonl"]
