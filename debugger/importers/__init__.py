"""Importers: one module per file format, from bytes to spans.

A format is a module with ``name``, ``sniff(head) -> bool`` and ``read(blocks, note)``; adding one is adding a file and
a line in ``FORMATS``. Formats are recognised by content, never by name. Importers know nothing of what spans mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from . import console_json, jaeger_json, otlp_json, otlp_proto, rejelly, zipkin_json
from ._records import Batch, Context, LogRecord, Note, RawLog, RawSpan, is_logs, is_spans
from ._source import Counter, PathNote, Source, iter_files, iter_sources
from ._unknown import looks_like
from ._values import any_value, integer, key_values, load_text, log_record, span_events, span_links
from ._wire import WireError


class Format(Protocol):
    """What a format module offers."""

    name: str
    """For messages to the user."""

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


__all__ = [
    "FORMATS",
    "Batch",
    "Context",
    "Counter",
    "Format",
    "LogRecord",
    "Note",
    "PathNote",
    "RawLog",
    "RawSpan",
    "Source",
    "WireError",
    "any_value",
    "format_of",
    "integer",
    "is_logs",
    "is_spans",
    "iter_files",
    "iter_sources",
    "key_values",
    "load_text",
    "log_record",
    "looks_like",
    "readable_formats",
    "span_events",
    "span_links",
]
