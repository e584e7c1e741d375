"""What several tasks of one agent do at once: agents offered as tools, resources, and the reading of a stream."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from runtime import Run, ScriptedModel, agent, call, prompt, resource, run_sync, tool
from runtime.errors import ModelAnswerError, ToolArgumentsError
from runtime.models import Done, TextDelta


@agent()
async def helper(n: int) -> int:
    return n


def asking(tools, *turns):
    model = ScriptedModel(id="m", script=list(turns))

    @agent(model=model, tools=tools)
    async def boss() -> str:
        return (await prompt("go")).text

    return boss


async def wait(rounds):
    """Let the others go on; counted in rounds of the loop, so that no clock decides who is first."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def the_first_is_slow(invocation, inner):
    await wait(50 if invocation.arguments["n"] == 1 else 1)
    return await inner(invocation)


def test_agents_offered_as_tools_are_numbered_in_the_order_of_the_calls(monkeypatch, caplog):
    monkeypatch.setenv("RETROSPAN_ENV", "development")
    boss = asking(
        [helper], [call("helper", n=n) for n in (1, 2, 3)], [call("helper", n="x"), call("helper", n=4)], "ok"
    )
    run = Run(tool_middleware=[the_first_is_slow])
    with caplog.at_level(logging.WARNING):
        asyncio.run(run.execute(boss))
    started = {e.call_id: e.input["n"] for e in run.events if e.type == "agent.start" and e.agent_id == "helper"}
    assert started == {f"root/agent:boss:0/agent:helper:{n - 1}": n for n in (1, 2, 3, 4)}
    assert list(started.values()) == [2, 3, 1, 4]
    assert caplog.text == ""


def test_middleware_that_reaches_an_agent_twice_gets_two_frames():
    async def twice(invocation, inner):
        return [await inner(invocation), await inner(invocation)]

    run = Run(tool_middleware=[twice])
    asyncio.run(run.execute(asking([helper], call("helper", n=1), "ok")))
    numbers = [e.call_id[-1] for e in run.events if e.type == "agent.start" and e.agent_id == "helper"]
    assert numbers == ["0", "1"]


def test_tools_that_call_an_agent_after_an_await_are_warned_of(monkeypatch, caplog):
    monkeypatch.setenv("RETROSPAN_ENV", "development")

    @tool
    async def asks(n: int) -> int:
        await wait(50 if n == 1 else 1)
        return await helper(n)

    run_sync(asking([asks], [call("asks", n=1), call("asks", n=2)], "ok"))
    assert caplog.text.count("called from several tasks") == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_resource_that_two_ask_for_at_once_is_opened_once(fails):
    log = []

    @contextlib.asynccontextmanager
    async def opened():
        await asyncio.sleep(0)
        log.append("open")
        if fails and len(log) == 1:
            raise OSError("busy")
        yield object()
        log.append("close")

    @agent()
    async def uses() -> bool:
        first, second = await asyncio.gather(resource("r", opened), resource("r", opened), return_exceptions=True)
        third = await resource("r", opened)
        return second is third and (isinstance(first, OSError) if fails else first is second)

    assert run_sync(uses)
    assert log == ["open", "open", "close"][fails ^ 1 :]


def test_arguments_by_hand_that_are_too_many_or_unknown_are_refused_like_all_others():
    @tool
    def one(n: int) -> int:
        return n

    @agent()
    async def hand() -> list[str]:
        out = []
        for args, given in (((1, 2), {}), ((), {"m": 1}), ((), {}), (("x",), {})):
            with pytest.raises(ToolArgumentsError) as refused:
                await one(*args, **given)
            out.append(str(refused.value))
        return out

    assert all(said.startswith("arguments of tool 'one': ") for said in run_sync(hand))


# Streams -------------------------------------------------------------------------------------------------------


class Streams:
    """A model of three pieces; ``closed`` is true once its connection is."""

    id = "m"
    provider = None

    def __init__(self, done: bool = True) -> None:
        self.closed = False
        self.done = done

    async def generate(self, request):
        return (await ScriptedModel(id="m", script=["abc"]).generate(request)) if self.done else None

    async def stream(self, request):
        try:
            for piece in "abc":
                await asyncio.sleep(0)
                yield TextDelta(piece)
            if self.done:
                yield Done(await self.generate(request))
        finally:
            self.closed = True


def talks(model, on_delta):
    @agent(model=model)
    async def talker() -> str:
        try:
            return (await prompt("go", on_delta=on_delta)).text
        except ValueError as error:
            return f"{error}, closed: {model.closed}"

    return talker


def test_a_consumer_may_be_async():
    seen = []

    async def consume(delta):
        await asyncio.sleep(0)
        seen.append(delta)

    run = Run(enable_snapshot=True)
    assert asyncio.run(run.execute(talks(Streams(), consume))) == "abc"
    assert [getattr(delta, "text", "done") for delta in seen] == ["a", "b", "c", "done"]


def test_a_consumer_that_raises_closes_the_stream_and_reaches_the_agent():
    def enough(delta):
        raise ValueError("enough")

    assert run_sync(talks(Streams(), enough)) == "enough, closed: True"


def test_cancelling_closes_the_stream_and_leaves_an_abort():
    model = Streams()
    run = Run()

    async def stop(delta):
        task.cancel()

    async def main():
        nonlocal task
        task = asyncio.ensure_future(run.execute(talks(model, stop)))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert model.closed

    task: asyncio.Task
    asyncio.run(main())
    assert [e.outcome.status for e in run.events if e.type == "model_turn.end"] == ["aborted"]


def test_a_stream_that_ends_without_an_answer_is_an_error_of_the_model():
    with pytest.raises(ModelAnswerError, match="ended without a reply"):
        run_sync(talks(Streams(done=False), lambda delta: None))
