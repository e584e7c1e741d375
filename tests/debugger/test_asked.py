"""Tool spans without an id: which of the models' tool calls they carried out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from debugger.conventions._asked import Asked, ByName, _same_arguments, asked_in
from runtime.messages import Call, Message, ToolCallPart


def model(start: int, *parts: ToolCallPart) -> Call:
    return _call("llm", start, output_messages=(Message("assistant", parts),))


def tool(start: int | None, name: str, arguments: Any = None) -> Call:
    return _call("tool", start, tool_name=name, arguments=arguments)


def _call(kind: Any, start: int | None, **fields: Any) -> Call:
    return Call(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_span_id=None,
        kind=kind,
        name="x",
        start_unix_nano=start,
        end_unix_nano=None,
        **fields,
    )


def first_principles(call: Call, asked: Sequence[Asked]) -> Asked | None:
    """The rule as it reads: of all that fit, the only one of the latest turn."""
    start = call.start_unix_nano
    fits = [
        one
        for one in asked
        if not one.is_taken and one.part.name == call.tool_name and (start is None or one.start <= start)
    ]
    if call.arguments is not None:
        fits = [one for one in fits if _same_arguments(call.arguments, one.part.arguments)]
    latest = [one for one in fits if one.turn == max(each.turn for each in fits)]
    return latest[0] if len(latest) == 1 else None


_deep: Any = {"a": [[[[[[[[[1]]]]]]]]]}
ARGUMENTS = st.sampled_from(
    [None, {}, {"q": 1}, {"q": 1.0}, {"q": True}, '{"q": 1}', {"q": 2}, 1, "x", {"q": "x"}, _deep]
)
PARTS = st.builds(ToolCallPart, st.none(), st.sampled_from("st"), ARGUMENTS)
STARTS = st.integers(0, 5)


@given(
    st.lists(st.tuples(STARTS, st.lists(PARTS, max_size=3)), max_size=6),
    st.lists(st.tuples(st.one_of(st.none(), STARTS), st.sampled_from("stu"), ARGUMENTS), max_size=8),
)
def test_finds_what_the_rule_says(turns: list[Any], spans: list[Any]) -> None:
    models = [model(start, *parts) for start, parts in turns]
    tools = sorted((tool(*span) for span in spans), key=lambda c: (c.start_unix_nano is None, c.start_unix_nano or 0))
    asked, same = list(asked_in(models)), list(asked_in(models))
    by_name = ByName(asked)
    for call in tools:
        found, expected = by_name.find(call), first_principles(call, same)
        assert (None if found is None else asked.index(found)) == (None if expected is None else same.index(expected))
        for one in (found, expected):
            if one is not None:
                one.is_taken = True


class Counted(str):
    """A tool's name that counts how often it is compared."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Counted.times += 1
        return str.__eq__(self, other) is True

    __hash__ = str.__hash__


def comparisons(spans: int, arguments: Any) -> int:
    models = [model(i * 2, ToolCallPart(None, "search", arguments)) for i in range(spans)]
    by_name = ByName(asked_in(models))
    Counted.times = 0
    for i in range(spans):
        found = by_name.find(tool(i * 2 + 1, Counted("search"), arguments))
        assert found is not None
        assert found.turn == i
        found.is_taken = True
    return Counted.times


def test_work_grows_with_the_spans_and_not_with_their_square() -> None:
    for arguments in (None, {"q": 1}):
        assert comparisons(400, arguments) <= 2 * comparisons(200, arguments) <= 2_000
