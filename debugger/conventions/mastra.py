"""Mastra: GenAI attributes with ``mastra.span.type``; what went in and came out under the name of the type.

Source: Mastra, OpenTelemetry exporter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import CallKind, TextPart

from ._draft import Draft
from ._facts import Facts, Names
from ._record import fill_record
from ._view import View, text

name: Final = "mastra"
version: Final = 2

_TYPE: Final = "mastra.span.type"
_KINDS: Final[dict[str, CallKind]] = {
    "agent_run": "agent",
    "model_generation": "llm",
    "llm_generation": "llm",
    "model_step": "llm",
    "model_inference": "llm",
    "tool_call": "tool",
    "mcp_tool_call": "tool",
    "client_tool_call": "tool",
    "workflow_run": "chain",
    "workflow_step": "chain",
    "processor_run": "chain",
    "generic": "chain",
}
NAMES: Final = Names(agent_name=("mastra.agent.id", "mastra.agentId", "gen_ai.agent.id"))

marks: Final = frozenset((_TYPE,))
scopes: Final = frozenset[str]()
keys: Final = NAMES.keys | {_TYPE, "error.type"}


def recognises(view: View) -> bool:
    """It marks every span with its type."""
    return type(view.attributes.get(_TYPE)) is str


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts; a step of a generation is the model call, if steps were exported."""
    facts.kind = facts.kind or _KINDS.get(str(view.attributes.get(_TYPE)))
    if facts.kind == "agent":
        facts.fill(view.attributes, NAMES)
    if facts.provider is not None:
        facts.provider = facts.provider.partition(".")[0] or None  # it comes with the API in its name: "openai.chat"


def fill(draft: Draft) -> None:
    """Messages and tool call."""
    prefix = f"mastra.{text(draft.attributes.get(_TYPE)) or ''}"
    given, got = draft.value(f"{prefix}.input"), draft.value(f"{prefix}.output")
    if draft.kind == "llm":
        body = given.get("body") if isinstance(given, Mapping) else None
        given = body if isinstance(body, Mapping) else given
    if draft.kind == "llm" and draft.outputs is not None:
        parts = [part for message in draft.outputs for part in message.parts]
        if all(isinstance(part, TextPart) and not part.content for part in parts):
            draft.outputs = None  # an answer of tool calls only: the step around this span has them
    fill_record(draft, given, _spoken(got) if draft.kind == "llm" else got)
    draft.conversation_id = draft.conversation_id or draft.first_text("mastra.metadata.threadId", "mastra.threadId")


def _spoken(got: Any) -> Any:
    """The answer's text and tool calls as one message."""
    if not isinstance(got, Mapping) or not ("text" in got or "toolCalls" in got):
        return got
    said = got.get("text")
    calls = got.get("toolCalls")
    parts: list[Any] = [{"type": "text", "text": said}] if isinstance(said, str) and said else []
    for call in calls if isinstance(calls, list) else []:
        inside = call.get("payload", call) if isinstance(call, Mapping) else None
        if isinstance(inside, Mapping):
            parts.append({**inside, "type": "tool-call"})
    return [{"role": "assistant", "content": parts}]
