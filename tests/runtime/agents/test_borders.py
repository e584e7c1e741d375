"""What models, tools and callers give that no one expects: a clear error, and the same in a replay."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os

import pytest

from runtime import STRICT, Run, agent, prompt, restore_snapshot, run_sync, tool
from runtime.errors import AgentError, ModelAnswerError, NotSerializableError, RuntimeFault
from runtime.messages import (
    Message,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    ToolRequest,
    Usage,
    canonical_json,
    json_safe,
    read_json,
)
from runtime.models import Reply


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


class Odd:
    """A model adapter of someone else: answers with what it is given, in turn."""

    id, provider = "odd", "test"

    def __init__(self, *replies):
        self.replies = list(replies)
        self.asked = []

    async def generate(self, request):
        self.asked.append(request)
        return self.replies.pop(0)


def answer(*parts, role="assistant", usage=None):
    return Reply(message=Message(role, parts), usage=usage or Usage())


def twice(fn, *replies, **input):
    """Run, then replay strictly; both results, and what the model was asked the first time."""
    model, results = Odd(*replies), []
    run = Run(models={"m": model})
    for each in (run, None):
        try:
            again = each or Run(
                models={"m": Odd()}, snapshot=restore_snapshot(run.events), policy=STRICT, memory_from="start"
            )
            results.append(asyncio.run(again.execute(fn, input)))
        except RuntimeFault as error:
            results.append((type(error), str(error)))
    return results[0], results[1], model.asked


@agent(model="m", tools=[add])
async def asking() -> str:
    return (await prompt("go")).text


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "text",
        answer("text"),
        answer(TextPart(5)),
        answer(TextPart(None)),
        answer(TextPart("x"), role=None),
        answer(ToolCallPart("1", 7, {})),
        Reply(message=Message("assistant", ()), usage=None),
        Reply(message={"role": "assistant"}),
    ],
)
def test_an_answer_that_is_none_is_an_error_that_names_the_model(reply):
    first, second, _ = twice(asking, reply)
    assert first[0] is ModelAnswerError
    assert "'odd'" in first[1]
    assert second == first


@pytest.mark.parametrize("arguments", ['{"a": 4}', {"a": 4}])
def test_arguments_as_text_and_as_an_object_are_the_same_live_and_replayed(arguments):
    first, second, asked = twice(asking, answer(ToolCallPart("1", "add", arguments)), answer(TextPart("done")))
    assert (first, second) == ("done", "done")
    assert asked[1].messages[-1].parts == (ToolCallResponsePart("1", 5),)


def test_a_number_that_is_no_json_reaches_the_tool_as_text():
    first, second, asked = twice(
        asking, answer(ToolCallPart("1", "add", {"a": float("nan")})), answer(TextPart("done"))
    )
    assert (first, second) == ("done", "done")
    assert asked[1].messages[-2].parts[0].arguments == {"a": "nan"}


def test_usage_that_is_no_number_is_not_known():
    run = Run()
    model = Odd(answer(TextPart("x"), usage=Usage(input_tokens="5", output_tokens=3)))

    async def main():
        await prompt("go", model=model)

    asyncio.run(run.execute(main))
    assert next(e for e in run.events if e.type == "model_turn.end").outcome.usage == Usage(output_tokens=3)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tools": [len]}, AgentError, "len is neither a tool nor an agent"),
        ({"tools": [add, tool(name="add")(lambda: 1)]}, AgentError, "two tools of the name 'add'"),
        ({"temperature": float("nan")}, NotSerializableError, "temperature"),
        ({"user": 5}, TypeError, "texts"),
        ({"system": b"x"}, TypeError, "texts"),
    ],
)
def test_prompts_that_cannot_be_asked_say_why(options, error, words):
    async def main():
        await prompt(**options, model=Odd())

    with pytest.raises(error, match=words):
        run_sync(main)


def test_parameters_are_sent_and_recorded_as_json():
    model, run = Odd(answer(TextPart("x"))), Run()

    async def main():
        await prompt("go", model=model, stop=("a", "b"), tools=[add, add])

    asyncio.run(run.execute(main))
    assert model.asked[0].parameters == {"stop": ["a", "b"]}
    assert [each.name for each in model.asked[0].tools] == ["add"]


def test_a_blocking_tool_that_raises_stop_iteration_ends():
    @tool
    def first() -> str:
        return next(iter(()))

    async def main():
        async with asyncio.timeout(20):
            await first()

    with pytest.raises(RuntimeError, match="first raised StopIteration"):
        run_sync(main)


def test_generators_are_no_tools():
    def pieces():
        yield 1

    async def async_pieces():
        yield 1

    for each in (pieces, async_pieces):
        with pytest.raises(TypeError, match="is a generator"):
            tool(each)


def test_memory_from_has_two_words():
    with pytest.raises(ValueError, match="'begin'"):
        Run(memory_from="begin")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": NaN}', {"a": "NaN"}),
        ("[Infinity, -Infinity]", ["Infinity", "-Infinity"]),
        ("[1e999, -1e999, 1.5, 2]", ["1e999", "-1e999", 1.5, 2]),
    ],
)
def test_json_text_with_numbers_that_are_none_is_read_as_values_that_have_a_hash(text, value):
    assert read_json(text) == value
    assert json.loads(canonical_json(read_json(text))) == value
    assert ToolRequest(name="t", arguments=text).content_hash == ToolRequest(name="t", arguments=value).content_hash


def test_of_many_lost_places_only_the_first_are_told():
    lost = json_safe([b""] * 1000)[1]
    assert (len(lost), lost[0], lost[-1]) == (21, "$[0]: bytes is not a JSON value", "and 980 more places")
    deep: object = b""
    for _ in range(190):
        deep = [deep]
    (told,) = json_safe(deep)[1]
    assert len(told) == 301
    assert told.endswith("bytes is not a JSON value")


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, monkeypatch, caplog):
    def full(fd, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("runtime.trace._file.os.write", full)

    async def main():
        return "done"

    with caplog.at_level(logging.ERROR):
        assert run_sync(main, trace_file=tmp_path / "t.jsonl") == "done"
    (record,) = [r for r in caplog.records if "a subscriber failed" in r.message]
    assert str(tmp_path / "t.jsonl") in record.message
    assert record.exc_info is None
