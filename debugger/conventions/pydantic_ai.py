"""pydantic-ai, instrumentation versions 1 to 5, of releases 1 and 2.

Newer versions write the GenAI conventions and little else; older ones name kinds by span name and keep messages as a
list of events. Source: pydantic-ai, debugging and monitoring.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import Message, TextPart, ToolDefinition

from ._content import with_system
from ._draft import Draft
from ._facts import Facts, Names, first_whole
from ._message_events import conversation, of_list
from ._view import View, text
from .shapes import tool_definitions_of

name: Final = "pydantic_ai"
version: Final = 1

_SCOPE: Final = "pydantic-ai"
_MARKS: Final = ("model_request_parameters", "agent_name", "tool_arguments", "gen_ai.agent.call.id")
NAMES: Final = Names(agent_name=("agent_name",), cost_usd=("operation.cost",))
_AGENT: Final = Names(
    model=("model_name",),
    input_tokens=("gen_ai.aggregated_usage.input_tokens",),
    output_tokens=("gen_ai.aggregated_usage.output_tokens",),
)

marks: Final = frozenset(_MARKS)
scopes: Final = frozenset((_SCOPE,))
keys: Final = NAMES.keys | _AGENT.keys | {*_MARKS, "gen_ai.tool.name", "error.type"}


def recognises(view: View) -> bool:
    """Its scope; where that is missing (console JSON), one of its own attributes."""
    attributes = view.attributes
    return view.scope_name == _SCOPE or any(key in attributes for key in _MARKS)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    if facts.kind is None:
        if "agent_name" in view.attributes and "model_name" in view.attributes:
            facts.kind = "agent"
        elif text(get("gen_ai.tool.name")) is not None:
            facts.kind = "tool"
        elif (view.name.startswith("running ") and view.name.endswith(" tools")) or view.name == "running tools":
            facts.kind = "chain"
    facts.fill(view.attributes, NAMES)
    if facts.kind == "agent":
        facts.fill(view.attributes, _AGENT)


def fill(draft: Draft) -> None:
    """Messages, tool call and usage."""
    if draft.kind == "tool":
        _fill_tool(draft)
    elif draft.kind == "agent":
        _fill_agent(draft)
    elif draft.kind == "llm":
        _fill_llm(draft)
    attributes = draft.attributes
    if draft.cached_tokens is None:
        draft.cached_tokens = first_whole(attributes, ("gen_ai.usage.details.cache_read_tokens",))
    if draft.cache_write_tokens is None:
        draft.cache_write_tokens = first_whole(attributes, ("gen_ai.usage.details.cache_write_tokens",))
    if draft.reasoning_tokens is None:
        draft.reasoning_tokens = first_whole(attributes, ("gen_ai.usage.details.reasoning_tokens",))


def _fill_tool(draft: Draft) -> None:
    if draft.arguments is None:
        draft.arguments = draft.peek("tool_arguments")
    response = draft.peek("tool_response")
    if draft.span.status_code == 2:
        told = response if response is not None else draft.result
        draft.error_message = told if isinstance(told, str) else None
    draft.take_result(response)


def _fill_llm(draft: Draft) -> None:
    said = conversation(of_list(draft.value("events")))
    if draft.inputs is None and said.inputs:
        draft.inputs = said.inputs
    if draft.outputs is None and said.outputs:
        draft.outputs = said.outputs
    draft.finish_reasons = draft.finish_reasons or said.finish_reasons or None
    parameters = draft.peek("model_request_parameters")
    if not isinstance(parameters, Mapping):
        return
    if draft.tools is None:
        draft.tools = _tools(parameters)
    output = parameters.get("output_object")
    schema = output.get("json_schema") if isinstance(output, Mapping) else None
    if draft.output_schema is None and isinstance(schema, dict):
        draft.output_schema = schema


def _tools(parameters: Mapping[str, Any]) -> tuple[ToolDefinition, ...] | None:
    found = [tool_definitions_of(parameters.get(key)) for key in ("function_tools", "output_tools")]
    known = [tools for tools in found if tools is not None]
    return tuple(tool for tools in known for tool in tools) if known else None


def _fill_agent(draft: Draft) -> None:
    """The agent's span has the whole conversation: up to the last text of the user it is the input."""
    if draft.inputs is None:
        messages = _all_messages(draft)
        asked = [i for i, message in enumerate(messages) if _is_asked(message)]
        if asked:
            draft.inputs = messages[: asked[-1] + 1]
            system = draft.content.system(draft.attributes, "gen_ai.system_instructions")
            draft.inputs = with_system(system, draft.inputs)
    if draft.span.status_code != 2:
        draft.take_result(draft.peek("final_result"))


def _is_asked(message: Message) -> bool:
    return message.role == "user" and any(isinstance(part, TextPart) for part in message.parts)


def _all_messages(draft: Draft) -> tuple[Message, ...]:
    value = draft.value("pydantic_ai.all_messages")
    if value is not None:
        return draft.content.messages_in(value, "user")
    events = conversation(of_list(draft.value("all_messages_events")))
    return events.inputs
