"""Agents in a live run: call ids, memory, generations, prompts, tools, errors and dumps."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from runtime import (
    Run,
    ScriptedModel,
    agent,
    call,
    dump_snapshot,
    memory,
    now,
    prompt,
    reborn,
    run_sync,
    run_with,
    say,
    tool,
)
from runtime.errors import (
    AgentError,
    ContextNotFoundError,
    DepthExceededError,
    NotSerializableError,
    OutputError,
    RebornLimitError,
    RuntimeFault,
    SnapshotDisabledError,
    StepLimitError,
    ToolArgumentsError,
)
from runtime.messages import ToolCallResponsePart
from runtime.snapshot import restore_snapshot


def run(fn, /, **options):
    """Run with snapshots on; the run and its result."""
    made = Run(enable_snapshot=True, **options)
    return made, asyncio.run(made.execute(fn))


def call_ids(made, event_type):
    return [event.call_id for event in made.events if event.type == event_type]


def test_call_ids_follow_the_order_of_the_calls_not_of_the_ends():
    @agent()
    async def child(delay: float) -> float:
        await asyncio.sleep(delay)
        return delay

    @agent()
    async def parent() -> list[float]:
        return list(await asyncio.gather(child(0.2), child(0.1), child(0.0)))

    made, result = run(parent)
    assert result == [0.2, 0.1, 0.0]
    assert call_ids(made, "agent.start") == ["root/agent:parent:0"] + [
        f"root/agent:parent:0/agent:child:{i}" for i in range(3)
    ]
    ends = [e.span_id for e in made.events if e.type == "agent.end"]
    starts = [e.span_id for e in made.events if e.type == "agent.start"]
    assert ends == [starts[3], starts[2], starts[1], starts[0]]


def test_sequence_numbers_go_on_over_generations():
    @tool
    def look() -> int:
        return 1

    @agent()
    async def again() -> int:
        await look()
        memory["n"] = memory.get("n", 0) + 1
        return memory["n"] if memory["n"] == 3 else reborn()

    made, result = run(again)
    assert result == 3
    assert call_ids(made, "tool.start") == [f"root/agent:again:0/tool:look:{i}" for i in range(3)]
    ends = [e for e in made.events if e.type == "generation.end"]
    assert [(e.generation, e.reason, e.memory) for e in ends] == [
        (0, "reborn", {"n": 1}),
        (1, "reborn", {"n": 2}),
        (2, "return", {"n": 3}),
    ]


def test_reborn_takes_new_input_and_stops_at_its_limit():
    @agent(max_generations=3)
    async def counter(n: int) -> int:
        return reborn(n + 1)

    @agent()
    async def start() -> int:
        return await counter(0)

    made = Run()
    with pytest.raises(RebornLimitError, match="more than 3 generations"):
        asyncio.run(made.execute(start))
    assert [e.input for e in made.events if e.type == "generation.start"][1:] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_memory_is_copied_in_and_out_and_holds_only_json():
    @agent()
    async def keeper() -> dict:
        kept = {"list": [1]}
        memory["k"] = kept
        kept["list"].append(2)
        memory["k"]["list"].append(3)
        with pytest.raises(NotSerializableError, match="memory 'bad'"):
            memory["bad"] = object()
        memory["gone"] = 1
        del memory["gone"]
        return dict(memory)

    made, result = run(keeper)
    assert result == {"k": {"list": [1]}}
    writes = [(e.key, e.value, e.deleted) for e in made.events if e.type == "memory.write"]
    assert writes == [("k", {"list": [1]}, False), ("gone", 1, False), ("gone", None, True)]


@tool
async def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(why: str) -> str:
    raise ValueError(why)


def asking(*turns):
    """An agent whose model says the turns, with the tools of this module."""

    @agent(model=ScriptedModel(id="m", script=list(turns)), tools=[add, fail])
    async def asker() -> str:
        return (await prompt("go", system="be good")).text

    return asker


def test_a_prompt_runs_its_tools_in_parallel_and_in_call_order():
    made, result = run(asking([call("add", a=1), call("add", a=5, b=5), call("fail", why="no")], say("done")))
    assert result == "done"
    ends = {e.request.arguments.get("a", "fail"): e for e in made.events if e.type == "tool.end"}
    assert ends[1].request.arguments == {"a": 1, "b": 2}
    assert ends[1].outcome.output == 3
    assert ends["fail"].outcome.error.type == "ValueError"
    second = [e for e in made.events if e.type == "model_turn.end"][1]
    answers = [p.response for m in second.request.messages for p in m.parts if isinstance(p, ToolCallResponsePart)]
    assert answers == [3, 10, {"error": "ValueError: no"}]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (call("nope"), "there is no tool 'nope'"),
        (call("add", a="x"), "valid integer"),
        (call("add", a=1, c=3), "Extra inputs"),
    ],
)
def test_a_call_that_does_not_fit_is_an_answer_to_the_model_and_an_entry_of_the_journal(asked, message):
    made, result = run(asking(asked, say("sorry")))
    assert result == "sorry"
    end = next(e for e in made.events if e.type == "tool.end")
    assert message in end.outcome.error.message
    frame = restore_snapshot(made.events).frames["root/agent:asker:0"]
    assert frame.journal.tool[end.content_hash].outcomes[0].status == "error"


class Person(BaseModel):
    name: str
    age: int


def test_a_typed_answer_is_sent_back_until_it_fits():
    model = ScriptedModel(id="m", script=['{"name": "Ada"}', "no json", '{"name": "Ada", "age": 36}'])

    @agent(model=model)
    async def ask() -> Person:
        return (await prompt("who?", output=Person)).output

    assert run(ask)[1] == Person(name="Ada", age=36)
    assert "age: Field required" in model.asked[1].messages[-1].parts[0].content
    assert model.asked[0].output_schema["properties"]["age"] == {"title": "Age", "type": "integer"}


def test_a_typed_answer_that_never_fits_is_an_error_that_says_why():
    @agent(model=ScriptedModel(id="m", script=["1", "2", "3"]))
    async def ask() -> Person:
        return (await prompt("who?", output=Person)).output

    with pytest.raises(OutputError, match="the answer is no Person"):
        run_sync(ask)


def test_a_model_that_never_stops_asking_for_tools_is_stopped():
    @agent(model=ScriptedModel(id="m", script=lambda request: call("add", a=1)), tools=[add])
    async def loops() -> str:
        return (await prompt("go", max_steps=3)).text

    with pytest.raises(StepLimitError, match="after 3 steps"):
        run_sync(loops)


def test_an_agent_without_a_model_says_what_to_do():
    @agent()
    async def bare() -> str:
        return (await prompt("go")).text

    with pytest.raises(AgentError, match="has no model"):
        run_sync(bare)


def test_models_are_found_by_key():
    @agent(model="small")
    async def keyed() -> str:
        return (await prompt("go")).text

    model = ScriptedModel(id="m", script=["hi"])
    assert run_sync(keyed, models={"small": model}) == "hi"
    with pytest.raises(AgentError, match=r"no model 'small'.*'large'"):
        run_sync(keyed, models={"large": model})


def test_an_agent_may_be_offered_as_a_tool():
    @agent()
    async def helper(topic: str) -> str:
        return f"about {topic}"

    @agent(model=ScriptedModel(id="m", script=[call("helper", topic="x"), say("ok")]), tools=[helper])
    async def boss() -> str:
        return (await prompt("go")).text

    made, _ = run(boss)
    assert call_ids(made, "agent.start")[1] == "root/agent:boss:0/agent:helper:0"
    tool_span = next(e for e in made.events if e.type == "tool.start").span_id
    assert (
        next(e for e in made.events if e.type == "agent.start" and e.agent_id == "helper").parent_span_id == tool_span
    )


def test_agents_nested_too_deep_are_stopped_with_a_clear_error():
    @agent()
    async def deeper(n: int) -> int:
        return await deeper(n + 1)

    @agent()
    async def start() -> int:
        return await deeper(0)

    with pytest.raises(DepthExceededError, match="51 deep, the limit is 50"):
        run_sync(start)


@pytest.mark.parametrize("use", [lambda: add(1), lambda: memory["x"], lambda: now(), dump_snapshot, lambda: asking()()])
def test_outside_a_run_everything_says_so(use):
    with pytest.raises(ContextNotFoundError, match="only inside a run"):
        use()


@pytest.mark.parametrize("name", ["a/b", "a:b", ""])
def test_agent_ids_cannot_hold_what_call_ids_are_made_of(name):
    async def fn() -> None: ...

    if name:
        with pytest.raises(ValueError, match="without '/' and ':'"):
            agent(name=name)(fn)


def test_a_tool_called_by_hand_checks_its_arguments_and_raises_what_it_raises():
    @agent()
    async def hand() -> list:
        out = [await add(1, b=4)]
        with pytest.raises(ToolArgumentsError, match="argument"):
            await add("x")
        with pytest.raises(ValueError, match="broken"):
            await fail(why="broken")
        return out

    assert run(hand)[1] == [5]


def test_a_dump_equals_the_restore_of_the_events_so_far():
    taken = []

    @agent()
    async def child(n: int) -> int:
        memory["n"] = n
        await add(n)
        if n == 1:
            await asyncio.sleep(0.02)
        return n

    @agent(model=ScriptedModel(id="m", script=["hello"], input_nano_usd=3))
    async def parent() -> str:
        memory["started"] = True
        slow = asyncio.ensure_future(child(1))
        await asyncio.sleep(0)
        await child(2)
        answer = await prompt("hi")
        taken.append((dump_snapshot(metadata={"why": "test"}), made.events))
        await slow
        return answer.text

    made = Run(enable_snapshot=True)
    asyncio.run(made.execute(parent))
    dump, events = taken[0]
    restored = restore_snapshot(events)
    assert dump.metadata == {"why": "test"}
    assert dump.root_id == "root"
    mine = {key: frame for key, frame in dump.frames.items() if key != "root"}
    assert mine.keys() == restored.frames.keys()
    assert mine["root/agent:parent:0/agent:child:0"].status == "running"
    for key, frame in mine.items():
        other = restored.frames[key]
        assert (frame.status, frame.memory, frame.output, frame.input) == (
            other.status,
            other.memory,
            other.output,
            other.input,
        )
        for kind in ("prompt", "tool", "value"):
            outputs = {h: [o.output for o in e.outcomes] for h, e in frame.journal.map(kind).items()}
            assert outputs == {h: [o.output for o in e.outcomes] for h, e in other.journal.map(kind).items()}
        assert frame.budget.own.total_tokens == other.budget.own.total_tokens
        assert frame.budget.aggregate.costs == other.budget.aggregate.costs


def test_a_dump_shares_nothing_that_changes_later():
    taken = []

    @agent()
    async def keeper() -> None:
        memory["list"] = [1]
        taken.append(dump_snapshot())
        memory["list"] = [1, 2]
        await add(1)

    run(keeper)
    frame = taken[0].frames["root/agent:keeper:0"]
    assert frame.memory == {"list": [1]}
    assert not frame.journal.tool


@pytest.mark.parametrize(
    ("value", "enabled"), [("development", True), ("test", True), ("production", False), ("", False)]
)
def test_snapshots_are_on_in_development_only(monkeypatch, value, enabled):
    monkeypatch.setenv("RETROSPAN_ENV", value)

    @agent()
    async def dumps() -> bool:
        try:
            dump_snapshot()
        except SnapshotDisabledError:
            return False
        return True

    assert run_sync(dumps) is enabled


def test_a_snapshot_in_production_has_to_be_asked_for(monkeypatch):
    monkeypatch.setenv("RETROSPAN_ENV", "production")
    made, _ = run(asking(say("x")))
    snapshot = restore_snapshot(made.events)
    with pytest.raises(RuntimeFault, match="enable_snapshot=True"):
        Run(snapshot=snapshot)
    assert Run(snapshot=snapshot, enable_snapshot=True).enable_snapshot


def test_a_run_inside_a_run_and_a_second_execution_are_refused():
    @agent()
    async def inner() -> int:
        return 1

    @agent()
    async def outer() -> int:
        return await run_with(inner)

    with pytest.raises(RuntimeFault, match="inside a run"):
        run_sync(outer)
    made = Run()
    asyncio.run(made.execute(inner))
    with pytest.raises(RuntimeFault, match="executed before"):
        asyncio.run(made.execute(inner))


def test_a_failing_subscriber_does_not_reach_the_agent(caplog):
    @agent()
    async def fine() -> int:
        memory["x"] = 1
        return 1

    made = Run()
    seen = []
    made.subscribe("*", lambda event: 1 / 0)
    made.subscribe("memory.write", lambda event: seen.append(event.key))
    assert asyncio.run(made.execute(fine)) == 1
    assert seen == ["x"]
    assert len([r for r in caplog.records if "a subscriber failed" in r.message]) == 1


def test_subscribing_to_an_unknown_event_is_refused():
    with pytest.raises(ValueError, match="no event type 'agent:start'"):
        Run().subscribe("agent:start", print)


def test_cancelling_a_run_marks_its_frames_and_reaches_the_caller():
    @agent()
    async def waits() -> None:
        await asyncio.sleep(60)

    made = Run()

    async def main() -> None:
        task = asyncio.ensure_future(made.execute(waits))
        while not any(event.type == "agent.start" for event in made.events):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    ends = [e for e in made.events if e.type in ("agent.end", "run.end")]
    assert [e.outcome.status for e in ends] == ["aborted", "aborted"]
