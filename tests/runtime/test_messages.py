"""The vocabulary: canonical JSON, digests, hashes, and safe copies."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from runtime.messages import (
    Call,
    ErrorInfo,
    Known,
    Message,
    Outcome,
    Request,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    ToolDefinition,
    ToolRequest,
    Usage,
    canonical_json,
    json_safe,
    message_from_json,
    message_to_json,
    read_json,
)

EXACT = 2**53
text = st.text(st.characters(exclude_categories=["Cs"]))
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-EXACT + 1, EXACT - 1)
    | text
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=25)


@given(values)
def test_canonical_form_is_that_of_rfc_8785(value):
    assert canonical_json(value) == rfc8785.dumps(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | text, lambda i: st.lists(i) | st.dictionaries(text, i)))
def test_canonical_form_parses_back_to_the_same_value(value):
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**60, b"1152921504606846976"),
        ({"b": 1.5, "a": 2**60}, b'{"a":1152921504606846976,"b":1.5}'),
        (1.0, b"1"),
        (-0.0, b"0"),
        ("\ud800", b'"\xed\xa0\x80"'),
        # UTF-16 order: the emoji's first unit is 0xD83D, before U+FB33.
        ({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}'.encode()),
    ],
)
def test_canonical_form_of_what_rfc_8785_leaves_open(value, expected):
    assert canonical_json(value) == expected


@pytest.mark.parametrize("value", [object(), {1: 2}, {"a": {3}}])
def test_what_is_not_json_has_no_canonical_form(value):
    with pytest.raises(TypeError):
        canonical_json(value)


def test_a_cycle_is_refused_instead_of_recursing_for_ever():
    loop: list[object] = [1.5]
    loop.append(loop)
    with pytest.raises(ValueError, match="nested"):
        canonical_json(loop)


@given(st.text(), st.text())
def test_a_message_of_one_text_has_the_digest_of_its_canonical_form(role, content):
    form = [role, None, [{"type": "text", "content": content}]]
    assert Message(role, (TextPart(content),)).digest == hashlib.sha256(canonical_json(form)).hexdigest()


def test_what_is_known_is_made_once_and_only_for_equal_values():
    made = []

    def make(item, role):
        made.append((item, role))
        return made[-1]

    known = Known()
    assert known.once(make, {"a": [1, "x" * 600]}, "user") is known.once(make, {"a": [1, "x" * 600]}, "user")
    for item in (1, 1.0, True, "1", [1], [1.0], [True], {"a": 1}, {"a": True}):
        assert known.once(make, item, "user") is known.once(make, item, "user")
        assert known.once(make, item, "tool") == (item, "tool")
    assert len(made) == 1 + 2 * 9
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    assert known.once(make, deep, "user") == (deep, "user")


def pair(item, role):
    return item, role


ITEMS = st.lists(st.sampled_from([1, 12, -0.5, "a", "]", "[", ",", True, None, [], [1], {}, {"a": [1]}]), max_size=4)
ENDS = ["]", " ]", "]\n", "", "]]", ",]", ", ]", ",", "] x", "2]", ", 7]", ",NaN]", ',{"a": 1}]', "\x0c]"]


@given(st.lists(st.tuples(ITEMS, st.sampled_from(ENDS), st.sampled_from([", ", ",", " ,\n"])), max_size=6))
def test_a_text_that_begins_like_one_before_reads_as_if_it_were_the_first(texts):
    known = Known()
    for items, end, comma in texts:
        text = json.dumps(items, separators=(comma, ":"))[:-1] + end
        try:
            expected = read_json(text)
        except ValueError:
            with pytest.raises(ValueError, match=r"."):
                known.read(text)
            continue
        found = known.read(text)
        assert repr(found) == repr(expected)
        if isinstance(found, list):
            assert repr(known.each(pair, found, "user")) == repr([(item, "user") for item in expected])


def test_of_a_conversation_that_grows_only_what_is_new_is_looked_at():
    class Counted(Known):
        looked = 0

        def once(self, make, item, role):
            self.looked += 1
            return super().once(make, item, role)

    known = Counted()
    turns = ["begin"] + [{"role": "user", "n": n} for n in range(200)]
    for n in range(2, 202):
        for one in ([{"role": "system", "text": "é"}, *turns[:n]], turns[:n]):  # two that go on side by side
            items = known.read(json.dumps(one))
            assert items == one
            assert len(known.each(pair, items, "user")) == len(one)
    assert known.looked == 201 + 202


MESSAGES = (
    Message("system", (TextPart("Be short."),)),
    Message("user", (TextPart("Weather in Lyon?"),)),
    Message("assistant", (ToolCallPart("c1", "get_weather", {"city": "Lyon", "days": 2}),)),
    Message("tool", (ToolCallResponsePart("c1", {"sky": "clear"}),)),
)
TOOLS = (ToolDefinition("get_weather", "Weather.", {"type": "object", "properties": {"city": {"type": "string"}}}),)
REQUEST = Request(messages=MESSAGES, tools=TOOLS, model="m", provider="p")


def test_arguments_as_text_and_as_object_are_the_same_message():
    as_text = Message("assistant", (ToolCallPart("c1", "get_weather", '{"days": 2, "city": "Lyon"}'),))
    assert as_text.digest == MESSAGES[2].digest


@pytest.mark.parametrize(
    "other",
    [
        Request(messages=MESSAGES[:3], tools=TOOLS, model="m", provider="p"),
        Request(messages=MESSAGES, tools=(), model="m", provider="p"),
        Request(messages=MESSAGES, tools=TOOLS, model="m2", provider="p"),
        Request(messages=MESSAGES, tools=TOOLS, model="m", provider="p2"),
        Request(messages=MESSAGES, tools=TOOLS, model="m", provider="p", output_schema={"type": "object"}),
        Request(
            messages=(*MESSAGES[:3], Message("tool", (ToolCallResponsePart("c1", {"sky": "rain"}),))),
            tools=TOOLS,
            model="m",
            provider="p",
        ),
    ],
)
def test_each_hashed_part_changes_the_hash(other):
    assert other.content_hash != REQUEST.content_hash


def test_sampling_parameters_and_finish_reasons_are_no_part_of_the_hash():
    ended = tuple(Message(m.role, m.parts, finish_reason="stop") for m in MESSAGES)
    same = Request(messages=ended, tools=TOOLS, model="m", provider="p", parameters={"temperature": 0.9})
    assert same.content_hash == REQUEST.content_hash


def test_key_order_does_not_change_a_hash():
    a = ToolRequest(name="t", arguments={"x": 1, "y": {"b": 2, "a": [1.5, None]}})
    b = ToolRequest(name="t", arguments={"y": {"a": [1.5, None], "b": 2}, "x": 1})
    assert a.content_hash == b.content_hash


def test_hashes_are_equal_in_another_process_with_another_hash_seed():
    code = (
        "from runtime.messages import *;"
        "print(Request(messages=(Message('user',(TextPart('é \\U0001f600'),)),), model='m', provider='p').content_hash,"
        "ToolRequest(name='t', arguments={'b': 1.25, 'a': 2}).content_hash)"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    request = Request(messages=(Message("user", (TextPart("é \U0001f600"),)),), model="m", provider="p")
    tool = ToolRequest(name="t", arguments={"a": 2, "b": 1.25})
    assert seen == {f"{request.content_hash} {tool.content_hash}\n"}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_survive_json(message):
    assert message_from_json(json.loads(json.dumps(message_to_json(message)))) == message


@pytest.mark.parametrize(
    "odd", [None, 7, "text", [], {}, {"role": 3}, {"role": "user", "parts": [None, 5, {"type": "new", "x": 1}]}]
)
def test_reading_odd_messages_never_raises(odd):
    assert isinstance(message_from_json(odd), Message)


@dataclass
class Point:
    x: int


def test_safe_copies_convert_what_has_a_json_form_and_name_what_has_not():
    value = {"at": datetime(2026, 11, 29, tzinfo=UTC), "p": Point(3), "s": {2, 1}, "f": print, "n": float("nan"), 5: 1}
    copied, faults = json_safe(value)
    assert copied["at"] == "2026-11-29T00:00:00+00:00"
    assert copied["p"] == {"x": 3}
    assert copied["s"] == [1, 2]
    assert copied["f"] == "[object builtin_function_or_method]"
    assert [fault.split(":")[0] for fault in faults] == ["$.f", "$.n", "$"]
    json.dumps(copied, allow_nan=False)


def test_a_safe_copy_shares_nothing_and_ends_cycles():
    inner: dict[str, object] = {"list": [1]}
    inner["self"] = inner
    copied, faults = json_safe(inner)
    assert copied["list"] == [1]
    assert copied["list"] is not inner["list"]
    assert copied["self"] == "[cycle]"
    assert len(faults) == 1


def test_an_error_that_cannot_print_itself_is_named_by_its_class():
    class BrokenError(Exception):
        def __str__(self):
            raise RuntimeError

    info = ErrorInfo.of(BrokenError())
    assert info.type.endswith("BrokenError")
    assert "no message" in info.message


def test_usage_reads_only_whole_numbers():
    assert Usage.from_json({"input_tokens": 3, "output_tokens": "4", "cost_nano_usd": True}) == Usage(input_tokens=3)
    assert Usage.from_json(None) == Usage()


def test_duration_of_a_call_keeps_its_sign():
    call = Call(
        trace_id="t", span_id="s", parent_span_id=None, kind="llm", name="n", start_unix_nano=5, end_unix_nano=3
    )
    assert call.duration_ns == -2


def test_aborts_and_lost_outcomes_cannot_answer():
    assert Outcome(status="ok").can_answer
    assert Outcome(status="error").can_answer
    assert not Outcome(status="aborted").can_answer
    assert not Outcome(status="ok", lost="cut off").can_answer


def test_messages_that_nest_beyond_the_canonical_form_are_told_apart():
    def asked(leaf: int) -> Message:
        value: object = leaf
        for _ in range(300):
            value = [value]
        return Message("assistant", (ToolCallPart(id="c", name="f", arguments={"x": value}),))

    assert asked(1).digest == asked(1).digest
    assert asked(1).digest != asked(2).digest
    beyond: list[object] = []
    for _ in range(20_000):
        beyond = [beyond]
    assert len(Message("assistant", (ToolCallPart(id="c", name="f", arguments={"x": beyond}),)).digest) == 64
