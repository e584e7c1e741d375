"""The JSON of the commands, a contract. ASCII only, so that nothing in a trace can act on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from runtime.messages import message_to_json

if TYPE_CHECKING:
    from runtime.messages import Call, Message

    from ..store import IssueRow, TraceRow


def dump(value: Any, indent: int | None = None) -> str:
    """The value as JSON text; what JSON does not have (NaN, bytes) as text, and what is too deep cut off."""
    from ..store.result_files import dump as written

    return written(value, indent)


_NOT_ASCII: Final = re.compile("[\x7f-\U0010ffff]+")
_DEEPEST: Final = 200
"""Levels that are opened; what lies below is written as one piece, which cuts off what is too deep."""
_LARGE: Final = frozenset(("root", "children", "journal", "prompt", "tool", "value"))
"""Parts of a snapshot that have a member for every call."""


def compact(value: Any) -> str:
    """What is JSON already (a call, a message, a snapshot) as text in ASCII, without spaces.

    Cost: a fourth of ``dump``, which also writes what is none: NaN would be null here.
    """
    from msgspec import json as fast

    try:
        return _ascii(fast.encode(value))
    except (TypeError, ValueError, RecursionError):  # a lone surrogate, nested too deep
        return dump(value)


def _ascii(encoded: bytes) -> str:
    text = encoded.decode()
    if text.isascii() and "\x7f" not in text:
        return text
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


def indented(value: Any, level: int = 0, *, opens: bool = False) -> Iterator[str]:
    """What is JSON already as the text of ``dump(value, indent=2)``, call by call: one text is as large as the trace.

    Args: opens: whether the members are opened, whatever their names.
    """
    if not isinstance(value, dict) or not value or level >= _DEEPEST:
        yield _piece(value, level)
        return
    opening = "{\n"
    for key, item in value.items():
        yield f"{opening}{'  ' * (level + 1)}{json.dumps(key)}: "
        if opens or key in _LARGE:
            yield from indented(item, level + 1, opens=key == "children")
        else:
            yield _piece(item, level + 1)
        opening = ",\n"
    yield f"\n{'  ' * level}}}"


def _piece(value: Any, level: int) -> str:
    from msgspec import json as fast

    try:
        text = _ascii(fast.format(fast.encode(value), indent=2))
    except (TypeError, ValueError, RecursionError):
        text = dump(value, indent=2)
    return text.replace("\n", "\n" + "  " * level)  # in texts a line break is written as one of JSON


def usd(nano_usd: int | None) -> float | None:
    """Dollars from billionths; unknown stays unknown."""
    return None if nano_usd is None else nano_usd / 1_000_000_000


def trace_to_json(row: TraceRow, replay: Iterable[Call] = ()) -> dict[str, Any]:
    """A trace as ``list`` gives it.

    Args: replay: where it is a replay, its calls, of which one is its run.
    """
    run = next((call for call in replay if call.origin_trace_id is not None), None)
    return {
        "trace_id": row.trace_id,
        "name": row.name,
        "service": row.service,
        "start_unix_nano": row.start_unix_nano,
        "duration_ns": row.duration_ns,
        "spans": row.spans,
        "llm_calls": row.llm_calls,
        "tool_calls": row.tool_calls,
        "agents": row.agents,
        "errors": row.errors,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cost_usd": usd(row.cost_nano_usd),
        "origin": None
        if run is None
        else {
            "trace_id": run.origin_trace_id,
            "span_id": run.origin_span_id,
            "anchor": run.origin_anchor,
            "edits": list(run.edits),
            "ended": run.replay_ended,
        },
    }


def call_to_json(call: Call) -> dict[str, Any]:
    """A call as ``show`` gives it."""
    return {
        **_identity(call),
        "input_messages": _messages(call.input_messages),
        "output_messages": _messages(call.output_messages),
        **_result(call),
    }


def _identity(call: Call) -> dict[str, Any]:
    return {
        "span_id": call.span_id,
        "parent_span_id": call.parent_span_id,
        "kind": call.kind,
        "name": call.name,
        "convention": call.convention,
        "agent_name": call.agent_name,
        "provider": call.provider,
        "model": call.model,
    }


def _result(call: Call) -> dict[str, Any]:
    from ..analysis.prices import computed_cost

    computed = computed_cost(call)
    return {
        "tool_name": call.tool_name,
        "tool_call_id": call.tool_call_id,
        "arguments": call.arguments,
        "result": call.result,
        "input_tokens": call.usage.input_tokens,
        "output_tokens": call.usage.output_tokens,
        "cost_usd": usd(call.spent_nano_usd),
        "computed_cost": None if computed is None else computed.to_json(),
        "finish_reasons": None if call.finish_reasons is None else list(call.finish_reasons),
        "error": None if call.error is None else call.error.to_json(),
        "start_unix_nano": call.start_unix_nano,
        "duration_ns": call.duration_ns,
    }


def _messages(messages: tuple[Message, ...] | None) -> list[dict[str, Any]] | None:
    return None if messages is None else [message_to_json(message) for message in messages]


class CallWriter:
    """The calls of one trace as the text of ``call_to_json``. A message that many calls hold is written once."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Message, str]] = {}

    def text(self, call: Call) -> str:
        """The JSON of a call."""
        asked, answered = self._list(call.input_messages), self._list(call.output_messages)
        messages = f',"input_messages":{asked},"output_messages":{answered},'
        return compact(_identity(call))[:-1] + messages + compact(_result(call))[1:]

    def _list(self, messages: tuple[Message, ...] | None) -> str:
        return "null" if messages is None else f"[{','.join(map(self._message, messages))}]"

    def _message(self, message: Message) -> str:
        known = self._texts.get(id(message))
        if known is None:
            # With the message itself, so that no other one can get its identity.
            known = self._texts[id(message)] = (message, compact(message_to_json(message)))
        return known[1]


def issue_to_json(row: IssueRow) -> dict[str, Any]:
    """An issue as ``show`` gives it."""
    return {"path": row.path, "line": row.line, "reason": row.reason}
