"""What a file looks like that no importer reads: one line that helps, instead of a traceback."""

from __future__ import annotations

from typing import Final

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x7fELF", "a program"),
)
_DUCKDB_OFFSET: Final = 8
_OF_PRODUCTS: Final = (
    ((b'"run_type"', b'"dotted_order"'), "runs exported by LangSmith, which are no OpenTelemetry spans"),
    ((b'"run_type"', b'"child_run'), "runs exported by LangSmith, which are no OpenTelemetry spans"),
    ((b'"traceId"', b'"parentObservationId"'), "observations exported by Langfuse, which are no OpenTelemetry spans"),
    ((b'"context.span_id"', b'"span_kind"'), "a table of spans exported by Phoenix, not OTLP"),
    ((b'"ml_app"',), "LLM spans of Datadog, which are no OpenTelemetry spans"),
    ((b'"traceEvents"',), "a trace of the Chrome browser"),
    ((b'"log"', b'"creator"', b'"entries"'), "a recording of a browser's requests (HAR)"),
    (
        (b'"choices"', b'"finish_reason"'),
        "answers of a model's API without spans; `retrospan record` records a program's",
    ),
    ((b'"role"', b'"content"'), "a conversation without spans"),
)
"""By keys that stand in the first bytes. Their owners can send the same data over OTLP, which is what is read."""


_OTHER_JSON: Final = "JSON that is no trace"
_TEXT: Final = "plain text"


def is_text(head: bytes) -> bool:
    """Whether the first bytes are of a text, which may become a trace as it grows."""
    words = looks_like(head)
    return words in (_OTHER_JSON, _TEXT) or words in (product for _, product in _OF_PRODUCTS)


def looks_like(head: bytes) -> str:
    """A noun phrase for the first bytes of a file."""
    if not head:
        return "nothing (empty)"
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return words
    if head[_DUCKDB_OFFSET : _DUCKDB_OFFSET + 4] == b"DUCK":
        return "a DuckDB database"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        return "a file of white space"
    if text[:1] in (b"{", b"["):
        return next((words for keys, words in _OF_PRODUCTS if all(key in text for key in keys)), _OTHER_JSON)
    if b"\x00" in head or sum(byte < 9 for byte in head[:1000]) > 10:
        return "binary data"
    return _TEXT
