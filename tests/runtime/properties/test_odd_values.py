"""Values, names and programs that nobody expects: what the agent gets, what is recorded, and what a replay gives."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import threading
import uuid
import warnings
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel

from debugger.store import Store
from runtime import (
    Run,
    ScriptedModel,
    agent,
    call,
    memory,
    now,
    prompt,
    random,
    read_events,
    restore_snapshot,
    say,
    tool,
)
from runtime.errors import NotSerializableError, ReplayStop
from runtime.journal import STRICT
from runtime.messages import ErrorInfo, ToolCallResponsePart, json_safe
from runtime.snapshot import snapshot_to_json
from runtime.trace import events_of


def execute(fn: Any, input: Any = None, **options: Any) -> tuple[Run, Any]:
    run = Run(enable_snapshot=True, **options)
    return run, asyncio.run(asyncio.wait_for(run.execute(fn, input), 120))


def replay(fn: Any, events: Any) -> Any:
    return execute(fn, snapshot=restore_snapshot(events), memory_from="start", policy=STRICT)[1]


class Color(enum.Enum):
    RED = "r"


@dataclasses.dataclass
class Pair:
    left: int
    right: Any = None


class Model(BaseModel):
    a: int


class Loud(str):
    def __str__(self) -> str:
        return "LOUD"


class Bad:
    def __repr__(self) -> str:
        raise ZeroDivisionError

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError


class BadModel:
    def model_dump(self, mode: str) -> Any:
        raise ZeroDivisionError


endless: list[Any] = []
endless.append(endless)

JSON_FORMS: list[tuple[Any, Any]] = [
    (Color.RED, "r"),
    (Pair(1, {2}), {"left": 1, "right": [2]}),
    (Model(a=1), {"a": 1}),
    (Loud("quiet"), "quiet"),
    ({Loud("quiet"): 1}, {"quiet": 1}),
    (decimal.Decimal("1.10"), "1.10"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (pathlib.PurePosixPath("/x"), "/x"),
    (datetime.date(2020, 1, 2), "2020-01-02"),
    (2**70, 2**70),
    ("a\ud800\x00\u2028", "a\ud800\x00\u2028"),
]
NO_JSON: list[tuple[Any, Any]] = [
    (b"\xff", "[object bytes]"),
    (float("-inf"), "-inf"),
    (10**5000, f"[integer of {(10**5000).bit_length()} bits]"),
    (endless, ["[cycle]"]),
    (Model, "[object ModelMetaclass]"),
    (Bad(), "[object Bad]"),
    ({Bad()}, "[object set]"),
    ({Bad(): 1}, "[object dict]"),
    (BadModel(), "[object BadModel]"),
    (MagicMock(), "[object MagicMock]"),
    (Pair(1, threading.Lock()), {"left": 1, "right": "[object lock]"}),
    (ValueError("x"), "[object ValueError]"),
]


@pytest.mark.parametrize(("value", "form"), JSON_FORMS, ids=range(len(JSON_FORMS)))
def test_what_has_a_natural_json_form_is_recorded_and_replayed(value, form, tmp_path):
    assert json_safe(value) == (form, ())

    async def fn() -> type(value):
        return value

    fn.__annotations__["return"] = type(value)
    made = tool(fn)

    @agent()
    async def asks() -> Any:
        memory["kept"] = value
        return await made()

    run, first = execute(asks, trace_file=tmp_path / "t.jsonl")
    assert first is value
    events = read_events(tmp_path / "t.jsonl")
    assert restore_snapshot(events).root.memory == {"kept": form}
    assert json_safe(replay(asks, events)) == (form, ())
    with Store.memory() as store:
        store.load([tmp_path / "t.jsonl"])
        calls = store.calls(store.traces()[0].trace_id)
    assert restore_snapshot(events_of(calls)).frames == restore_snapshot(events).frames
    json.dumps(snapshot_to_json(restore_snapshot(run.events), with_requests=True))


@pytest.mark.parametrize(("value", "form"), NO_JSON, ids=range(len(NO_JSON)))
def test_what_has_no_json_form_reaches_the_agent_and_says_why_it_cannot_replay(value, form, tmp_path):
    shown, faults = json_safe(value)
    assert shown == form
    assert faults

    @tool
    async def gives() -> Any:
        return value

    @agent()
    async def asks() -> bool:
        with pytest.raises(NotSerializableError):
            memory["kept"] = value
        return await gives() is value

    _, first = execute(asks, trace_file=tmp_path / "t.jsonl")
    assert first is True
    events = read_events(tmp_path / "t.jsonl")
    (entry,) = restore_snapshot(events).root.journal.tool.values()
    assert entry.outcomes[0].lost == "; ".join(faults)
    with pytest.raises(ReplayStop):
        replay(asks, events)


def test_a_text_of_ten_megabytes_goes_through(tmp_path):
    @tool
    async def large() -> str:
        return "é" * 5_000_000

    @agent()
    async def asks() -> int:
        return len(await large())

    _, first = execute(asks, trace_file=tmp_path / "t.jsonl")
    assert replay(asks, read_events(tmp_path / "t.jsonl")) == first == 5_000_000


def test_a_memory_key_that_is_no_text_is_refused():
    @agent()
    async def writes() -> None:
        memory[1] = 2

    with pytest.raises(NotSerializableError, match="memory key 1"):
        execute(writes)


def test_an_error_with_text_that_cannot_be_written_is_the_same_when_read_back(tmp_path):
    @agent()
    async def fails() -> None:
        raise ValueError("a\ud800b")

    run = Run(trace_file=tmp_path / "t.jsonl")
    with pytest.raises(ValueError, match=r"a.b"):
        asyncio.run(run.execute(fails))
    errors = [e.outcome.error for e in (*run.events, *read_events(tmp_path / "t.jsonl")) if hasattr(e, "outcome")]
    assert set(errors) == {ErrorInfo("ValueError", "a?b")}


# Tools ----------------------------------------------------------------------------------------------------------

NAMES = ["self", "cls", "schema", "json", "copy", "dict", "validate", "construct", "model_config", "model_fields"]
NAMES += ["model_dump", "model_construct", "model_extra", "_private", "__mangled", "args", "kwargs", "p1", "fields"]


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_may_have_any_name(name):
    space: dict[str, Any] = {}
    exec(f"def t({name}: int, other: int = 2) -> list[int]:\n    return [{name}, other]", space)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = tool(space["t"])
    assert list(made.definition.parameters["properties"]) == [name, "other"]

    @agent(model=ScriptedModel(id="m", script=[call("t", **{name: "5"}), say("ok")]), tools=[made])
    async def asks() -> list[Any]:
        answer = await prompt("go")
        parts = [part for m in answer.messages for part in m.parts if isinstance(part, ToolCallResponsePart)]
        return [await made(1), parts[0].response]

    run, first = execute(asks)
    assert first == [[1, 2], [5, 2]]
    assert replay(asks, run.events) == first
    asked = [e.request.arguments for e in run.events if e.type == "tool.start"]
    assert asked == [{name: 5, "other": 2}, {name: 1, "other": 2}]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def t(a, /): ...", "parameter 'a' cannot be given by name"),
        ("def t(*a): ...", "parameter 'a' cannot be given by name"),
        ("def t(**a): ...", "parameter 'a' cannot be given by name"),
        ("def t(a: 'Nowhere'): ...", "annotation cannot be resolved"),
        ("def t(a: threading.Lock): ...", "cannot be described to a model"),
    ],
)
def test_a_function_that_no_model_could_call_is_refused_when_it_is_made_a_tool(source, reason):
    space: dict[str, Any] = {"threading": threading}
    exec(source, space)
    with pytest.raises(TypeError, match=f"tool 't'.*{reason}"):
        tool(space["t"])


@pytest.mark.parametrize("name", ["a b", "a/b:c", "ü", "root", '"\n\x00', "x" * 300], ids=range(6))
def test_a_tool_may_have_any_name_that_can_be_written(name, tmp_path):
    @tool(name=name)
    def odd(a: int) -> int:
        return a

    @agent()
    async def asks() -> int:
        return await odd(1)

    execute(asks, trace_file=tmp_path / "t.jsonl")
    assert replay(asks, read_events(tmp_path / "t.jsonl")) == 1


def test_names_that_cannot_be_written_are_refused():
    def plain() -> None: ...

    async def coroutine() -> None: ...

    with pytest.raises(ValueError, match="cannot be written"):
        tool(name="a\ud800")(plain)
    with pytest.raises(ValueError, match="can be written"):
        agent(name="a\ud800")(coroutine)


@pytest.mark.parametrize("name", ["root", "ROOT", "agent", "..", "a b", "\n", "x" * 3000], ids=range(7))
def test_an_agent_may_be_named_like_anything(name, tmp_path):
    @agent(name=name)
    async def inner(n: int) -> int:
        return n

    @agent(name=name)
    async def outer() -> list[int]:
        return [await inner(1), await inner(2)]

    run, _ = execute(outer, trace_file=tmp_path / "t.jsonl")
    frames = restore_snapshot(read_events(tmp_path / "t.jsonl")).frames
    assert [frame.output for frame in frames.values() if frame.agent_id] == [[1, 2], 1, 2]
    assert frames.keys() == restore_snapshot(run.events).frames.keys()


@pytest.mark.parametrize(
    ("kind", "value"),
    [(float, float("nan")), (bytes, b"\xff\x00"), (Any, Bad()), (Any, threading.Lock())],
    ids=["nan", "bytes", "object", "lock"],
)
def test_an_argument_that_is_no_json_reaches_the_function_itself(kind, value):
    got: list[Any] = []

    def take(a: Any) -> str:
        got.append(a)
        return "taken"

    take.__annotations__["a"] = kind
    made = tool(take)

    @agent()
    async def asks() -> str:
        return await made(value)

    run, _ = execute(asks)
    assert got[0] is value
    assert replay(asks, run.events) == "taken"
    assert len(got) == 1


def test_a_default_that_is_no_json_is_there_and_not_described():
    marker = object()

    @tool
    def has(a: Any = marker) -> bool:
        return a is marker

    @agent()
    async def asks() -> bool:
        return await has()

    assert has.definition.parameters["properties"] == {"a": {"title": "A"}}
    assert execute(asks)[1] is True


# Programs ---------------------------------------------------------------------------------------------------------


def test_blocking_tools_may_use_memory_and_values_from_their_threads():
    @tool
    def busy(n: int) -> int:
        for i in range(20):
            memory[f"at {n}"] = i
            random()
            now()
        return n

    @agent()
    async def asks() -> dict[str, Any]:
        await asyncio.gather(*[busy(n) for n in range(8)])
        return dict(memory)

    run, first = execute(asks)
    assert first == {f"at {n}": 19 for n in range(8)}
    assert [e.seq for e in run.events] == list(range(len(run.events)))
    assert sum(e.type == "value.taken" and e.name in ("now", "random") for e in run.events) == 320
    assert replay(asks, run.events) == first


def test_a_subscriber_cannot_change_what_the_agent_remembers():
    @agent()
    async def writes() -> Any:
        memory["list"] = [1]
        return memory["list"]

    run = Run()
    run.subscribe("memory.write", lambda event: event.value.append(2))
    assert asyncio.run(run.execute(writes)) == [1]


@pytest.mark.parametrize("script", [[asyncio.CancelledError("gone")], None], ids=["scripted", "raised"])
def test_a_model_that_is_cancelled_leaves_an_abort_which_never_answers(script):
    def cancels(request: Any) -> Any:
        raise asyncio.CancelledError("gone")

    @agent(model=ScriptedModel(id="m", script=script or cancels))
    async def asks() -> str:
        try:
            return (await prompt("go")).text
        except asyncio.CancelledError as error:
            return f"caught {error}"

    run, first = execute(asks)
    assert first == "caught gone"
    (entry,) = restore_snapshot(run.events).root.journal.prompt.values()
    assert [o.status for o in entry.outcomes] == ["aborted"]
    with pytest.raises(ReplayStop):
        replay(asks, run.events)
