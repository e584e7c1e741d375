"""Logfire: spans named by message templates; the integrations for OpenAI, Anthropic and the OpenAI Agents SDK.

Source: logfire, integrations openai, anthropic and openai_agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind, Message, Part, TextPart

from ._draft import Draft
from ._facts import Facts, Names
from ._message_events import conversation, of_list
from ._view import View, text, whole
from .shapes import decoded, tool_definitions_of

name: Final = "logfire"
version: Final = 2

_TEMPLATE: Final = "logfire.msg_template"
_LEVEL: Final = "logfire.level_num"
_MARKS: Final = (_TEMPLATE, "logfire.msg", "logfire.span_type")
_STARTS: Final[tuple[tuple[str, CallKind], ...]] = (
    ("agent run", "agent"),
    ("function:", "tool"),
    ("chat completion with", "llm"),
    ("completion with", "llm"),
    ("responses api", "llm"),
    ("message with", "llm"),
    ("streaming response from", "llm"),
    ("embedding creation with", "embedding"),
    ("handoff:", "other"),
)
"""How the templates of its integrations begin."""
_ERROR_LEVEL: Final = 17
NAMES: Final = Names(cost_usd=("operation.cost",))
_SHORT: Final = 300
"""A template longer than that is a user's own."""

marks: Final = frozenset(_MARKS)
scopes: Final = frozenset[str]()
keys: Final = NAMES.keys | {*_MARKS, _LEVEL, "name", "error.type"}


def recognises(view: View) -> bool:
    """It marks every span."""
    attributes = view.attributes
    return any(key in attributes for key in _MARKS)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts; a template says what a span is."""
    get = view.attributes.get
    template = text(get(_TEMPLATE)) or ""
    if facts.kind is None and len(template) < _SHORT:
        lower = template.lower()
        facts.kind = next((kind for start, kind in _STARTS if lower.startswith(start)), None)
        if facts.kind == "agent":
            facts.fill(view.attributes, Names(agent_name=("name",)))
        elif facts.kind == "tool":
            facts.fill(view.attributes, Names(tool_name=("name",)))
    facts.fill(view.attributes, NAMES)
    level = whole(get(_LEVEL))
    if facts.error_type is None and level is not None and level >= _ERROR_LEVEL:
        facts.error_type = "error"


def fill(draft: Draft) -> None:
    """Messages and tool call."""
    if draft.kind == "llm":
        _fill_llm(draft)
    elif draft.kind == "tool":
        if draft.arguments is None:
            draft.arguments = draft.peek("input")
        draft.take_result(draft.peek("output") if draft.span.status_code != 2 else None)
    draft.conversation_id = draft.conversation_id or draft.first_text("group_id", "session.id")
    draft.error_message = draft.error_message or _error_text(draft)


def _error_text(draft: Draft) -> str | None:
    error = draft.peek("error")
    if isinstance(error, Mapping):
        data = error.get("data")
        inner = data.get("error") if isinstance(data, Mapping) else None
        return text(inner) or text(error.get("message"))
    return text(draft.attributes.get("logfire.msg"))


def _fill_llm(draft: Draft) -> None:
    said = conversation(of_list(draft.value("events")))
    request = draft.peek("request_data")
    request = request if isinstance(request, Mapping) else {}
    output = draft.peek("output")
    if draft.inputs is None:
        # The Agents SDK puts the answer behind the question; "input" has the question alone.
        asked = draft.peek("input") or draft.peek("raw_input")
        given = _instead(said.inputs) or (draft.content.messages_in(asked, "user") if asked else None)
        draft.inputs = given or (draft.content.messages_in(request, "user") if _has_messages(request) else None)
    if draft.outputs is None:
        draft.outputs = said.outputs or _answer(draft)
    if draft.outputs is None and output:
        draft.outputs = draft.content.messages_in(output, "assistant")
    if draft.outputs is None and isinstance(response := draft.peek("response"), Mapping) and response.get("output"):
        draft.outputs = draft.content.messages_in(response, "assistant")  # the Responses API's own object
        draft.inputs = _without_answer(draft.inputs, draft.outputs)
    draft.finish_reasons = draft.finish_reasons or said.finish_reasons or None
    if draft.tools is None and "tools" in request:
        draft.tools = tool_definitions_of(request["tools"])
    draft.parameters |= {
        key: value
        for key, value in request.items()
        if key not in ("messages", "tools", "model", "input", "system", "instructions") and key not in draft.parameters
    }


def _without_answer(inputs: tuple[Message, ...] | None, answer: tuple[Message, ...]) -> tuple[Message, ...] | None:
    """The question alone: the Agents SDK's events hold the answer behind it. What else the assistant said stays."""
    wanted = [part for message in answer for part in message.parts]
    behind: list[Part] = []
    for place in range(len(inputs or ()) - 1, -1, -1):
        message = (inputs or ())[place]
        if message.role != "assistant":
            break
        behind = [*message.parts, *behind]
        if behind == wanted:
            return (inputs or ())[:place]
    return inputs


def _instead(messages: tuple[Message, ...]) -> tuple[Message, ...] | None:
    return messages or None


def _has_messages(request: Mapping[str, Any]) -> bool:
    return any(key in request for key in ("messages", "input", "prompt"))


def _answer(draft: Draft) -> tuple[Message, ...] | None:
    response = decoded(draft.attributes.get("response_data"))
    if not isinstance(response, Mapping):
        return None
    if "message" in response:
        message = response["message"]
        said = message if isinstance(message, list) else [message]
        return draft.content.messages_in(said, "assistant") if message else None
    chunks = response.get("combined_chunk_content", response.get("text"))
    return (Message("assistant", (TextPart(chunks),)),) if isinstance(chunks, str) else None
