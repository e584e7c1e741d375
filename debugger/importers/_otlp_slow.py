"""The slow road of OTLP/JSON: a line that the typed decode refuses, read with all leniency.

Bad UTF-8 and lone surrogates become U+FFFD, snake_case names become camelCase, unknown fields are kept, several values
on a line are told apart. What comes out are the same records as on the fast road.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from ._ids import NO_PARENT, normal_id
from ._lines import depth_after
from ._records import Context, Note, RawLog, RawSpan
from ._times import stored_time
from ._values import integer

ENUM_KINDS: Final = {
    f"SPAN_KIND_{word}": number
    for number, word in enumerate(("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"))
}
"""Kinds by their protobuf name, as generic protobuf-to-JSON printers write them."""
ENUM_SEVERITY: Final = {
    f"SEVERITY_NUMBER_{word}{step or ''}": 4 * place + (step or 1)
    for place, word in enumerate(("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"))
    for step in (0, 2, 3, 4)
}
ENUM_STATUS: Final = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}

REQUEST_START: Final = re.compile(r'\{\s*"resource_?(?:[Ss]pans|[Ll]ogs)"')
"""Where a request begins."""
_LONE: Final = re.compile("[\ud800-\udfff]")
_SNAKE: Final = re.compile(r"_([a-z])")
_MAX_DEPTH: Final = 400
_PLACED: Final = frozenset(
    (
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "events",
        "links",
        "status",
    )
)
_LOG_PLACED: Final = frozenset(
    (
        "traceId",
        "spanId",
        "eventName",
        "timeUnixNano",
        "severityNumber",
        "body",
        "attributes",
    )
)
_NOT_READ: Final = {"resourceMetrics": "metrics are not read"}
_WRAPPERS: Final = ("result", "trace")
"""Objects around a request in answers of query APIs (Jaeger 3, Tempo 2)."""
_DECODER: Final = json.JSONDecoder()


def bad_id(text: str, size_bytes: int) -> str:
    """The reason for an id that is none."""
    return f"{text[:40]!r} is no id of {size_bytes * 2} hex digits"


def parse_lenient(data: bytes, line: int, note: Note, restart: re.Pattern[str] | None = None) -> Iterator[Any]:
    """The JSON values in a piece of input, with what is not Unicode replaced; faults are noted as skipped.

    Args: restart: where the next value may begin after one that was cut off.
    """
    text = data.decode("utf-8", "replace")
    replaced = text.count("\ufffd") > data.count("\ufffd".encode())
    position, end = 0, len(text)
    while position < end:
        while position < end and text[position] in " \t\r\n":
            position += 1
        if position == end:
            break
        try:
            if text[position] not in "{[":
                raise ValueError
            value, position = _DECODER.raw_decode(text, position)
        except RecursionError:
            note(line, "nested too deeply", True)
            break
        except ValueError:
            rest = text[position:]
            note(line, _fault(rest), True)
            # A writer that was killed leaves half a request; the next one begins on the same line.
            torn = restart.search(text, position + 1) if restart is not None else None
            if torn is None:
                break
            position = torn.start()
            continue
        clean, lone = _clean(value)
        replaced = replaced or lone
        yield clean
    if replaced:
        note(line, "bytes that are not Unicode, shown as U+FFFD", False)


def _fault(text: str) -> str:
    if text[:1] not in ("{", "["):
        return "not JSON"
    return "ends in the middle" if depth_after(text.encode("utf-8", "replace")) > 0 else "not JSON"


def _clean(value: Any, depth: int = 0) -> tuple[Any, bool]:
    """The value without lone surrogates and without numbers that JSON does not have; and whether text was changed."""
    if isinstance(value, str):
        return (_LONE.sub("\ufffd", value), True) if _LONE.search(value) else (value, False)
    if isinstance(value, float) and not math.isfinite(value):
        return ("NaN" if value != value else "Infinity" if value > 0 else "-Infinity"), False
    if depth > _MAX_DEPTH:
        return "[nested too deeply]", False
    if isinstance(value, list):
        items = [_clean(item, depth + 1) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if isinstance(value, dict):
        pairs = [(_clean(key), _clean(item, depth + 1)) for key, item in value.items()]
        return {key[0]: item[0] for key, item in pairs}, any(key[1] or item[1] for key, item in pairs)
    return value, False


def _camel(value: Any) -> Any:
    """An object's own keys in camelCase; not those of what it holds."""
    if not isinstance(value, dict):
        return {}
    return {_SNAKE.sub(lambda m: m[1].upper(), key): item for key, item in value.items()}


def records_of(value: Any, line: int, note: Note) -> tuple[list[RawSpan], list[RawLog]]:
    """The spans and log records of a request, or of a list of requests."""
    spans: list[RawSpan] = []
    logs: list[RawLog] = []
    for request in value if isinstance(value, list) else [value]:
        fields = _request(request)
        for key, reason in _NOT_READ.items():
            if key in fields:
                note(line, reason, True)
        if "resourceSpans" in fields:
            spans.extend(_resource_spans(fields["resourceSpans"], line, note))
        if "resourceLogs" in fields:
            logs.extend(_resource_logs(fields["resourceLogs"], line, note))
        if fields.keys().isdisjoint(_KNOWN):
            note(line, "no OTLP request", True)
    return spans, logs


_KNOWN: Final = frozenset(("resourceSpans", "resourceLogs", *_NOT_READ))


def _request(value: Any) -> dict[str, Any]:
    """The fields of a request, out of the wrappers and other names that query APIs give it."""
    fields: dict[str, Any] = _camel(value)
    for key in _WRAPPERS:
        inner: dict[str, Any] = _camel(fields.get(key))
        if "resourceSpans" in inner:
            return inner
    if "batches" in fields and "resourceSpans" not in fields:
        fields["resourceSpans"] = fields.pop("batches")
    return fields


def _objects(value: Any, what: str, line: int, note: Note) -> Iterator[dict[str, Any]]:
    if value is not None and not isinstance(value, list):
        note(line, f"{what} is no list", True)
        return
    for item in value or []:
        if isinstance(item, dict):
            yield _camel(item)
        else:
            note(line, f"an item of {what} is no object", True)


def _resource_spans(value: Any, line: int, note: Note) -> Iterator[RawSpan]:
    for outer in _objects(value, "resourceSpans", line, note):
        old_groups = outer.pop("instrumentationLibrarySpans", None)
        groups = outer.pop("scopeSpans", old_groups)
        resource = _holder(outer.pop("resource", None))
        for inner in _objects(groups, "scopeSpans", line, note):
            scope = _holder(inner.pop("scope", None) or inner.pop("instrumentationLibrary", None))
            spans = inner.pop("spans", None)
            extra = {f"resource{key[:1].upper()}{key[1:]}": item for key, item in outer.items()} | inner
            extra = {key: item for key, item in extra.items() if item not in ("", None)}
            context = Context(resource, scope, _dump(extra) if extra else None)
            for fields in _objects(spans, "spans", line, note):
                raw = _span(fields, context, line, note)
                if raw is not None:
                    yield raw


def _resource_logs(value: Any, line: int, note: Note) -> Iterator[RawLog]:
    for outer in _objects(value, "resourceLogs", line, note):
        groups = outer.pop("scopeLogs", outer.pop("instrumentationLibraryLogs", None))
        resource = _holder(outer.pop("resource", None))
        for inner in _objects(groups, "scopeLogs", line, note):
            scope = _holder(inner.pop("scope", None) or inner.pop("instrumentationLibrary", None))
            records = inner.pop("logRecords", None)
            context = Context(resource, scope, None)
            for fields in _objects(records, "logRecords", line, note):
                yield _log(fields, context, line, note)


def _log(fields: dict[str, Any], context: Context, line: int, note: Note) -> RawLog:
    ids = []
    for key, size in (("traceId", 16), ("spanId", 8)):
        fixed, good = normal_id(fields.get(key), size)
        if not good and fixed:
            note(line, bad_id(fixed, size), False)
        ids.append(fixed)
    extra = {key: item for key, item in fields.items() if key not in _LOG_PLACED and item not in ("", None)}
    attributes = _key_values(fields.get("attributes"))
    time = _time(fields.get("timeUnixNano"), line, note)
    body = fields.get("body")
    return RawLog(
        ids[0],
        ids[1],
        _event_name(fields, attributes),
        time if time is not None else _time(fields.get("observedTimeUnixNano"), line, note),
        _enum(fields, "severityNumber", ENUM_SEVERITY, line, note),
        _dump(_any_value(body)) if isinstance(body, dict) and body else None,
        _dump(attributes),
        _dump(extra) if extra else None,
        context,
    )


def _event_name(fields: dict[str, Any], attributes: list[Any]) -> str:
    """The record's own field, or the attribute that older producers write."""
    name = fields.get("eventName")
    if isinstance(name, str) and name:
        return name
    for pair in attributes:
        if isinstance(pair, dict) and pair.get("key") == "event.name" and isinstance(pair.get("value"), dict):
            value = pair["value"].get("stringValue")
            return value if isinstance(value, str) else ""
    return ""


def _holder(value: Any) -> str:
    """A resource or scope with its attributes in camelCase."""
    fields = _camel(value)
    if "attributes" in fields:
        fields["attributes"] = _key_values(fields["attributes"])
    return _dump(fields)


def _span(fields: dict[str, Any], context: Context, line: int, note: Note) -> RawSpan | None:
    ids = []
    for key, size in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
        fixed, good = normal_id(fields.get(key), size)
        if not good and fixed:
            note(line, bad_id(fixed, size), False)
        ids.append(fixed)
    if ids[0] is None or ids[1] is None:
        note(line, "a span without ids", True)
        return None
    extra = {key: item for key, item in fields.items() if key not in _PLACED and item not in ("", None)}
    for key in ("attributes", "events", "links"):
        if fields.get(key) is not None and not isinstance(fields[key], list):
            note(line, f"{key} is no list", False)
            extra[key] = fields[key]
    name = fields.get("name", "")
    status = _camel(fields.get("status"))
    return RawSpan(
        ids[0],
        ids[1],
        ids[2] if ids[2] != NO_PARENT else None,
        name if isinstance(name, str) else str(name),
        _enum(fields, "kind", ENUM_KINDS, line, note),
        _time(fields.get("startTimeUnixNano"), line, note),
        _time(fields.get("endTimeUnixNano"), line, note),
        _enum(status, "code", ENUM_STATUS, line, note),
        status["message"] if isinstance(status.get("message"), str) else "",
        _dump(_key_values(fields.get("attributes"))),
        _inner(fields.get("events")),
        _inner(fields.get("links")),
        _dump(extra) if extra else None,
        context,
    )


def _inner(items: Any) -> str | None:
    """Events or links as text, in camelCase."""
    if not isinstance(items, list) or not items:
        return None
    out = [_camel(item) for item in items]
    for item in out:
        if "attributes" in item:
            item["attributes"] = _key_values(item["attributes"])
    return _dump(out)


def _key_values(pairs: Any) -> list[Any]:
    if not isinstance(pairs, list):
        return []
    return [pair | {"value": _any_value(pair.get("value"))} if isinstance(pair, dict) else pair for pair in pairs]


def _any_value(value: Any) -> Any:
    fields = _camel(value)
    for kind in ("arrayValue", "kvlistValue"):
        inner = fields.get(kind)
        if isinstance(inner, dict) and isinstance(inner.get("values"), list):
            items = inner["values"]
            fields[kind] = {"values": [_any_value(i) for i in items] if kind == "arrayValue" else _key_values(items)}
    return fields


def _enum(fields: dict[str, Any], key: str, names: dict[str, int], line: int, note: Note) -> int:
    """One of few numbers, which JSON may also give as its name."""
    value = fields.get(key)
    if value in (None, ""):
        return 0
    if isinstance(value, str) and value in names:
        return names[value]
    number = integer(value)
    if number is not None and 0 <= number < 100:
        return number
    note(line, f"{key} is none that OpenTelemetry has", False)
    return 0


def _time(value: Any, line: int, note: Note) -> int | None:
    if value in (None, 0, "0", ""):
        return None
    time = integer(value)
    if time is None:
        note(line, "a time that is no count of nanoseconds", False)
    return stored_time(time, line, note)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
