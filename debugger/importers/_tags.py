"""What Jaeger and Zipkin write as tags and OpenTelemetry has fields for: kind, status, scope.

Source: OpenTelemetry specification, transformation to non-OTLP formats.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ._encode import to_text, unicode_text

_KINDS: Final = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_STATUS: Final = {"OK": 1, "ERROR": 2}


class Placed(NamedTuple):
    """The fields that were among the tags, and the tags that are left: the span's attributes."""

    kind: int
    status_code: int
    status_message: str
    scope: str
    attributes: dict[str, Any]


def placed(tags: dict[str, Any], kind: str | None = None) -> Placed:
    """Take the fields out of the tags. Args: kind: where it is a field of its own."""
    rest = dict(tags)
    kind = kind or _text(rest.pop("span.kind", None)) or ""
    code = _STATUS.get((_text(rest.pop("otel.status_code", None)) or "").upper(), 0)
    message = _text(rest.pop("otel.status_description", None)) or ""
    error = rest.get("error")
    if code == 2 and error in (True, "true"):
        rest.pop("error")
    elif code == 0 and error not in (None, False, "false", ""):
        code = 2
        rest.pop("error")
        message = message or (error if isinstance(error, str) and error != "true" else "")
    elif code == 2 and isinstance(error, str) and not message:
        message = error
        rest.pop("error")
    scope: dict[str, str] = {}
    for field, keys in (("name", ("otel.scope.name", "otel.library.name")), ("version", _VERSIONS)):
        for key in keys:
            value = _text(rest.pop(key, None))
            if value:
                scope.setdefault(field, unicode_text(value))
    return Placed(_KINDS.get(kind.lower(), 0), code, message, to_text(scope), rest)


_VERSIONS: Final = ("otel.scope.version", "otel.library.version")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def padded(value: Any, digits: int) -> Any:
    """An id whose leading zeros were left out, with them; anything else as it is."""
    if isinstance(value, str) and 0 < len(value) < digits:
        return value.rjust(digits, "0")
    return value
