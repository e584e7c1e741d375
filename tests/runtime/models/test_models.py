"""Errors of models, prices, and streams of models that have none."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from runtime.agents._revive import revive
from runtime.errors import ModelAnswerError, ModelError, ModelRateLimitError, ModelTimeoutError
from runtime.messages import ErrorInfo, Message, OtherPart, ReasoningPart, Request, TextPart, ToolCallPart, text_of
from runtime.models import (
    Done,
    Prices,
    ReasoningDelta,
    Reply,
    ScriptedModel,
    StreamingModel,
    TextDelta,
    ToolCallDelta,
    collect,
    deltas_of,
    stream_of,
)

HELLO = Request(messages=(Message("user", (TextPart("Hello"),)),))


@pytest.mark.parametrize(
    ("error", "text", "provider", "status", "type_"),
    [
        (ModelError("plain"), "plain", None, None, None),
        (ModelError("odd [429 x]: text, not at the start"), "odd [429 x]: text, not at the start", "odd", 429, "x"),
        (ModelTimeoutError("late", provider="p", type="timeout"), "p [timeout]: late", "p", None, "timeout"),
        (
            ModelRateLimitError("wait", provider="p", status=429, type="rate limit\n!"),
            "p [429 rate_limit_]: wait",
            "p",
            429,
            "rate_limit_",
        ),
        (ModelError("x", status=500), "model [500]: x", "model", 500, None),
        (ModelError("x", provider="a b[]"), "a_b_ []: x", "a_b_", None, None),
        (ModelError("a [9 b]: c", provider="p", type="t"), "p [t]: a [9 b]: c", "p", None, "t"),
        (ModelError("x", provider="p", type="x" * 500), f"p [{'x' * 80}]: x", "p", None, "x" * 80),
    ],
)
def test_fields_are_read_from_the_message_and_so_survive_a_recording(
    error: ModelError, text: str, provider: str | None, status: int | None, type_: str | None
) -> None:
    assert str(error) == text
    replayed: Any = revive(ErrorInfo.of(error))
    assert type(replayed) is type(error)
    for each in (error, replayed):
        assert (each.provider, each.status, each.type) == (provider, status, type_)


@pytest.mark.parametrize(
    ("prices", "tokens", "cost"),
    [
        (Prices(input_usd=3, output_usd=15), (1000, 100), 3_000_000 + 1_500_000),
        (Prices(input_usd=0.0125, output_usd=0.1), (1, 0), 12),
        (Prices(input_usd=0.0125, output_usd=0.1), (3, 1), 138),
        (Prices(input_usd=3, output_usd=15, cached_usd=0.3), (1000, 0, 400), 1_800_000 + 120_000),
        (Prices(input_usd=3, output_usd=15), (1000, 0, 400), 3_000_000),
        (Prices(input_usd=3, output_usd=15, cache_write_usd=3.75), (1000, 0, 0, 200), 2_400_000 + 750_000),
        (Prices(input_usd=3, output_usd=15), (None, 5), None),
        (Prices(input_usd=3, output_usd=15), (5, None), None),
    ],
)
def test_cost_is_a_whole_number_of_billionths(prices: Prices, tokens: tuple[int | None, ...], cost: int | None) -> None:
    names = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")
    given: Any = dict(zip(names, tokens, strict=False))
    assert prices.cost(**given) == cost


class Plain:
    """A user's own model, which cannot stream."""

    id = "plain"
    provider = None

    def __init__(self, message: Message) -> None:
        self.message = message

    async def generate(self, request: Request) -> Reply:
        return Reply(message=self.message)


EVERYTHING = Message(
    "assistant",
    (
        ReasoningPart("r" * 30),
        OtherPart("anthropic.thinking", {"signature": "s"}),
        TextPart("a text that needs several pieces"),
        TextPart("and another"),
        ToolCallPart("c1", "one", {"x": "y" * 30}),
        ToolCallPart("c2", "two", '{"broken'),
        ToolCallPart("c3", "three", {}),
    ),
)


def test_a_whole_answer_is_cut_into_pieces_that_add_up() -> None:
    deltas = list(deltas_of(Reply(message=EVERYTHING)))
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "r" * 30
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == text_of([EVERYTHING])
    assert max(len(d.text) for d in deltas if isinstance(d, TextDelta)) <= 13
    texts = [
        "".join(d.arguments_text for d in deltas if isinstance(d, ToolCallDelta) and d.index == i) for i in (0, 1, 2)
    ]
    assert texts == ['{"x":"' + "y" * 30 + '"}', '{"broken', "{}"]
    assert deltas[-1] == Done(Reply(message=EVERYTHING))


def test_a_model_without_a_stream_is_streamed_as_a_whole() -> None:
    model = Plain(EVERYTHING)
    assert not isinstance(model, StreamingModel)
    assert isinstance(ScriptedModel(id="m", script=[]), StreamingModel)
    assert asyncio.run(collect(stream_of(model, HELLO))).message == EVERYTHING


def test_a_stream_without_a_reply_is_an_error() -> None:
    async def nothing() -> Any:
        yield TextDelta("half")

    with pytest.raises(ModelAnswerError, match="without a reply"):
        asyncio.run(collect(nothing()))


def test_a_scripted_stream_counts_as_one_answer_of_the_script() -> None:
    async def both(model: ScriptedModel) -> list[str]:
        streamed = await collect(model.stream(HELLO))
        return [text_of([streamed.message]), text_of([(await model.generate(HELLO)).message])]

    model = ScriptedModel(id="m", script=["one", "two"])
    assert asyncio.run(both(model)) == ["one", "two"]
    assert model.asked == [HELLO, HELLO]


def test_no_sdk_is_imported_before_a_model_is_asked() -> None:
    code = (
        "import sys, runtime.models as m; m.OpenAIModel('x'); m.AnthropicModel('x');"
        "sys.exit(any(name in sys.modules for name in ('openai', 'anthropic', 'httpx', 'httpx2')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
