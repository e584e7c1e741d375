"""The store: the only place that knows DuckDB. Rows come out of it, never connections."""

from ._store import LoadSummary, Store
from .rows import IssueRow, LoadProgress, SpanRow, TraceRow

__all__ = ["IssueRow", "LoadProgress", "LoadSummary", "SpanRow", "Store", "TraceRow"]
