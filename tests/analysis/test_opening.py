"""What a trace was asked."""

from __future__ import annotations

from typing import Any

import pytest

from debugger.analysis.opening import opening_of
from runtime.messages import Call, Message, TextPart, ToolCallResponsePart


def call(kind: str = "llm", **more: Any) -> Call:
    basic = {"trace_id": "t", "span_id": "s", "parent_span_id": None, "name": "c", "start_unix_nano": 1,
             "end_unix_nano": 2}  # fmt: skip
    return Call(kind=kind, **(basic | more))  # type: ignore[arg-type]


def said(role: str, *texts: str) -> Message:
    return Message(role, tuple(TextPart(text) for text in texts))


ANSWER = Message("user", (ToolCallResponsePart("c1", "rain"),))


@pytest.mark.parametrize(
    ("calls", "opening"),
    [
        ([], ""),
        ([call(input_messages=(said("system", "Be short."),))], ""),
        ([call(input_messages=(said("user", "one"), said("assistant", "yes"), said("user", "two")))], "two"),
        # A tool's answer in a user's message is none of the user's words.
        ([call(input_messages=(said("user", "Plan a\nday"), ANSWER))], "Plan a day"),
        ([call("agent", input={"ticket": 5}), call(input_messages=(said("user", "status of 5?"),))], "status of 5?"),
        ([call("agent"), call("agent", input={"ticket": "R-5"}), call("agent", input="later")], "R-5"),
        ([call("agent", input={"a": 1, "b": [float("nan")]})], '{"a": 1, "b": ["nan"]}'),
        # A tool's arguments are the words of a model.
        ([call("tool", arguments={"city": "Lyon"}, input="Lyon")], ""),
        ([call(input_messages=(said("user", "\x1b[31mred"),))], "␛[31mred"),
    ],
)
def test_the_first_words_of_a_user_are_what_a_trace_was_asked(calls: list[Call], opening: str) -> None:
    assert opening_of(calls) == opening
