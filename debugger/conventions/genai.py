"""OpenTelemetry GenAI semantic conventions: newest attributes first, then older names, then events and log records.

Many producers write these beside their own attributes, so this family is asked first and the others fill what is
missing. Content may be JSON text (span attributes) or native lists (the ``gen_ai.client.inference.operation.details``
event, on the span or as a log record). Source: OpenTelemetry semantic conventions, gen-ai spans, events, registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind, Message, ToolCallPart, ToolCallResponsePart, parse_json_text

from ._content import with_system
from ._draft import Draft
from ._facts import Facts, Names, first, first_provider, first_text, first_whole, nano_usd
from ._message_events import DETAILS, conversation, of_logs, of_span
from ._printed import SCOPES, unprinted
from ._view import Promoted, View, text

name: Final = "genai"
version: Final = 4

_OPERATION: Final = "gen_ai.operation.name"
_KINDS: Final[dict[str, CallKind]] = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "chat.completions": "llm",
    "text.completions": "llm",
    "responses": "llm",
    "invoke_agent": "agent",
    "execute_tool": "tool",
    "embeddings": "embedding",
    "embedding": "embedding",
    "retrieval": "retriever",
    "vector_db_retrieve": "retriever",
    "RETRIEVER": "retriever",
    "invoke_workflow": "chain",
    "process_thread_run": "agent",
    "conversation": "chain",
    "orchestrate_tools": "chain",
}
"""Operations that do something. ``create_agent`` runs nothing, and what else producers invent stays ``other``."""

NAMES: Final = Names(
    agent_name=("gen_ai.agent.name",),
    provider=("gen_ai.provider.name", "gen_ai.system"),
    model=("gen_ai.request.model", "gen_ai.response.model"),
    tool_name=("gen_ai.tool.name",),
    input_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    output_tokens=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    cost_usd=("gen_ai.usage.cost", "gen_ai.cost.total_cost"),
)
_SPAN_KIND: Final = "gen_ai.span.kind"
_SPAN_KINDS: Final[dict[str, CallKind]] = {
    "LLM": "llm",
    "AGENT": "agent",
    "TOOL": "tool",
    "CHAIN": "chain",
    "TASK": "chain",
    "WORKFLOW": "chain",
    "RETRIEVER": "retriever",
    "EMBEDDING": "embedding",
}
"""Written beside or instead of the operation by LoongSuite and other distributions."""
_PROMPT: Final = "gen_ai.prompt"
_COMPLETION: Final = "gen_ai.completion"
_WRITTEN: Final = ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens")
_CACHED: Final = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
_REASONING: Final = ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens")
_PARAMETERS: Final = "gen_ai.request."
_NO_PARAMETERS: Final = frozenset(("model",))

marks: Final = frozenset((_OPERATION, "gen_ai.request.model", _SPAN_KIND))
scopes: Final = frozenset[str]()
keys: Final = NAMES.keys | {_OPERATION, _SPAN_KIND, "error.type"}
TEXT_KEYS: Final = keys.difference(NAMES.input_tokens, NAMES.output_tokens, NAMES.cost_usd)
"""Those of which only texts mean something while a span is loaded."""


def recognises(view: View) -> bool:
    """Spans name their operation; older ones at least a model."""
    get = view.attributes.get
    if type(get(_OPERATION)) is str or text(get("gen_ai.request.model")) is not None:
        return True
    return type(get(_SPAN_KIND)) is str


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    operation = view.attributes.get(_OPERATION)
    if facts.kind is None and type(operation) is str:
        facts.kind = _KINDS.get(operation)
    if facts.kind is None:
        facts.kind = _SPAN_KINDS.get(str(view.attributes.get(_SPAN_KIND)))
    facts.fill(view.attributes, NAMES)


def promoted(attributes: Mapping[str, Any]) -> Promoted:
    """What ``narrow`` and ``settle_kind`` give where no other family is asked, in one step: most spans of a load."""
    get = attributes.get
    operation = get(_OPERATION)
    named = type(operation) is str
    asked = text(get("gen_ai.request.model"))
    other = _SPAN_KINDS.get(str(get(_SPAN_KIND))) if _SPAN_KIND in attributes else None
    if not named and asked is None and type(get(_SPAN_KIND)) is not str:
        return Promoted(error_type=text(get("error.type")))
    input_tokens = first_whole(attributes, NAMES.input_tokens)
    output_tokens = first_whole(attributes, NAMES.output_tokens)
    kind: CallKind = (_KINDS.get(str(operation)) if named else None) or other or "other"
    if not named and other is None and asked is not None and (input_tokens is not None or output_tokens is not None):
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
        first(attributes, NAMES.cost_usd, nano_usd),
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
        if draft.span.scope_name in SCOPES:
            draft.inputs, draft.outputs = unprinted(draft.inputs), unprinted(draft.outputs)
        draft.tools = content.tool_definitions(attributes, "gen_ai.tool.definitions")
        if draft.kind in ("llm", "agent") and (draft.inputs is None or draft.outputs is None):
            _fill_from_events(draft)
            _fill_from_texts(draft)
        draft.take_parameters(_PARAMETERS, but=_NO_PARAMETERS)
        draft.finish_reasons = _finish_reasons(attributes, draft.outputs) or draft.finish_reasons
    else:
        draft.arguments = parse_json_text(attributes.get("gen_ai.tool.call.arguments"))
        draft.take_result(parse_json_text(attributes.get("gen_ai.tool.call.result")))
        _fill_tool_from_messages(draft, attributes)
        _fill_tool_from_function(draft)
    draft.tool_call_id = text(attributes.get("gen_ai.tool.call.id"))
    draft.response_model = text(attributes.get("gen_ai.response.model"))
    draft.conversation_id = first_text(attributes, ("gen_ai.conversation.id", "session.id"))
    draft.cached_tokens = first_whole(attributes, _CACHED)
    draft.cache_write_tokens = first_whole(attributes, _WRITTEN)
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


def _fill_from_texts(draft: Draft) -> None:
    """The oldest form: all of the prompt and all of the answer in one attribute each, on the span or on two events."""
    written: dict[str, Any] = {}
    for event in draft.span.events:
        if event.name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            written |= event.attributes
    written |= {key: draft.attributes[key] for key in (_PROMPT, _COMPLETION) if key in draft.attributes}
    if draft.inputs is None:
        draft.inputs = draft.content.messages(written, _PROMPT, "user") or None
    if draft.outputs is None:
        draft.outputs = draft.content.messages(written, _COMPLETION, "assistant") or None


def _fill_tool_from_function(draft: Draft) -> None:
    """What a wrapped Python function was given and gave back (google-genai's automatic function calls)."""
    attributes = draft.attributes
    if draft.arguments is None:
        start, end = "code.function.parameters.", ".value"
        named = [key for key in attributes if key.startswith(start) and key.endswith(end)]
        if named:
            draft.arguments = {key[len(start) : -len(end)]: attributes[key] for key in named}
    if draft.span.status_code != 2:
        draft.take_result(parse_json_text(attributes.get("code.function.return.value")))


def _finish_reasons(attributes: dict[str, Any], outputs: tuple[Message, ...] | None) -> tuple[str, ...] | None:
    reasons = attributes.get("gen_ai.response.finish_reasons", attributes.get("anthropic.message.stop_reason"))
    if isinstance(reasons, str):
        reasons = parse_json_text(reasons)
        reasons = reasons if isinstance(reasons, list) else [reasons]
    if isinstance(reasons, list) and reasons:
        return tuple(str(reason) for reason in reasons)
    found = tuple(m.finish_reason for m in outputs or () if m.finish_reason is not None)
    return found or None
