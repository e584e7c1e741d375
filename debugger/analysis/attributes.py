"""A span as the producer wrote it: every attribute, event, link, resource and scope, nothing left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.messages import Json, JsonObject, parse_json_text
from runtime.trace import Span

from .document import Builder, Document, Original, Piece, json_lines, json_piece, told
from .text import clock_exact, duration, plural
from .tree import TreeMark

_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUS = ("unset", "ok", "error")


def attributes_document(spans: Sequence[Span], marks: Sequence[TreeMark] = ()) -> Document:
    """All recorded facts of a span; several where different spans came with the same id."""
    out = Builder()
    for mark in marks:
        out.line(Piece(f"! {mark.text}", "warning"))
    for i, span in enumerate(spans):
        if len(spans) > 1:
            out.heading(f"{i + 1} of {len(spans)} spans with this id")
        _span(out, span, f"s{i}")
    if not spans:
        out.line(Piece("This span is not in the store.", "warning"))
    return out.document()


def _span(out: Builder, span: Span, key: str) -> None:
    out.heading("span")
    out.pair("name", span.name, indent=2)
    out.pair("trace id", span.trace_id, indent=2)
    out.pair("span id", span.span_id, indent=2)
    out.pair("parent", span.parent_span_id or "none", indent=2)
    out.pair("kind", _word(_KINDS, span.kind), indent=2)
    style = "error" if span.status_code == 2 else ""
    out.pair("status", _word(_STATUS, span.status_code), style=style, indent=2)  # type: ignore[arg-type]
    if span.status_message:
        out.text(f"{key}.status", span.status_message, style="error", indent=4)
    out.pair("start", clock_exact(span.start_unix_nano), indent=2)
    out.pair("end", "unfinished" if span.end_unix_nano is None else clock_exact(span.end_unix_nano), indent=2)
    if span.start_unix_nano is not None and span.end_unix_nano is not None:
        out.pair("took", duration(span.end_unix_nano - span.start_unix_nano), indent=2)
    _mapping(out, f"{key}.a", "attributes", span.attributes)
    if span.repeated:
        out.line(Piece("! keys that come more than once; their last value is above, these were before it", "warning"),
                 indent=2)  # fmt: skip
    for i, (name, value) in enumerate(span.repeated):
        _pair(out, f"{key}.d{i}", name, value, 2)
    if span.events:
        out.heading(f"events ({len(span.events)})")
    for i, event in enumerate(span.events):
        since = None if span.start_unix_nano is None else event.time_unix_nano - span.start_unix_nano
        when = clock_exact(event.time_unix_nano) if since is None else f"+{duration(since)}"
        out.line(told(event.name, "strong"), Piece(f"  {when}", "dim"), indent=2)
        _pairs(out, f"{key}.e{i}", event.attributes, 4)
    if span.links:
        out.heading(f"links ({len(span.links)})")
    for i, link in enumerate(span.links):
        out.line(told(link.trace_id, before="trace "), told(link.span_id, before=" span "), indent=2)
        _pairs(out, f"{key}.l{i}", link.attributes, 4)
    _mapping(out, f"{key}.r", "resource", span.resource)
    if span.scope_name or span.scope_version:
        out.heading("scope")
        out.pair("name", span.scope_name, indent=2)
        out.pair("version", span.scope_version or "-", indent=2)
    if span.extra:
        _mapping(out, f"{key}.x", "other fields of the input", span.extra)


def _word(words: Sequence[str], code: int) -> str:
    return words[code] if 0 <= code < len(words) else f"unknown ({code})"


def _mapping(out: Builder, key: str, title: str, values: JsonObject) -> None:
    if values:
        out.heading(f"{title} ({len(values)})")
        _pairs(out, key, values, 2)


def _pairs(out: Builder, key: str, values: Mapping[str, Json], indent: int) -> None:
    for i, (name, value) in enumerate(values.items()):
        _pair(out, f"{key}.{i}", name, value, indent)


def _pair(out: Builder, key: str, name: str, value: Json, indent: int) -> None:
    """``name  value`` where the value is short, else the value below its name."""
    label = told(name, "key")
    if isinstance(value, str):
        parsed = parse_json_text(value)
        if isinstance(parsed, dict | list) and parsed:
            out.line(label, Piece(f"  JSON text, {plural(len(value), 'character')}", "dim"), indent=indent)
            out.body(key, json_lines(parsed, indent + 2), Original(value))
        elif "\n" in value or len(value) > 300:
            out.line(label, Piece(f"  {plural(len(value), 'character')}", "dim"), indent=indent)
            out.text(key, value, indent=indent + 2)
        else:
            out.line(label, Piece("  "), told(value, "string", '""'), indent=indent)
    elif isinstance(value, Mapping | list) and value:
        lines = json_lines(value, indent + 2)
        if len(lines) == 1:
            out.line(label, Piece("  "), *lines[0].pieces, indent=indent)
        else:
            out.line(label, indent=indent)
            out.body(key, lines, Original(value))
    elif value is None:
        out.line(label, Piece("  no value", "dim"), indent=indent)
    else:
        out.line(label, Piece("  "), json_piece(value, "number"), indent=indent)
