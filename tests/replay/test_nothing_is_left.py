"""What ends when Retrospan ends: the programs that it started and what these started, also when it was killed.

A process shows that it lives by holding a named pipe open: the reader sees the end of the pipe when the last is gone.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys

import pytest

from debugger.cli import main
from tests.support.repo import ROOT

RETROSPAN = [sys.executable, "-m", "debugger.cli"]
ENV = os.environ | {"PYTHONPATH": str(ROOT)}
LONG_S = 60
"""Never waited for in full while the code is right."""


@pytest.fixture
def alive(tmp_path):
    """The path of a named pipe, and its reading end."""
    path = tmp_path / "alive"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    yield path, reader
    os.close(reader)


def said(reader: int) -> bytes:
    """What comes through the pipe next; nothing at all when its last writer has gone."""
    ready, _, _ = select.select([reader], [], [], LONG_S)
    assert ready, "a process is left that nobody ended"
    return os.read(reader, 100)


def test_what_a_program_started_ends_with_it(tmp_path, alive):
    path, reader = alive
    # A job in the background of a shell does not hear an interrupt, and outlives the shell.
    script = f"exec 9>{path}; (trap '' INT TERM; echo up >&9; sleep 1000) & wait"
    command = [*RETROSPAN, "record", "-o", "t.otlp.jsonl", "--", "sh", "-c", script]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert said(reader) == b"up\n"
    process.send_signal(signal.SIGINT)
    assert said(reader) == b""
    assert process.wait(LONG_S) == 130
    assert (tmp_path / "t.otlp.jsonl").stat().st_size, "what was recorded stays"


def test_an_interrupt_while_the_program_starts_ends_it(tmp_path, alive, monkeypatch):
    path, reader = alive
    start = subprocess.Popen

    def interrupted(*args, **options):
        process = start(*args, **options)
        assert said(reader) == b"up\n"
        signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr("debugger.replay.program.run.subprocess.Popen", interrupted)
    script = f"exec 9>{path}; echo up >&9; sleep 1000"
    assert main(["record", "-o", str(tmp_path / "t.otlp.jsonl"), "--", "sh", "-c", script]) == 130
    assert said(reader) == b""


def test_what_a_program_left_running_ends_though_it_ignores_sigterm(tmp_path, alive, monkeypatch):
    path, reader = alive
    monkeypatch.setattr("debugger.replay.program.run._GRACE_S", 0.01)
    script = f"trap '' TERM; exec 9>{path}; sleep 1000 & echo up >&9"
    assert main(["record", "-o", str(tmp_path / "t.otlp.jsonl"), "--", "sh", "-c", script]) == 0
    assert said(reader) == b"up\n"
    assert said(reader) == b""


def test_an_agent_that_never_yields_ends_when_its_parent_was_killed(tmp_path, alive):
    path, reader = alive
    shutil.copy(ROOT / "sample_traces" / "travel_desk.otlp.jsonl", tmp_path)
    code = f"held = open({str(path)!r}, 'w')\nheld.write('up')\nheld.flush()\nwhile True:\n    pass\n"
    (tmp_path / "travel_desk.py").write_text(code, "utf-8")
    command = [*RETROSPAN, "replay", "travel_desk.otlp.jsonl"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, env=ENV)
    assert said(reader) == b"up"
    process.kill()
    process.wait(LONG_S)
    assert said(reader) == b""
