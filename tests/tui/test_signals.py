"""A signal that ends the screen, and a terminal that is closed under it."""

from __future__ import annotations

import os
import pty
import signal
from functools import partial
from pathlib import Path

import pytest

from debugger.cli import main
from debugger.commands import screen
from debugger.scratch import process_scratch
from debugger.tui.app import RetrospanApp
from debugger.tui.terminal import LastingFile, TerminalDriver

DESK = Path(__file__).resolve().parents[2] / "sample_traces" / "travel_desk.otlp.jsonl"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_the_screen_as_the_user_would_and_asks_nothing(monkeypatch, tmp_path, number, code):
    process_scratch()  # of all tests: not in this one's folder
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    before = signal.getsignal(number)
    run, ended = RetrospanApp.run_async, []

    async def killed(_pilot):
        assert list(tmp_path.glob("retrospan-scratch-*"))
        os.kill(os.getpid(), number)

    async def run_async(app):
        ended.append(await run(app, headless=True, auto_pilot=killed))

    monkeypatch.setattr(RetrospanApp, "run_async", run_async)
    assert main([str(DESK)]) == code
    assert ended == [None], "the app came to its own end"
    assert list(tmp_path.glob("retrospan-scratch-*")) == []
    assert signal.getsignal(number) == before


def test_a_signal_before_the_app_runs_ends_it_too(monkeypatch, tmp_path):
    process_scratch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    monkeypatch.setattr("debugger.tui.settings.read_settings", lambda _path: os.kill(os.getpid(), signal.SIGTERM))
    assert main([str(DESK)]) == 143
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_to_a_closed_terminal_goes_nowhere_and_is_told():
    controller, terminal = pty.openpty()
    told = []
    with os.fdopen(terminal, "w", encoding="utf-8", buffering=1) as file:
        lasting = LastingFile(file, partial(told.append, "gone"))
        lasting.write("seen")
        lasting.flush()
        assert os.read(controller, 99) == b"seen"
        assert told == []
        os.close(controller)
        assert lasting.write("lost\n") == 5
        assert told == ["gone"]
        lasting.write("lost as well")
        lasting.flush()
    assert told == ["gone"], "closing the file did not fail either"


def test_the_app_draws_through_the_driver_that_stands_a_closed_terminal(monkeypatch):
    monkeypatch.setattr("textual.constants.DRIVER", None)
    assert RetrospanApp.get_driver_class(RetrospanApp.__new__(RetrospanApp)) is TerminalDriver
    monkeypatch.setattr("textual.constants.DRIVER", "textual.drivers.web_driver:WebDriver")
    assert RetrospanApp.get_driver_class(RetrospanApp.__new__(RetrospanApp)) is not TerminalDriver
