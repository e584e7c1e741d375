"""The store: the only place that knows DuckDB. Rows come out of it, never connections.

The row types are there without DuckDB, since all view models speak of them; the store itself is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rows import IssueRow, LoadProgress, SpanRow, TraceRow

if TYPE_CHECKING:
    from ._store import LoadSummary, Store

__all__ = ["IssueRow", "LoadProgress", "LoadSummary", "SpanRow", "Store", "TraceRow"]


def __getattr__(name: str) -> Any:
    if name not in ("LoadSummary", "Store"):
        raise AttributeError(f"module 'debugger.store' has no attribute {name!r}")
    from . import _store

    return getattr(_store, name)
