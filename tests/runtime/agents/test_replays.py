"""What a replay answers, what it does for real, where it stops, and what its caller sees."""

from __future__ import annotations

import asyncio

import pytest

from runtime import (
    STRICT,
    ReplayPolicy,
    ReplayStop,
    Run,
    ScriptedModel,
    agent,
    dump_snapshot,
    memory,
    new_id,
    prompt,
    restore_snapshot,
    resume,
    tool,
)
from runtime.tools import ToolRejectedError

DONE: list[object] = []
"""What was done for real."""
NOW = {"n": 1}
"""What the world says to an agent beside its input: where it changes, the agent asks for something else."""


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


@tool
async def quick() -> str:
    DONE.append("quick")
    await asyncio.sleep(0)
    return "here"


def ended(run):
    return run.events[-1].replay_ended


# The end of a replay -------------------------------------------------------------------------------------------


@tool
def look(n: int) -> int:
    DONE.append(n)
    return n


async def looking() -> int:
    return await look(NOW["n"])


@agent()
async def swallows() -> list[object]:
    return await asyncio.gather(look(NOW["n"]), return_exceptions=True)


@agent()
async def wraps() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(looking())


@agent()
async def hides() -> None:
    try:
        await looking()
    except BaseException as stop:
        raise ValueError("hidden") from stop


@pytest.mark.parametrize("fn", [swallows, wraps, hides])
def test_a_replay_that_diverged_says_so_whatever_the_agent_makes_of_the_stop(fn):
    run = Run(enable_snapshot=True)
    try:
        asyncio.run(run.execute(fn))
    except ValueError:
        pytest.fail("the recording does not fail")
    NOW["n"] = 2
    again = Run(snapshot=restore_snapshot(run.events), policy=STRICT)
    with pytest.raises(ReplayStop, match=r"the replay diverged at tool 'look' \(root/.*\): .* arguments\.n") as stop:
        asyncio.run(again.execute(fn))
    assert stop.value.reason == "diverged"
    assert ended(again) == "diverged"
    assert again.events[-1].outcome.error is None
    assert DONE == [1]


def test_a_run_says_how_its_replay_ended():
    @agent()
    async def fails(how: str) -> str:
        if how == "raise":
            raise ValueError("no")
        if how == "cancel":
            raise asyncio.CancelledError
        return how

    run, _ = execute(fails, {"how": "return"})
    assert ended(run) is None
    assert ended(replay(fails, run, input={"how": "return"})[0]) == "done"
    for how, word in (("raise", "failed"), ("cancel", "cancelled")):
        again = Run(snapshot=restore_snapshot(run.events), policy=STRICT)
        with pytest.raises((ValueError, asyncio.CancelledError)):
            asyncio.run(again.execute(fails, {"how": how}))
        assert ended(again) == word


# Equal requests side by side -----------------------------------------------------------------------------------


def test_parallel_equal_requests_get_each_recorded_answer_once():
    number = 32
    answers = iter(range(number))
    model = ScriptedModel(id="m", script=lambda request: f"answer {next(answers)}", latency_s=0.001)

    @agent(model=model)
    async def many(times: int = number) -> list[str]:
        return [turn.text for turn in await asyncio.gather(*(prompt("same") for _ in range(times)))]

    run, recorded = execute(many)
    assert len(set(recorded)) == number
    again, given = replay(many, run)
    rows = again.session.rows
    assert given == recorded, "in order of start, so each stays where it was"
    assert len({row.origin_span_id for row in rows}) == number
    assert {row.status for row in rows} == {"hit"}
    assert len(model.asked) == number
    more = Run(snapshot=restore_snapshot(run.events), policy=STRICT)
    with pytest.raises(ReplayStop):
        asyncio.run(more.execute(many, {"times": number + 1}))
    assert [row.status for row in more.session.rows].count("hit") == number
    assert more.session.divergence.cause == "extra call"


# What may be done for real -------------------------------------------------------------------------------------


def with_effect(effect):
    @tool(effect=effect)
    def acts(n: int) -> int:
        DONE.append(n)
        return n

    @agent()
    async def once_or_twice(times: int) -> int:
        for _ in range(times):
            await acts(NOW["n"])
        return times

    return once_or_twice


@pytest.mark.parametrize(
    ("effect", "new", "again"),
    [("pure", True, True), ("idempotent", False, True), ("reversible", False, False), ("committed", False, False)],
)
def test_in_safe_mode_a_tool_does_what_its_effect_allows(effect, new, again):
    fn = with_effect(effect)
    run, _ = execute(fn, {"times": 1})
    policy = ReplayPolicy(models="strict", tools="safe", reuse_exhausted=False)
    for n, times, may in ((2, 1, new), (1, 2, again)):
        DONE.clear()
        NOW["n"] = n
        if may:
            replay(fn, run, policy, input={"times": times})
            assert [n] == DONE
        else:
            with pytest.raises(ReplayStop):
                replay(fn, run, policy, input={"times": times})
            assert DONE == []


@tool(needs_approval=True)
def pay(amount: int) -> str:
    DONE.append(amount)
    return new_id()


@agent()
async def payer() -> bool:
    try:
        return bool(await pay(NOW["n"]))
    except ToolRejectedError:
        return False


def test_approvals_and_what_tools_take_from_the_runtime_follow_the_mode_of_tools():
    run, _ = execute(payer, approve=lambda invocation: True)
    NOW["n"] = 2
    policy = ReplayPolicy(models="strict", tools="live", reuse_exhausted=False)
    asked = []
    _, paid = replay(payer, run, policy, approve=lambda invocation: asked.append(invocation.arguments) or True)
    assert paid
    assert (DONE, asked) == ([1, 2], [{"amount": 2}])
    with pytest.raises(ReplayStop):
        replay(payer, run, ReplayPolicy(models="live", tools="strict"), approve=lambda invocation: True)


def test_an_answer_that_cannot_be_used_does_not_keep_the_next_one_from_its_turn(caplog):
    answers = iter([object(), 2, 103])

    @tool
    def odd() -> object:
        return next(answers)

    @agent()
    async def asks() -> list[str]:
        return [type(await odd()).__name__, str(await odd())]

    run, _ = execute(asks)
    again, second = replay(asks, run, ReplayPolicy())
    assert second == ["int", "2"]
    assert [row.status for row in again.session.rows] == ["live", "hit"]
    assert "cannot answer: $: object is not a JSON value" in caplog.text


def test_the_snapshot_of_a_run_is_its_own():
    @agent()
    async def remembers() -> object:
        DONE.append(memory.get("x"))
        memory["x"] = 1
        return await quick()

    async def spoils() -> object:
        frame = next(f for f in snapshot.frames.values() if f.agent_id == "remembers")
        frame.memory["x"] = "spoiled"
        for _, entry in frame.journal:
            entry.outcomes.clear()
        return await remembers()

    async def calls() -> object:
        return await remembers()

    run, first = execute(calls)
    snapshot = restore_snapshot(run.events)
    DONE.clear()
    assert execute(spoils, snapshot=snapshot)[1] == first
    assert DONE == [1]


# Completed sub-agents ------------------------------------------------------------------------------------------


@agent()
async def leaf() -> int:
    memory["leaf"] = True
    return await look(7)


@agent()
async def branch(of: object) -> int:
    DONE.append("branch")
    memory["seen"] = 1
    return await leaf()


SKIP = ReplayPolicy(models="strict", tools="strict", reuse_exhausted=False, skip_completed=True)


def test_a_sub_agent_that_is_not_run_again_keeps_its_frame_and_those_below_it():
    async def calls_branch(n: int) -> list[object]:
        return await asks(n)

    @agent()
    async def asks(n: int) -> list[object]:
        found = await branch(1)
        return [found, {key: f.memory for key, f in dump_snapshot().frames.items()}, await look(n)]

    run, first = execute(calls_branch, {"n": 1})
    DONE.clear()
    again, second = replay(calls_branch, run, ReplayPolicy(skip_completed=True), input={"n": 2})
    assert second[:2] == first[:2]
    assert DONE == [2]
    frame = next(f for f in restore_snapshot(again.events).frames.values() if f.agent_id == "branch")
    assert (frame.memory, frame.output) == ({"seen": 1}, 7)


@pytest.mark.parametrize(("given", "runs"), [(1, 0), (2, 1), (object(), 1)])
def test_a_sub_agent_is_left_out_only_where_its_input_is_known_to_be_the_same(given, runs):
    now = [object() if type(given) is object else 1]

    @agent()
    async def calls(turn: int) -> int:
        return await branch(now[0])

    run, _ = execute(calls, {"turn": 1})
    DONE.clear()
    now[0] = given
    replay(calls, run, SKIP, input={"turn": 2})
    assert DONE.count("branch") == runs


def test_a_sub_agent_whose_output_is_no_json_runs_again():
    class Thing:
        pass

    @agent()
    async def makes() -> object:
        DONE.append("made")
        return Thing()

    @agent()
    async def calls(turn: int) -> str:
        made = await makes()
        DUMPS.append(dump_snapshot())
        return type(made).__name__

    DUMPS = []
    run, _ = execute(calls, {"turn": 1})
    for snapshot in (restore_snapshot(run.events), DUMPS[0]):
        DONE.clear()
        assert replay(calls, run, SKIP, input={"turn": 2}, snapshot=snapshot)[1] == "Thing"
        assert DONE == ["made"]


def test_resume_takes_a_policy_and_tries_failures_again_all_the_same():
    fails = [True]

    @tool
    def flaky() -> str:
        DONE.append("flaky")
        if fails[0]:
            raise OSError("down")
        return "up"

    @agent()
    async def works() -> list[object]:
        found = await branch(1)
        return [found, await flaky()]

    run = Run()
    with pytest.raises(OSError, match="down"):
        asyncio.run(run.execute(works))
    DONE.clear()
    fails[0] = False
    assert asyncio.run(resume(works, run.events, policy=ReplayPolicy(skip_completed=True))) == [7, "up"]
    assert DONE == ["flaky"]
