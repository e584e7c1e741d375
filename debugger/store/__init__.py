"""The store: the only place that knows DuckDB. Rows come out of it, never connections.

The row types are there without DuckDB, since all view models speak of them; the store itself is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._begin import begin
from .rows import IssueRow, LoadProgress, SpanRow, TraceRow

if TYPE_CHECKING:
    from ._console import Column, Console, SqlSchema
    from ._database import collector_off
    from ._store import LoadSummary, Store, console_over
    from .library import Library, LibrarySummary

__all__ = [
    "Column",
    "Console",
    "IssueRow",
    "Library",
    "LibrarySummary",
    "LoadProgress",
    "LoadSummary",
    "SpanRow",
    "SqlSchema",
    "Store",
    "TraceRow",
    "collector_off",
    "console_over",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        begin()
    if name in ("LoadSummary", "Store", "console_over"):
        from . import _store

        return getattr(_store, name)
    if name == "collector_off":
        from ._database import collector_off

        return collector_off
    if name in ("Column", "Console", "SqlSchema"):
        from . import _console

        return getattr(_console, name)
    if name in ("Library", "LibrarySummary"):
        from . import library

        return getattr(library, name)
    raise AttributeError(f"module 'debugger.store' has no attribute {name!r}")
