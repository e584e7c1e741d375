"""Claude Code's traces: ``span.type`` on spans named ``claude_code.*``, with plain names for everything else.

Counts of input tokens leave cached ones out, as the provider's own do. Source: Claude Code, monitoring.
"""

from __future__ import annotations

import re
from typing import Any, Final

from runtime.messages import CallKind, Message, TextPart, ToolCallResponsePart, parse_json_text

from ._draft import Draft
from ._facts import Facts, Names, first_whole
from ._record import fill_record
from ._view import View, text

name: Final = "claude_code"
version: Final = 2

_TYPE: Final = "span.type"
_PREFIX: Final = "claude_code."
_KINDS: Final[dict[str, CallKind]] = {"interaction": "agent", "llm_request": "llm", "tool": "tool"}
NAMES: Final = Names(
    agent_name=("agent_name", "agent_type"),
    model=("model",),
    tool_name=("tool_name",),
    input_tokens=("input_tokens",),
    output_tokens=("output_tokens",),
    cost_usd=("cost_usd",),
)
_PIECES: Final = re.compile(r"(?:\A|\n\n---\n\n)\[(USER|TOOL RESULT: ([^\]\n]*))\]\n")
"""What stands before each message of ``new_context``."""
_GIVEN: Final = re.compile(r"\A\[TOOL INPUT: [^\]\n]*\]\n")

marks: Final = frozenset((_TYPE,))
scopes: Final = frozenset(("com.anthropic.claude_code.tracing", "com.anthropic.claude_code"))
keys: Final = NAMES.keys | {_TYPE, "success", "error.type"}


def recognises(view: View) -> bool:
    """Its names, with a type."""
    return view.name.startswith(_PREFIX) and type(view.attributes.get(_TYPE)) is str


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    get = view.attributes.get
    facts.kind = facts.kind or _KINDS.get(str(get(_TYPE)))
    if facts.kind is not None:
        facts.fill(view.attributes, NAMES)
    if facts.error_type is None and get("success") in (False, "false"):
        facts.error_type = "error"


def fill(draft: Draft) -> None:
    """Prompt, answer and tool call, where their content was recorded."""
    attributes = draft.attributes
    if draft.kind == "agent":
        fill_record(draft, attributes.get("user_prompt"), None)
    elif draft.kind == "llm":
        _fill_llm(draft)
        reason = draft.first_text("stop_reason")
        draft.finish_reasons = draft.finish_reasons or ((reason,) if reason else None)
    elif draft.kind == "tool":
        given = attributes.get("tool_input")
        head = _GIVEN.match(given) if isinstance(given, str) else None
        given = draft.value("tool_input") if head is None else parse_json_text(str(given)[head.end() :])
        fill_record(draft, given, _output(draft))
    draft.tool_call_id = draft.tool_call_id or draft.first_text("tool_use_id")
    if draft.cached_tokens is None:
        draft.cached_tokens = first_whole(attributes, ("cache_read_tokens",))
    draft.conversation_id = draft.conversation_id or draft.first_text("session.id")
    draft.error_message = draft.error_message or draft.first_text("error")


def _fill_llm(draft: Draft) -> None:
    """The request's new messages; those of the requests before are not written again."""
    written = draft.attributes.get("new_context")
    if draft.inputs is None and isinstance(written, str) and _PIECES.match(written):
        draft.inputs = _new_messages(written)
    if draft.attributes.get("new_context_truncated"):
        draft.content.lose("new_context is cut off")
    given = draft.value("new_context") if draft.inputs is None else None
    fill_record(draft, given, draft.value("response.model_output"))


def _new_messages(written: str) -> tuple[Message, ...]:
    ahead, *pieces = _PIECES.split(written)
    messages: list[Message] = [Message("user", (TextPart(ahead),))] if ahead else []
    for said, call_id, content in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if said == "USER":
            messages.append(Message("user", (TextPart(content),)))
        else:
            messages.append(Message("tool", (ToolCallResponsePart(call_id, content),)))
    return tuple(messages)


def _output(draft: Draft) -> Any:
    for event in draft.span.events:
        if event.name == "tool.output":
            return text(event.attributes.get("output")) or text(event.attributes.get("content"))
    return None
