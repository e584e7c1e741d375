"""An OpenTelemetry span as data, kept verbatim: what importers yield and what our writers write."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..messages import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """A timestamped event on a span."""

    name: str
    time_unix_nano: int
    attributes: JsonObject = field(default_factory=dict)
    extra: JsonObject = field(default_factory=dict)
    """Other fields of the input (dropped counts), as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLink:
    """A link to a span, possibly of another trace."""

    trace_id: str
    span_id: str
    attributes: JsonObject = field(default_factory=dict)
    extra: JsonObject = field(default_factory=dict)
    """Other fields of the input (trace state, flags, dropped counts), as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span. Attribute values are decoded: text, bool, int, float, list, dict, bytes or None."""

    trace_id: str
    """32 lower-case hex digits."""
    span_id: str
    """16 lower-case hex digits."""
    parent_span_id: str | None
    name: str
    kind: int = 1
    """OTLP SpanKind: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer."""
    start_unix_nano: int | None
    """None where the producer wrote no time (0)."""
    end_unix_nano: int | None
    """None = unfinished (missing or 0)."""
    status_code: int = 0
    """0 unset, 1 ok, 2 error."""
    status_message: str = ""
    attributes: JsonObject = field(default_factory=dict)
    """A repeated key keeps its last value here."""
    repeated: tuple[tuple[str, Json], ...] = ()
    """Earlier values of keys that come more than once, in their order."""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    resource: JsonObject = field(default_factory=dict)
    scope_name: str = ""
    scope_version: str = ""
    extra: JsonObject = field(default_factory=dict)
    """Fields of the input that have no place above (trace state, flags, dropped counts), as they were.

    Those of the resource and the scope begin with ``resource`` and ``scope`` (``scopeAttributes``), and the schema's
    address of the scope is ``schemaUrl``.
    """

    def attribute(self, key: str, default: Json = None) -> Json:
        """The attribute, or the default where it is absent."""
        return self.attributes.get(key, default)
