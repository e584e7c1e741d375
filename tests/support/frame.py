"""The screen of a running app as lines of text, as a person would read it."""

from __future__ import annotations

from textual.app import App
from textual.strip import Strip


def strips(app: App[object]) -> list[Strip]:
    """Every line of the screen as it would be painted."""
    return app.screen._compositor.render_strips()


def frame(app: App[object]) -> str:
    """The screen as text; trailing spaces are cut so that editors leave goldens alone."""
    return "\n".join(strip.text.rstrip() for strip in strips(app)) + "\n"
