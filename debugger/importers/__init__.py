"""Importers: one module per file format, from bytes to spans.

A format is a module with ``name``, ``growth``, ``sniff(head) -> bool`` and ``read(blocks, note)``; adding one is adding
a file and a line in ``FORMATS``. Formats are recognised by content, never by name. Importers know nothing of what spans
mean.
"""

from __future__ import annotations

from ._follow import Follower, Following
from ._formats import FORMATS, Format, format_of, readable_formats
from ._records import Batch, Context, LogRecord, Note, RawLog, RawSpan, is_logs, is_spans
from ._source import Counter, PathNote, Source, iter_files, iter_sources
from ._unknown import looks_like
from ._values import any_value, earlier_values, integer, key_values, load_text, log_record, span_events, span_links
from ._wire import WireError

__all__ = [
    "FORMATS",
    "Batch",
    "Context",
    "Counter",
    "Follower",
    "Following",
    "Format",
    "LogRecord",
    "Note",
    "PathNote",
    "RawLog",
    "RawSpan",
    "Source",
    "WireError",
    "any_value",
    "earlier_values",
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
