"""Spring AI: ``spring.ai.*`` on chat clients, advisors, tools and vector stores; model calls speak GenAI.

Source: Spring AI reference, observability.
"""

from __future__ import annotations

from typing import Final

from runtime.messages import CallKind

from ._draft import Draft
from ._facts import Facts, Names
from ._view import View

name: Final = "spring_ai"
version: Final = 1

_KIND: Final = "spring.ai.kind"
_KINDS: Final[dict[str, CallKind]] = {
    "tool_call": "tool",
    "vector_store": "retriever",
    "chat_client": "chain",
    "advisor": "chain",
}
NAMES: Final = Names(tool_name=("spring.ai.tool.definition.name",))

marks: Final = frozenset((_KIND, "spring.ai.tool.definition.name"))
scopes: Final = frozenset[str]()
keys: Final = NAMES.keys | {_KIND, "error.type"}


def recognises(view: View) -> bool:
    """Its kinds, or a tool's definition."""
    return not marks.isdisjoint(view.attributes)


def narrow(view: View, facts: Facts) -> None:
    """The narrow facts."""
    facts.kind = facts.kind or _KINDS.get(str(view.attributes.get(_KIND)))
    facts.fill(view.attributes, NAMES)
    if facts.kind is None and facts.tool_name is not None:
        facts.kind = "tool"


def fill(draft: Draft) -> None:
    """A tool's call; recorded only where it was switched on."""
    if draft.kind == "tool":
        if draft.arguments is None:
            draft.arguments = draft.peek("spring.ai.tool.call.arguments")
        draft.take_result(draft.peek("spring.ai.tool.call.result"))
        draft.tool_call_id = draft.tool_call_id or draft.first_text("spring.ai.tool.call.id")
    draft.conversation_id = draft.conversation_id or draft.first_text("spring.ai.chat.client.conversation.id")
