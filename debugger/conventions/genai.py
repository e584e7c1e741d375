"""OpenTelemetry GenAI semantic conventions: newest attributes first, then older names, then events and log records.

Many producers write these beside their own attributes, so this family is asked first and the others fill what is
missing. Content may be JSON text (span attributes) or native lists (the ``gen_ai.client.inference.operation.details``
event, on the span or as a log record). Source: OpenTelemetry semantic conventions, gen-ai spans, events, registry.
"""

from __future__ import annotations

from typing import Any, Final

from runtime.messages import CallKind, Message, ToolCallPart, ToolCallResponsePart, parse_json_text

from ._content import with_system
from ._draft import Draft
from ._facts import Facts, Names, first_provider, first_text, first_whole
from ._message_events import DETAILS, conversation, of_logs, of_span
from ._view import Promoted, View, text

name: Final = "genai"
version: Final = 2

_OPERATION: Final = "gen_ai.operation.name"
_KINDS: Final[dict[str, CallKind]] = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "chat.completions": "llm",
    "text.completions": "llm",
    "invoke_agent": "agent",
    "execute_tool": "tool",
    "embeddings": "embedding",
    "retrieval": "retriever",
    "vector_db_retrieve": "retriever",
    "RETRIEVER": "retriever",
    "invoke_workflow": "chain",
}
"""Operations that do something. ``create_agent`` runs nothing, and what else producers invent stays ``other``."""

NAMES: Final = Names(
    agent_name=("gen_ai.agent.name",),
    provider=("gen_ai.provider.name", "gen_ai.system"),
    model=("gen_ai.request.model", "gen_ai.response.model"),
    tool_name=("gen_ai.tool.name",),
    input_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    output_tokens=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
)
_CACHED: Final = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
_REASONING: Final = ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens")
_PARAMETERS: Final = "gen_ai.request."
_NO_PARAMETERS: Final = frozenset(("model",))

marks: Final = frozenset((_OPERATION, "gen_ai.request.model"))
scopes: Final = frozenset[str]()
keys: Final = NAMES.keys | {_OPERATION, "error.type"}


def recognises(view: View) -> bool:
    """Spans name their operation; older ones at least a model."""
    get = view.attributes.get
    return type(get(_OPERATION)) is str or text(get("gen_ai.request.model")) is not None


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    operation = view.attributes.get(_OPERATION)
    if facts.kind is None and type(operation) is str:
        facts.kind = _KINDS.get(operation)
    facts.fill(view.attributes, NAMES)


def promoted(view: View) -> Promoted:
    """What ``narrow`` and ``settle_kind`` give where no other family is asked, in one step: most spans of a load."""
    attributes = view.attributes
    get = attributes.get
    operation = get(_OPERATION)
    named = type(operation) is str
    asked = text(get("gen_ai.request.model"))
    if not named and asked is None:
        return Promoted(error_type=text(get("error.type")))
    input_tokens = first_whole(attributes, NAMES.input_tokens)
    output_tokens = first_whole(attributes, NAMES.output_tokens)
    kind: CallKind = _KINDS.get(str(operation), "other") if named else "other"
    if not named and asked is not None and (input_tokens is not None or output_tokens is not None):
        kind = "llm"
    return Promoted(
        kind,
        name,
        text(get("error.type")),
        text(get("gen_ai.agent.name")),
        first_provider(attributes, NAMES.provider),
        asked or text(get("gen_ai.response.model")),
        text(get("gen_ai.tool.name")),
        input_tokens,
        output_tokens,
    )


def settle_kind(view: View, facts: Facts) -> None:
    """The kind of a span that no family could name: one that asks a model and counts its tokens is a model call."""
    if facts.kind is None and type(view.attributes.get(_OPERATION)) is not str:
        get = view.attributes.get
        counted = facts.input_tokens is not None or facts.output_tokens is not None
        if counted and text(get("gen_ai.request.model")) is not None:
            facts.kind = "llm"


def fill(draft: Draft) -> None:
    """Messages, tool call, parameters and usage."""
    attributes = _with_details(draft)
    content = draft.content
    if draft.kind != "tool":
        system = content.system(attributes, "gen_ai.system_instructions")
        draft.inputs = with_system(system, content.messages(attributes, "gen_ai.input.messages", "user"))
        draft.outputs = content.messages(attributes, "gen_ai.output.messages", "assistant")
        draft.tools = content.tool_definitions(attributes, "gen_ai.tool.definitions")
        if draft.kind in ("llm", "agent") and (draft.inputs is None or draft.outputs is None):
            _fill_from_events(draft)
        draft.take_parameters(_PARAMETERS, but=_NO_PARAMETERS)
        draft.finish_reasons = _finish_reasons(attributes, draft.outputs) or draft.finish_reasons
    else:
        draft.arguments = parse_json_text(attributes.get("gen_ai.tool.call.arguments"))
        draft.take_result(parse_json_text(attributes.get("gen_ai.tool.call.result")))
        _fill_tool_from_messages(draft, attributes)
    draft.tool_call_id = text(attributes.get("gen_ai.tool.call.id"))
    draft.response_model = text(attributes.get("gen_ai.response.model"))
    draft.conversation_id = first_text(attributes, ("gen_ai.conversation.id", "session.id"))
    draft.cached_tokens = first_whole(attributes, _CACHED)
    draft.reasoning_tokens = first_whole(attributes, _REASONING)


def _fill_tool_from_messages(draft: Draft, attributes: dict[str, Any]) -> None:
    """The call and its response as messages, which some producers write on the tool's span too."""
    for side in ("input", "output"):
        for message in draft.content.messages(attributes, f"gen_ai.{side}.messages", "tool") or ():
            for part in message.parts:
                if isinstance(part, ToolCallPart) and draft.arguments is None:
                    draft.arguments = part.arguments
                elif isinstance(part, ToolCallResponsePart) and draft.span.status_code != 2:
                    draft.take_result(parse_json_text(part.response))


def _with_details(draft: Draft) -> dict[str, Any]:
    """The span's attributes, and the content that lies on its details event or log record instead."""
    merged: dict[str, Any] = {}
    for event in draft.span.events:
        if event.name == DETAILS:
            merged |= event.attributes
    for record in draft.logs:
        if record.event_name == DETAILS:
            merged |= record.attributes
            if isinstance(record.body, dict):
                merged |= record.body
    return merged | dict(draft.attributes) if merged else dict(draft.attributes)


def _fill_from_events(draft: Draft) -> None:
    for events in (of_span(draft.span), of_logs(draft.logs)):
        said = conversation(events)
        if draft.inputs is None and said.inputs:
            draft.inputs = said.inputs
        if draft.outputs is None and said.outputs:
            draft.outputs = said.outputs
            draft.finish_reasons = draft.finish_reasons or said.finish_reasons or None


def _finish_reasons(attributes: dict[str, Any], outputs: tuple[Message, ...] | None) -> tuple[str, ...] | None:
    reasons = attributes.get("gen_ai.response.finish_reasons")
    if isinstance(reasons, str):
        reasons = parse_json_text(reasons)
        reasons = reasons if isinstance(reasons, list) else [reasons]
    if isinstance(reasons, list) and reasons:
        return tuple(str(reason) for reason in reasons)
    found = tuple(m.finish_reason for m in outputs or () if m.finish_reason is not None)
    return found or None
