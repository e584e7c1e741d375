"""Every screen test runs in the same surroundings, whatever is set outside."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

GOLDEN = Path(__file__).parent.parent / "golden" / "tui"

_parsed: dict[tuple[object, ...], list[RuleSet]] = {}
"""The rules of all style sheets met so far, by their text and variables."""


@pytest.fixture(autouse=True)
def style_sheets_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every app parses the same style sheets, several times over, which costs a third of its start."""
    parse = Stylesheet._parse_rules

    def parse_once(sheet: Stylesheet, *given: Any, **named: Any) -> list[RuleSet]:
        key = (given, *sorted(named.items()), *sorted(sheet._variables.items()))
        if key not in _parsed:
            _parsed[key] = parse(sheet, *given, **named)
        return _parsed[key]

    monkeypatch.setattr(Stylesheet, "_parse_rules", parse_once)


@pytest.fixture(autouse=True)
def same_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("debugger.analysis.text.this_year", lambda zone=None: 2025)
    for name in list(os.environ):
        if name == "NO_COLOR" or (name.startswith("TEXTUAL") and not name.startswith("TEXTUAL_SNAPSHOT")):
            monkeypatch.delenv(name)
    # The tests draw once all has come to rest; sixty times a second besides is what a busy machine makes of it.
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", 1.0)
    # A notice goes away after some seconds, which may be before a busy machine comes to look at it.
    monkeypatch.setattr("debugger.tui.app.RetrospanApp.NOTIFICATION_TIMEOUT", 3600)
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
