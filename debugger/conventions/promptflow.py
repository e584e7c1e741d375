"""Prompt flow: ``framework`` and ``span_type``, a function's arguments and its return value as JSON text.

Source: promptflow-tracing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind, parse_json_text

from ._draft import Draft
from ._facts import Facts, Names
from ._record import asked_model, fill_record, first_count, inner
from ._view import View, text

name: Final = "promptflow"
version: Final = 1

_FRAMEWORK: Final = "framework"
_TYPE: Final = "span_type"
_FUNCTION: Final = "function"
_INPUTS: Final = "inputs"
_OUTPUT: Final = "output"
_MODEL: Final = "llm.response.model"
_SCOPE: Final = "promptflow"
_OPENAI: Final = "openai."
"""Where the client's functions live; that of Azure's service is the same one."""
_KINDS: Final[dict[str, CallKind]] = {
    "LLM": "llm",
    "Tool": "tool",
    "Function": "chain",
    "Flow": "chain",
    "Retrieval": "retriever",
    "Embedding": "embedding",
}
NAMES: Final = Names(
    model=("embedding.model",),
    input_tokens=("llm.usage.prompt_tokens", "embedding.usage.prompt_tokens"),
    output_tokens=("llm.usage.completion_tokens",),
)

marks: Final = frozenset((_FRAMEWORK,))
scopes: Final = frozenset[str]()
keys: Final = NAMES.keys | {_FRAMEWORK, _TYPE, _FUNCTION, _MODEL, "error.type"}
SCOPE_KEYS: Final = {_SCOPE: frozenset((_INPUTS, _OUTPUT))}
"""What only spans of its scope are asked for while they are loaded."""


def recognises(view: View) -> bool:
    """The framework's name, which every span has."""
    return view.attributes.get(_FRAMEWORK) == "promptflow"


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts; the model that was asked for is in the request alone."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(str(get(_TYPE)))
    function = text(get(_FUNCTION)) or ""
    if facts.kind == "llm":
        asked = asked_model(get(_INPUTS)) if view.scope_name == _SCOPE else None
        facts.model = facts.model or asked or text(get(_MODEL))
        if facts.provider is None and function.startswith(_OPENAI):
            facts.provider = "openai"
    elif facts.kind == "tool":
        facts.tool_name = facts.tool_name or function.rpartition(".")[2] or None
    facts.fill(view.attributes, NAMES)
    if facts.kind == "llm" and facts.input_tokens is None and view.scope_name == _SCOPE:
        usage = inner(_last_of(parse_json_text(get(_OUTPUT)), "usage"), "usage")
        facts.input_tokens = first_count(usage, ("prompt_tokens",))
        if facts.output_tokens is None:
            facts.output_tokens = first_count(usage, ("completion_tokens",))


def _last_of(chunks: Any, key: str) -> Mapping[str, Any]:
    """The last chunk of a stream that says something under a key."""
    for chunk in reversed(chunks) if isinstance(chunks, list) else ():
        if isinstance(chunk, Mapping) and chunk.get(key):
            return chunk
    return {}


def fill(draft: Draft) -> None:
    """Messages and tool call. A stream's return value is its chunks, so the message made from them comes first."""
    got = draft.value(_OUTPUT)
    said = draft.value("llm.generated_message") if draft.kind == "llm" else None
    fill_record(draft, draft.value(_INPUTS), got if said is None else said)
    draft.response_model = draft.response_model or draft.first_text(_MODEL)
    answer = got if isinstance(got, Mapping) else _last_of(got, "choices")
    reason = text(inner(answer, "choices").get("finish_reason"))
    draft.finish_reasons = draft.finish_reasons or ((reason,) if reason else None)
