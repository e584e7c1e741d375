"""The library under many processes, and under kill -9."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.repo import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the program forks")


def run(*words: object) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.debugger.library_program", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("number", [6, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_load_that_is_killed_leaves_the_library_whole(number: int, tmp_path: Path) -> None:
    found = run("kill", tmp_path, number, 7)
    assert found["before"] + found["after"] == number
    assert found["before"], "some moments come before anything counts"


def test_many_processes_load_and_read_at_once(tmp_path: Path) -> None:
    assert run("crowd", tmp_path) == {"traces": 4}
