"""The commands on the library: what they print, what they take, and how they fail."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from debugger.analysis.progress import progress_text
from debugger.cli import main
from debugger.commands._progress import Progress
from debugger.store import LoadProgress
from tests.support.repo import ROOT

SAMPLES = ROOT / "sample_traces"
TRAVEL = "d47eb1c4fe5a0c5b5021b22b2d59a511"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RETROSPAN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def said(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert main(list(map(str, words))) == code
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    return json.loads(said(capsys, *words, code=code))


def test_an_empty_library_says_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["list", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert "the library is empty; `retrospan load FILE`" in err
    export = ["export-test", "-o", str(tmp_path / "test_it.py")]
    for words in (["snapshot"], ["replay"], ["show"], ["show", "--trace", "abcd"], export):
        assert main(words) == 2
        assert "the library is empty" in capsys.readouterr().err


def test_reading_makes_no_library(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    for words, code in ((["list"], 0), (["library", "info"], 2), (["library", "rebuild"], 2), (["snapshot"], 2)):
        assert main(words) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1
        assert "`retrospan load FILE`" in err
    assert not home.exists()


def test_a_file_is_named_as_it_was_given(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("traces").mkdir()
    good = (SAMPLES / "order_watch.otlp.jsonl").read_bytes()
    Path("traces", "a.jsonl").write_bytes(good + b"{broken\n")
    assert main(["load", "traces"]) == 0
    assert "skipped: traces/a.jsonl line" in capsys.readouterr().err
    assert document(capsys, "load", "./traces/a.jsonl", "--json")["known"] == ["./traces/a.jsonl"]
    Path("traces", "b.jsonl").write_bytes(b"")
    assert main(["load", "traces/b.jsonl"]) == 2
    assert "no spans in traces/b.jsonl (empty)" in capsys.readouterr().err


def test_what_was_loaded_is_read_without_a_path(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    path = SAMPLES / "travel_desk.otlp.jsonl"
    found = document(capsys, "load", path, SAMPLES / "order_watch.otlp.jsonl", "--json")
    assert found["library"] == str(home / "library")
    assert (found["spans"], found["traces"], found["known"], found["cancelled"]) == (27, 2, [], False)
    assert document(capsys, "load", path, "--json")["known"] == [str(path)]
    both = [path, SAMPLES / "order_watch.otlp.jsonl"]
    assert document(capsys, "list", "--json") == document(capsys, "list", *both, "--json")
    for command in ("show", "snapshot"):
        from_library = document(capsys, command, "--trace", "d47e", "--json")
        from_file = document(capsys, command, path, "--json")
        for each in (from_library, from_file):
            for volatile in ("timestamp", "processId"):
                each.pop(volatile, None)
        assert from_library == from_file
    report = document(capsys, "replay", "--trace", "d47e", "--json")
    assert (report["ended"], report["same_output"]) == ("done", True)


def test_a_trace_of_the_library_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "load", SAMPLES)
    assert document(capsys, "sql", "select * from issues", "--json") == [], "the README beside traces is no fault"
    for words in (["show"], ["snapshot"], ["replay"]):
        assert main(words) == 2
        assert "--trace" in capsys.readouterr().err


def test_log_records_that_come_before_their_span_are_kept_for_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "hello?"}}]}}
    ids = {"traceId": "ab" * 16, "spanId": "cd" * 8}
    record = ids | {"timeUnixNano": "5", "eventName": "gen_ai.user.message", "body": body}
    chat = ids | {"name": "chat m", "startTimeUnixNano": "4", "endTimeUnixNano": "9"}
    chat["attributes"] = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
    logs, spans = tmp_path / "logs.jsonl", tmp_path / "spans.jsonl"
    logs.write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}))
    spans.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [chat]}]}]}))
    assert said(capsys, "load", logs).startswith("loaded 1 log record, read with their spans once those are there in ")
    said(capsys, "load", spans)
    (call,) = document(capsys, "show", "--trace", "abab", "--json")["traces"][0]["calls"]
    assert call["input_messages"][0]["parts"][0]["content"] == "hello?"


def test_removing_and_rebuilding(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    copy = tmp_path / "travel.jsonl"
    copy.write_bytes((SAMPLES / "travel_desk.otlp.jsonl").read_bytes())
    said(capsys, "load", copy, SAMPLES / "order_watch.otlp.jsonl")
    assert said(capsys, "library", "remove", "c4ec").startswith("removed 1 trace;")
    assert main(["library", "remove", "c4ec"]) == 2
    capsys.readouterr()
    copy.unlink()
    found = document(capsys, "library", "rebuild", "--json")
    assert found["missing"] == [str(copy)]
    assert [row["trace_id"] for row in document(capsys, "list", "--json")] == [TRAVEL]
    info = document(capsys, "library", "info", "--json")
    assert (info["traces"], info["segments"], info["missing_files"]) == (1, 1, [str(copy)])
    text = said(capsys, "library", "info")
    assert "traces     1 (14 spans)" in text
    assert "gone       1 file; the library keeps what they brought" in text
    said(capsys, "load", SAMPLES / "order_watch.otlp.jsonl")
    assert len(document(capsys, "list", "--json")) == 2


def test_another_library_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, home: Path) -> None:
    other = tmp_path / "other"
    said(capsys, "load", SAMPLES / "travel_desk.otlp.jsonl", "--library", other)
    assert len(document(capsys, "list", "--json", "--library", other)) == 1
    assert not home.exists()
    assert main(["list", "x.jsonl", "--library", str(other)]) == 2
    assert "PATH and --library" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["README.md", "nosuch.jsonl"])
def test_nothing_to_load_is_an_error(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["load", str(ROOT / name)]) == 2
    assert name in capsys.readouterr().err


def test_skipped_lines_are_said_and_strict_makes_them_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes((SAMPLES / "travel_desk.otlp.jsonl").read_bytes() + b"not JSON\n")
    assert main(["load", "--strict", str(path)]) == 1
    assert "1 line skipped" in capsys.readouterr().err
    assert len(document(capsys, "list", "--json")) == 1


def test_ctrl_c_stops_a_load_and_keeps_what_is_complete(home: Path) -> None:
    words = [sys.executable, "-m", "debugger.cli", "load", str(SAMPLES / "travel_desk.otlp.jsonl"), "-"]
    line = (SAMPLES / "order_watch.otlp.jsonl").read_bytes().splitlines(keepends=True)[0]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        try:
            # A pipe holds far less: when this is written, the file before it has been read.
            child.stdin.write(line * (1_000_000 // len(line)))
            child.send_signal(signal.SIGINT)
            for _ in range(100):
                child.stdin.write(line * (1_000_000 // len(line)))
        except BrokenPipeError:
            pass
        out, err = child.communicate(timeout=300)
    assert child.returncode == 130, err
    assert out.startswith(b"loaded 14 spans of 1 trace in ")
    assert b"the same command goes on" in err
    assert b"Traceback" not in err


def test_progress_says_rate_and_what_is_left() -> None:
    half = LoadProgress(path="x", bytes_done=500, bytes_total=1_000, spans=10_000)
    assert progress_text(half, 0.1) == "reading: 50 % of 1000 B, 10,000 spans"
    assert progress_text(half, 5.0) == "reading: 50 % of 1000 B, 10,000 spans, 2,000 spans/s, 6 s left"


def test_progress_says_nothing_of_what_is_left_while_nobody_knows() -> None:
    first = LoadProgress(path="x", bytes_done=1, bytes_total=1_000, spans=6)
    assert [progress_text(first, seconds) for seconds in (2.0, 4.0, 30.0)] == [
        "reading: 0 % of 1000 B, 6 spans",
        "reading: 0 % of 1000 B, 6 spans, 2 spans/s",
        "reading: 0 % of 1000 B, 6 spans, 0 spans/s, 8 h 19 m left",
    ]


def test_progress_without_a_terminal_is_plain_lines_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 5.0, 11.0, 12.0, 22.0])
    progress = Progress(is_plain=True, clock=lambda: next(times))
    for spans in range(4):
        progress(LoadProgress(path="x", bytes_done=0, bytes_total=None, spans=spans))
    progress.clear()
    err = capsys.readouterr().err
    assert err.splitlines() == ["retrospan: reading: 1 span, 0 spans/s", "retrospan: reading: 3 spans, 0 spans/s"]
