"""Two traces beside each other: their calls aligned, and what differs in each pair."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, Literal, TypeAlias

from runtime.journal import Difference, differences_between, json_differences
from runtime.messages import (
    Call,
    CallKind,
    Json,
    Message,
    Request,
    ToolCallPart,
    ToolCallResponsePart,
    canonical_json,
    json_safe,
)

from .text import one_line
from .tree import called

Status: TypeAlias = Literal["same", "changed", "removed", "added"]

_MATCHED: Final = 1_500
"""Calls between two anchors that are aligned with the fewest changes; beyond that the matcher takes minutes."""
_AHEAD: Final = 200
"""How many calls of a longer stretch may be missing in a row before its alignment starts anew."""
_SUMMED: Final = ("llm", "embedding")
"""Kinds whose tokens and cost are summed: what agents report repeats their calls."""
_OF_PROGRAMS: Final = ({"command", "redacted"}, {"command", "mode", "tools", "ignore"})
"""What the run of a program is given as its input, by a recording and by a replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCall:
    """A call of either trace, or one of both that stand for each other."""

    status: Status
    kind: CallKind
    label: str
    """Name of the agent, tool or model, harmless and on one line; the left one's where they differ."""
    depth: int
    left: Call | None
    right: Call | None
    differences: tuple[Difference, ...] = ()
    """``recorded`` is the left side. Times are no difference: no two runs take the same."""
    only_follows: bool = False
    """Nothing but the outcome differs, and something below does: what an agent gives follows from what its calls do."""

    @property
    def both_labels(self) -> str:
        """The name, or both where they differ: models that stand for each other may be different ones."""
        names = [label_of(call) for call in (self.left, self.right) if call is not None]
        return " → ".join(dict.fromkeys(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a trace comes to."""

    calls: int
    llm_calls: int
    tool_calls: int
    errors: int
    input_tokens: int | None
    output_tokens: int | None
    cost_nano_usd: int | None
    """What was spent."""
    saved_nano_usd: int | None
    """What answers out of a recording cost there."""
    duration_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two traces, aligned."""

    rows: tuple[ComparedCall, ...]
    """In the order of the left trace, what only the right one has at its place between."""
    left: Totals
    right: Totals
    stopped: str = ""
    """Where one is a replay that ended before the rest of its recording: how. What follows was not run."""

    @property
    def differing(self) -> tuple[int, ...]:
        """Places of the rows that differ, ascending."""
        return tuple([i for i, row in enumerate(self.rows) if row.status != "same"])

    @property
    def is_same(self) -> bool:
        """True where the same calls asked and gave the same."""
        return all(row.status == "same" for row in self.rows)


def compare_traces(
    left: Sequence[Call], right: Sequence[Call], is_wanted: Callable[[], bool] = lambda: True
) -> Comparison:
    """Align the calls of two traces and say what differs.

    Calls that say the same are aligned first, so that one call more moves nothing else; what is left between them is
    aligned by kind, name and depth. Structure, requests, outputs, errors, tokens and cost count; times do not.

    Args:
        left: the calls of a trace in timeline order.
        right: the same of the other one.
        is_wanted: asked before each row; False ends it there, with the rows so far, which nobody waits for.
    Cost: linear for traces that are mostly the same; a stretch of many different calls is aligned greedily.
    """
    known: dict[str, Message] = {}
    old, new = (_in_depth([_without_ids(call, known) for call in calls]) for calls in (left, right))
    rows: list[ComparedCall] = []
    for a, b in _pairs(old, new):
        if not is_wanted():
            break
        rows.append(_row(None if a is None else old[a], None if b is None else new[b]))
    return Comparison(
        rows=tuple(_with_causes(rows)), left=_totals(left), right=_totals(right), stopped=_stopped(left, right)
    )


_OUTCOME: Final = frozenset(("output", "result", "error", "finish", "tokens", "cost"))


def _with_causes(rows: Sequence[ComparedCall]) -> Iterator[ComparedCall]:
    """The rows, those marked that differ only because something below them does."""
    differs_below: dict[int, bool] = {}
    out: list[ComparedCall] = []
    for row in reversed(rows):
        is_caused = differs_below.pop(row.depth + 1, False)
        differs = row.status != "same"
        differs_below[row.depth] = differs_below.get(row.depth, False) or is_caused or differs
        if is_caused and row.status == "changed" and all(found.part in _OUTCOME for found in row.differences):
            row = replace(row, only_follows=True)
        out.append(row)
    return reversed(out)


_STOPPED = {"diverged": "diverged", "past_cut": "came to its cut", "cancelled": "was cancelled"}


def _stopped(left: Sequence[Call], right: Sequence[Call]) -> str:
    for side, calls in (("left", left), ("right", right)):
        ended = next((call.replay_ended for call in calls if call.replay_ended), None)
        if ended in _STOPPED:
            return f"the {side} replay {_STOPPED[ended]}, the rest was not run"
    return ""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A call with its depth and what it is aligned by."""

    call: Call
    depth: int
    shape: Hashable
    content: Hashable


def _without_ids(call: Call, known: dict[str, Message]) -> Call:
    """The call with nameless tool calls: models make up a new id each time, and every later request repeats it."""

    def cleaned(messages: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
        return None if messages is None else tuple([clean(message) for message in messages])

    def clean(message: Message) -> Message:
        if message.digest not in known:
            parts = [
                replace(part, id=None) if isinstance(part, ToolCallPart | ToolCallResponsePart) else part
                for part in message.parts
            ]
            known[message.digest] = replace(message, parts=tuple(parts))
        return known[message.digest]

    if call.input_messages is None and call.output_messages is None:
        return call
    return replace(call, input_messages=cleaned(call.input_messages), output_messages=cleaned(call.output_messages))


def label_of(call: Call) -> str:
    """Name of the agent, tool or model."""
    return one_line(called(call))


def _is_run(call: Call) -> bool:
    """Whether it is the frame of a run of ours, whose name a branch may have of its own."""
    return call.kind == "chain" and call.call_id == "root"


def _in_depth(calls: Sequence[Call]) -> list[_Placed]:
    """Parents before children, siblings as they come: parallel agents do not interleave."""
    here = {call.span_id for call in calls}
    below: dict[str | None, list[Call]] = {}
    for call in calls:
        parent = call.parent_span_id if call.parent_span_id in here and call.parent_span_id != call.span_id else None
        below.setdefault(parent, []).append(call)
    out: list[_Placed] = []
    stack = [(call, 0) for call in reversed(below.pop(None, []))]
    while True:
        while stack:
            call, depth = stack.pop()
            shape = (call.kind, "" if call.kind == "llm" or _is_run(call) else label_of(call), depth)
            out.append(_Placed(call, depth, shape, (shape, _said(call))))
            stack.extend((child, depth + 1) for child in reversed(below.pop(call.span_id, [])))
        if not below:
            return out
        # Spans that are their own ancestors hang from nothing.
        stack = [(call, 0) for call in reversed(below.pop(next(iter(below))))]


def _said(call: Call) -> Hashable:
    return (
        _digests(call.input_messages),
        _digests(call.output_messages),
        _written(call.arguments),
        _written(call.result),
        call.error is not None,
    )


def _digests(messages: tuple[Message, ...] | None) -> Hashable:
    return None if messages is None else tuple([message.digest for message in messages])


def _written(value: Json) -> Hashable:
    return None if value is None else canonical_json(json_safe(value)[0])


_Pair: TypeAlias = tuple[int | None, int | None]


def _pairs(old: Sequence[_Placed], new: Sequence[_Placed]) -> Iterator[_Pair]:
    for a0, a1, b0, b1, is_same in _blocks([x.content for x in old], [x.content for x in new], 0, 0):
        if is_same:
            yield from zip(range(a0, a1), range(b0, b1), strict=True)
            continue
        shapes = [x.shape for x in old[a0:a1]], [x.shape for x in new[b0:b1]]
        for c0, c1, d0, d1, is_alike in _blocks(*shapes, a0, b0):
            if is_alike:
                yield from zip(range(c0, c1), range(d0, d1), strict=True)
            else:
                yield from ((i, None) for i in range(c0, c1))
                yield from ((None, i) for i in range(d0, d1))


def _blocks(
    old: Sequence[Hashable], new: Sequence[Hashable], at_old: int, at_new: int
) -> Iterator[tuple[int, int, int, int, bool]]:
    """Stretches of both sides in order, and whether they are equal; places are counted from the given ones."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    if head:
        yield at_old, at_old + head, at_new, at_new + head, True
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    small = len(a) <= _MATCHED and len(b) <= _MATCHED
    a0, b0 = 0, 0
    for i, j, size in _matching(a, b) if small else _greedy(a, b):
        if i > a0 or j > b0:
            yield at_old + head + a0, at_old + head + i, at_new + head + b0, at_new + head + j, False
        if size:
            yield at_old + head + i, at_old + head + i + size, at_new + head + j, at_new + head + j + size, True
        a0, b0 = i + size, j + size
    if tail:
        yield at_old + len(old) - tail, at_old + len(old), at_new + len(new) - tail, at_new + len(new), True


def _matching(a: Sequence[Hashable], b: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    yield from SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()


def _greedy(a: Sequence[Hashable], b: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    """For each of one side the next equal one of the other that is not far away. Linear."""
    places: dict[Hashable, list[int]] = {}
    for j, key in enumerate(b):
        places.setdefault(key, []).append(j)
    at, since = 0, 0
    for i, key in enumerate(a):
        found = places.get(key, [])
        n = bisect_left(found, at)
        if n < len(found) and found[n] - at <= _AHEAD + i - since:
            at, since = found[n] + 1, i + 1
            yield i, found[n], 1
    yield len(a), len(b), 0


def _row(old: _Placed | None, new: _Placed | None) -> ComparedCall:
    one = old or new
    assert one is not None
    differences: tuple[Difference, ...] = ()
    status: Status = "removed" if new is None else "added"
    if old is not None and new is not None:
        differences = tuple(_call_differences(old.call, new.call))
        status = "changed" if differences else "same"
    return ComparedCall(
        status=status,
        kind=one.call.kind,
        label=label_of(one.call),
        depth=one.depth,
        left=None if old is None else old.call,
        right=None if new is None else new.call,
        differences=differences,
    )


def _call_differences(a: Call, b: Call) -> Iterator[Difference]:
    if a.kind == "llm":
        yield from differences_between(a.request(), b.request())
        yield from _unrecorded("model", a.model is None, b.model is None)
        yield from _unrecorded("tools", a.tool_definitions is None, b.tool_definitions is None)
        yield from _unrecorded("messages", a.input_messages is None, b.input_messages is None)
    else:
        if not (_is_run(a) and _is_run(b)):
            yield from json_differences("name", "name", label_of(a), label_of(b))
        yield from json_differences("arguments", "arguments", a.arguments, b.arguments)
        yield from json_differences("input", "input", _asked_of_it(a), _asked_of_it(b))
    yield from _answers(a, b)
    yield from json_differences("result", "result", a.result, b.result)
    if a.error is not None or b.error is not None:
        was, now = (None if call.error is None else call.error.to_json() for call in (a, b))
        yield from json_differences("error", "error", was, now)
    if a.finish_reasons is not None and b.finish_reasons is not None:
        yield from json_differences("finish", "finish_reasons", list(a.finish_reasons), list(b.finish_reasons))
    yield from json_differences("tokens", "input_tokens", a.usage.input_tokens, b.usage.input_tokens)
    yield from json_differences("tokens", "output_tokens", a.usage.output_tokens, b.usage.output_tokens)
    yield from json_differences("cost", "cost_nano_usd", a.usage.cost_nano_usd, b.usage.cost_nano_usd)
    unfinished = a.end_unix_nano is None, b.end_unix_nano is None
    yield from json_differences("finish", "unfinished", *unfinished)


def _asked_of_it(call: Call) -> Json:
    """The input, of a program only its command: how it was recorded or replayed is no input of the program's."""
    if call.convention != "retrospan" or call.entry_point is not None or not isinstance(call.input, dict):
        return call.input
    is_of_program = "command" in call.input and set(call.input) in _OF_PROGRAMS
    return {"command": call.input["command"]} if is_of_program else call.input


def _unrecorded(what: str, was: bool, now: bool) -> Iterator[Difference]:
    if was != now:
        words: tuple[str, str] = ("not recorded", "recorded")
        yield Difference(part="recorded", path=what, recorded=words[not was], actual=words[not now])


def _answers(a: Call, b: Call) -> Iterator[Difference]:
    """The answers compared like the messages of requests."""
    was, now = Request(messages=a.output_messages or ()), Request(messages=b.output_messages or ())
    for found in differences_between(was, now):
        yield Difference(part="output", path=f"output_{found.path}", recorded=found.recorded, actual=found.actual)


def _totals(calls: Sequence[Call]) -> Totals:
    counted = [call for call in calls if call.kind in _SUMMED]
    summed = [call.usage for call in counted]
    starts = [call.start_unix_nano for call in calls if call.start_unix_nano is not None]
    ends = [call.end_unix_nano for call in calls if call.end_unix_nano is not None]
    return Totals(
        calls=len(calls),
        llm_calls=sum(call.kind == "llm" for call in calls),
        tool_calls=sum(call.kind == "tool" for call in calls),
        errors=sum(call.error is not None for call in calls),
        input_tokens=_sum([usage.input_tokens for usage in summed]),
        output_tokens=_sum([usage.output_tokens for usage in summed]),
        cost_nano_usd=_sum([call.spent_nano_usd for call in counted]),
        saved_nano_usd=_sum([call.saved_nano_usd for call in counted]),
        duration_ns=max([*ends, *starts]) - min(starts) if starts else None,
    )


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
