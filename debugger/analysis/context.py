"""What a model call goes on from: the call before it in its agent, what it took over from there, how its context grew.

Frameworks put their model calls at different places: side by side below the agent, or each in a step of its own
(LangChain's model nodes, the cycles of Strands). So the agent decides which calls belong together, not the parent. What
a tool asks of a model is no part of the conversation of the agent that called the tool: often an agent works inside it
that has no span of its own around its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from runtime.messages import Call, Message

from .tree import Forest

_GROWTH = 40
"""Calls whose context is compared."""

_OWNERS = frozenset(("agent", "tool"))
"""What holds a conversation of its own."""

_LOOKED_AT = 20_000
"""Spans that are looked through for earlier calls: a key that moves the cursor waits for it."""


def earlier_calls(forest: Forest, index: int) -> tuple[int, ...]:
    """The model calls before this one in the same agent or tool, or outside of any, the nearest first.

    Cost: linear in the spans between, bounded.
    """
    owners: dict[int, int] = {}
    owner = _owner(forest, index, owners)
    found = []
    for at in range(index - 1, max(owner, index - 1 - _LOOKED_AT, -1), -1):
        if forest.rows[at].kind == "llm" and _owner(forest, at, owners) == owner:
            found.append(at)
            if len(found) == _GROWTH:
                break
    return tuple(found)


def _owner(forest: Forest, index: int, owners: dict[int, int]) -> int:
    """The agent or tool that a span is in, -1 for none. ``owners`` keeps what was found for the spans on the way."""
    path = []
    at = forest.parent[index]
    while at >= 0 and at not in owners and forest.rows[at].kind not in _OWNERS:
        path.append(at)
        at = forest.parent[at]
    owner = owners.get(at, at)
    owners.update(dict.fromkeys(path, owner))
    return owner


def context_growth(forest: Forest, index: int, earlier: Sequence[int]) -> tuple[int, ...]:
    """Input tokens of a model call and of those before it, where known, in their order."""
    known = [forest.rows[at].input_tokens for at in (index, *earlier[: _GROWTH - 1])]
    return tuple(tokens for tokens in reversed(known) if tokens is not None)


def message_key(message: Message) -> str:
    """Equal for messages that say the same: an answer often comes back as input with a name that it had not."""
    return message.digest if message.name is None else replace(message, name=None).digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What of a call's input its previous call held."""

    is_new: tuple[bool, ...]
    """For each input message: the previous call neither held nor answered it."""
    gone: tuple[Message, ...]
    """Input messages of the previous call that this one was not given any more, as where a context is compacted."""

    @property
    def kept(self) -> int:
        """How many messages were carried over."""
        return self.is_new.count(False)


def carried_from(call: Call, previous: Call) -> Carried:
    """What a call took over from another one."""
    left = Counter(message_key(message) for message in previous.input_messages or ())
    answers = Counter(message_key(message) for message in previous.output_messages or ())
    is_new = []
    for message in call.input_messages or ():
        key = message_key(message)
        held = left if left[key] > 0 else answers
        is_new.append(held[key] <= 0)
        held[key] -= 1
    gone = []
    for message in reversed(previous.input_messages or ()):  # Of equal ones the first were carried over.
        key = message_key(message)
        if left[key] > 0:
            left[key] -= 1
            gone.append(message)
    return Carried(is_new=tuple(is_new), gone=tuple(reversed(gone)))


def continued(call: Call, earlier: Iterable[Call]) -> Call | None:
    """The earlier call that this one goes on from: the first whose messages it all holds, else the most of them.

    Calls that ran at the same time, as those of parallel branches do, are not gone on from.

    Args:
        call: a model call.
        earlier: those before it in its agent, the nearest first; as few are taken as will do.
    """
    best: tuple[int, Call] | None = None
    for other in earlier:
        if (other.end_unix_nano or 0) > (call.start_unix_nano or 0):
            continue
        found = carried_from(call, other)
        if best is None or found.kept > best[0]:
            best = found.kept, other
        if not found.gone:
            break
    return None if best is None else best[1]
