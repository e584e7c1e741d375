"""OpenInference (Arize Phoenix): flattened messages, ``input.value`` and ``output.value``.

The instrumentations of LangChain, LlamaIndex, CrewAI, smolagents, agno, AutoGen and Google ADK write these keys with
small differences, which are settled here. Source: OpenInference semantic conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from runtime.messages import (
    CallKind,
    Message,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    parse_json_text,
)

from ._content import with_system
from ._draft import Draft
from ._facts import Facts, Names, first_whole, provider_of
from ._flat import flat_items
from ._flat_messages import flat_messages
from ._printed import chat_messages, offered_tools
from ._record import tool_result
from ._view import View, text
from .shapes import decoded, parts_of, tool_definition_of

name: Final = "openinference"
version: Final = 5

_KIND: Final = "openinference.span.kind"
_KINDS: Final[dict[str, CallKind]] = {
    "AGENT": "agent",
    "LLM": "llm",
    "TOOL": "tool",
    "CHAIN": "chain",
    "RETRIEVER": "retriever",
    "EMBEDDING": "embedding",
}
NAMES: Final = Names(
    agent_name=("agent.name",),
    provider=("llm.provider", "llm.system"),
    model=("llm.request.model_name",),
    tool_name=("tool.name",),
    input_tokens=("llm.token_count.prompt",),
    output_tokens=("llm.token_count.completion",),
    cost_usd=("llm.cost.total",),
)
_LATER_MODEL: Final = Names(model=("llm.model_name", "llm.response.model_name", "embedding.model_name"))
_NODE: Final = Names(agent_name=("graph.node.name", "graph.node.id"))
_NAME_ENDS: Final = (".run", "._execute_core", ".kickoff", ".invoke", ".arun")
"""Method names that an agent's span name ends with."""
_EVENT_PATH: Final = "metadata.path"
_HANDOFF: Final = "handoff to "
_HAYSTACK: Final = "openinference.instrumentation.haystack"
"""It writes messages as Python prints them; what it has flattened lacks tool results and ids."""
_ANSWERED: Final = ("llm.token_count.", "llm.output_messages.", "llm.choices.")
_NO_PARAMETERS: Final = frozenset(
    (
        *("model", "model_name", "messages", "tools", "input", "output", "usage", "contents", "id"),
        *("system", "instructions", "system_instruction"),
    )
)

marks: Final = frozenset((_KIND,))
scopes: Final = frozenset[str]()
keys: Final = (
    NAMES.keys
    | _LATER_MODEL.keys
    | _NODE.keys
    | {_KIND, _EVENT_PATH, "llm.invocation_parameters", "metadata", "error.type"}
)


class _Invocation(msgspec.Struct, gc=False):
    """What is read of ``llm.invocation_parameters`` while a span is loaded."""

    model: Any = None
    model_name: Any = None


class _Metadata(msgspec.Struct, gc=False):
    """What is read of LangChain's ``metadata``."""

    lc_agent_name: Any = None
    ls_provider: Any = None


_invocation = msgspec.json.Decoder(_Invocation).decode
_metadata = msgspec.json.Decoder(_Metadata).decode


def recognises(view: View) -> bool:
    """Every span of these conventions names its kind."""
    return type(view.attributes.get(_KIND)) is str


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    kind = _kind(view)
    langchain = _langchain(get("metadata"))
    if kind == "chain" and text(langchain.lc_agent_name) == view.name:
        kind = "agent"
        facts.agent_name = facts.agent_name or view.name
    facts.kind = facts.kind or kind
    facts.fill(view.attributes, NAMES)
    if facts.kind == "llm":
        facts.provider = facts.provider or provider_of(langchain.ls_provider)
    if facts.model is None:
        facts.model = _asked_model(get("llm.invocation_parameters"))
    facts.fill(view.attributes, _LATER_MODEL)
    if facts.kind == "agent" and facts.agent_name is None:
        facts.fill(view.attributes, _NODE)
        facts.agent_name = facts.agent_name or _without_method(view.name)


def _kind(view: View) -> CallKind | None:
    """The kind a span names, but where it names a step of the framework a call."""
    attributes = view.attributes
    kind = _KINDS.get(attributes.get(_KIND, "").upper())
    if kind == "tool" and view.name.startswith(_HANDOFF) and "tool.name" not in attributes:
        return "other"  # the Agents SDK passes the word on; the model's tool call has no span
    if kind is not None and _EVENT_PATH in attributes:
        return "chain"  # BeeAI writes each event of a call as a span of the call's kind below it
    if kind == "llm" and "._" in view.name and not any(key.startswith(_ANSWERED) for key in attributes):
        return "chain"  # LlamaIndex traces private methods that only prepare the request
    return kind


def _langchain(metadata: Any) -> _Metadata:
    if type(metadata) is str and ("lc_agent_name" in metadata or "ls_provider" in metadata):
        try:
            return _metadata(metadata)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            pass
    return _Metadata()


def _asked_model(parameters: Any) -> str | None:
    if type(parameters) is not str or "model" not in parameters:
        return None
    try:
        asked = _invocation(parameters)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return text(asked.model) or text(asked.model_name)


def _without_method(span_name: str) -> str | None:
    for end in _NAME_ENDS:
        span_name = span_name.removesuffix(end)
    return span_name or None


def fill(draft: Draft) -> None:
    """Messages, tool call, parameters and usage."""
    attributes = draft.attributes
    if draft.kind == "tool":
        _fill_tool(draft)
    elif draft.kind == "llm":
        _fill_llm(draft)
    elif draft.kind == "agent":
        _fill_agent(draft)
    draft.response_model = draft.response_model or draft.first_text("llm.response.model_name", "llm.model_name")
    draft.conversation_id = draft.conversation_id or draft.first_text("session.id") or _session(draft.peek("metadata"))
    if draft.cached_tokens is None:
        draft.cached_tokens = first_whole(attributes, ("llm.token_count.prompt_details.cache_read",))
    if draft.cache_write_tokens is None:
        draft.cache_write_tokens = first_whole(attributes, ("llm.token_count.prompt_details.cache_write",))
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_whole(attributes, ("llm.token_count.completion_details.reasoning",))


def _session(metadata: Any) -> str | None:
    if not isinstance(metadata, Mapping):
        return None
    return text(metadata.get("session_id")) or text(metadata.get("thread_id"))


def _fill_llm(draft: Draft) -> None:
    if draft.inputs is None:
        draft.inputs = flat_messages(draft, "llm.input_messages", asked=True) or _texts(
            draft, "llm.prompts", "prompt", "user"
        )
        if draft.inputs is None or _gaps(draft.inputs):
            draft.inputs = _better(draft.inputs, _whole(draft, "input", "user"))
        if draft.inputs and draft.inputs[0].role not in ("system", "developer"):
            draft.inputs = with_system(_system(draft), draft.inputs)
    if draft.outputs is None:
        draft.outputs = flat_messages(draft, "llm.output_messages") or _texts(
            draft, "llm.choices", "completion", "assistant"
        )
        if draft.outputs is None or _gaps(draft.outputs, answered=False):
            draft.outputs = _better(draft.outputs, _whole(draft, "output", "assistant"), answered=False)
    if draft.tools is None and (tools := flat_items(draft.attributes, "llm.tools")):
        schemas = [item["tool"].get("json_schema") if isinstance(item, Mapping) else item for item in _tools(tools)]
        draft.tools = tuple(tool_definition_of(schema) for schema in schemas)
    if draft.tools is None and draft.span.scope_name == _HAYSTACK:
        given = draft.peek("input.value")
        offered = offered_tools(given.get("tools")) if isinstance(given, Mapping) else None
        draft.tools = None if offered is None else tuple(tool_definition_of(tool) for tool in offered)
    parameters = draft.peek("llm.invocation_parameters")
    if isinstance(parameters, Mapping):
        for key, value in parameters.items():
            if key not in _NO_PARAMETERS and not key.startswith("_"):
                draft.parameters.setdefault(key, value)
    if draft.finish_reasons is None:
        reason = draft.first_text("llm.finish_reason")
        draft.finish_reasons = (reason,) if reason is not None else _finish_reasons(draft)


_ENDED: Final = ("finish_reason", "finishReason", "stop_reason", "stopReason")


def _finish_reasons(draft: Draft) -> tuple[str, ...] | None:
    """Why the answers ended: the flat form often leaves it out, the provider's whole answer beside it has it."""
    if draft.outputs and any(message.finish_reason is not None for message in draft.outputs):
        return None
    raw = draft.attributes.get("output.value")
    if not isinstance(raw, str) or not any(key in raw for key in _ENDED):
        return None
    value = draft.peek("output.value")
    if isinstance(value, Mapping) and (own := next((r for key in _ENDED if (r := text(value.get(key)))), None)):
        return (own,)
    said = _whole(draft, "output", "assistant") or ()
    return tuple(message.finish_reason for message in said if message.finish_reason is not None) or None


def _tools(items: dict[int, Any]) -> list[Any]:
    return [item for item in items.values() if isinstance(item, Mapping) and isinstance(item.get("tool"), Mapping)]


def _texts(draft: Draft, prefix: str, what: str, role: str) -> tuple[Message, ...] | None:
    """The prompts or answers of a plain completion."""
    items = flat_items(draft.attributes, prefix).values()
    found = [item.get(what) for item in items if isinstance(item, Mapping)]
    texts = [item["text"] for item in found if isinstance(item, Mapping) and isinstance(item.get("text"), str)]
    return tuple(Message(role, (TextPart(said),)) for said in texts) or None


def _whole(draft: Draft, side: str, role: str) -> tuple[Message, ...] | None:
    """The messages in the raw request or answer, where nothing better was recorded."""
    value = draft.peek(f"{side}.value")
    if isinstance(value, str):
        # A Python object that was printed is no content, and an error's text is no answer.
        printed = value.startswith("<") and " object at 0x" in value
        is_error = side == "output" and draft.span.status_code == 2 and _tells_error(draft, value)
        return (Message(role, (TextPart(value),)),) if value and not printed and not is_error else None
    if draft.span.scope_name == _HAYSTACK and isinstance(value, Mapping):
        value = chat_messages(value.get("messages" if side == "input" else "replies")) or value
    return draft.content.messages_in(value, role) or None if isinstance(value, list | Mapping) else None


def _tells_error(draft: Draft, value: str) -> bool:
    told = [text(event.attributes.get("exception.message")) for event in draft.span.events]
    return any(message is not None and message in value for message in told)


def _system(draft: Draft) -> Message | None:
    """The system text that a provider takes beside the messages, where only the raw request has it."""
    for key in ("input.value", "llm.invocation_parameters"):
        value = draft.peek(key)
        if isinstance(value, Mapping):
            said = value.get("system") or value.get("instructions")
            if isinstance(said, str | list) and said:
                return Message("system", tuple(parts_of(said)) if isinstance(said, list) else (TextPart(said),))
    return None


def _gaps(messages: tuple[Message, ...], *, answered: bool = True) -> int:
    """How much flattening has lost: contents, ids and arguments of tool calls, and their results."""
    parts = [part for message in messages for part in message.parts]
    empty = sum(not message.parts for message in messages)
    # The flat form drops arguments that are an empty object, which is not the same as none.
    empty += sum(isinstance(part, ToolCallPart) and part.arguments is None for part in parts)
    nameless = sum(isinstance(part, ToolCallPart | ToolCallResponsePart) and part.id is None for part in parts)
    if not answered:
        return empty + nameless
    asked = {part.id for part in parts if isinstance(part, ToolCallPart)}
    return empty + nameless + len(asked - {part.id for part in parts if isinstance(part, ToolCallResponsePart)})


def _better(
    flat: tuple[Message, ...] | None, raw: tuple[Message, ...] | None, *, answered: bool = True
) -> tuple[Message, ...] | None:
    """The raw messages, where flattening them has lost something that they have."""
    if not flat or not raw:
        return flat or raw
    richer = sum(len(message.parts) for message in raw) >= sum(len(message.parts) for message in flat)
    return raw if richer and _gaps(raw, answered=answered) < _gaps(flat, answered=answered) else flat


def _fill_tool(draft: Draft) -> None:
    if draft.arguments is None:
        value, parameters = draft.peek("input.value"), draft.peek("tool.parameters")
        # "tool.parameters" is the schema in some instrumentations and the arguments in others.
        is_schema = isinstance(parameters, Mapping) and ("properties" in parameters or "type" in parameters)
        useful = value is not None and not (isinstance(value, str) and isinstance(parameters, Mapping))
        draft.arguments = value if useful or is_schema or parameters is None else parameters
        draft.arguments = _by_name(draft.arguments)
    output = draft.peek("output.value")
    if isinstance(output, Mapping) and {"raw_input", "raw_output"} <= output.keys():
        output = output["raw_output"]  # LlamaIndex's envelope of what the function gave back
    output = _only_text(output)
    told = tool_result(output)
    if told.call_id is not None:  # LangChain's tool message, with the id of the call
        draft.tool_call_id = draft.tool_call_id or told.call_id
        output = told.value
        draft.error_message = output if isinstance(output, str) else None
    if draft.facts.error_type is None and draft.span.status_code != 2:
        draft.take_result(output)
    elif isinstance(output, str):
        draft.error_message = output
    draft.tool_call_id = draft.tool_call_id or draft.first_text("tool.id", "tool_call.id")


def _only_text(output: Any) -> Any:
    """What a tool of an MCP server said, where it is one text: the model is told no more than that."""
    block = output[0] if isinstance(output, list) and len(output) == 1 else output
    if isinstance(block, Mapping) and set(block) == {"type", "text"} and block["type"] == "text":
        return parse_json_text(block["text"])
    return output


def _by_name(arguments: Any) -> Any:
    """Keyword arguments out of what an instrumentation saw of the Python call."""
    if isinstance(arguments, Mapping) and isinstance(arguments.get("kwargs"), Mapping):
        rest = {key for key in arguments if key not in ("kwargs", "args", "sanitize_inputs_outputs")}
        if not rest and not arguments.get("args"):
            return arguments["kwargs"]
    return arguments


def _fill_agent(draft: Draft) -> None:
    if draft.input is None:
        draft.input = draft.peek("input.value")
    if draft.span.status_code != 2:
        draft.take_result(decoded(draft.attributes.get("output.value")))
