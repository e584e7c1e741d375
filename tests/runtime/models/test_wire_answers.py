"""What comes back: reasoning, tokens, money, odd answers, refusals and errors of each protocol."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import (
    ModelAnswerError,
    ModelError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelSetupError,
    ModelTimeoutError,
    ModelTransportError,
)
from runtime.messages import Message, OtherPart, ReasoningPart, Request, TextPart, ToolCallPart, Usage, text_of
from runtime.models import AnthropicModel, Done, OpenAIModel, Prices, ReasoningDelta, Reply, TextDelta, collect

from .backends import KEY, KEY_ENV, WIRE, backend, wire_model
from .servers import CutOff, Hang, Raw, Says, chat, message, response

HELLO = Request(messages=(Message("user", (TextPart("Hello"),)),), model="m-1")

every_protocol = pytest.mark.parametrize("name", WIRE)
both_ways = pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])


def ask(model: Any, *, streaming: bool = False, request: Request = HELLO) -> Reply:
    reply: Reply = asyncio.run(collect(model.stream(request)) if streaming else model.generate(request))
    return reply


def failure(name: str, *script: Any, streaming: bool = False, **options: Any) -> ModelError:
    with backend(name, *script, **options) as b, pytest.raises(ModelError) as caught:
        ask(b.model, streaming=streaming)
    return caught.value


def error_body(name: str, word: str, detail: str) -> str:
    if name == "anthropic":
        return json.dumps({"type": "error", "error": {"type": word, "message": detail}})
    return json.dumps({"error": {"message": detail, "type": "t", "code": word, "param": None}})


class TestAnswers:
    @every_protocol
    @both_ways
    def test_usage_counts_the_whole_input(self, name: str, streaming: bool) -> None:
        with backend(name, Says(text="Hi")) as b:
            usage = ask(b.model, streaming=streaming).usage
        assert usage == Usage(input_tokens=100, output_tokens=20, cached_tokens=40, reasoning_tokens=7)

    @every_protocol
    @both_ways
    def test_cost_follows_from_the_prices(self, name: str, streaming: bool) -> None:
        prices = Prices(input_usd=3, output_usd=15, cached_usd=0.3, cache_write_usd=3.75)
        with backend(name, Says(text="Hi"), prices=prices) as b:
            usage = ask(b.model, streaming=streaming).usage
        written = 10 if name == "anthropic" else 0
        assert usage.cost_nano_usd == (60 - written) * 3000 + 40 * 300 + written * 3750 + 20 * 15000

    @every_protocol
    @both_ways
    def test_the_finish_reason_is_the_providers_word(self, name: str, streaming: bool) -> None:
        with backend(name, Says(text="Hi", cut=True)) as b:
            reply = ask(b.model, streaming=streaming)
        words = {"openai-chat": "length", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"}
        assert reply.message.finish_reason == words[name]

    @pytest.mark.parametrize(
        ("calls", "finish"),
        [((("t1", "answer", "{}"),), "end_turn"), ((("t1", "answer", "{}"), ("t2", "look", "{}")), "tool_use")],
        ids=["alone", "beside a call"],
    )
    @both_ways
    def test_the_tool_that_stands_for_the_output_is_no_call(self, calls: Any, finish: str, streaming: bool) -> None:
        wanted = Request(messages=HELLO.messages, output_schema={"type": "object"})
        with backend("anthropic", Says(calls=calls)) as b:
            message = ask(b.model, streaming=streaming, request=wanted).message
        assert message.parts == (TextPart("{}"), *(ToolCallPart(id_, name, {}) for id_, name, _ in calls[1:]))
        assert message.finish_reason == finish

    @every_protocol
    @both_ways
    def test_reasoning_is_shown_and_can_be_sent_back(self, name: str, streaming: bool) -> None:
        with backend(name, Says(text="Hi", reasoning="A greeting, then."), Says(text="Ho")) as b:
            reply = ask(b.model, streaming=streaming)
            further = (*HELLO.messages, reply.message, Message("user", (TextPart("More"),)))
            ask(b.model, request=Request(messages=further))
            second = json.dumps(b.bodies()[1])
        carried = {
            "openai-chat": (),
            "openai-responses": (
                OtherPart(
                    "openai.reasoning",
                    {
                        "id": "rs_1",
                        "summary": [{"type": "summary_text", "text": "A greeting, then."}],
                        "encrypted_content": "c2VjcmV0",
                    },
                ),
            ),
            "anthropic": (OtherPart("anthropic.thinking", {"signature": "c2lnbmVk"}),),
        }
        assert reply.message.parts == (ReasoningPart("A greeting, then."), *carried[name], TextPart("Hi"))
        marks = {"openai-responses": "c2VjcmV0", "anthropic": "c2lnbmVk"}
        assert name not in marks or marks[name] in second

    @every_protocol
    def test_reasoning_streams(self, name: str) -> None:
        async def run(model: Any) -> list[Any]:
            return [delta async for delta in model.stream(HELLO)]

        with backend(name, Says(text="Hi", reasoning="A greeting, then.")) as b:
            deltas = asyncio.run(run(b.model))
        assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "A greeting, then."
        kinds = [type(delta) for delta in deltas]
        assert kinds.index(ReasoningDelta) < kinds.index(TextDelta) < kinds.index(Done)

    @pytest.mark.parametrize("name", WIRE[:2])
    @both_ways
    def test_arguments_that_do_not_parse_are_kept_as_text(self, name: str, streaming: bool) -> None:
        with backend(name, Says(calls=(("c1", "weather", '{"city": "Ly'), ("c2", "time", "")))) as b:
            parts = ask(b.model, streaming=streaming).message.parts
        assert parts == (ToolCallPart("c1", "weather", '{"city": "Ly'), ToolCallPart("c2", "time", {}))

    @both_ways
    def test_two_texts_are_two_parts_and_stream_with_the_break_between_them(self, streaming: bool) -> None:
        answer = message(Says())
        answer["content"] = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        events: list[dict[str, Any]] = [{"type": "message_start", "message": answer}]
        for index, text in enumerate(("one", "two")):
            block = {"type": "text", "text": ""}
            events.append({"type": "content_block_start", "index": index, "content_block": block})
            delta = {"type": "text_delta", "text": text}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}})
        sse = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        raw = Raw(200, sse, "text/event-stream") if streaming else Raw(200, json.dumps(answer))

        async def texts(model: Any) -> str:
            deltas = [delta async for delta in model.stream(HELLO)]
            assert text_of([deltas[-1].reply.message]) == "one\ntwo"
            return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))

        with backend("anthropic", raw) as b:
            if streaming:
                assert asyncio.run(texts(b.model)) == "one\ntwo"
            else:
                assert ask(b.model).message.parts == (TextPart("one"), TextPart("two"))

    def test_a_tool_of_the_providers_own_is_kept_and_sent_back(self) -> None:
        search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
        answer = response(Says(text="Found."))
        answer["output"].insert(0, search)
        with backend("openai-responses", Raw(200, json.dumps(answer)), Says(text="Hm.")) as b:
            reply = ask(b.model)
            ask(b.model, request=Request(messages=(*HELLO.messages, reply.message)))
            assert search in b.bodies()[1]["input"]

    def test_servers_that_write_content_as_a_list_are_read(self) -> None:
        answer = chat(Says(text="x"))
        answer["choices"][0]["message"]["content"] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
        with backend("openai-chat", Raw(200, json.dumps(answer))) as b:
            assert ask(b.model).message.parts == (TextPart("ab"),)

    def test_servers_that_number_no_tool_calls_in_their_streams_are_read(self) -> None:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"

        def call(id_: str | None, text: str) -> dict[str, Any]:
            return {"tool_calls": [{"id": id_, "function": {"name": "t", "arguments": text}}]}

        sse = (
            chunk(call("a", '{"x":')) + chunk(call(None, "1}")) + chunk(call("b", '{"x":2}')) + chunk({}, "tool_calls")
        )
        with backend("openai-chat", Raw(200, sse + "data: [DONE]\n\n", "text/event-stream")) as b:
            reply = ask(b.model, streaming=True)
        assert reply.message.parts == (ToolCallPart("a", "t", {"x": 1}), ToolCallPart("b", "t", {"x": 2}))


class TestErrors:
    @every_protocol
    @both_ways
    def test_a_refusal_is_its_own_error(self, name: str, streaming: bool) -> None:
        error = failure(name, Says(refusal="I will not do that."), streaming=streaming)
        assert type(error) is ModelRefusedError
        assert str(error).endswith(" [refusal]: I will not do that.")
        assert (error.provider, error.status, error.type) == (name.split("-")[0], None, "refusal")

    @every_protocol
    @pytest.mark.parametrize(
        ("status", "word", "kind"),
        [
            (400, "invalid_request_error", ModelRequestError),
            (400, "content_filter", ModelRefusedError),
            (401, "invalid_api_key", ModelRequestError),
            (404, "model_not_found", ModelRequestError),
            (408, "request_timeout", ModelTimeoutError),
            (429, "rate_limit_exceeded", ModelRateLimitError),
            (429, "insufficient_quota", ModelRateLimitError),
            (500, "server_error", ModelTransportError),
            (503, "unavailable", ModelTransportError),
            (529, "overloaded_error", ModelRateLimitError),
        ],
    )
    @both_ways
    def test_http_errors(self, name: str, status: int, word: str, kind: type[ModelError], streaming: bool) -> None:
        error = failure(name, Raw(status, error_body(name, word, "It says why.")), streaming=streaming)
        assert type(error) is kind
        assert (error.provider, error.status, error.type) == (name.split("-")[0], status, word)
        assert str(error) == f"{name.split('-')[0]} [{status} {word}]: It says why."

    @every_protocol
    @both_ways
    def test_an_error_page_is_cut_to_a_bearable_length(self, name: str, streaming: bool) -> None:
        error = failure(name, Raw(502, "<html>" + "x" * 100_000, "text/html"), streaming=streaming)
        assert type(error) is ModelTransportError
        assert error.status == 502
        assert 100 < len(str(error)) < 3000

    @every_protocol
    @both_ways
    def test_too_many_requests_are_tried_again(self, name: str, streaming: bool) -> None:
        busy = Raw(429, error_body(name, "rate_limit", "Wait."), headers={"retry-after-ms": "1"})
        with backend(name, busy, busy, Says(text="Now."), max_retries=2) as b:
            assert text_of([ask(b.model, streaming=streaming).message]) == "Now."
            assert b.asked == 3
        with backend(name, busy, busy, Says(text="Now."), max_retries=1) as b:
            with pytest.raises(ModelRateLimitError):
                ask(b.model, streaming=streaming)
            assert b.asked == 2

    @every_protocol
    @both_ways
    def test_no_answer_in_time(self, name: str, streaming: bool) -> None:
        error = failure(name, Hang(), streaming=streaming, timeout_s=0.05)
        assert type(error) is ModelTimeoutError
        assert str(error) == f"{name.split('-')[0]} [timeout]: no answer within 0.05 s"

    @every_protocol
    @both_ways
    def test_no_server(self, name: str, streaming: bool) -> None:
        with backend(name) as b:
            b.stop()
            with pytest.raises(ModelTransportError) as caught:
                ask(b.model, streaming=streaming)
        assert type(caught.value) is ModelTransportError
        assert caught.value.type == "connection"

    @every_protocol
    @pytest.mark.parametrize(
        ("body", "content_type"),
        [
            ('{"id": "x", ', "application/json"),
            ("null", "application/json"),
            ("[]", "application/json"),
            ('"text"', "application/json"),
            ("{}", "application/json"),
            ('{"choices": [], "output": 3, "content": "x"}', "application/json"),
            ('{"choices": [{"message": null}], "output": null, "content": null}', "application/json"),
            ("<html>", "text/html"),
        ],
    )
    def test_an_answer_that_cannot_be_read(self, name: str, body: str, content_type: str) -> None:
        error = failure(name, Raw(200, body, content_type))
        assert type(error) is ModelAnswerError
        assert error.type == "malformed"

    @every_protocol
    @pytest.mark.parametrize(
        "sse", ["data: {bad\n\n", "event: message_start\ndata: {bad\n\n", "data: [1]\n\n", "data: null\n\n"]
    )
    def test_a_stream_that_cannot_be_read(self, name: str, sse: str) -> None:
        error = failure(name, Raw(200, sse, "text/event-stream"), streaming=True)
        assert type(error) in (ModelAnswerError, ModelTransportError)
        assert error.type in ("malformed", "incomplete_stream")

    @every_protocol
    def test_a_stream_that_ends_early_is_no_answer(self, name: str) -> None:
        async def read(model: Any, got: list[Any]) -> None:
            async for delta in model.stream(HELLO):
                got.append(delta)

        got: list[Any] = []
        cut_off = CutOff(Says(text="A text that is cut off somewhere."), 6)
        with backend(name, cut_off) as b, pytest.raises(ModelTransportError) as caught:
            asyncio.run(read(b.model, got))
        assert caught.value.type == "incomplete_stream"
        assert got
        assert all(isinstance(delta, TextDelta) for delta in got)

    @pytest.mark.parametrize(
        ("name", "event", "kind", "word"),
        [
            ("openai-chat", {"error": {"message": "No.", "code": "server_error"}}, ModelTransportError, "server_error"),
            (
                "openai-chat",
                {"error": {"message": "No.", "type": "rate_limit_exceeded"}},
                ModelRateLimitError,
                "rate_limit_exceeded",
            ),
            (
                "openai-responses",
                {"type": "error", "code": "server_error", "message": "No.", "param": None, "sequence_number": 1},
                ModelTransportError,
                "server_error",
            ),
            (
                "openai-responses",
                {
                    "type": "response.failed",
                    "sequence_number": 1,
                    "response": {
                        "status": "failed",
                        "output": [],
                        "error": {"code": "rate_limit_exceeded", "message": "No."},
                    },
                },
                ModelRateLimitError,
                "rate_limit_exceeded",
            ),
            (
                "anthropic",
                {"type": "error", "error": {"type": "overloaded_error", "message": "No."}},
                ModelRateLimitError,
                "overloaded_error",
            ),
            (
                "anthropic",
                {"type": "error", "error": {"type": "api_error", "message": "No."}},
                ModelTransportError,
                "api_error",
            ),
        ],
    )
    def test_an_error_inside_a_stream(self, name: str, event: Any, kind: type[ModelError], word: str) -> None:
        head = f"event: {event['type']}\n" if "type" in event else ""
        raw = Raw(200, f"{head}data: {json.dumps(event)}\n\n", "text/event-stream")
        error = failure(name, raw, streaming=True)
        assert type(error) is kind
        assert (error.status, error.type) == (None, word)
        assert str(error).endswith(": No.")

    def test_a_failed_response(self) -> None:
        body = {"status": "failed", "output": [], "error": {"code": "invalid_prompt", "message": "No."}}
        error = failure("openai-responses", Raw(200, json.dumps(response(Says()) | body)))
        assert type(error) is ModelRequestError
        assert error.type == "invalid_prompt"

    def test_an_answer_that_the_filter_took_is_a_refusal(self) -> None:
        answer = chat(Says())
        answer["choices"][0]["finish_reason"] = "content_filter"
        assert type(failure("openai-chat", Raw(200, json.dumps(answer)))) is ModelRefusedError
        answer = response(Says()) | {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
        assert type(failure("openai-responses", Raw(200, json.dumps(answer)))) is ModelRefusedError


class TestKey:
    @every_protocol
    def test_without_a_key_the_error_names_the_variable(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(KEY_ENV)
        error = failure(name)
        assert type(error) is ModelSetupError
        assert KEY_ENV in str(error)
        assert error.type == "no_key"

    @every_protocol
    @both_ways
    def test_a_server_that_repeats_the_key_does_not_get_it_into_errors(
        self, name: str, streaming: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        raw = Raw(401, error_body(name, "invalid_api_key", f"Incorrect API key provided: {KEY}."))
        error = failure(name, raw, streaming=streaming)
        assert str(error).endswith("Incorrect API key provided: [key].")
        assert KEY not in "".join(traceback.format_exception(error))
        assert KEY not in caplog.text

    @every_protocol
    def test_the_model_object_does_not_hold_it(self, name: str) -> None:
        with backend(name, Says(text="Hi")) as b:
            ask(b.model)
            assert KEY not in repr(b.model)
            assert KEY not in repr(vars(b.model))
            assert KEY not in repr(vars(b.model._sdk))

    @every_protocol
    def test_connections_close_with_the_event_loop(self, name: str) -> None:
        async def client_of(model: Any) -> Any:
            await model.generate(HELLO)
            client = await model._sdk.client()
            assert not client.is_closed()
            return client

        with backend(name, Says(text="Hi")) as b:
            assert asyncio.run(client_of(b.model)).is_closed()

    @every_protocol
    def test_connections_can_be_closed_early(self, name: str) -> None:
        async def twice(model: Any) -> list[str]:
            got = []
            for _ in range(2):
                got.append(text_of([(await model.generate(HELLO)).message]))
                await model.aclose()
            await model.aclose()
            return got

        with backend(name, Says(text="one"), Says(text="two")) as b:
            assert asyncio.run(twice(b.model)) == ["one", "two"]


@pytest.mark.parametrize(("make", "package"), [(OpenAIModel, "openai"), (AnthropicModel, "anthropic")])
def test_a_missing_sdk_is_named_with_the_command_that_installs_it(
    make: Callable[[str], Any], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelSetupError, match=rf"pip install 'retrospan\[{package}\]'") as caught:
        ask(make("m-1"))
    assert caught.value.type == "not_installed"


def test_parallel_requests_share_one_client() -> None:
    async def both(model: Any) -> list[Reply]:
        return list(await asyncio.gather(*(model.generate(HELLO) for _ in range(4))))

    with backend("openai-chat", *[Says(text="Hi")] * 4) as b:
        assert len(asyncio.run(both(b.model))) == 4
        assert b.asked == 4


def test_a_model_can_be_made_without_its_sdk_and_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_ENV)
    monkeypatch.setitem(sys.modules, "openai", None)
    model = wire_model("openai-chat", "http://127.0.0.1:9", provider="mine")
    assert repr(model) == "OpenAIModel('m-1', api='chat', provider='mine')"
    assert (model.id, model.provider) == ("m-1", "mine")
