"""Faults that random programs and attacks by hand have found, each with the value that is right."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from debugger.store import Store
from runtime import (
    Run,
    ScriptedModel,
    agent,
    dump_snapshot,
    memory,
    new_id,
    prompt,
    random,
    reborn,
    restore_snapshot,
    tool,
)
from runtime.journal import STRICT
from runtime.messages import ErrorInfo
from runtime.trace import events_of


def execute(fn: Any, input: Any = None, **options: Any) -> tuple[Run, Any]:
    run = Run(enable_snapshot=True, **options)
    return run, asyncio.run(asyncio.wait_for(run.execute(fn, input), 120))


def replay(fn: Any, run: Run) -> tuple[Run, Any]:
    return execute(fn, snapshot=restore_snapshot(run.events), memory_from="start", policy=STRICT)


# Errors -----------------------------------------------------------------------------------------------------


class Picky(Exception):
    """Cannot be made without arguments."""

    def __new__(cls, code: int) -> Picky:
        return super().__new__(cls, code)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KeyError("gone"),
        lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        lambda: ExceptionGroup("two", [ValueError(1), ValueError(2)]),
        lambda: json.JSONDecodeError("no", "{", 1),
        lambda: OSError(2, "none"),
    ],
)
def test_a_replayed_error_is_of_its_class_and_prints_as_it_did(make):
    @tool
    def fails() -> None:
        raise make()

    @agent()
    async def asks() -> list[str]:
        try:
            await fails()
        except type(make()) as error:
            return [type(error).__name__, str(error)]
        return []

    run, first = execute(asks)
    assert first == [type(make()).__name__, str(make())]
    again, second = replay(asks, run)
    assert second == first
    errors = [[e.outcome.error for e in each.events if e.type == "tool.end"] for each in (run, again)]
    assert errors[0] == errors[1]


def test_an_error_whose_class_cannot_be_made_is_stood_in_for():
    @tool
    def fails() -> None:
        raise Picky(3)

    @agent()
    async def asks() -> str:
        try:
            await fails()
        except Exception as error:  # noqa: BLE001
            return str(error)
        return ""

    run, first = execute(asks)
    again, second = replay(asks, run)
    assert (first, second) == ("3", "3")
    end = next(e for e in again.events if e.type == "tool.end")
    assert end.outcome.error == ErrorInfo(f"{__name__}.Picky", "3")


# What a tool's function does to the frame around it -----------------------------------------------------------


def test_values_taken_inside_a_tool_are_not_given_to_its_agent():
    @tool
    def stamped() -> str:
        return new_id()

    @agent()
    async def asks() -> list[str]:
        return [await stamped(), new_id(), await stamped(), new_id()]

    run, first = execute(asks)
    assert len(set(first)) == 4
    again, second = replay(asks, run)
    assert second == first
    assert replay(asks, again)[1] == first


def test_memory_written_inside_a_tool_is_there_in_a_replay_and_in_the_replay_of_that():
    @tool
    def remember(fact: str) -> None:
        memory["facts"] = [*memory.get("facts", []), fact]
        memory.pop("nothing", None)

    @agent()
    async def asks() -> list[str]:
        memory["nothing"] = 1
        await remember("a")
        await remember("b")
        assert "nothing" not in memory
        return memory["facts"]

    run, first = execute(asks)
    again, second = replay(asks, run)
    assert first == second == replay(asks, again)[1] == ["a", "b"]
    assert restore_snapshot(again.events).frames["root/agent:asks:0"].memory == {"facts": ["a", "b"]}


def test_calls_inside_a_tool_use_up_no_answers_and_no_numbers_of_its_agent():
    count = iter(range(100))
    model = ScriptedModel(id="m", script=lambda request: str(next(count)))

    @tool
    async def inner() -> int:
        return next(count)

    @tool
    async def outer() -> list[Any]:
        return [await inner(), (await prompt("go", tools=[])).text]

    @agent(model=model)
    async def asks() -> list[Any]:
        return [await outer(), await inner(), (await prompt("go", tools=[])).text]

    run, first = execute(asks)
    assert first == [[0, "1"], 2, "3"]
    again, second = replay(asks, run)
    assert second == first
    ids = [e.call_id for e in run.events if e.type in ("tool.start", "model_turn.start")]
    top = "root/agent:asks:0"
    assert ids == [
        f"{top}/tool:outer:0",
        f"{top}/tool:outer:0/tool:inner:0",
        f"{top}/tool:outer:0/prompt:prompt:0",
        f"{top}/tool:inner:0",
        f"{top}/prompt:prompt:0",
    ]
    assert [row.call_id for row in again.session.rows] == [ids[0], ids[3], ids[4]]


def test_a_replayed_tool_takes_the_numbers_of_its_own_agents_whatever_ran_first():
    @agent()
    async def helper(n: int) -> float:
        return n + random()

    gate: asyncio.Event

    @tool
    async def slow(n: int) -> float:
        await gate.wait()
        return await helper(n)

    @tool
    async def fast(n: int) -> float:
        got = await helper(n)
        gate.set()
        return got

    @agent()
    async def asks() -> list[float]:
        nonlocal gate
        gate = asyncio.Event()
        return list(await asyncio.gather(slow(1), fast(2)))

    run, first = execute(asks)
    assert [e.input for e in run.events if e.type == "agent.start"][1:] == [{"n": 2}, {"n": 1}]
    # Without the end of the fast one: it runs again, and must find its own agent's frame, not that of the slow one.
    ends = [e for e in run.events if e.type == "tool.end"]
    events = [e for e in run.events if e is not ends[0]]
    assert ends[0].request.name == "fast"
    again, second = execute(asks, snapshot=restore_snapshot(events), memory_from="start")
    assert second == first
    assert "root/agent:asks:0/agent:helper:0" in {e.call_id for e in again.events if e.type == "agent.start"}


# Dumps ------------------------------------------------------------------------------------------------------------


def test_a_dump_between_two_generations_of_a_sibling_shows_the_one_that_ended():
    dumps: list[Any] = []

    @agent()
    async def turning() -> int:
        memory["n"] = memory.get("n", 0) + 1
        return reborn() if memory["n"] < 3 else 3

    @agent()
    async def watching() -> None:
        for _ in range(4):
            dumps.append((len(run.events), dump_snapshot()))
            await asyncio.sleep(0)

    @agent()
    async def both() -> None:
        await asyncio.gather(turning(), watching())

    run = Run(enable_snapshot=True)
    asyncio.run(run.execute(both))
    key = "root/agent:both:0/agent:turning:0"
    seen = [(snapshot.frames[key].generation, restore_snapshot(run.events[:n]).frames[key].generation)
            for n, snapshot in dumps]  # fmt: skip
    assert len(seen) == 4
    assert all(dumped == restored for dumped, restored in seen)


def test_an_agent_that_its_caller_left_behind_counts_as_failed_in_dumps_as_in_restore():
    dumps: list[Any] = []

    @agent()
    async def left() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        dumps.append(dump_snapshot())

    @agent()
    async def leaves() -> None:
        tasks.append(asyncio.ensure_future(left()))
        await asyncio.sleep(0)

    tasks: list[Any] = []

    @agent()
    async def top() -> None:
        await leaves()
        await tasks[0]

    execute(top)
    frame = dumps[0].frames["root/agent:top:0/agent:leaves:0/agent:left:0"]
    assert frame.status == "failed"
    assert frame.error == ErrorInfo("ParentEnded", "the agent 'leaves' above it ended first")


# The debugger -----------------------------------------------------------------------------------------------------


def test_an_agent_that_calls_itself_keeps_all_its_frames_in_the_debugger(tmp_path):
    @agent()
    async def again(n: int) -> int:
        return n if n == 0 else await again(n - 1)

    run, _ = execute(again, {"n": 3}, trace_file=tmp_path / "t.jsonl")
    with Store.memory() as store:
        store.load([tmp_path / "t.jsonl"])
        snapshot = restore_snapshot(events_of(store.calls(store.traces()[0].trace_id)))
    assert snapshot.frames.keys() == restore_snapshot(run.events).frames.keys()
    assert len(snapshot.frames) == 4
