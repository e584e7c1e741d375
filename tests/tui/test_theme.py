"""Both themes can be read: every colour of a text on everything that it is drawn on."""

from __future__ import annotations

import re

import pytest
from textual.color import Color
from textual.theme import Theme

from debugger.tui.theme import DARK, LIGHT
from tests.support.frame import strips
from tests.tui.driver import Desk, drive
from tests.tui.fake_session import FakeSession

GROUNDS = {"cursor", "cursor-blurred", "scrollbar", "scrollbar-background"}
READABLE = 4.5
"""Contrast that the Web Content Accessibility Guidelines (2.2, 1.4.3) ask of text."""
SEEN = 1.4
"""Of lines that only guide the eye."""


def contrast(one: Color, other: Color) -> float:
    """The ratio of two relative luminances, as the guidelines define it."""
    dark, light = sorted(_luminance(color) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_every_text_can_be_read_wherever_it_stands(theme: Theme):
    grounds = [theme.background, theme.surface, theme.panel, theme.variables["cursor"]]
    grounds.append(theme.variables["cursor-blurred"])
    for name, colour in {**theme.variables, "foreground": theme.foreground}.items():
        for ground in grounds if name not in GROUNDS else ():
            ratio = contrast(Color.parse(colour), Color.parse(ground))
            assert ratio >= (SEEN if name == "line" else READABLE), f"{name} on {ground}: {ratio:.2f}"


def test_without_colours_no_colour_is_sent_and_the_carets_are_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")

    async def scene(desk: Desk) -> None:
        seen = []
        for keys in (("slash", "x", "backspace"), ("escape", "enter"), ("r",), ("escape", "ctrl+p"), ("escape", "Q")):
            await desk.press(*keys)
            sent = "".join(strip.render(desk.app.console) for strip in strips(desk.app))
            codes = {int(code) for found in re.findall(r"\x1b\[([0-9;]*)m", sent) for code in found.split(";") if code}
            assert codes <= set(range(10)), f"{keys}: only looks, no colours"
            seen.append(7 in codes)
        assert seen == [True, False, False, True, True], "a caret or a choice is reversed"

    drive(FakeSession(), scene)
