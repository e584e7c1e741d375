"""The notebook: what a reader pins and writes, with the span that it is about.

One SQLite table, in a file of its own beside plain traces, in the library's file where a library is read.
Each change is one short transaction on a connection of its own, so that several screens may write.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..errors import StoreError

_WAIT_S: Final = 5.0
_AWAY: Final = "A file that is no notebook can be moved away: the next note begins a new one."
_TABLE: Final = """
create table if not exists note (
    note_id integer primary key autoincrement,
    place real not null,
    kind text not null,
    title text not null,
    body text not null,
    source text not null,
    trace_id text not null,
    span_id text not null,
    made_unix_nano integer not null
)"""
_COLUMNS: Final = "note_id, kind, title, body, source, trace_id, span_id, made_unix_nano"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A finding."""

    note_id: int = 0
    """0 for one that is not kept yet."""
    kind: str
    """``span``, ``text``, ``lineage``, ``page`` or ``note``."""
    title: str
    body: str
    source: str = ""
    """The file or library of the trace, as it is opened again."""
    trace_id: str = ""
    span_id: str = ""
    made_unix_nano: int = 0


class Notebook:
    """All notes of a file or library, in the order in which the user put them.

    Args: path: the SQLite file; it is made with the first note.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None)) as connection:
                connection.execute(_TABLE)
                connection.execute("begin immediate")
                yield connection
                connection.execute("commit")
        except (sqlite3.Error, OSError) as fault:
            raise StoreError(f"{self.path}: the notebook cannot be used ({fault})", hint=_AWAY) from fault

    def notes(self) -> list[Note]:
        """All notes; none where there is no file yet.

        Raises: StoreError: the file cannot be read.
        """
        if not self.path.exists():
            return []
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                known = connection.execute("select 1 from sqlite_master where name = 'note'").fetchall()
                query = f"select {_COLUMNS} from note order by place, note_id"
                return [_note(row) for row in connection.execute(query)] if known else []
        except sqlite3.Error as fault:
            raise StoreError(f"{self.path}: the notebook cannot be read ({fault})", hint=_AWAY) from fault

    def add(self, note: Note) -> int:
        """Keep a note, after all others; its number.

        Raises: StoreError: the file cannot be written.
        """
        with self._open() as connection:
            (last,) = connection.execute("select coalesce(max(place), 0) from note").fetchone()
            texts = map(_storable, (note.kind, note.title, note.body, note.source, note.trace_id, note.span_id))
            row = (last + 1, *texts, time.time_ns())
            made = connection.execute(
                "insert into note (place, kind, title, body, source, trace_id, span_id, made_unix_nano) "
                "values (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            return int(made.lastrowid or 0)

    def edit(self, note_id: int, body: str) -> None:
        """Another text for a note. Raises: StoreError."""
        with self._open() as connection:
            connection.execute("update note set body = ? where note_id = ?", (_storable(body), note_id))

    def delete(self, note_id: int) -> None:
        """Forget a note. Raises: StoreError."""
        with self._open() as connection:
            connection.execute("delete from note where note_id = ?", (note_id,))

    def move(self, note_id: int, by: int) -> None:
        """Change places with the next (1) or previous (-1) note; the last stays last. Raises: StoreError."""
        with self._open() as connection:
            order = connection.execute("select note_id, place from note order by place, note_id").fetchall()
            at = next((i for i, (known, _) in enumerate(order) if known == note_id), None)
            if at is None or not 0 <= at + by < len(order):
                return
            (one, here), (other, there) = order[at], order[at + by]
            connection.execute("update note set place = ? where note_id = ?", (there, one))
            connection.execute("update note set place = ? where note_id = ?", (here, other))


def _note(row: tuple[Any, ...]) -> Note:
    number, kind, title, body, source, trace_id, span_id, made = row
    return Note(note_id=number, kind=kind, title=title, body=body, source=source, trace_id=trace_id, span_id=span_id,
                made_unix_nano=made)  # fmt: skip


def notebook_beside(path: Path) -> Path:
    """Where the notebook of a file or folder lies: hidden, so that a folder that is read does not hold it."""
    return path / ".retrospan-notes" if path.is_dir() else path.with_name(f".{path.name}.retrospan-notes")


def _storable(text: str) -> str:
    """The text with lone surrogates, which a damaged trace may hold and no file can, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
