"""What every importer hands on: spans whose wide parts are still text, and what was odd about the input.

The wide parts (attributes, events, links, resource, scope) stay OTLP/JSON text, word for word where the input is
OTLP/JSON: nothing can be lost on the way to the store, and nothing is decoded that nobody has asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeGuard

Scalar: TypeAlias = str | bool | int | float | None
"""A value that is text, a number or a truth value; None for all others."""


class Context(NamedTuple):
    """What many spans share; equal contexts are stored once."""

    resource: str = "{}"
    """OTLP/JSON text of the resource object."""
    scope: str = "{}"
    """OTLP/JSON text of the scope object."""
    extra: str | None = None
    """JSON object of the schema URLs and of unknown fields around resource and scope; None where there are none."""


class RawSpan(NamedTuple):
    """A span as the importers yield it. Ids and times are normalised, texts are not decoded."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: int
    start_unix_nano: int | None
    end_unix_nano: int | None
    status_code: int
    status_message: str
    attributes: str
    """OTLP/JSON text of the list of key-value pairs; repeated keys stay."""
    events: str | None
    links: str | None
    extra: str | None
    """JSON object of the fields that have no place above; None where there are none."""
    context: Context
    values: Mapping[str, Scalar] | None = None
    """The attributes' values, where the reader has them at hand anyway; None where they are only in the text."""


class RawLog(NamedTuple):
    """A log record as the importers yield it, for the span that it names."""

    trace_id: str | None
    span_id: str | None
    event_name: str
    """Empty for a record that is no event."""
    time_unix_nano: int | None
    """When it happened, or was seen where that is not recorded."""
    severity: int
    body: str | None
    """OTLP/JSON text of the body, an AnyValue."""
    attributes: str
    """OTLP/JSON text of the list of key-value pairs."""
    extra: str | None
    context: Context


Batch: TypeAlias = Sequence[RawSpan] | Sequence[RawLog]
"""What an importer yields at a time: all of one kind."""


def is_logs(batch: Batch) -> TypeGuard[Sequence[RawLog]]:
    """Whether a batch holds log records; an empty one holds none."""
    return bool(batch) and isinstance(batch[0], RawLog)


def is_spans(batch: Batch) -> TypeGuard[Sequence[RawSpan]]:
    """Whether a batch holds spans."""
    return not is_logs(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """A log record with its values decoded."""

    event_name: str
    time_unix_nano: int | None
    severity: int = 0
    body: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    scope_name: str = ""


Note: TypeAlias = Callable[[int | None, str, bool], None]
"""``note(line, reason, skipped)``: something odd. ``skipped`` tells lost input from input that was still read."""
