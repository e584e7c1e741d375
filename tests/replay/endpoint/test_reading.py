"""Conversations that are read again and again are read like new ones, and their messages only once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debugger.conventions.shapes import messages_of
from debugger.replay.endpoint.reading import KnownMessages

TEXT = st.text("ab", max_size=2)
BLOCKS = st.one_of(
    TEXT,
    st.none(),
    st.lists(
        st.one_of(
            st.builds(lambda t: {"type": "text", "text": t}, TEXT),
            st.builds(lambda i: {"type": "tool_use", "id": i, "name": "f", "input": {}}, TEXT),
            st.builds(lambda i: {"type": "tool_result", "tool_use_id": i, "content": "r"}, TEXT),
        ),
        max_size=3,
    ),
)
MESSAGES = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["system", "user", "assistant", "tool", "developer"]),
    BLOCKS,
)
CALLS = st.builds(
    lambda i: {"role": "assistant", "tool_calls": [{"id": i, "function": {"name": "f", "arguments": "{}"}}]}, TEXT
)
ITEMS = st.one_of(
    st.builds(lambda i: {"type": "function_call", "call_id": i, "name": "f", "arguments": "{}"}, TEXT),
    st.builds(lambda i: {"type": "function_call_output", "call_id": i, "output": "r"}, TEXT),
    st.builds(lambda t: {"type": "reasoning", "id": t, "summary": []}, TEXT),
    st.builds(
        lambda t: {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": t}]}, TEXT
    ),
    st.builds(lambda t: {"type": "message", "role": "user", "content": t}, TEXT),
)


@given(
    st.lists(st.one_of(MESSAGES, CALLS, ITEMS, TEXT, st.just({}), st.just([])), max_size=8),
    st.sampled_from([("messages", "system"), ("input", "instructions")]),
    st.one_of(st.none(), TEXT, st.just([{"type": "text", "text": "s"}])),
)
def test_what_is_known_is_read_as_if_it_were_new(items, keys, system):
    key, beside = keys
    known = KnownMessages()
    for end in range(len(items) + 1):
        content = {key: items[:end]} | ({} if system is None else {beside: system})
        assert known.of(content, key) == messages_of(content, "user")


@pytest.mark.parametrize(
    "items",
    [
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "more"}],
        [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "r"},
            {"type": "message", "role": "assistant", "content": "done"},
        ],
    ],
    ids=["messages", "items"],
)
def test_equal_messages_are_one(items):
    known = KnownMessages()
    first = known.of({"input": items}, "input")
    again = known.of({"input": [*items, {"role": "user", "content": "the end"}]}, "input")
    assert all(one is other for one, other in zip(first, again, strict=False))
