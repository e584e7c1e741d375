"""OpenTelemetry GenAI semantic conventions, in the form that keeps everything in attributes.

Newest names first, then the older ones for the same thing. Content may be JSON text (span attributes) or native lists
(the ``gen_ai.client.inference.operation.details`` event on a span). The older one-event-per-message form has other
rules and is not read here. Source: OpenTelemetry semantic conventions, gen-ai spans and attribute registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import Call, CallKind, ErrorInfo, Usage, message_to_json, parse_json_text, text_of

from runtime.messages import Message, TextPart  # isort: skip
from runtime.trace import Span

from ._content import Content
from ._view import Promoted, View, text, whole

name: Final = "genai"
version: Final = 1

_OPERATION: Final = "gen_ai.operation.name"
_KINDS: Final[dict[str, CallKind]] = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "invoke_agent": "agent",
    "execute_tool": "tool",
    "embeddings": "embedding",
    "retrieval": "retriever",
    "invoke_workflow": "chain",
}
"""Operations that do something. ``create_agent`` runs nothing, and what producers invent stays ``other``."""

_PROVIDER: Final = ("gen_ai.provider.name", "gen_ai.system")
_MODEL: Final = ("gen_ai.request.model", "gen_ai.response.model")
_INPUT: Final = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_OUTPUT: Final = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
_CACHED: Final = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
_REASONING: Final = ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens")
_DETAILS_EVENT: Final = "gen_ai.client.inference.operation.details"
_PARAMETERS: Final = "gen_ai.request."

keys: Final = frozenset(
    (_OPERATION, "error.type", "gen_ai.agent.name", "gen_ai.tool.name", *_PROVIDER, *_MODEL, *_INPUT, *_OUTPUT)
)


def recognises(view: View) -> bool:
    """Every span of these conventions names its operation."""
    return type(view.attributes.get(_OPERATION)) is str


def promote(view: View) -> Promoted:
    """The narrow facts, by the same rules as ``call``."""
    attributes = view.attributes
    get = attributes.get
    return Promoted(
        _KINDS.get(get(_OPERATION, ""), "other"),
        name,
        text(get("error.type")),
        text(get("gen_ai.agent.name")),
        _first_text(attributes, _PROVIDER),
        _first_text(attributes, _MODEL),
        text(get("gen_ai.tool.name")),
        _first_whole(attributes, _INPUT),
        _first_whole(attributes, _OUTPUT),
    )


def _first_text(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for key in names:
        if (value := text(attributes.get(key))) is not None:
            return value
    return None


def _first_whole(attributes: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for key in names:
        if (value := whole(attributes.get(key))) is not None:
            return value
    return None


def _attributes(span: Span) -> dict[str, Any]:
    """The span's attributes, and the content that lies on its details event instead."""
    merged: dict[str, Any] = {}
    for event in span.events:
        if event.name == _DETAILS_EVENT:
            merged |= event.attributes
    return merged | dict(span.attributes)


def _error(span: Span, attributes: Mapping[str, Any]) -> ErrorInfo | None:
    """The error of a failed span: type from ``error.type`` or the exception, message from status or exception."""
    kind = text(attributes.get("error.type"))
    exception: Mapping[str, Any] = {}
    for event in span.events:
        if event.name == "exception":
            exception = event.attributes
    escaped = exception.get("exception.escaped") in (True, "True", "true")
    if span.status_code != 2 and kind is None and not escaped:
        return None
    if kind in (None, "_OTHER"):
        kind = text(exception.get("exception.type")) or kind
    message = span.status_message or text(exception.get("exception.message")) or ""
    return ErrorInfo(kind or "error", message)


def call(span: Span) -> Call:
    """The call of a GenAI span."""
    a = _attributes(span)
    kind = _KINDS.get(a.get(_OPERATION, ""), "other")
    content = Content()
    inputs = content.messages(a, "gen_ai.input.messages", "user")
    system = content.system(a, "gen_ai.system_instructions")
    if system is not None and not (inputs and inputs[0].role == "system" and inputs[0].parts == system.parts):
        inputs = (system, *(inputs or ()))
    outputs = content.messages(a, "gen_ai.output.messages", "assistant")
    error = _error(span, a)
    result_key = "gen_ai.tool.call.result"
    is_tool = kind == "tool"
    result = parse_json_text(a.get(result_key)) if is_tool else None
    has_result = is_tool and a.get(result_key) is not None
    if kind == "agent" and outputs is not None:
        result, has_result = _plain(outputs), True
    lost = content.lost
    if lost is None and error is None and span.end_unix_nano is not None:
        lost = _not_recorded(kind, outputs is not None, has_result)
    return Call(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        kind=kind,
        name=span.name,
        start_unix_nano=span.start_unix_nano,
        end_unix_nano=span.end_unix_nano,
        convention=name,
        agent_name=text(a.get("gen_ai.agent.name")),
        provider=_first_text(a, _PROVIDER),
        model=_first_text(a, _MODEL),
        response_model=text(a.get("gen_ai.response.model")),
        conversation_id=text(a.get("gen_ai.conversation.id")),
        input_messages=inputs,
        output_messages=outputs,
        tool_definitions=content.tool_definitions(a, "gen_ai.tool.definitions"),
        parameters=_parameters(a),
        tool_name=text(a.get("gen_ai.tool.name")),
        tool_call_id=text(a.get("gen_ai.tool.call.id")),
        arguments=parse_json_text(a.get("gen_ai.tool.call.arguments")) if is_tool else None,
        result=result,
        has_result=has_result,
        usage=Usage(
            input_tokens=_first_whole(a, _INPUT),
            output_tokens=_first_whole(a, _OUTPUT),
            cached_tokens=_first_whole(a, _CACHED),
            reasoning_tokens=_first_whole(a, _REASONING),
        ),
        finish_reasons=_finish_reasons(a, outputs),
        error=error,
        input=_plain(tuple(m for m in inputs if m.role != "system")) if kind == "agent" and inputs else None,
        lost=lost,
    )


def _not_recorded(kind: CallKind, has_outputs: bool, has_result: bool) -> str | None:
    if kind == "llm" and not has_outputs:
        return "the answer was not recorded"
    if kind == "tool" and not has_result:
        return "the result was not recorded"
    return None


def _plain(messages: tuple[Message, ...]) -> Any:
    """What an agent was given or gave back: text where the messages hold only text, else the messages."""
    if all(isinstance(part, TextPart) for message in messages for part in message.parts):
        return text_of(messages)
    return [message_to_json(message) for message in messages]


def _parameters(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key.removeprefix(_PARAMETERS): value
        for key, value in attributes.items()
        if key.startswith(_PARAMETERS) and key != "gen_ai.request.model"
    }


def _finish_reasons(attributes: Mapping[str, Any], outputs: tuple[Message, ...] | None) -> tuple[str, ...] | None:
    reasons = attributes.get("gen_ai.response.finish_reasons")
    if isinstance(reasons, str):
        reasons = parse_json_text(reasons)
        reasons = reasons if isinstance(reasons, list) else [reasons]
    if isinstance(reasons, list):
        return tuple(str(reason) for reason in reasons)
    found = tuple(m.finish_reason for m in outputs or () if m.finish_reason is not None)
    return found or None
