"""The tool of all programs here: it writes a line into a file, so that a test can count how often it ran."""

from __future__ import annotations

from pathlib import Path

SYSTEM = "You book tables."
QUESTION = "Book a table in Lyon."
DESCRIPTION = "Book a table."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def book(city: str) -> str:
    """Book a table."""
    with Path("booked.txt").open("a", encoding="utf-8") as file:
        file.write(f"{city}\n")
    return f"booked in {city}"
