"""JSON that a length limit cut off: what can still be shown of it.

The OpenTelemetry SDKs cut attribute values at a configured length, in the middle of JSON. The start is good JSON with
open brackets; closing them gives back all that was complete.
"""

from __future__ import annotations

import re
from typing import Any, Final

from runtime.messages import read_json

_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s"{}\[\],:]+|"')
_CLOSERS: Final = {"{": "}", "[": "]"}


def mend_cut_json(text: str) -> Any:
    """The value of a JSON text that ends too early, without its incomplete tail; None if it is no such text.

    A text that was cut inside a string keeps the part of the string that is there, when it is the value of a key.
    """
    stack: list[str] = []
    good_ends: list[tuple[int, str]] = []
    after_key = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSERS:
            stack.append(_CLOSERS[token])
        elif token in ("}", "]"):
            if not stack or stack.pop() != token or not stack:
                return None  # wrong brackets, or whole and then more: not cut, but no JSON
        elif token == '"':
            if after_key:
                good_ends.append((len(text), '"' + "".join(reversed(stack))))
            break
        after_key = token == ":"
        if token not in (",", ":"):
            good_ends.append((match.end(), "".join(reversed(stack))))
    # From the longest prefix down: a bare key or half a word at the end makes the longer ones invalid.
    for end, closing in reversed(good_ends[-6:]):
        body = text[:end]
        for candidate in (body + closing, re.sub(r"\\u?[0-9a-fA-F]{0,3}$", "", body) + closing):
            try:
                return read_json(candidate)
            except (ValueError, RecursionError):
                continue
    return None
