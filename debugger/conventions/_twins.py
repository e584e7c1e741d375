"""Doubled spans: two instrumentations, or two layers of one, recorded the same call. It counts once.

One span stays what it is and takes from the other what it lacks; the other becomes a ``chain``, listed and whole. The
decision needs only narrow facts, so that the store's columns and the calls of a trace agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from runtime.messages import Call, CallKind, ToolCallPart, Usage, text_of

_OWN: Final = frozenset(("retrospan", "rejelly"))
"""Conventions whose spans are never the twin of a foreign one: restore needs them as they are."""
_CALLS: Final = frozenset(("agent", "llm", "tool", "retriever", "embedding"))
_NAME_ENDS: Final = (".run", ".workflow", ".agent", ".task", ".tool")
ANTHROPIC_SDK: Final = "com.anthropic.sdk."
"""The spans that Anthropic's SDK writes about its own requests."""
_MCP_SDK: Final = "mcp-python-sdk"
"""The spans that the SDK for MCP writes about its own requests; agents may put the server's name before the tool's."""
STREAMED: Final = "streaming response from"
"""How Logfire names the span that it writes after a stream has ended."""


class Narrow(NamedTuple):
    """What is asked of a span to find its twin."""

    span_id: str
    parent_span_id: str | None
    kind: CallKind
    convention: str | None
    name: str
    scope_name: str
    start_unix_nano: int | None
    end_unix_nano: int | None
    agent_name: str | None
    provider: str | None
    model: str | None
    tool_name: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nano_usd: int | None


FILLED: Final = ("agent_name", "provider", "model", "tool_name", "input_tokens", "output_tokens", "cost_nano_usd")
"""The facts that the span which stays takes from its twin."""


class Pair(NamedTuple):
    """The span that stays (None where it is not clear which) and its twin, by their places in the list."""

    kept: int | None
    twin: int


class Settled(NamedTuple):
    """A span whose narrow facts change."""

    place: int
    """In the list that was given."""
    kind: CallKind
    agent_name: str | None
    provider: str | None
    model: str | None
    tool_name: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nano_usd: int | None


def settle(spans: Sequence[Narrow]) -> list[Settled]:
    """The changed facts of the spans of one trace."""
    rows = list(spans)
    changed: set[int] = set()
    for kept, twin in pairs(spans):
        if kept is not None:
            missing = {name: getattr(rows[twin], name) for name in FILLED if getattr(rows[kept], name) is None}
            rows[kept] = rows[kept]._replace(**missing)
            changed.add(kept)
        rows[twin] = rows[twin]._replace(kind="chain")
        changed.add(twin)
    return [
        Settled(i, rows[i].kind, *(getattr(rows[i], name) for name in FILLED))
        for i in sorted(changed)
        if rows[i] != spans[i]
    ]


def narrow_of(call: Call, scope_name: str) -> Narrow:
    """The facts of a call."""
    return Narrow(
        call.span_id,
        call.parent_span_id,
        call.kind,
        call.convention,
        call.name,
        scope_name,
        call.start_unix_nano,
        call.end_unix_nano,
        call.agent_name,
        call.provider,
        call.model,
        call.tool_name,
        call.usage.input_tokens,
        call.usage.output_tokens,
        call.usage.cost_nano_usd,
    )


def merged(calls: Sequence[Call], scopes: Sequence[str]) -> list[Call]:
    """The calls of one trace with their twins settled, in the order given."""
    out = list(calls)
    for kept, twin in pairs([narrow_of(call, scope) for call, scope in zip(calls, scopes, strict=True)]):
        if kept is not None:
            out[kept] = _filled(out[kept], out[twin])
        out[twin] = replace(out[twin], kind="chain")
    return out


def _filled(call: Call, twin: Call) -> Call:
    changes: dict[str, Any] = {}
    for name in _WIDE:
        if getattr(call, name) is None and (value := getattr(twin, name)) is not None:
            changes[name] = value
    if _asks_more(twin, call):
        changes["output_messages"] = twin.output_messages
    if not call.parameters and twin.parameters:
        changes["parameters"] = twin.parameters
    if not call.has_result and twin.has_result:
        changes |= {"result": twin.result, "has_result": True}
    if call.error is not None and not call.error.message and twin.error is not None and twin.error.message:
        changes["error"] = twin.error
    answered = "output_messages" in changes or "has_result" in changes
    if answered or (call.lost is None and "input_messages" in changes):
        changes["lost"] = twin.lost
    mine, theirs = call.usage, twin.usage
    fields = {name: v if (v := getattr(mine, name)) is not None else getattr(theirs, name) for name in Usage.__slots__}
    return replace(call, usage=Usage(**fields), **changes)


def _asks_more(twin: Call, call: Call) -> bool:
    """Whether the twin's answer is the same one with the tool calls that this one lacks (Mastra's inner span)."""
    mine, theirs = call.output_messages, twin.output_messages
    if call.kind != "llm" or mine is None or theirs is None or text_of(mine).strip() != text_of(theirs).strip():
        return False
    asked = [any(isinstance(p, ToolCallPart) for m in said for p in m.parts) for said in (mine, theirs)]
    return asked == [False, True]


_WIDE: Final = (
    "agent_name",
    "provider",
    "model",
    "response_model",
    "tool_name",
    "conversation_id",
    "input_messages",
    "output_messages",
    "tool_definitions",
    "output_schema",
    "tool_call_id",
    "arguments",
    "finish_reasons",
    "input",
    "error",
)


def pairs(spans: Sequence[Narrow]) -> list[Pair]:
    """The doubled spans of one trace, outer ones first."""
    above = _calls_above(spans)
    out = _nested(spans, above)
    taken = {pair.twin: pair.kept for pair in out}
    return out + _siblings(spans, taken)


def _calls_above(spans: Sequence[Narrow]) -> list[int | None]:
    """For each span the nearest one above it that is a call; grouping spans between them do not count."""
    places: dict[str, int] = {}
    for i, span in enumerate(spans):
        places.setdefault(span.span_id, i)
    known: list[int | None] = [None] * len(spans)
    is_known = bytearray(len(spans))
    for i in range(len(spans)):
        path: dict[int, None] = {}
        here = i
        found: int | None = None
        while True:
            path[here] = None
            parent = places.get(spans[here].parent_span_id or "")
            if parent is None or parent in path:
                break
            if spans[parent].kind in _CALLS:
                found = parent
                break
            if is_known[parent]:
                found = known[parent]
                break
            here = parent
        for step in path:
            if step == i or spans[step].kind not in _CALLS:
                known[step] = found
                is_known[step] = 1
    return known


def _nested(spans: Sequence[Narrow], above: Sequence[int | None]) -> list[Pair]:
    inner_of: dict[int, list[int]] = {}
    for i, outer in enumerate(above):
        if outer is not None and _is_same_call(spans[outer], spans[i]):
            inner_of.setdefault(outer, []).append(i)
    out: list[Pair] = []
    for outer in _outer_first(inner_of, above):
        inner = inner_of[outer]
        if spans[outer].kind in ("agent", "tool") or spans[outer].convention in _OWN:
            # The outer one holds what the agent did; of a model call the inner one is nearest to the provider.
            swap = spans[outer].convention not in _OWN and len(inner) == 1 and spans[inner[0]].convention in _OWN
            out.extend([Pair(inner[0], outer)] if swap else [Pair(outer, i) for i in inner])
        else:
            out.append(Pair(inner[0] if len(inner) == 1 else None, outer))
    return out


def _outer_first(inner_of: dict[int, list[int]], above: Sequence[int | None]) -> list[int]:
    known: dict[int, int] = {}

    def depth(place: int) -> int:
        # Each place is walked once, however deep the chain: what is below a known depth follows from it.
        path: list[int] = []
        here: int | None = place
        while here is not None and here not in known:
            known[here] = 0  # so that a cycle ends here
            path.append(here)
            here = above[here]
        steps = -1 if here is None else known[here]
        for step in reversed(path):
            steps += 1
            known[step] = steps
        return known[place]

    if len(inner_of) < 2:
        return list(inner_of)
    nested = {i for inner in inner_of.values() for i in inner}
    chained = [outer for outer in inner_of if outer in nested]
    if not chained:
        return list(inner_of)
    return sorted(inner_of, key=depth)


def _is_same_call(outer: Narrow, inner: Narrow) -> bool:
    if outer.kind != inner.kind:
        return False
    if outer.convention in _OWN and inner.convention in _OWN:
        return False  # nobody writes ours twice: an agent calls itself, a tool's function asks a model
    if outer.kind in ("llm", "embedding"):
        return True
    if outer.kind == "agent":
        name = _agent(outer)
        return name is not None and name == _agent(inner)
    if outer.kind == "tool":
        return _same_tool(outer, inner) and _other_source(outer, inner)
    return False


def _same_tool(one: Narrow, other: Narrow) -> bool:
    if one.tool_name is None or other.tool_name is None or _MCP_SDK not in (one.scope_name, other.scope_name):
        return one.tool_name is not None and one.tool_name == other.tool_name
    short, long = sorted((one.tool_name, other.tool_name), key=len)
    return long.endswith(short) and not long[: len(long) - len(short)][-1:].isalnum()


def _agent(span: Narrow) -> str | None:
    name = (span.agent_name or "").lower()
    for end in _NAME_ENDS:
        name = name.removesuffix(end)
    return name or None


def _other_source(one: Narrow, other: Narrow) -> bool:
    return one.scope_name != other.scope_name or one.convention != other.convention


def _siblings(spans: Sequence[Narrow], taken: Mapping[int, int | None]) -> list[Pair]:
    """Twins side by side: of different instrumentations, one lying within the other in time.

    Args: taken: spans that are twins already, and the ones that stay for them.
    """
    groups: dict[str | None, list[int]] = {}
    for i, span in enumerate(spans):
        is_open = i not in taken or (span.convention == "logfire" and taken[i] is not None)
        if span.kind in ("llm", "agent", "tool") and is_open and span.convention not in _OWN:
            groups.setdefault(span.parent_span_id, []).append(i)
    out: list[Pair] = []
    for group in groups.values():
        if len(group) > 1:
            group.sort(key=lambda i: (spans[i].start_unix_nano or 0, -(spans[i].end_unix_nano or 0)))
            out.extend(_in_group(spans, group, taken))
    return out


def _in_group(spans: Sequence[Narrow], group: Sequence[int], taken: Mapping[int, int | None]) -> Iterable[Pair]:
    open_ones: list[int] = []
    last_of_logfire: int | None = None
    paired: set[int] = set()
    for i in group:
        span = spans[i]
        start = span.start_unix_nano
        if span.convention == "logfire" and span.kind == "llm":
            if span.name.lower().startswith(STREAMED):
                if last_of_logfire is not None:
                    yield Pair(last_of_logfire, i)
                    last_of_logfire = None
                continue
            last_of_logfire = taken.get(i, i)  # the span of the provider's SDK below it, where that stays for it
        if i in taken or start is None or span.end_unix_nano is None:
            continue
        open_ones = [o for o in open_ones if (spans[o].end_unix_nano or 0) >= start]
        for outer in open_ones:
            if outer not in paired and is_twin_beside(spans[outer], span):
                paired |= {outer, i}
                yield Pair(outer, i)
                break
        else:
            open_ones.append(i)


def is_twin_beside(outer: Narrow, inner: Narrow) -> bool:
    """Whether the second of two spans that stand side by side, which began later, is the first one's call."""
    if outer.kind != inner.kind or not _other_source(outer, inner):
        return False
    # One that ends later is a twin only where the counts prove it: a stream is read to its end by one, not the other.
    proven = outer.output_tokens is not None and outer.output_tokens == inner.output_tokens
    if (inner.end_unix_nano or 0) > (outer.end_unix_nano or 0) and not proven:
        return False
    if outer.kind == "agent":
        return _agent(outer) is not None and _agent(outer) == _agent(inner)
    if outer.kind == "tool":
        return _same_tool(outer, inner)
    counts = [(outer.input_tokens, inner.input_tokens), (outer.output_tokens, inner.output_tokens)]
    if inner.scope_name.startswith(ANTHROPIC_SDK) and outer.input_tokens is not None:
        counts = counts[:1]  # of a stream OpenLLMetry adds up the counts that the SDK takes the last of
    return same_model(outer.model, inner.model) and all(
        one is None or other is None or one == other for one, other in counts
    )


def same_model(one: str | None, other: str | None) -> bool:
    """Requested and answering model, with or without a router's prefix."""
    if one is None or other is None:
        return False
    short, long = sorted((one.rpartition("/")[2], other.rpartition("/")[2]), key=len)
    return long.startswith(short)
