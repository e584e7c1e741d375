"""AgentOps: ``agentops.span.kind`` on decorated functions; model calls in OpenLLMetry's flattened form.

The tool calls of a model's answer are spans of their own below the model call; ``_join`` takes them back from there.
Source: AgentOps, semantic conventions.
"""

from __future__ import annotations

from typing import Final

from runtime.messages import CallKind, Message, TextPart, ToolCallPart, ToolDefinition, parse_json_text

from ._draft import Draft
from ._facts import Facts, Names
from ._flat import flat_items
from ._record import fill_record
from ._view import View, text

name: Final = "agentops"
version: Final = 1

_KIND: Final = "agentops.span.kind"
_STREAMING: Final = "gen_ai.request.streaming"
_ENUM: Final = "agentopsspankindvalues."
"""What some of its instrumentations write before the value: the name of the Python class."""
_INSTRUMENTATION: Final = "agentops.instrumentation.providers."
_KINDS: Final[dict[str, CallKind]] = {
    "agent": "agent",
    "tool": "tool",
    "llm": "llm",
    "session": "chain",
    "workflow": "chain",
    "operation": "chain",
    "task": "chain",
    "chain": "chain",
    "guardrail": "chain",
}
_AGENT: Final = ("agent.name", "operation.name")
_TOOL: Final = Names(tool_name=("tool.name", "operation.name"))

marks: Final = frozenset((_KIND, _STREAMING))
scopes: Final = frozenset[str]()
keys: Final = _TOOL.keys | marks | {*_AGENT, "error.type"}


def recognises(view: View) -> bool:
    """A kind of its own, or the way it writes that a request streams."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts. A tool call in a model's answer runs nothing, and is no tool's span."""
    kind = (text(view.attributes.get(_KIND)) or "").lower().removeprefix(_ENUM)
    if view.scope_name.startswith(_INSTRUMENTATION) and kind == "tool":
        facts.fill(view.attributes, _TOOL)
        return
    facts.kind = facts.kind or _KINDS.get(kind)
    if facts.kind == "tool":
        facts.fill(view.attributes, _TOOL)
    elif facts.kind == "agent" and facts.agent_name is None:
        facts.agent_name = next((said for key in _AGENT if (said := text(view.attributes.get(key)))), None)


def fill(draft: Draft) -> None:
    """Tool call, input and output; the tools that a model was offered."""
    attributes = draft.attributes
    if draft.kind == "llm":
        draft.inputs = _without_none(draft.inputs)
        if draft.tools is None and (functions := flat_items(attributes, "gen_ai.request.functions")):
            draft.tools = tuple(
                ToolDefinition.from_json({**item, "parameters": parse_json_text(item.get("parameters"))})
                for item in functions.values()
                if isinstance(item, dict)
            )
        return
    written = "tool" if draft.kind == "tool" else draft.kind
    given = (
        draft.value("tool.parameters") if "tool.parameters" in attributes else draft.value(f"agentops.{written}.input")
    )
    got = draft.value("tool.result") if "tool.result" in attributes else draft.value(f"agentops.{written}.output")
    fill_record(draft, given, got)
    if draft.arguments is None:
        draft.arguments = given
    draft.tool_call_id = draft.tool_call_id or draft.first_text("tool.call.id")


def _without_none(messages: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The messages without the word that Python prints for a content that was not there."""
    if messages is None:
        return None
    none = TextPart("None")
    return tuple(
        Message(m.role, tuple(part for part in m.parts if part != none), m.name, m.finish_reason)
        if none in m.parts and any(isinstance(part, ToolCallPart) for part in m.parts)
        else m
        for m in messages
    )
