"""Middleware, approval, streaming, resources, resume, and what replays keep of sub-agents inside tools."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from runtime import (
    ReplayPolicy,
    ReplaySession,
    Run,
    ScriptedModel,
    agent,
    call,
    dump_snapshot,
    memory,
    prompt,
    read_events,
    resource,
    restore_snapshot,
    resume,
    say,
    tool,
)
from runtime.errors import ReplayStop
from runtime.journal import STRICT
from runtime.models import Done, TextDelta
from runtime.tools import Rejected, ToolRejectedError


def execute(fn, input=None, **options):
    run = Run(enable_snapshot=True, **options)
    return run, asyncio.run(run.execute(fn, input))


def journals(snapshot):
    return {key: frame.journal for key, frame in snapshot.frames.items()}


def replay(fn, run, policy=STRICT, **options):
    """Run again, strictly, from the events of a run."""
    snapshot = restore_snapshot(run.events)
    session = ReplaySession(journals(snapshot), policy=policy)
    return execute(fn, session=session, snapshot=snapshot, memory_from="start", **options)


def tool_outputs(run, agent_id):
    frame = restore_snapshot(run.events).frames[f"root/agent:{agent_id}:0"]
    return [o.output if o.status == "ok" else o.error.message for e in frame.journal.tool.values() for o in e.outcomes]


# Middleware -----------------------------------------------------------------------------------------------


def test_middleware_that_changes_a_result_does_not_compound_over_replays():
    bodies = []

    async def add_ten(invocation, inner):
        return await inner(invocation) + 10

    @tool(middleware=[add_ten])
    def one() -> int:
        bodies.append(1)
        return 1

    @agent()
    async def asks() -> int:
        return await one()

    run, first = execute(asks)
    again, second = replay(asks, run)
    _, third = replay(asks, again)
    assert (first, second, third) == (11, 11, 11)
    assert bodies == [1]
    assert tool_outputs(run, "asks") == tool_outputs(again, "asks") == [1]


def test_the_model_sees_the_outer_result_and_the_journal_holds_the_inner_one(tmp_path):
    async def shout(invocation, inner):
        return (await inner(invocation)).upper()

    @tool(middleware=[shout])
    def word() -> str:
        return "quiet"

    model = ScriptedModel(id="m", script=[call("word"), say("ok")])

    @agent(model=model, tools=[word])
    async def asks() -> str:
        return (await prompt("go")).text

    run, _ = execute(asks, trace_file=tmp_path / "t.jsonl")
    assert model.asked[1].messages[-1].parts[0].response == "QUIET"
    for events in (run.events, read_events(tmp_path / "t.jsonl")):
        frame = restore_snapshot(events).frames["root/agent:asks:0"]
        assert [o.output for e in frame.journal.tool.values() for o in e.outcomes] == ["quiet"]
        assert frame.fidelity_level == "exact"


def test_middleware_of_the_run_stands_outside_that_of_the_tool():
    order = []

    def layer(name):
        async def around(invocation, inner):
            order.append(f"{name} in")
            result = await inner(invocation)
            order.append(f"{name} out")
            return result

        return around

    @tool(middleware=[layer("tool 1"), layer("tool 2")])
    def bare() -> None:
        order.append("body")

    @agent()
    async def asks() -> None:
        await bare()

    execute(asks, tool_middleware=[layer("run")])
    assert order == ["run in", "tool 1 in", "tool 2 in", "body", "tool 2 out", "tool 1 out", "run out"]


def test_middleware_may_change_arguments_retry_and_answer_by_itself():
    tries = []

    async def retry(invocation, inner):
        try:
            return await inner(invocation)
        except ValueError:
            return await inner(type(invocation)(name=invocation.name, arguments={"n": 2}))

    async def short_cut(invocation, inner):
        return "from the middleware"

    @tool(middleware=[retry])
    def picky(n: int) -> str:
        tries.append(n)
        if n == 1:
            raise ValueError("not 1")
        return f"got {n}"

    @tool(middleware=[short_cut])
    def never() -> str:
        raise AssertionError

    @agent()
    async def asks() -> list[str]:
        return [await picky(1), await never()]

    run, result = execute(asks)
    assert result == ["got 2", "from the middleware"]
    assert tool_outputs(run, "asks") == ["not 1", "got 2"]
    again, second = replay(asks, run)
    assert second == result
    assert tries == [1, 2]
    assert [row.status for row in again.session.rows] == ["hit", "hit"]


# Approval -------------------------------------------------------------------------------------------------


@tool(needs_approval=True)
def pay(amount: int) -> str:
    PAID.append(amount)
    return f"paid {amount}"


PAID: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_paid():
    PAID.clear()


@agent()
async def payer(amount: int) -> str:
    try:
        return await pay(amount)
    except ToolRejectedError as rejected:
        return f"not paid: {rejected.feedback}"


@pytest.mark.parametrize(
    ("hook", "result", "paid"),
    [
        (lambda invocation: True, "paid 5", [5]),
        (lambda invocation: False, "not paid: ", []),
        (lambda invocation: Rejected("too much"), "not paid: too much", []),
        (None, "not paid: the call needs approval, and this run has no approval hook", []),
    ],
)
def test_what_the_approval_hook_says_counts_and_is_replayed_without_asking(hook, result, paid):
    run, first = execute(payer, {"amount": 5}, approve=hook)
    assert first == result
    assert paid == PAID

    def nobody(invocation):
        raise AssertionError("a replay must not ask")

    snapshot = restore_snapshot(run.events)
    session = ReplaySession(journals(snapshot), policy=STRICT)
    _, second = execute(payer, {"amount": 5}, session=session, snapshot=snapshot, memory_from="start", approve=nobody)
    assert second == result
    assert paid == PAID


def test_an_approval_hook_may_be_async_and_sees_the_arguments():
    seen = []

    async def hook(invocation):
        await asyncio.sleep(0)
        seen.append((invocation.name, invocation.arguments))
        return True

    execute(payer, {"amount": 7}, approve=hook)
    assert seen == [("pay", {"amount": 7})]


def test_a_rejected_call_leaves_no_entry_that_a_later_approved_one_would_get():
    answers = iter([False, True])

    @agent()
    async def twice() -> list[str]:
        out = []
        for _ in range(2):
            try:
                out.append(await pay(3))
            except ToolRejectedError:
                out.append("no")
        return out

    run, first = execute(twice, approve=lambda invocation: next(answers))
    assert first == ["no", "paid 3"]
    assert replay(twice, run)[1] == first
    assert PAID == [3]


# Streaming ------------------------------------------------------------------------------------------------


def test_a_streamed_answer_comes_in_pieces_and_a_recorded_one_in_one():
    @agent(model=ScriptedModel(id="m", script=lambda request: "a rather long answer in several pieces"))
    async def talks() -> str:
        return (await prompt("go", on_delta=deltas.append)).text

    deltas: list[object] = []
    run, text = execute(talks)
    live = list(deltas)
    deltas.clear()
    replay(talks, run)
    for seen in (live, deltas):
        assert "".join(d.text for d in seen if isinstance(d, TextDelta)) == text
        assert isinstance(seen[-1], Done)
    assert len(live) > 2
    assert len(deltas) == 2


# Resources ------------------------------------------------------------------------------------------------


def test_resources_live_over_generations_and_close_in_reverse_also_on_failure():
    from runtime import reborn

    log = []

    @contextlib.asynccontextmanager
    async def opened(name):
        log.append(f"open {name}")
        yield name
        log.append(f"close {name}")

    @contextlib.contextmanager
    def blocking(name):
        log.append(f"open {name}")
        try:
            yield name
        finally:
            log.append(f"close {name}")

    @agent()
    async def uses() -> None:
        assert await resource("a", lambda: opened("a")) == "a"
        await resource("b", lambda: blocking("b"))
        memory["n"] = memory.get("n", 0) + 1
        if memory["n"] < 3:
            return reborn()
        raise ValueError("end")

    with pytest.raises(ValueError, match="end"):
        execute(uses)
    assert log[:3] == ["open a", "open b", "close b"]


# Sub-agents inside tools ----------------------------------------------------------------------------------


@agent()
async def helper(n: int) -> int:
    memory["n"] = n
    RAN.append(n)
    return n * 10


RAN: list[int] = []


@tool
async def ask_helper(n: int) -> int:
    """A tool that calls an agent."""
    return await helper(n)


@agent()
async def boss() -> list[int]:
    out = [await ask_helper(1), await helper(2)]
    DUMPS.append(dump_snapshot())
    return out


DUMPS: list[object] = []


def test_a_replayed_tool_keeps_the_frames_and_numbers_of_the_agents_it_had_called():
    RAN.clear()
    DUMPS.clear()
    run, first = execute(boss)
    assert RAN == [1, 2]
    RAN.clear()
    again, second = replay(boss, run)
    assert second == first == [10, 20]
    assert RAN == [2]  # the direct call runs its handler again; the one inside the tool was answered with the tool
    starts = [e.call_id for e in again.events if e.type == "agent.start"]
    assert starts[-1] == "root/agent:boss:0/agent:helper:1"
    before, after = DUMPS
    assert after.frames.keys() == before.frames.keys()
    assert after.frames["root/agent:boss:0/agent:helper:0"].memory == {"n": 1}


def test_completed_sub_agents_can_be_given_without_running_them():
    RAN.clear()
    DUMPS.clear()
    run, first = execute(boss)
    RAN.clear()
    policy = ReplayPolicy(models="strict", tools="strict", reuse_exhausted=False, skip_completed=True)
    again, second = replay(lambda: boss(), run, policy=policy)
    assert second == first
    assert RAN == []
    assert [row.kind for row in again.session.rows] == ["agent"]


# Resume ---------------------------------------------------------------------------------------------------


def test_resume_repeats_nothing_that_had_ended_and_runs_the_rest():
    done = []
    crash = [True]

    @tool
    def step(n: int) -> int:
        if n == 2 and crash[0]:
            raise KeyboardInterrupt
        done.append(n)
        return n

    @tool
    def flaky() -> str:
        done.append("flaky")
        if crash[0]:
            raise OSError("down")
        return "up"

    @agent()
    async def works(upto: int) -> list[object]:
        out: list[object] = []
        for n in range(upto):
            try:
                out.append(await flaky())
            except OSError:
                out.append("down")
            out.append(await step(n))
        return out

    run = Run()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run.execute(works, {"upto": 4}))
    assert done == ["flaky", 0, "flaky", 1, "flaky"]
    done.clear()
    crash[0] = False
    assert asyncio.run(resume(works, run.events)) == ["up", 0, "up", 1, "up", 2, "up", 3]
    assert done == ["flaky", "flaky", "flaky", 2, "flaky", 3]


# The trap of calling after an await -----------------------------------------------------------------------


@pytest.mark.parametrize(("trapped", "warnings"), [(True, 1), (False, 0)])
def test_racing_calls_are_warned_of_in_development(monkeypatch, caplog, trapped, warnings):
    monkeypatch.setenv("RETROSPAN_ENV", "development")

    async def prepared(n: int) -> int:
        await asyncio.sleep(0)
        return await helper(n)

    @agent()
    async def gathers() -> list[int]:
        calls = [prepared(n) if trapped else helper(n) for n in range(3)]
        return list(await asyncio.gather(*calls))

    with caplog.at_level(logging.WARNING):
        execute(gathers)
    assert len([r for r in caplog.records if "called from several tasks" in r.message]) == warnings


def test_a_strict_replay_of_a_changed_agent_stops(caplog):
    run, _ = execute(boss)

    @agent(name="boss")
    async def changed() -> int:
        return await ask_helper(3)

    with pytest.raises(ReplayStop):
        replay(changed, run)
