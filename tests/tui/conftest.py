"""Every screen test runs in the same surroundings, whatever is set outside."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "golden" / "tui"


@pytest.fixture(autouse=True)
def same_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("debugger.analysis.text.this_year", lambda zone=None: 2025)
    for name in list(os.environ):
        if name == "NO_COLOR" or (name.startswith("TEXTUAL") and not name.startswith("TEXTUAL_SNAPSHOT")):
            monkeypatch.delenv(name)
    # Pictures must not change with the version of a price list.
    monkeypatch.setattr("debugger.analysis.prices._installed", lambda: None)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def golden() -> Golden:
    return Golden()


class Golden:
    """Compares text with a file; ``UPDATE_GOLDENS=1`` writes the file instead."""

    def check(self, name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("UPDATE_GOLDENS"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; UPDATE_GOLDENS=1 accepts the change"
