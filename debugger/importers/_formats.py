"""The formats that are read, and what tells them apart: the first bytes of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, Protocol, TypeAlias

from . import console_json, jaeger_json, otlp_json, otlp_proto, rejelly, zipkin_json
from ._records import Batch, Note

Growth: TypeAlias = Literal["lines", "values", "whole"]
"""How a file of a format grows: by lines or by JSON values that mean something by themselves, or only as a whole."""


class Format(Protocol):
    """What a format module offers."""

    name: str
    """For messages to the user."""
    growth: Growth
    """What a reader that follows the file may read by itself."""

    def sniff(self, head: bytes) -> bool:
        """Whether the first bytes of a file are of this format."""

    def read(self, blocks: Iterable[bytes], note: Note) -> Iterator[Batch]:
        """The spans and log records; whatever is wrong with the input goes to ``note``."""


FORMATS: tuple[Format, ...] = (otlp_json, rejelly, console_json, jaeger_json, zipkin_json, otlp_proto)
"""In the order in which they are asked."""


def format_of(head: bytes) -> Format | None:
    """The format of a file by its first bytes; None if nothing here reads it."""
    return next((form for form in FORMATS if form.sniff(head)), None)


def readable_formats() -> str:
    """What can be read, as words for a message."""
    return ", ".join(form.name for form in FORMATS) + " (plain, gzip, zip or zstd)"
