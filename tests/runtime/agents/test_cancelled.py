"""Replays of calls that were cancelled when they were recorded: they wait until they are cancelled again."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from runtime import (
    STRICT,
    ReplaySession,
    ReplayStop,
    Run,
    ScriptedModel,
    agent,
    memory,
    prompt,
    restore_snapshot,
    tool,
)

DONE: list[object] = []
"""What was done for real."""
NOW = {"n": 1}
"""What the world says to an agent beside its input: where it changes, the agent asks for something else."""
LIMIT_S = 0.2
"""Long enough that what is to happen before it does so also where the processor is busy with other things."""


@pytest.fixture(autouse=True)
def _at_the_beginning():
    DONE.clear()
    NOW["n"] = 1


def execute(fn, input=None, **options):
    run = Run(enable_snapshot=True, **options)
    return run, asyncio.run(run.execute(fn, input))


def replay(fn, run, policy=STRICT, **options):
    snapshot = options.pop("snapshot", None) or restore_snapshot(run.events)
    return execute(fn, options.pop("input", None), snapshot=snapshot, policy=policy, memory_from="start", **options)


def ended(run):
    return run.events[-1].replay_ended


@tool
def look(n: int) -> int:
    DONE.append(n)
    return n


@tool
async def slow() -> str:
    DONE.append("slow")
    memory["began"] = True
    await asyncio.sleep(60)
    return "never"


@tool
async def quick() -> str:
    DONE.append("quick")
    await asyncio.sleep(0)
    return "here"


@tool
async def breaks() -> str:
    await asyncio.sleep(LIMIT_S)
    raise OSError("down")


async def by_a_time_limit() -> str:
    try:
        return await asyncio.wait_for(slow(), LIMIT_S)
    except TimeoutError:
        return "too late"


async def by_a_race() -> str:
    tasks = [asyncio.ensure_future(each) for each in (slow(), quick())]
    done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return next(iter(done)).result()


async def by_a_sibling() -> str:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_of(slow()))
            group.create_task(_of(breaks()))
    except ExceptionGroup:
        return "one failed"
    return "both"


async def _of(call):
    return await call


async def in_a_prompt() -> str:
    model = ScriptedModel(id="m", script=lambda request: "an answer", latency_s=60)
    try:
        return (await asyncio.wait_for(prompt("go", model=model), LIMIT_S)).text
    except TimeoutError:
        return "no answer"


@pytest.mark.parametrize("how", [by_a_time_limit, by_a_race, by_a_sibling, in_a_prompt])
def test_a_call_that_was_cancelled_waits_in_a_replay_until_it_is_cancelled_again(how):
    @agent()
    async def goes_on() -> list[object]:
        return [await how(), await quick(), dict(memory)]

    run, first = execute(goes_on)
    DONE.clear()
    again, second = replay(goes_on, run)
    assert second == first
    assert DONE == []
    assert {row.status for row in again.session.rows} == {"hit"}
    frames = [restore_snapshot(each.events).root for each in (run, again)]
    one, other = ({(e.content_hash, o.status) for _, e in f.journal for o in e.outcomes} for f in frames)
    assert one == other


def test_a_cancelled_call_keeps_its_place_among_equal_ones():
    answers = itertools.count(1)

    @tool
    async def second_hangs() -> int:
        n = next(answers)
        if n == 2:
            await asyncio.sleep(60)
        return n

    @agent()
    async def asks() -> list[object]:
        out: list[object] = []
        for _ in range(3):
            try:
                out.append(await asyncio.wait_for(second_hangs(), 2 * LIMIT_S))
            except TimeoutError:
                out.append("late")
        return out

    run, first = execute(asks)
    assert first == [1, "late", 3]
    assert replay(asks, run)[1] == first


def test_where_nothing_cancels_the_call_the_replay_diverges_and_says_that_it_was_cancelled(monkeypatch):
    monkeypatch.setattr("runtime.journal._matcher.SLACK_S", 0.0)
    patient = [False]

    @agent()
    async def waits() -> str:
        return await slow() if patient[0] else await by_a_time_limit()

    run, _ = execute(waits)
    patient[0] = True
    again = Run(snapshot=restore_snapshot(run.events), policy=STRICT)
    with pytest.raises(ReplayStop, match=r"cancelled after \d+\.\d s without an answer, and nothing cancelled it here"):
        asyncio.run(again.execute(waits))
    assert [row.status for row in again.session.rows] == ["missed"]


def test_a_call_that_waits_ends_with_the_replay():
    @agent()
    async def asks() -> object:
        waiting = asyncio.ensure_future(slow())
        await asyncio.sleep(0.05)  # the recording cancels it after that time, and takes as long to be patient
        found = await asyncio.gather(look(NOW["n"]), return_exceptions=True)
        if NOW["n"] == 1:
            waiting.cancel()
        return [*found, *await asyncio.gather(waiting, return_exceptions=True)]

    run = Run(enable_snapshot=True)
    asyncio.run(run.execute(asks))
    NOW["n"] = 2
    with pytest.raises(ReplayStop, match="diverged at tool 'look'"):
        replay(asks, run)


def test_a_recording_that_was_cancelled_as_a_whole_has_come_to_its_end_there():
    @agent()
    async def works() -> str:
        await quick()
        return await slow()

    async def cancelled(run: Run) -> None:
        task = asyncio.ensure_future(run.execute(works))
        while "slow" not in DONE:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run = Run(enable_snapshot=True)
    asyncio.run(cancelled(run))
    snapshot = restore_snapshot(run.events)
    session = ReplaySession({k: f.journal for k, f in snapshot.frames.items()}, policy=STRICT, open_ended=True)
    with pytest.raises(ReplayStop, match="come to the end"):
        execute(works, session=session, snapshot=snapshot)
    assert session.stopped == "past_cut"
