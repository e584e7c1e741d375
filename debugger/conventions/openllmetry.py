"""OpenLLMetry (Traceloop): ``traceloop.*`` on workflow, agent, task and tool spans; older flattened messages.

Its newer model calls are those of the GenAI conventions and read there. Source: OpenLLMetry semantic conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind, Message, Part, TextPart, ToolCallResponsePart, ToolDefinition, parse_json_text

from ._draft import Draft
from ._facts import Facts, Names, first_whole
from ._flat import flat_items
from ._printed import execution
from ._record import tool_arguments, tool_result
from ._view import View, text
from .shapes import decoded, messages_of, tool_calls_of

name: Final = "openllmetry"
version: Final = 4

_KIND: Final = "traceloop.span.kind"
_REQUEST_TYPE: Final = "llm.request.type"
_ENTITY: Final = "traceloop.entity.name"
_KINDS: Final[dict[str, CallKind]] = {"agent": "agent", "tool": "tool", "workflow": "chain", "task": "chain"}
_REQUESTS: Final[dict[str, CallKind]] = {"chat": "llm", "completion": "llm", "embedding": "embedding"}
_MARKS: Final = (_KIND, _REQUEST_TYPE, "llm.is_streaming", "gen_ai.is_streaming", "gen_ai.prompt.0.role")
_OLDEST: Final = Names(
    provider=("llm.vendor",),
    model=("llm.request.model", "llm.response.model"),
    input_tokens=("llm.usage.prompt_tokens",),
    output_tokens=("llm.usage.completion_tokens",),
)
_STREAMING: Final = frozenset(("llm.is_streaming", "gen_ai.is_streaming"))
_PROPERTIES: Final = "traceloop.association.properties."
_FAILED: Final = "failure"
_OUTPUT: Final = "traceloop.entity.output"
_AGNO: Final = "opentelemetry.instrumentation.agno"
_HAYSTACK: Final = "opentelemetry.instrumentation.haystack"
_JAVASCRIPT: Final = "@traceloop/instrumentation-openai"

marks: Final = frozenset(_MARKS)
scopes: Final = frozenset((_JAVASCRIPT,))
keys: Final = _OLDEST.keys | frozenset(
    (*_MARKS, _ENTITY, "gen_ai.task.status", "gen_ai.completion.0.role", "error.type")
)

SCOPE_KEYS: Final = {_AGNO: frozenset((_OUTPUT,))}
"""What only spans of a scope are asked for while they are loaded."""


def recognises(view: View) -> bool:
    """Its own kinds, or one of the attributes that only it writes."""
    attributes = view.attributes
    return view.scope_name == _JAVASCRIPT or any(key in attributes for key in _MARKS)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    kind = get(_KIND)
    if facts.kind is None:
        facts.kind = _KINDS.get(kind) if type(kind) is str else _REQUESTS.get(str(get(_REQUEST_TYPE)))
    if facts.kind is None and (text(get("gen_ai.prompt.0.role")) or text(get("gen_ai.completion.0.role"))):
        facts.kind = "llm"
    facts.fill(view.attributes, _OLDEST)
    if facts.kind == "agent":
        facts.fill(view.attributes, Names(agent_name=(_ENTITY,)))
    elif facts.kind == "tool":
        facts.fill(view.attributes, Names(tool_name=(_ENTITY,)))
    if facts.error_type is None and (get("gen_ai.task.status") == _FAILED or _failed_in_agno(view)):
        facts.error_type = "error"


def _failed_in_agno(view: View) -> bool:
    """Whether a tool of Agno failed: the span's status is good, and only the printed outcome tells."""
    told = execution(view.attributes.get(_OUTPUT)) if view.scope_name == _AGNO else None
    return told is not None and told.failed


def fill(draft: Draft) -> None:
    """Messages, tool call and usage."""
    if draft.kind == "llm":
        _fill_llm(draft)
    elif draft.kind == "tool":
        _fill_tool(draft)
    elif draft.kind == "agent":
        if draft.input is None:
            draft.input = _entity(draft, "traceloop.entity.input")
        if draft.span.status_code != 2:
            draft.take_result(_entity(draft, _OUTPUT))
    draft.conversation_id = draft.conversation_id or draft.first_text(
        f"{_PROPERTIES}session_id", f"{_PROPERTIES}thread_id"
    )
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_whole(draft.attributes, ("llm.usage.reasoning_tokens",))


def _entity(draft: Draft, key: str) -> Any:
    value = decoded(draft.attributes.get(key))
    return _inside(value)


def _inside(value: Any) -> Any:
    """What a decorated function or a LangChain node was given or gave back, without the wrapper around it."""
    if isinstance(value, Mapping):
        if set(value) == {"args", "kwargs"}:
            args, kwargs = value["args"], value["kwargs"]
            return kwargs if not args else args[0] if not kwargs and len(args) == 1 else value
        for key in ("inputs", "outputs"):
            if key in value and value[key] is not None:
                return value[key]
    return value


def _request_in_text(inputs: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The messages of a Responses request, which the JavaScript version writes as the JSON text of one user message."""
    if inputs is None or len(inputs) != 1 or len(inputs[0].parts) != 1:
        return inputs
    only = inputs[0].parts[0]
    items = decoded(only.content) if isinstance(only, TextPart) and only.content.startswith("[{") else None
    if not isinstance(items, list) or not all(isinstance(i, Mapping) and ("role" in i or "type" in i) for i in items):
        return inputs
    return messages_of(items, inputs[0].role)


def _fill_llm(draft: Draft) -> None:
    attributes = draft.attributes
    if draft.span.scope_name == _JAVASCRIPT:
        draft.inputs = _request_in_text(draft.inputs)
    if draft.inputs is None and (prompts := _flat(attributes, "gen_ai.prompt", "llm.prompts")):
        if (
            next(iter(prompts)) != 0
            or len(prompts) != max(prompts) + 1
            or draft.span.extra.get("droppedAttributesCount")
        ):
            draft.content.lose("messages were dropped by a limit on the number of attributes")
        draft.inputs = _read(draft, prompts, "user")
    said = any(message.parts for message in draft.outputs or ())
    if draft.span.scope_name == _HAYSTACK and draft.attributes.get("gen_ai.completion.0.content") == "replies":
        said = True  # of a chat generator's answer it writes the name of the field alone
    if not said and (answers := _flat(attributes, "gen_ai.completion", "llm.completions")):
        draft.outputs = _answers(draft, answers)
        reasons = tuple(m.finish_reason for m in draft.outputs if m.finish_reason is not None)
        draft.finish_reasons = draft.finish_reasons or reasons or None
    if draft.tools is None and (functions := flat_items(attributes, "llm.request.functions")):
        draft.tools = tuple(
            ToolDefinition.from_json({**item, "parameters": parse_json_text(item.get("parameters"))})
            for item in functions.values()
            if isinstance(item, Mapping)
        )


def _flat(attributes: Mapping[str, Any], *prefixes: str) -> dict[int, Any]:
    return next((items for prefix in prefixes if (items := flat_items(attributes, prefix))), {})


def _answers(draft: Draft, items: Mapping[int, Any]) -> tuple[Message, ...]:
    """The answers; LiteLLM counts the tool calls of its only answer as if each were one."""
    messages = _read(draft, items, "assistant")
    if len(items) > 1 and all(isinstance(item, Mapping) and set(item) == {"function_call"} for item in items.values()):
        return (Message("assistant", tuple(part for message in messages for part in message.parts)),)
    return messages


def _read(draft: Draft, items: Mapping[int, Any], role: str) -> tuple[Message, ...]:
    once = draft.content.known.once
    return tuple(once(_message, item, role) for item in items.values() if isinstance(item, Mapping))


def _message(item: Mapping[str, Any], default_role: str) -> Message:
    role = text(item.get("role")) or default_role
    content = parse_json_text(item.get("content"))
    parts: list[Part]
    if role == "tool" or "tool_call_id" in item:
        parts = [ToolCallResponsePart(text(item.get("tool_call_id")), content)]
    elif isinstance(content, list):
        parts = [part for message in messages_of(content, role) for part in message.parts]
    else:
        plain = item.get("content")
        parts = [TextPart(plain)] if isinstance(plain, str) and plain else []
    parts += tool_calls_of(item.get("tool_calls") or [item.get("function_call")])
    return Message(role, tuple(parts), None, text(item.get("finish_reason")))


def _fill_tool(draft: Draft) -> None:
    given = draft.arguments if draft.arguments is not None else decoded(draft.attributes.get("traceloop.entity.input"))
    draft.arguments = tool_arguments(given)
    written = draft.result if draft.has_result else draft.attributes.get(_OUTPUT)
    ran = execution(written) if draft.span.scope_name == _AGNO else None
    told = tool_result(written if ran is None else ran.error if ran.failed else ran.result)
    draft.tool_call_id = draft.tool_call_id or told.call_id
    if draft.span.status_code != 2 and draft.facts.error_type is None:
        draft.result, draft.has_result = told.value, told.value is not None or draft.has_result
    else:
        draft.result, draft.has_result = None, False
        draft.error_message = told.value if isinstance(told.value, str) else None
