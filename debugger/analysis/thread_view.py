"""The conversation of a whole trace as one thread: every message once, where it first appeared.

Model calls repeat the conversation so far; here each call shows only what no earlier call of the same agent held. So
the first place where a phrase stands is the message that introduced it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from runtime.messages import Call, Message, ToolCallResponsePart

from .context import message_key
from .conversation import GLYPHS, KIND_STYLES, MessageView, message_lines, tokens_text, value_lines
from .document import Builder, Document, Piece, told
from .text import duration, plural
from .tree import called

MOST_CALLS = 3_000
"""Calls that one thread shows; of a longer trace those around the selected one."""

_DEEPEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """The thread of a trace."""

    document: Document = field(repr=False)
    calls: Mapping[str, str] = field(repr=False)
    """Span id by the beginning of a block's key."""
    first_block: Mapping[str, str] = field(repr=False)
    """The first block of each span's call."""
    before: str | None = None
    """The span of the call before those that are shown; None where there is none."""
    after: str | None = None
    """The span of the call after those that are shown; None where there is none."""


def thread_of(calls: Sequence[Call], around: str | None = None) -> Thread:
    """The thread of a trace's calls.

    Args:
        calls: all of them, in timeline order.
        around: a span that must be in it, where there are too many.

    Cost: one pass over all messages; call it in a worker.
    """
    spoken = [call for call in calls if call.kind in ("agent", "llm", "tool", "retriever")]
    place = next((i for i, call in enumerate(spoken) if call.span_id == around), 0)
    start = max(min(place - MOST_CALLS // 2, len(spoken) - MOST_CALLS), 0)
    shown = spoken[start : start + MOST_CALLS]
    agents = _agents_of(calls)
    tools = {call.tool_call_id for call in spoken if call.kind == "tool" and call.has_result and call.tool_call_id}
    known: dict[str, Counter[str]] = {}
    out = Builder()
    by_key: dict[str, str] = {}
    first: dict[str, str] = {}
    if len(shown) < len(spoken):
        out.line(Piece(f"Calls {start + 1:,} to {start + len(shown):,} of {len(spoken):,} are shown and searched; the "
                       "next and the previous call go on beyond them.", "warning"))  # fmt: skip
        for call in spoken[:start]:
            _remember(call, known.setdefault(agents[call.span_id][0], Counter()))
    for number, call in enumerate(shown):
        key = f"t{number}"
        owner, depth = agents[call.span_id]
        out.close()
        before = len(out.blocks)
        _call_into(out, key, call, known.setdefault(owner, Counter()), min(depth, _DEEPEST), tools)
        out.close()
        first[call.span_id] = out.blocks[before].key if len(out.blocks) > before else ""
        for block in range(before, len(out.blocks)):
            by_key[out.blocks[block].key] = call.span_id
    if not shown:
        out.line(Piece("Nothing was said in this trace.", "dim"))
    end = start + len(shown)
    return Thread(document=out.document("thread"), calls=by_key, first_block=first,
                  before=spoken[start - 1].span_id if start else None,
                  after=spoken[end].span_id if end < len(spoken) else None)  # fmt: skip


def _agents_of(calls: Sequence[Call]) -> dict[str, tuple[str, int]]:
    """For each span the agent that it is in, by its span id, and how many agents are around it. Iterative."""
    by_id = {call.span_id: call for call in calls}
    found: dict[str, tuple[str, int]] = {}
    for call in calls:
        path: list[Call] = []
        seen: set[str] = set()
        at: Call | None = call
        while at is not None and at.span_id not in found and at.span_id not in seen:
            path.append(at)
            seen.add(at.span_id)
            at = by_id.get(at.parent_span_id or "")
        owner, depth = found.get(at.span_id, ("", 0)) if at is not None else ("", 0)
        if at is not None and at.kind == "agent" and at.span_id in found:
            owner, depth = at.span_id, depth + 1
        for inner in reversed(path):
            found[inner.span_id] = (owner, depth)
            if inner.kind == "agent":
                owner, depth = inner.span_id, depth + 1
    return found


def _remember(call: Call, known: Counter[str]) -> None:
    for message in (*(call.input_messages or ()), *(call.output_messages or ())):
        known[message_key(message)] += 1


def _call_into(out: Builder, key: str, call: Call, known: Counter[str], depth: int, tools: Collection[str]) -> None:
    indent = 2 * depth
    took = "unfinished" if call.duration_ns is None else duration(call.duration_ns)
    tokens = tokens_text(call.usage)
    facts = "   ".join(part for part in (took, tokens) if part)
    out.gap()
    out.title(told(called(call), KIND_STYLES[call.kind] or "strong", before=f"{GLYPHS[call.kind]} "),
              Piece(f"   {facts}", "dim"), indent=indent)  # fmt: skip
    if call.kind == "llm":
        _new_messages(out, key, call, known, indent + 2, tools)
    elif call.kind != "agent":
        _tool_value(out, key, call, indent + 2)
    if call.error is not None:
        out.text(f"{key}.error", call.error.message or "(no message)", style="error", indent=indent + 2,
                 first=(told(call.error.type, "error", before="✗ ", after=": "),))  # fmt: skip


def _new_messages(out: Builder, key: str, call: Call, known: Counter[str], indent: int, tools: Collection[str]) -> None:
    left = Counter(known)
    new: list[tuple[int, Message]] = []
    for i, message in enumerate(call.input_messages or ()):
        if left[message_key(message)] > 0:
            left[message_key(message)] -= 1
        else:
            new.append((i, message))
    if carried := len(call.input_messages or ()) - len(new):
        out.line(Piece(f"{plural(carried, 'message')} carried over", "dim"), indent=indent)
    for i, message in new:
        known[message_key(message)] += 1
        if not _is_shown_by_tool(message.parts, tools):  # The tool's own call shows it.
            message_lines(out, f"{key}.i{i}", MessageView(message=message, place="input", is_new=None), indent)
    for i, message in enumerate(call.output_messages or ()):
        known[message_key(message)] += 1
        message_lines(out, f"{key}.o{i}", MessageView(message=message, place="output", is_new=None), indent)
    if call.input_messages is None and call.output_messages is None:
        out.line(Piece("The messages were not recorded in this trace.", "dim"), indent=indent)


def _is_shown_by_tool(parts: Sequence[object], tools: Collection[str]) -> bool:
    return bool(parts) and all(isinstance(part, ToolCallResponsePart) and part.id in tools for part in parts)


def _tool_value(out: Builder, key: str, call: Call, indent: int) -> None:
    if call.arguments is not None:
        value_lines(out, f"{key}.a", "arguments ", call.arguments, indent)
    if call.has_result:
        value_lines(out, f"{key}.r", "↳ ", call.result, indent)
