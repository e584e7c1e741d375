"""Google ADK: ``gcp.vertex.agent.*``, beside the GenAI attributes (schema 1 has ``call_llm``, schema 2 has not).

The raw request and response in Gemini's shape are what the model really saw; other instrumentations on the same span
lose parallel tool results. Source: google-adk, telemetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._content import with_system
from ._draft import Draft
from ._facts import Facts
from ._view import View, text
from .shapes import messages_of, parts_of, tool_definitions_of

from runtime.messages import Message, TextPart, parse_json_text  # isort: skip

name: Final = "google_adk"
version: Final = 3

_PREFIX: Final = "gcp.vertex.agent."
_SCOPE: Final = "gcp.vertex.agent"
_MARKS: Final = (f"{_PREFIX}event_id", f"{_PREFIX}invocation_id", f"{_PREFIX}session_id")
_MERGED: Final = "(merged tools)"
_NOTHING: Final = ("N/A", "{}", "")
_SYSTEM: Final = ("system_instruction", "systemInstruction")
_NO_PARAMETERS: Final = frozenset((*_SYSTEM, "tools", "http_options", "httpOptions", "labels", "response_schema"))
_TOOL: Final = "execute_tool "
_AGENT: Final = "agent_run ["
"""How older versions (1.14, say) name an agent's span, which has no attributes."""

marks: Final = frozenset(_MARKS)
scopes: Final = frozenset((_SCOPE,))
keys: Final = frozenset((*_MARKS, "gen_ai.tool.name", "gen_ai.operation.name", "error.type"))


def recognises(view: View) -> bool:
    """Its scope; where that is missing, one of its own attributes."""
    attributes = view.attributes
    return view.scope_name == _SCOPE or any(key in attributes for key in _MARKS)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts. The span that repeats the results of parallel tools is no tool call."""
    if view.attributes.get("gen_ai.tool.name") == _MERGED:
        facts.kind = "other"
    elif facts.kind is None and view.name == "call_llm":
        facts.kind = "llm"
    elif facts.kind is None and view.name.split(" ", 1)[0] == "invocation":
        facts.kind = "chain"
    elif facts.kind is None and view.name.startswith(_AGENT) and view.name.endswith("]"):
        facts.kind, facts.agent_name = "agent", facts.agent_name or text(view.name[len(_AGENT) : -1])
    elif facts.kind is None and view.name.startswith(_TOOL):
        # The JavaScript version writes nothing else on a tool's span when the tool has failed.
        facts.kind, facts.tool_name = "tool", facts.tool_name or text(view.name.removeprefix(_TOOL))


def fill(draft: Draft) -> None:
    """Messages and tool call from the raw request and response."""
    if draft.kind == "llm":
        _fill_llm(draft)
    elif draft.kind == "tool":
        if draft.arguments is None and draft.attributes.get(f"{_PREFIX}tool_call_args") not in _NOTHING:
            draft.arguments = draft.peek(f"{_PREFIX}tool_call_args")
        draft.take_result(draft.peek(f"{_PREFIX}tool_response"))
    draft.conversation_id = draft.conversation_id or draft.first_text(f"{_PREFIX}session_id")


def _fill_llm(draft: Draft) -> None:
    request = _object(draft, "llm_request")
    if request is not None:
        config = request.get("config")
        config = config if isinstance(config, Mapping) else {}
        if draft.inputs is None:
            contents = draft.content.messages_in(request.get("contents"), "user")
            draft.inputs = with_system(_system(config), contents) or None
        if draft.tools is None:
            draft.tools = tool_definitions_of(config.get("tools"))
        for key, value in config.items():
            if key not in _NO_PARAMETERS and value is not None:
                draft.parameters.setdefault(key, value)
    response = _object(draft, "llm_response")
    if response is not None:
        content = response.get("content")
        if draft.outputs is None and isinstance(content, Mapping):
            reason = text(response.get("finish_reason")) or text(response.get("finishReason"))
            parts = tuple(parts_of(content.get("parts") or []))
            draft.outputs = (Message("assistant", parts, None, reason.lower() if reason else None),)
        draft.response_model = draft.response_model or text(response.get("model_version", response.get("modelVersion")))


def _object(draft: Draft, key: str) -> Mapping[str, Any] | None:
    if draft.attributes.get(_PREFIX + key) in _NOTHING:
        return None
    value = draft.value(_PREFIX + key)
    return value if isinstance(value, Mapping) else None


def _system(config: Mapping[str, Any]) -> Message | None:
    value = parse_json_text(next((config[key] for key in _SYSTEM if config.get(key)), None))
    if isinstance(value, str) and value:
        return Message("system", (TextPart(value),))
    messages = messages_of(value, "system") if value else ()
    return Message("system", messages[0].parts) if messages else None
