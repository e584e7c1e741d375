"""AgentScope: GenAI attributes; a tool's result is the framework's own object around what the model is told.

Source: AgentScope, tracing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import parse_json_text

from ._draft import Draft
from ._facts import Facts
from ._record import details
from ._view import View

name: Final = "agentscope"
version: Final = 1

_SCOPE: Final = "agentscope"
_RESULT: Final = "gen_ai.tool.call.result"
_FAILED: Final = frozenset(("error", "interrupted"))

marks: Final = frozenset[str]()
scopes: Final = frozenset((_SCOPE,))
keys: Final = frozenset(("error.type",))
SCOPE_KEYS: Final = {_SCOPE: frozenset((_RESULT,))}
"""What only spans of its scope are asked for while they are loaded."""


def recognises(view: View) -> bool:
    """Its scope: the attributes are the common ones."""
    return view.scope_name == _SCOPE


def narrow(view: View, facts: Facts) -> None:
    """Whether a tool failed, which the state of its result tells; the span's status is good."""
    if facts.kind == "tool" and facts.error_type is None:
        state = details(view.attributes.get(_RESULT)).get("state")
        facts.error_type = "error" if state in _FAILED else None


def fill(draft: Draft) -> None:
    """A tool's result without the object around it."""
    written = details(draft.attributes.get(_RESULT))
    if draft.kind != "tool" or "content" not in written:
        return
    told = _told(written["content"])
    if draft.facts.error_type is None:
        draft.result, draft.has_result = parse_json_text(told), True
    else:
        draft.result, draft.has_result = None, False
        draft.error_message = draft.error_message or (told if isinstance(told, str) else None)


def _told(content: Any) -> Any:
    """The text, where the content holds nothing else."""
    blocks = content if isinstance(content, list) else [content]
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    return "\n".join(texts) if texts and len(texts) == len(blocks) else content
