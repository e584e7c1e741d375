"""LiteLLM's own callback: the span of the raw request, with the provider's fields printed by Python.

Beside the call's span, which speaks the GenAI conventions, LiteLLM writes ``raw_gen_ai_request`` with the request and
the answer as the provider has them (``llm.<provider>.<field>``). It alone has the ids of tool calls; and where the
program has a span of its own, LiteLLM writes no other span for the call. Source: LiteLLM, OpenTelemetry integration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._draft import Draft
from ._facts import Facts
from ._record import details, fill_record, first_count, python_value
from ._view import View, text

name: Final = "litellm"
version: Final = 1

_PROVIDERS: Final = (
    *("openai", "anthropic", "azure", "azure_ai", "bedrock", "mistral", "groq", "cohere", "deepseek", "openrouter"),
    *("ollama", "ollama_chat", "together_ai", "fireworks_ai", "xai", "databricks", "perplexity", "hosted_vllm"),
    *("watsonx", "litellm_proxy"),
)
_GOOGLE: Final = ("gemini", "vertex_ai", "vertex_ai_beta")
_TOLD: Final = {
    **{f"llm.{provider}.usage": provider for provider in _PROVIDERS},
    **{f"llm.{provider}.usageMetadata": provider for provider in _GOOGLE},
}
"""What every answer has, and the provider that it names."""
_MODEL: Final = ("model", "modelVersion")
_USAGE: Final = ("usage", "usageMetadata")
_INPUT: Final = ("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens")
_OUTPUT: Final = ("completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens")
_ANSWER: Final = frozenset(
    (
        *("id", "choices", "candidates", "created", "object", "usage", "usageMetadata", "modelVersion", "responseId"),
        *("output", "content", "role", "type", "status", "stop_reason", "stop_sequence", "stopReason", "metrics"),
        *("system_fingerprint", "service_tier", "error", "incomplete_details", "message", "done", "done_reason"),
    )
)
"""Fields of an answer; all others are the request's."""

marks: Final = frozenset(_TOLD)
scopes: Final = frozenset[str]()
keys: Final = (
    marks
    | {f"llm.{provider}.model" for provider in _PROVIDERS}
    | {f"llm.{provider}.modelVersion" for provider in _GOOGLE}
    | {"error.type"}
)


def recognises(view: View) -> bool:
    """The spans of raw requests that were answered; of a stream they are empty."""
    return not marks.isdisjoint(view.attributes)


def _provider(attributes: Mapping[str, Any]) -> str | None:
    return next((provider for key, provider in _TOLD.items() if key in attributes), None)


def _field(attributes: Mapping[str, Any], provider: str, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := attributes.get(f"llm.{provider}.{name}")) is not None), None)


def _usage(attributes: Mapping[str, Any], provider: str) -> Mapping[str, Any]:
    return details(python_value(_field(attributes, provider, _USAGE)))


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    provider = _provider(view.attributes)
    if provider is None:
        return
    usage = _usage(view.attributes, provider)
    answered = first_count(usage, _OUTPUT) is not None  # embeddings count only what went in
    facts.kind = facts.kind or ("llm" if answered else "embedding")
    facts.provider = facts.provider or provider
    facts.model = facts.model or text(_field(view.attributes, provider, _MODEL))
    if facts.input_tokens is None:
        facts.input_tokens = first_count(usage, _INPUT)
    if facts.output_tokens is None:
        facts.output_tokens = first_count(usage, _OUTPUT)


def fill(draft: Draft) -> None:
    """Messages, parameters and usage."""
    provider = _provider(draft.attributes)
    if provider is None:
        return
    prefix = f"llm.{provider}."
    said = {key[len(prefix) :]: value for key, value in draft.attributes.items() if key.startswith(prefix)}
    given = {key: python_value(value) for key, value in said.items() if key not in _ANSWER}
    got = {key: python_value(value) for key, value in said.items() if key in _ANSWER}
    if draft.kind == "llm":
        fill_record(draft, given, got)
    usage = _usage(draft.attributes, provider)
    draft.response_model = draft.response_model or text(_field(draft.attributes, provider, _MODEL))
    if draft.cached_tokens is None:
        cached = details(usage.get("prompt_tokens_details"))
        draft.cached_tokens = first_count({**usage, **cached}, ("cached_tokens", "cache_read_input_tokens"))
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_count(details(usage.get("completion_tokens_details")), ("reasoning_tokens",))
