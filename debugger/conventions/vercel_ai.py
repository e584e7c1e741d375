"""Vercel AI SDK (``experimental_telemetry``), versions 4 to 6.

An outer span holds the loop over steps: that is the agent. Each step's model call is an inner span with ``doGenerate``
or ``doStream`` in its name. Source: AI SDK, telemetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.messages import CallKind, Message, Part, ReasoningPart, TextPart, ToolCallPart, parse_json_text

from ._draft import Draft
from ._facts import Facts, Names, first_whole
from ._view import View, text
from .shapes import decoded, tool_definitions_of

name: Final = "vercel_ai"
version: Final = 2

_OPERATION: Final = "ai.operationId"
_KINDS: Final[dict[str, CallKind]] = {
    "ai.generateText": "agent",
    "ai.streamText": "agent",
    "ai.generateText.doGenerate": "llm",
    "ai.streamText.doStream": "llm",
    "ai.generateObject": "chain",
    "ai.streamObject": "chain",
    "ai.generateObject.doGenerate": "llm",
    "ai.streamObject.doStream": "llm",
    "ai.toolCall": "tool",
    "ai.embed": "chain",
    "ai.embedMany": "chain",
    "ai.embed.doEmbed": "embedding",
    "ai.embedMany.doEmbed": "embedding",
    "ai.rerank": "chain",
}
NAMES: Final = Names(
    model=("ai.model.id", "ai.response.model"),
    tool_name=("ai.toolCall.name",),
    input_tokens=("ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"),
    output_tokens=("ai.usage.outputTokens", "ai.usage.completionTokens"),
)
_FUNCTION: Final = Names(agent_name=("ai.telemetry.functionId", "resource.name"))
_PROVIDER: Final = "ai.model.provider"
_CACHED: Final = ("ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens")
_REASONING: Final = ("ai.usage.reasoningTokens", "ai.usage.outputTokenDetails.reasoningTokens")
_METADATA: Final = "ai.telemetry.metadata."
_SESSION_WORDS: Final = ("sessionId", "session_id", "conversationId", "chatId", "threadId")
_SESSIONS: Final = tuple(f"{_METADATA}{word}" for word in _SESSION_WORDS)

marks: Final = frozenset((_OPERATION,))
scopes: Final = frozenset[str]()
keys: Final = NAMES.keys | _FUNCTION.keys | {_OPERATION, _PROVIDER, "gen_ai.system", "error.type"}


def recognises(view: View) -> bool:
    """Every span names its operation."""
    return type(view.attributes.get(_OPERATION)) is str


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    attributes = view.attributes
    facts.kind = facts.kind or _KINDS.get(attributes.get(_OPERATION, ""))
    facts.fill(attributes, NAMES)
    facts.fill(attributes, _FUNCTION)
    # The provider comes with the API in its name: "openai.responses".
    provider = text(attributes.get(_PROVIDER)) or text(attributes.get("gen_ai.system"))
    if provider is not None:
        facts.provider = provider.partition(".")[0].lower() or None


def fill(draft: Draft) -> None:
    """Messages, tool call, parameters and usage."""
    draft.is_status_of_others = _has_succeeded(draft)
    if draft.kind == "tool":
        if draft.arguments is None:
            draft.arguments = draft.peek("ai.toolCall.args")
        draft.take_result(draft.peek("ai.toolCall.result"))
        draft.tool_call_id = draft.tool_call_id or draft.first_text("ai.toolCall.id")
    else:
        _fill_messages(draft)
        draft.take_parameters("ai.settings.")
    reason = draft.first_text("ai.response.finishReason")
    if draft.finish_reasons is None and reason is not None:
        draft.finish_reasons = (reason,)
    draft.response_model = draft.response_model or draft.first_text("ai.response.model")
    draft.conversation_id = draft.conversation_id or draft.first_text(*_SESSIONS)
    if draft.cached_tokens is None:
        draft.cached_tokens = first_whole(draft.attributes, _CACHED)
    if draft.cache_write_tokens is None:
        draft.cache_write_tokens = first_whole(draft.attributes, ("ai.usage.inputTokenDetails.cacheWriteTokens",))
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_whole(draft.attributes, _REASONING)


def _has_succeeded(draft: Draft) -> bool:
    """Whether a failed status is not the span's own: OpenInference's processor gives the trace's first error to all."""
    if draft.span.status_code != 2 or draft.facts.error_type is not None:
        return False
    answered = any(key in draft.attributes for key in ("ai.response.finishReason", "ai.toolCall.result"))
    return answered and not any(event.name == "exception" for event in draft.span.events)


def _fill_messages(draft: Draft) -> None:
    if draft.inputs is None:
        for key in ("ai.prompt.messages", "ai.prompt"):
            value = draft.value(key)
            if isinstance(value, str | list | Mapping) and value:
                draft.inputs = draft.content.messages_in(value, "user")
                break
    if draft.outputs is None:
        draft.outputs = _answer(draft)
    tools = draft.attributes.get("ai.prompt.tools")
    if draft.tools is None and isinstance(tools, list | str):
        draft.tools = tool_definitions_of(tools)


def _answer(draft: Draft) -> tuple[Message, ...] | None:
    attributes = draft.attributes
    parts: list[Part] = []
    if (reasoning := text(attributes.get("ai.response.reasoning"))) is not None:
        parts.append(ReasoningPart(reasoning))
    for key in ("ai.response.text", "ai.response.object"):
        if (said := text(attributes.get(key))) is not None:
            parts.append(TextPart(said))
    calls = decoded(attributes.get("ai.response.toolCalls"))
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, Mapping) and (tool := text(call.get("toolName"))) is not None:
            arguments = parse_json_text(call.get("input", call.get("args")))
            parts.append(ToolCallPart(text(call.get("toolCallId")), tool, arguments))
    known = parts or "ai.response.text" in attributes or "ai.response.toolCalls" in attributes
    return (Message("assistant", tuple(parts), None, draft.first_text("ai.response.finishReason")),) if known else None
