"""One suite over every shipped model: whole answers, streams, runs with tools, and their strict replay."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from runtime import STRICT, Run, agent, prompt, restore_snapshot, run_with, tool
from runtime.errors import ModelError
from runtime.messages import (
    Message,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolDefinition,
    message_from_json,
    message_to_json,
    text_of,
)
from runtime.models import (
    Done,
    Reply,
    StreamingModel,
    TextDelta,
    ToolCallDelta,
    collect,
    stream_of,
)

from .backends import BACKENDS, KEY, WIRE, Backend, backend
from .servers import Says

TWO_CALLS = Says(
    text="Looking.", calls=(("c1", "weather", '{"city": "Lyon"}'), ("c2", "weather", '{"city": "Oslo", "days": 2}'))
)
TOOL = ToolDefinition(
    "weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
)


def asking(*messages: Message, **fields: Any) -> Request:
    given = messages or (Message("user", (TextPart("How is the weather?"),)),)
    return Request(**({"messages": given, "tools": (TOOL,), "model": "m-1"} | fields))


async def streamed(model: StreamingModel, request: Request) -> tuple[list[Any], Reply]:
    deltas = [delta async for delta in model.stream(request)]
    assert isinstance(deltas[-1], Done)
    assert not any(isinstance(delta, Done) for delta in deltas[:-1])
    return deltas[:-1], deltas[-1].reply


class Weather(BaseModel):
    city: str
    degrees: int


@pytest.mark.parametrize("name", BACKENDS)
class TestEveryModel:
    def test_answers_with_text_tokens_and_a_reason(self, name: str) -> None:
        with backend(name, Says(text="Sunny, 20°.")) as b:
            reply = asyncio.run(b.model.generate(asking()))
        assert reply.message.role == "assistant"
        assert reply.message.parts == (TextPart("Sunny, 20°."),)
        assert reply.message.finish_reason
        assert reply.usage.input_tokens
        assert reply.usage.output_tokens

    def test_asks_for_tools_with_parsed_arguments(self, name: str) -> None:
        with backend(name, TWO_CALLS) as b:
            reply = asyncio.run(b.model.generate(asking()))
        assert reply.message.parts == (
            TextPart("Looking."),
            ToolCallPart("c1", "weather", {"city": "Lyon"}),
            ToolCallPart("c2", "weather", {"city": "Oslo", "days": 2}),
        )

    def test_streams_the_same_reply_that_it_gives_whole(self, name: str) -> None:
        says = Says(text="Looking around.", calls=TWO_CALLS.calls, reasoning="They want the weather.")
        with backend(name, says, says) as b:
            whole = asyncio.run(b.model.generate(asking()))
            deltas, reply = asyncio.run(streamed(b.model, asking()))
        assert reply.message == whole.message
        if name in WIRE:
            assert reply.usage == whole.usage
        texts = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
        assert "".join(texts) == text_of([reply.message])
        assert len(texts) > 1
        calls: dict[int, list[ToolCallDelta]] = {}
        for delta in deltas:
            if isinstance(delta, ToolCallDelta):
                calls.setdefault(delta.index, []).append(delta)
        put_together = [
            ToolCallPart(each[0].id, each[0].name, json.loads("".join(d.arguments_text for d in each)))
            for _, each in sorted(calls.items())
        ]
        assert put_together == [part for part in reply.message.parts if isinstance(part, ToolCallPart)]
        assert all(each[0].arguments_text == "" for each in calls.values())

    def test_its_stream_can_be_collected(self, name: str) -> None:
        with backend(name, Says(text="Sunny.")) as b:
            reply = asyncio.run(collect(stream_of(b.model, asking())))
        assert text_of([reply.message]) == "Sunny."

    def test_a_consumer_may_leave_a_stream_early(self, name: str) -> None:
        async def first(model: StreamingModel) -> Any:
            deltas = model.stream(asking())
            got = await anext(deltas)
            await deltas.aclose()
            return got

        with backend(name, Says(text="A long answer that nobody reads to its end.")) as b:
            assert isinstance(asyncio.run(first(b.model)), TextDelta)

    def test_serves_one_event_loop_after_the_other(self, name: str) -> None:
        with backend(name, Says(text="one"), Says(text="two")) as b:
            got = [text_of([asyncio.run(b.model.generate(asking())).message]) for _ in range(2)]
        assert got == ["one", "two"]

    def test_answers_survive_being_recorded(self, name: str) -> None:
        says = Says(text="Looking.", calls=TWO_CALLS.calls, reasoning="Hm.")
        with backend(name, says) as b:
            reply = asyncio.run(b.model.generate(asking()))
        recorded = message_from_json(json.loads(json.dumps(message_to_json(reply.message))))
        assert recorded == reply.message
        assert recorded.digest == reply.message.digest
        assert any(isinstance(part, ReasoningPart) for part in recorded.parts)

    def test_a_run_with_tools_replays_strictly_without_the_model(self, name: str, tmp_path: Path) -> None:
        ran: list[str] = []

        @tool
        def weather(city: str, days: int = 1) -> dict[str, Any]:
            """The weather."""
            ran.append(city)
            return {"city": city, "degrees": 20, "days": days}

        with backend(name, TWO_CALLS, Says(text="Warm in both.")) as b:

            @agent(model=b.model, tools=[weather])
            async def forecaster(question: str) -> str:
                answer = await prompt(question, system="You know the weather.", temperature=0)
                return answer.text

            async def main(question: str) -> str:
                return await forecaster(question)

            file = tmp_path / "run.jsonl"
            run = Run(enable_snapshot=True, trace_file=file)
            question = {"question": "Lyon or Oslo?"}
            recorded = asyncio.run(run.execute(main, question))
            assert recorded == "Warm in both."
            assert sorted(ran) == ["Lyon", "Oslo"]
            assert b.asked == 2
            b.stop()

            snapshot = restore_snapshot(run.events)
            replayed = asyncio.run(
                run_with(main, input=question, snapshot=snapshot, policy=STRICT, memory_from="start")
            )
        assert replayed == recorded
        assert b.asked == 2
        assert len(ran) == 2
        assert KEY not in file.read_text()

    def test_a_failing_call_replays_strictly_with_its_class(self, name: str) -> None:
        with backend(name) as b:
            caught: list[ModelError] = []

            @agent(model=b.model)
            async def asker() -> str:
                try:
                    return (await prompt("Hello")).text
                except ModelError as error:
                    caught.append(error)
                    return "failed"

            async def main() -> str:
                return await asker()

            run = Run(enable_snapshot=True)
            assert asyncio.run(run.execute(main)) == "failed"
            b.stop()
            snapshot = restore_snapshot(run.events)
            assert asyncio.run(run_with(main, snapshot=snapshot, policy=STRICT, memory_from="start")) == "failed"
        live, replayed = caught
        assert type(replayed) is type(live)
        assert str(replayed) == str(live)
        for field in ("provider", "status", "type"):
            assert getattr(replayed, field) == getattr(live, field)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("wanted", "value"),
    [(Weather, {"city": "Lyon", "degrees": 20}), (list[int], [1, 2, 3]), (int, 7)],
    ids=["object", "list", "number"],
)
def test_gives_output_of_a_wanted_type(name: str, streaming: bool, wanted: Any, value: Any) -> None:
    with backend(name, *_structured(name, value)) as b:
        output = asyncio.run(_prompted(b, wanted, streaming))
    assert output == (Weather(**value) if wanted is Weather else value)


def _structured(name: str, value: Any) -> list[Says]:
    """What a provider answers when it keeps to the schema that the adapter sends."""
    if name not in WIRE:
        return [Says(text=json.dumps(value))]
    wrapped = json.dumps(value if isinstance(value, dict) else {"value": value})
    if name != "anthropic":
        return [Says(text=wrapped)]
    return [Says(calls=(("t1", "Weather" if isinstance(value, dict) else "answer", wrapped),))]


async def _prompted(b: Backend, wanted: Any, streaming: bool) -> Any:
    model = _Streamed(b.model) if streaming else b.model

    async def main() -> Any:
        @agent(model=model)
        async def asker() -> Any:
            return (await prompt("Weather?", output=wanted)).output

        return await asker()

    return await run_with(main)


class _Streamed:
    """Answers with what comes at the end of the stream, and checks the pieces on the way."""

    def __init__(self, inner: StreamingModel) -> None:
        self.inner = inner
        self.id, self.provider = inner.id, inner.provider

    async def generate(self, request: Request) -> Reply:
        deltas, reply = await streamed(self.inner, request)
        assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == text_of([reply.message])
        return reply
