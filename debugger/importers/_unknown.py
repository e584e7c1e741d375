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
        return "JSON that is no trace"
    if b"\x00" in head or sum(byte < 9 for byte in head[:1000]) > 10:
        return "binary data"
    return "plain text"
