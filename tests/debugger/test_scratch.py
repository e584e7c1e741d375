"""Temporary folders: gone with their process, and those of killed ones with the next."""

from __future__ import annotations

import os
from functools import cache
from shutil import rmtree

from debugger import scratch
from debugger.scratch import ALIVE, ScratchFolder, process_scratch
from debugger.tui.store_session import StoreSession
from tests.support.repo import ROOT

DESK = ROOT / "sample_traces" / "travel_desk.otlp.jsonl"


def test_what_killed_processes_left_goes_with_the_next_session(monkeypatch, tmp_path):
    process_scratch()  # of all tests: not in this one's folder
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    living = ScratchFolder()
    names = ("scratch-dead", "scratch-young", "scratch-empty", "scratch-cleared", "of-the-user")
    dead, young, empty, cleared, users = (tmp_path / f"retrospan-{name}" for name in names)
    for folder in (dead, young, empty, cleared, users):
        folder.mkdir()
    for folder in (dead, young, users):
        (folder / ALIVE).touch()
    (cleared / "replay-1.otlp.jsonl").touch()
    link = tmp_path / "retrospan-scratch-link"
    link.symlink_to(users)
    for folder in (living.path, dead, empty, cleared, users):
        os.utime(folder, (0, 0))
    with StoreSession([DESK]):
        assert len(list(tmp_path.iterdir())) == 6
    assert set(tmp_path.iterdir()) == {living.path, young, cleared, users, link}
    living.remove()
    assert not living.path.exists()


def test_the_folder_of_the_process_is_made_again_where_it_was_cleared_away(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("debugger.scratch._of_process", cache(ScratchFolder))
    path = process_scratch()
    assert process_scratch() == path
    rmtree(path)
    assert process_scratch().is_dir()
    scratch._of_process().remove()
