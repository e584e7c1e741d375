"""Injected faults: each kind does what its table says, at the calls that its plan names, the same way each time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import agent, prompt, run_with, tool
from runtime.errors import ModelTransportError
from runtime.messages import Message, ReasoningPart, Request, TextPart, ToolCallPart
from runtime.models import Done, Fault, FaultPlan, FaultyModel, ScriptedModel, TextDelta, call, collect, say
from runtime.models._faults import FaultKind

HELLO = Request(messages=(Message("user", (TextPart("Hello"),)),))
ANSWER = Message(
    "assistant",
    (ReasoningPart("Hm."), TextPart("One two"), TextPart("three"), ToolCallPart("c1", "look", {"at": "it"})),
    finish_reason="tool_calls",
)


def faulty(*faults: Fault, answers: int = 1, seed: int = 0, answer: Message = ANSWER) -> FaultyModel:
    return FaultyModel(ScriptedModel(id="m-1", script=[answer] * answers), FaultPlan(faults, seed))


def first(model: FaultyModel, *, streaming: bool = False) -> Message:
    reply = asyncio.run(collect(model.stream(HELLO)) if streaming else model.generate(HELLO))
    return reply.message


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("fault", "parts", "finish"),
    [
        (Fault(kind="empty", at=(1,)), (), "tool_calls"),
        (Fault(kind="cut", at=(1,), keep=3), (ANSWER.parts[0], TextPart("One"), ANSWER.parts[3]), "length"),
        (
            Fault(kind="cut", at=(1,), keep=9),
            (ANSWER.parts[0], TextPart("One two"), TextPart("th"), ANSWER.parts[3]),
            "length",
        ),
        (Fault(kind="cut", at=(1,)), (ANSWER.parts[0], ANSWER.parts[3]), "length"),
        (
            Fault(kind="bad_arguments", at=(1,)),
            (*ANSWER.parts[:3], ToolCallPart("c1", "look", '{"at":"it"')),
            "tool_calls",
        ),
        (
            Fault(kind="wrong_tool", at=(1,), tool="gone"),
            (*ANSWER.parts[:3], ToolCallPart("c1", "gone", {"at": "it"})),
            "tool_calls",
        ),
        (Fault(kind="delay", at=(1,)), ANSWER.parts, "tool_calls"),
        (Fault(kind="empty", at=(2,)), ANSWER.parts, "tool_calls"),
    ],
)
def test_answers_are_spoiled(fault: Fault, parts: tuple[Any, ...], finish: str, streaming: bool) -> None:
    message = first(faulty(fault), streaming=streaming)
    assert message.parts == parts
    assert message.finish_reason == finish


class Overload(Exception):
    pass


@pytest.mark.parametrize("kind", ["error", "broken_stream"])
@pytest.mark.parametrize("error", [Overload("no"), lambda: Overload("no")], ids=["an exception", "a maker"])
def test_errors_are_raised_and_the_inner_model_is_not_asked(kind: FaultKind, error: Any) -> None:
    model = faulty(Fault(kind=kind, at=(1,), error=error))
    with pytest.raises(Overload, match="no"):
        first(model)
    assert model.inner.asked == []  # type: ignore[attr-defined]
    assert first(model) == ANSWER
    assert model.happened == [(1, kind)]


def test_the_default_error_says_which_call_it_was() -> None:
    model = faulty(Fault(kind="error", at=(2,)), answers=2)
    first(model)
    with pytest.raises(ModelTransportError, match="injected at call 2") as caught:
        first(model)
    assert (caught.value.provider, caught.value.type) == ("faulty", "error")


@pytest.mark.parametrize(("keep", "pieces"), [(0, 0), (2, 2), (1000, 4)])
def test_a_stream_breaks_after_some_pieces_and_before_its_end(keep: int, pieces: int) -> None:
    async def read(model: FaultyModel, got: list[Any]) -> None:
        async for delta in model.stream(HELLO):
            got.append(delta)

    got: list[Any] = []
    with pytest.raises(ModelTransportError):
        asyncio.run(read(faulty(Fault(kind="broken_stream", at=(1,), keep=keep), answer=say("x" * 48)), got))
    assert len(got) == pieces
    assert all(isinstance(delta, TextDelta) for delta in got)


def test_a_plan_follows_from_the_number_and_the_seed_alone() -> None:
    fault = Fault(kind="empty", probability=0.3)
    drawn = [bool(FaultPlan((fault,), seed=1).at(number)) for number in range(1, 1001)]
    backwards = [bool(FaultPlan((fault,), seed=1).at(number)) for number in range(1000, 0, -1)]
    assert drawn == backwards[::-1]
    assert 200 < sum(drawn) < 400
    assert drawn != [bool(FaultPlan((fault,), seed=2).at(number)) for number in range(1, 1001)]


def test_faults_of_one_plan_are_drawn_apart() -> None:
    plan = FaultPlan((Fault(kind="empty", probability=0.5), Fault(kind="wrong_tool", probability=0.5)))
    kinds = {tuple(fault.kind for fault in plan.at(number)) for number in range(1, 100)}
    assert len(kinds) == 4


@pytest.mark.parametrize(("probability", "happens"), [(0.0, 0), (1.0, 50)])
def test_certain_and_impossible_faults(probability: float, happens: int) -> None:
    model = faulty(Fault(kind="empty", probability=probability), answers=50)
    assert sum(first(model).parts == () for _ in range(50)) == happens


@pytest.mark.parametrize(
    "fields", [{"probability": 1.5}, {"probability": -0.1}, {"at": (0,)}, {"keep": -1}, {"seconds": -1.0}]
)
def test_impossible_settings_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Fault(kind="empty", **fields)


def test_an_empty_plan_changes_nothing() -> None:
    model = FaultyModel(ScriptedModel(id="m-1", script=["Hi"]))
    assert (model.id, model.provider) == ("m-1", "scripted")
    assert first(model) == say("Hi")
    assert model.happened == []
    assert model.calls == 1


@pytest.mark.parametrize(
    ("kind", "told"), [("bad_arguments", "ToolArgumentsError"), ("wrong_tool", "there is no tool 'no_such_tool'")]
)
def test_an_agent_is_told_and_goes_on(kind: FaultKind, told: str) -> None:
    @tool
    def look(at: str) -> str:
        """Look."""
        return f"saw {at}"

    inner = ScriptedModel(id="m-1", script=[call("look", at="it"), call("look", at="it"), "Seen."])
    model = FaultyModel(inner, FaultPlan((Fault(kind=kind, at=(1,)),)))

    @agent(model=model, tools=[look])
    async def looker() -> str:
        return (await prompt("Look.")).text

    async def main() -> str:
        return await looker()

    assert asyncio.run(run_with(main)) == "Seen."
    results = [message.parts[0] for message in inner.asked[2].messages if message.role == "tool"]
    assert told in str(results[0])
    assert "saw it" in str(results[1])


def test_streams_end_with_the_whole_reply() -> None:
    async def read() -> list[Any]:
        return [delta async for delta in faulty().stream(HELLO)]

    *_, last = asyncio.run(read())
    assert isinstance(last, Done)
    assert last.reply.message == ANSWER
