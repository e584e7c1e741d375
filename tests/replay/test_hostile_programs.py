"""Replays of programs that attack the process which replays them, and of traces that name more than they may."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from debugger.cli import main
from debugger.errors import EntryPointError, ReplayError
from debugger.replay.entry import named_by_trace, named_by_user
from debugger.replay.model import ReplayJob
from debugger.replay.news import End, read_news
from debugger.replay.printed import Printed
from debugger.replay.recording import Recording
from debugger.replay.run import run_replay
from debugger.store import Store
from runtime.journal import ReplayRow

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
SAMPLE = SAMPLES / "order_watch.otlp.jsonl"

PROGRAM = """
import asyncio, os, signal, subprocess, sys, time
from asyncio import create_subprocess_exec

def descriptors():
    for fd in range(3, 32):
        try:
            os.fstat(fd)
        except OSError:
            continue
        yield fd

def write_all(data):
    for fd in descriptors():
        try:
            os.write(fd, data)
        except OSError:
            pass

async def fine(**given):
    return 1

async def forks(**given):
    if os.fork() == 0:
        signal.pause()
    return 1

async def starts_a_program(**given):
    # It keeps the pipes of the replay open, and runs on.
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], close_fds=False)
    return child.pid

async def writes_json(**given):
    for junk in (b"[1]\\n", b"{}\\n", b'{"type":"row"}\\n', b'{"type":"end","ended":"?"}\\n', b"[" * 100_000 + b"\\n"):
        write_all(junk)
    return 1

async def writes_bytes(**given):
    write_all(b"\\xff\\xfe no line end")
    return 1

async def replaces_json(**given):
    import json
    json.dumps = lambda *a, **k: "nothing"
    os._exit = lambda code: None
    return 1

async def returns_a_huge_number(**given):
    return 10**5000


async def prints_a_flood(**given):
    print("begin")
    for _ in range(2000):
        print("x" * 999)
    print("end")
    return 1

async def fails_at_length(**given):
    raise ValueError("q" * 1_000_000)

async def runs_a_program(**given):
    subprocess.run([sys.executable, "-c", "pass"])

async def runs_a_program_in_the_loop(**given):
    await create_subprocess_exec(sys.executable, "-c", "pass")

async def runs_a_shell(**given):
    os.system("true")

async def becomes_a_program(**given):
    os.execv(sys.executable, [sys.executable, "-c", "pass"])

async def spawns_a_program(**given):
    os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], {})

async def sends_a_message(**given):
    import socket
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendmsg([b"x"], [], 0, ("127.0.0.1", 9))

async def asks_for_a_host(**given):
    import socket
    socket.gethostbyaddr("127.0.0.1")

async def tries_everything(**given):
    said = []
    for attempt in (runs_a_program_in_the_loop, runs_a_shell, becomes_a_program, spawns_a_program, sends_a_message,
                    asks_for_a_host):
        try:
            await attempt()
        except Exception as error:
            said.append([attempt.__name__, f"{type(error).__name__}: {error}"])
        else:
            said.append([attempt.__name__, "was let"])
    return said

def not_async(**given):
    return 1
"""


@pytest.fixture(scope="module")
def recording() -> Recording:
    with Store.memory() as store:
        store.load([SAMPLE])
        trace_id = store.traces()[0].trace_id
        return Recording(trace_id, store.calls(trace_id), [SAMPLE])


@pytest.fixture
def replay(tmp_path: Path, recording: Recording):
    program = tmp_path / "hostile.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")

    def run(name: str, **modes: Any):
        job = ReplayJob(trace_id=recording.trace_id, agent=f"{program}:{name}", **modes)
        return run_replay(recording, job, tmp_path / "replay.jsonl")

    return run


@pytest.mark.parametrize("name", ["fine", "forks", "writes_json", "writes_bytes", "replaces_json"])
def test_what_a_program_does_to_its_descriptors_ends_no_replay(name, replay):
    report = replay(name)
    assert (report.ended, report.output, report.error) == ("done", 1, None)


def test_what_a_program_starts_ends_with_the_replay(replay):
    report = replay("starts_a_program", tools="live")
    assert report.ended == "done"
    # It was killed; its number may still be there for the moment in which that takes effect and init takes it.
    for _ in range(6_000):
        if _state_of(report.output) in "ZX":
            return
        time.sleep(0.01)
    raise AssertionError(f"the program runs on: {_state_of(report.output)!r}")


def _state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def test_a_result_that_json_has_no_text_for_is_named_by_a_text(replay):
    report = replay("returns_a_huge_number")
    assert report.ended == "done"
    assert report.output.startswith("[integer of ")


def test_a_flood_of_output_is_kept_in_bounded_memory(replay):
    report = replay("prints_a_flood")
    assert report.printed[0] == "begin"
    assert report.printed[-1] == "end"
    assert any(line.endswith("bytes left out here]") for line in report.printed)
    assert sum(map(len, report.printed)) < 600_000


def test_a_long_error_is_whole_in_the_report_and_short_in_the_traceback(replay):
    report = replay("fails_at_length")
    assert report.error == "ValueError: " + "q" * 1_000_000
    assert max(map(len, report.traceback)) <= 2001


def test_a_strict_replay_starts_no_program(replay):
    report = replay("runs_a_program")
    assert report.ended == "failed"
    assert "ProgramBlockedError: a strict replay starts no programs" in report.error


def test_every_way_out_is_shut_in_a_strict_replay(replay):
    report = replay("tries_everything")
    said = dict(report.output)
    assert len(said) == 6
    for name in ("sends_a_message", "asks_for_a_host"):
        assert said.pop(name).startswith("NetworkBlockedError")
    assert all(text.startswith("ProgramBlockedError: a strict replay starts no programs") for text in said.values())


def test_what_a_program_may_start_is_decided_by_the_mode_of_tools(replay):
    assert replay("runs_a_program", tools="live").ended == "done"


@pytest.mark.parametrize(
    ("name", "why"),
    [("not_async", "no agent and no async function"), ("Path", "has no agent"), ("time", "has no agent")],
)
def test_only_agents_and_async_functions_are_run(name, why, replay):
    with pytest.raises(EntryPointError, match=why):
        replay(name)


def renamed(tmp_path: Path, entry_point: str) -> Recording:
    """The sample's trace beside the hostile program, naming this function of it."""
    (tmp_path / "hostile.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    text = SAMPLE.read_text(encoding="utf-8").replace("order_watch.py:order_watch", entry_point)
    trace = tmp_path / "t.jsonl"
    trace.write_text(text, encoding="utf-8")
    with Store.memory() as store:
        store.load([trace])
        trace_id = store.traces()[0].trace_id
        return Recording(trace_id, store.calls(trace_id), [trace])


def test_a_trace_cannot_run_what_its_program_only_imports(tmp_path):
    recording = renamed(tmp_path, "hostile.py:create_subprocess_exec")
    with pytest.raises(EntryPointError, match="only imported there"):
        run_replay(recording, ReplayJob(trace_id=recording.trace_id), tmp_path / "r.jsonl")
    # What is written in the file runs, and the user may name anything.
    own = renamed(tmp_path, "hostile.py:fine")
    assert run_replay(own, ReplayJob(trace_id=own.trace_id), tmp_path / "r.jsonl").output == 1
    assert named_by_trace("hostile.py:fine", own.sources).named_by_trace
    assert not named_by_user(f"{tmp_path / 'hostile.py'}:fine").named_by_trace


@pytest.mark.parametrize("name", ["a" * 300 + ".py:f", "a\0b.py:f", "\ud800.py:f", "../x.py:f", "/etc/x.py:f", ".:f"])
def test_names_that_no_file_can_have_are_no_entry_points(name, tmp_path):
    with pytest.raises(EntryPointError):
        named_by_trace(name, [tmp_path / "t.jsonl"])


@pytest.mark.parametrize("name", ["~nobody-of-that-name/x.py:f", "a" * 300 + ".py:f"])
def test_the_user_is_told_of_a_name_that_leads_nowhere(name):
    with pytest.raises(EntryPointError):
        named_by_user(name)


@pytest.mark.parametrize(
    "line",
    [b"", b"[1]", b"5", b"{}", b'{"type":"row"}', b'{"type":"row","row":{"call_id":1}}', b"\xff", b"[" * 100_000,
     b'{"type":"row","row":{"call_id":"a","kind":"llm","name":"n","status":"odd"}}', b'{"type":"end","ended":"odd"}',
     b'{"type":"end","ended":"done","error":5}', b'{"type":"end","ended":"diverged","divergence":{"kind":"llm"}}'],
)  # fmt: skip
def test_what_is_no_message_is_passed_over(line):
    assert read_news(line) is None


def test_messages_are_read_whole():
    row = {"call_id": "a", "kind": "llm", "name": "n", "status": "hit", "origin_span_id": None, "content_hash": "h"}
    assert read_news(json.dumps({"type": "row", "row": row}).encode()) == ReplayRow(**row)
    end = read_news(b'{"type":"end","ended":"failed","error":{"type":"E","message":"m"},"output":{"a":[NaN]}}')
    assert isinstance(end, End)
    assert end.error.message == "m"


def test_the_beginning_and_the_end_of_what_was_printed_are_kept():
    printed = Printed(most=10)
    for piece in (b"one\r\n", b"two\n", b"x" * 100, b"\nlast\n"):
        printed.add(piece)
    assert printed.lines() == ("one", "two", "x", "[95 bytes left out here]", "xxxx", "last")
    assert Printed().lines() == ()


def test_a_trace_that_cannot_be_written_is_said(tmp_path, capsys):
    if not Path("/dev/full").exists():
        pytest.skip("the system has no full device")
    assert main(["replay", str(SAMPLE), "-o", "/dev/full"]) == 2
    out = capsys.readouterr()
    assert "/dev/full: the replay's own trace could not be written (No space left on device)" in out.err
    assert "the agent printed" not in out.err
    assert "the replay's own trace:" not in out.out


def test_a_trace_that_the_program_removes_is_a_fault_of_the_trace_alone(tmp_path, recording):
    trace = tmp_path / "replay.jsonl"
    program = tmp_path / "removes.py"
    program.write_text(
        f"import pathlib\nasync def f(**given):\n    for each in pathlib.Path({str(tmp_path)!r}).glob('.*.part'):\n"
        "        each.unlink()\n    return 1\n"
    )
    job = ReplayJob(trace_id=recording.trace_id, agent=f"{program}:f")
    report = run_replay(recording, job, trace)
    assert (report.ended, report.output, report.trace_path) == ("done", 1, None)
    assert report.trace_fault


@pytest.mark.parametrize("command", ["replay", "snapshot"])
@pytest.mark.parametrize("named", ["file", "folder", "link"])
def test_the_recording_is_never_overwritten(command, named, tmp_path, capsys):
    trace = tmp_path / "order_watch.otlp.jsonl"
    shutil.copy(SAMPLE, trace)
    link = tmp_path / "link"
    link.symlink_to(trace)
    output = link if named == "link" else trace
    source = tmp_path if named == "folder" else trace
    assert main([command, str(source), "-o", str(output)]) == 2
    assert "the input was read from there" in capsys.readouterr().err
    assert trace.read_bytes() == SAMPLE.read_bytes()


def test_a_replay_refuses_the_recording_as_its_own_file(tmp_path):
    trace = tmp_path / "t.jsonl"
    shutil.copy(SAMPLE, trace)
    own = renamed(tmp_path, "hostile.py:fine")
    before = trace.read_bytes()
    with pytest.raises(ReplayError, match="is the recording itself"):
        run_replay(own, ReplayJob(trace_id=own.trace_id), trace)
    assert trace.read_bytes() == before


def test_a_recorded_output_that_is_no_json_is_compared_all_the_same(tmp_path, capsys):
    def with_output(span: dict[str, object], value: str) -> None:
        for pair in span["attributes"]:
            if pair["key"] == "retrospan.output":
                pair["value"] = {"stringValue": value}

    for value in ('{"a": NaN}', '{"a": ' + "[" * 500 + "]" * 500 + "}"):
        documents = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
        for document in documents:
            for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                with_output(span, value)
        trace = tmp_path / "t.jsonl"
        trace.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
        assert main(["replay", str(trace), "--json"]) == 1
        report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert (report["ended"], report["same_output"]) == ("done", False)


@pytest.mark.skipif(sys.platform != "linux", reason="the descriptors of a process are listed by Linux alone")
def test_no_descriptor_is_left_open(replay):
    replay("fine")
    before = len(list(Path("/proc/self/fd").iterdir()))
    replay("forks")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
