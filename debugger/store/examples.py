"""Queries to begin with: one file each, whose first line says what it answers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def example_queries() -> tuple[tuple[str, str], ...]:
    """What each answers, and its text."""
    folder = files(__package__) / "sql" / "examples"
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    out = []
    for file in found:
        title, _, text = file.read_text(encoding="utf-8").partition("\n")
        out.append((title.removeprefix("--").strip(), text.strip()))
    return tuple(out)
