"""Rules for what the user wants left out of the comparison: ``--ignore dates``, ``ids``, ``/pattern/`` or a path.

Nothing is left out without such a rule. Both sides are masked, the recorded request and the program's, and a match
found in this way counts as inferred. The rules are stored with the run and shown in the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from runtime.journal import AnyRequest
from runtime.messages import Json, Request, message_from_json, message_to_json

from ...errors import ReplayError
from ..redact import check_pattern

_MONTHS: Final = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_NAMED: Final = {
    "dates": re.compile(
        r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
        r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
        rf"|\b(?:{_MONTHS})[a-z]*\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b"
        rf"|\b\d{{1,2}}\.? (?:{_MONTHS})[a-z]*\.? \d{{4}}\b"
        r"|\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AP]M)?\b"
    ),
    "ids": re.compile(
        r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
        r"|\b[0-9A-HJKMNP-TV-Z]{26}\b"
        r"|\b(?=[0-9a-f]*\d)[0-9a-f]{16,64}\b"
    ),
}
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*|-1)\]")
WORDS: Final = "dates, ids, /pattern/, or a path such as messages[0].parts[0].content or arguments.id"

Change = Callable[[AnyRequest], AnyRequest]


def ignoring(rules: Sequence[str]) -> Change | None:
    """What masks the parts that the rules name, in a request; None without rules.

    Raises: ReplayError: a rule is none of the forms.
    """
    patterns: list[tuple[re.Pattern[str], str]] = []
    paths: list[list[str | int]] = []
    for rule in rules:
        if rule in _NAMED:
            patterns.append((_NAMED[rule], f"[{rule}]"))
        elif rule.startswith("/"):
            patterns.append((check_pattern(rule, f"rule ({WORDS})"), "[ignored]"))
        else:
            paths.append(_path(rule))
    if not patterns and not paths:
        return None

    def change(request: AnyRequest) -> AnyRequest:
        data = _masked(_to_json(request), patterns)
        for path in paths:
            data = _without(data, path)
        return _from_json(request, data)

    return change


def _path(rule: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 0
    while at < len(rule):
        found = _STEP.match(rule, at)
        if found is None:
            break
        steps.append(found[1] if found[1] is not None else -2 if found[2] == "*" else int(found[2]))
        at = found.end()
    if at < len(rule) or not steps or steps[0] not in ("messages", "tools", "schema", "model", "arguments"):
        raise ReplayError(f"--ignore {rule!r} is no rule", hint=f"rules are {WORDS}")
    return steps


def _to_json(request: AnyRequest) -> dict[str, Any]:
    if isinstance(request, Request):
        return {
            "messages": [message_to_json(message) for message in request.messages],
            "tools": None if request.tools is None else {tool.name: tool for tool in request.tools},
            "schema": request.output_schema,
            "model": request.model,
        }
    return {"arguments": request.arguments}


def _from_json(request: AnyRequest, data: Mapping[str, Any]) -> AnyRequest:
    if not isinstance(request, Request):
        return replace(request, arguments=data.get("arguments"))
    tools, model, schema = data.get("tools"), data.get("model"), data.get("schema")
    return replace(
        request,
        messages=tuple(map(message_from_json, data.get("messages") or ())),
        tools=tuple(tools.values()) if isinstance(tools, Mapping) else None,
        output_schema=schema if isinstance(schema, Mapping) else None,
        model=model if isinstance(model, str) else None,
    )


def _masked(value: Json, patterns: Sequence[tuple[re.Pattern[str], str]]) -> Json:
    if isinstance(value, str):
        for pattern, mark in patterns:
            value = pattern.sub(mark, value)
        return value
    if isinstance(value, Mapping):
        return {key: item if key == "role" else _masked(item, patterns) for key, item in value.items()}
    return [_masked(item, patterns) for item in value] if isinstance(value, list) else value


def _without(value: Json, path: Sequence[str | int]) -> Json:
    """A copy in which what the path leads to is a mark; the value itself where it leads nowhere."""
    if not path:
        return "[ignored]"
    step, rest = path[0], path[1:]
    if isinstance(step, str) and isinstance(value, Mapping) and step in value:
        if not rest and step in ("messages", "tools", "model", "schema"):
            return {**value, step: None}
        return {**value, step: _without(value[step], rest)}
    if isinstance(step, int) and isinstance(value, list):
        chosen = range(len(value)) if step == -2 else (step % len(value) if step == -1 and value else step,)
        return [_without(item, rest) if n in chosen else item for n, item in enumerate(value)]
    return value
