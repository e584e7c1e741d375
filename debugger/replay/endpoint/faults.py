"""Recorded failures as they go over the wire: status, type and body, as far as the recording tells.

SDKs word their exceptions ``Error code: 429 - {body}``; instrumentations record class and text of that. The recorder
writes the same words, with the status as the type: then each attempt of the SDK was recorded for itself.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import ErrorInfo
from runtime.models.wire import error_facts

from .speaking import Fault

MISS_STATUS: Final = 400
"""No SDK tries again after it."""

_SDK_TEXT: Final = re.compile(r"(?:status_code: |Error code: )(\d{3})\b(?:,[^{]*| - )?(.*)$", re.DOTALL)
_RETRY_AFTER: Final = re.compile(r"^Error code: \d{3}, retry-after ([!-~][ -~]{0,60}?) - ")
"""As ``error_of_answer`` writes it."""
_CLASSES: Final[dict[str, int]] = {
    "badrequest": 400,
    "authentication": 401,
    "permissiondenied": 403,
    "notfound": 404,
    "timeout": 408,
    "conflict": 409,
    "requesttoolarge": 413,
    "unprocessableentity": 422,
    "contextwindow": 400,
    "ratelimit": 429,
    "overloaded": 529,
    "internalserver": 500,
    "serviceunavailable": 503,
    "connection": 503,
}
"""Parts of class names, for errors whose text tells no status. A lost connection is told as a server that is down."""


def recorded_fault(error: ErrorInfo) -> Fault:
    """The failure that a recorded error was."""
    found = _SDK_TEXT.search(_innermost(error.message))
    body = _body_of(found[2]) if found else None
    attempt = error.type.isdigit() and len(error.type) == 3
    status = int(error.type) if attempt else int(found[1]) if found else _status_of_class(error.type)
    word, text = error_facts(body)
    waits = _RETRY_AFTER.search(error.message) if attempt else None
    return Fault(
        retry_after=waits[1] if waits else None,
        status=status if 400 <= status <= 599 else 500,
        type=word or error.type.rpartition(".")[2],
        message=text or (found[2] if found and found[2] and body is None else error.message),
        body=body,
        may_retry=attempt,
    )


def error_of_answer(status: int, body: bytes, retry_after: str | None = None) -> ErrorInfo:
    """A failed answer of a real endpoint, worded so that ``recorded_fault`` gives it again."""
    text = body[:100_000].decode("utf-8", "replace")
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        text = text[:2000]
    waits = f", retry-after {retry_after}" if retry_after else ""
    return ErrorInfo(str(status), f"Error code: {status}{waits} - {text}")


def _innermost(message: str) -> str:
    """The SDK's words in a text that a framework wrote around them, also inside a dictionary as Python prints it."""
    start = message.find("{")
    if _SDK_TEXT.match(message) or start < 0:
        return message
    try:
        waiting = [ast.literal_eval(message[start:].strip())]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return message
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, str) and _SDK_TEXT.match(value):
            return value
    return message


def _status_of_class(name: str) -> int:
    lower = name.lower().replace("_", "")
    return next((status for part, status in _CLASSES.items() if part in lower), 500)


def _body_of(text: str) -> Mapping[str, Any] | None:
    """The body in the text of an exception: JSON, or a dictionary as Python prints it."""
    start = text.find("{")
    if start < 0:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            body = read(text[start:].strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(body, Mapping):
            # Some SDKs show the inner object alone.
            return body if "error" in body else {"error": dict(body)}
    return None
