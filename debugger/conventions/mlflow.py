"""MLflow tracing: every attribute is JSON text, inputs and outputs as the traced function had them.

Source: mlflow, tracing constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from runtime.messages import CallKind, Message, TextPart

from ._draft import Draft
from ._facts import Facts, nano_usd, provider_of
from ._record import asked_model, details, first_count
from ._view import View, text
from .shapes import decoded, tool_definitions_of

name: Final = "mlflow"
version: Final = 1

_TYPE: Final = "mlflow.spanType"
_INPUTS: Final = "mlflow.spanInputs"
_OUTPUTS: Final = "mlflow.spanOutputs"
_USAGE: Final = "mlflow.chat.tokenUsage"
_COST: Final = "mlflow.llm.cost"
_MODEL: Final = "mlflow.llm.model"
_PROVIDER: Final = "mlflow.llm.provider"
_KINDS: Final[dict[str, CallKind]] = {
    "AGENT": "agent",
    "LLM": "llm",
    "CHAT_MODEL": "llm",
    "TOOL": "tool",
    "CHAIN": "chain",
    "WORKFLOW": "chain",
    "TASK": "chain",
    "RETRIEVER": "retriever",
    "EMBEDDING": "embedding",
}
_NO_PARAMETERS: Final = frozenset(("messages", "model", "tools", "input", "prompt", "system", "instructions"))
_CHUNK: Final = "mlflow.chunk.item."

marks: Final = frozenset((_TYPE,))
scopes: Final = frozenset[str]()
keys: Final = frozenset((_TYPE, _USAGE, _COST, _MODEL, _PROVIDER, _INPUTS, _OUTPUTS, "error.type"))


class _Outputs(msgspec.Struct, gc=False):
    usage: Any = None


_outputs = msgspec.json.Decoder(_Outputs).decode


def recognises(view: View) -> bool:
    """It marks every span with its type."""
    return type(view.attributes.get(_TYPE)) is str


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(str(decoded(get(_TYPE))).upper())
    if facts.model is None and facts.kind in ("llm", "embedding"):
        facts.model = text(decoded(get(_MODEL))) or asked_model(get(_INPUTS))
    facts.provider = facts.provider or provider_of(decoded(get(_PROVIDER)))
    if facts.kind == "agent":
        facts.agent_name = facts.agent_name or view.name or None
    elif facts.kind == "tool":
        facts.tool_name = facts.tool_name or view.name or None
    usage = details(get(_USAGE))
    if not usage and facts.kind == "llm":
        usage = _answered_usage(get(_OUTPUTS))
    if facts.input_tokens is None:
        facts.input_tokens = first_count(usage, ("input_tokens", "prompt_tokens"))
    if facts.output_tokens is None:
        facts.output_tokens = first_count(usage, ("output_tokens", "completion_tokens"))
    if facts.cost_nano_usd is None:
        facts.cost_nano_usd = nano_usd(details(get(_COST)).get("total_cost"))


def _answered_usage(outputs: Any) -> Mapping[str, Any]:
    """The provider's own count in the answer, which older releases do not copy out of it."""
    if type(outputs) is not str or '"usage"' not in outputs:
        return {}
    try:
        usage = _outputs(outputs).usage
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}
    return usage if isinstance(usage, Mapping) else {}


def fill(draft: Draft) -> None:
    """Messages, tool call, parameters and usage."""
    given, got = draft.value(_INPUTS), draft.value(_OUTPUTS)
    failed = draft.span.status_code == 2
    if draft.kind == "llm":
        _fill_llm(draft, given, got)
    elif draft.kind == "tool":
        if draft.arguments is None:
            draft.arguments = given
        draft.take_result(None if failed else decoded(got))
    elif draft.kind == "agent":
        if draft.input is None:
            draft.input = given
        draft.take_result(None if failed else decoded(got))
    if draft.cached_tokens is None:
        draft.cached_tokens = first_count(details(draft.attributes.get(_USAGE)), ("cache_read_input_tokens",))
    draft.conversation_id = draft.conversation_id or draft.first_text("session.id", "mlflow.trace.session")


def _fill_llm(draft: Draft, given: Any, got: Any) -> None:
    if draft.inputs is None and given is not None:
        draft.inputs = draft.content.messages_in(given, "user")
    if isinstance(given, Mapping):
        if draft.tools is None and "tools" in given:
            draft.tools = tool_definitions_of(given["tools"])
        for key, value in given.items():
            if key not in _NO_PARAMETERS:
                draft.parameters.setdefault(key, value)
    if draft.tools is None and "mlflow.chat.tools" in draft.attributes:
        draft.tools = tool_definitions_of(draft.attributes["mlflow.chat.tools"])
    if draft.outputs is None:
        draft.outputs = draft.content.messages_in(decoded(got), "assistant") if got is not None else _streamed(draft)
    if isinstance(got, Mapping):
        draft.response_model = draft.response_model or text(got.get("model"))


def _streamed(draft: Draft) -> tuple[Message, ...] | None:
    """The answer put together from its chunks."""
    pieces: list[str] = []
    for event in draft.span.events:
        if event.name.startswith(_CHUNK):
            chunk = details(event.attributes.get("mlflow.chunk.value"))
            choices = chunk.get("choices")
            first = choices[0] if isinstance(choices, list) and choices else None
            delta = first.get("delta") if isinstance(first, Mapping) else None
            content = delta.get("content") if isinstance(delta, Mapping) else None
            pieces += [content] if isinstance(content, str) else []
    return (Message("assistant", (TextPart("".join(pieces)),)),) if pieces else None
