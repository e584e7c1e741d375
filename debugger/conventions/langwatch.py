"""LangWatch: ``langwatch.*``, values as JSON with their type beside them.

Source: LangWatch SDKs, semantic conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts, nano_usd, provider_of
from ._record import details, fill_record, first_count
from ._view import View, text
from .shapes import decoded, tool_definitions_of

name: Final = "langwatch"
version: Final = 2

_TYPE: Final = "langwatch.span.type"
_METRICS: Final = "langwatch.metrics"
_KINDS: Final[dict[str, CallKind]] = {
    "llm": "llm",
    "agent": "agent",
    "tool": "tool",
    "chain": "chain",
    "workflow": "chain",
    "component": "chain",
    "module": "chain",
    "task": "chain",
    "rag": "retriever",
    "retriever": "retriever",
    "embedding": "embedding",
}

_PYTHON: Final = "langwatch"
_VENDORS: Final = frozenset(
    ("openai", "azure", "anthropic", "google", "gemini", "vertex_ai", "bedrock", "mistral", "cohere", "groq", "ollama")
)
"""The Python version writes the provider before the model's name; others may stand there where a user wrote it."""

marks: Final = frozenset((_TYPE, "langwatch.input", "langwatch.output"))
scopes: Final = frozenset[str]()
keys: Final = frozenset((*marks, _METRICS, "gen_ai.request.model", "error.type"))


def recognises(view: View) -> bool:
    """A kind, or a value that went in or came out."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get((text(get(_TYPE)) or "").lower())
    if facts.kind == "agent":
        facts.agent_name = facts.agent_name or view.name or None
    elif facts.kind == "tool":
        facts.tool_name = facts.tool_name or view.name or None
    elif facts.kind == "llm" and facts.provider is None and view.scope_name == _PYTHON:
        vendor, slash, model = (text(get("gen_ai.request.model")) or "").partition("/")
        if slash and vendor in _VENDORS:
            facts.provider, facts.model = provider_of(vendor), model or facts.model
    metrics = _value(get(_METRICS))
    metrics = metrics if isinstance(metrics, Mapping) else {}
    if facts.input_tokens is None:
        facts.input_tokens = first_count(metrics, ("promptTokens", "prompt_tokens"))
    if facts.output_tokens is None:
        facts.output_tokens = first_count(metrics, ("completionTokens", "completion_tokens"))
    if facts.cost_nano_usd is None:
        facts.cost_nano_usd = nano_usd(metrics.get("cost"))


def fill(draft: Draft) -> None:
    """Messages, tool call and parameters."""
    fill_record(draft, _value(draft.value("langwatch.input")), _value(draft.value("langwatch.output")))
    params = _value(draft.attributes.get("langwatch.params"))
    if draft.kind == "llm" and isinstance(params, Mapping):
        if draft.tools is None and "tools" in params:
            draft.tools = tool_definitions_of(params["tools"])
        for key, value in params.items():
            if key != "tools":
                draft.parameters.setdefault(key, value)
    draft.conversation_id = (
        draft.conversation_id
        or draft.first_text("langwatch.thread.id", "langwatch.thread_id")
        or text(details(draft.attributes.get("metadata")).get("thread_id"))
    )


def _value(written: Any) -> Any:
    """What is inside the envelope that names the value's type."""
    value = decoded(written)
    if isinstance(value, Mapping) and set(value) == {"type", "value"}:
        return value["value"]
    return value
