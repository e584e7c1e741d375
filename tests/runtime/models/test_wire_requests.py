"""What is sent: each request in the form that its protocol wants, and the key nowhere but in its header."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from runtime.errors import ModelRequestError
from runtime.messages import (
    BlobPart,
    Message,
    OtherPart,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    ToolDefinition,
)
from runtime.models import OpenAIModel
from runtime.models._openai_chat import params_of as chat_params

from .backends import KEY, WIRE, backend
from .servers import Says, Seen

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = ToolDefinition("weather", "The weather.", SCHEMA)
CONVERSATION = (
    Message("system", (TextPart("Be brief."),)),
    Message("user", (TextPart("Lyon or"), TextPart("Oslo?"))),
    Message(
        "assistant",
        (
            ReasoningPart("Both."),
            TextPart("Looking."),
            ToolCallPart("c1", "weather", {"city": "Lyon"}),
            ToolCallPart("c2", "weather", '{"city": '),
        ),
        finish_reason="tool_calls",
    ),
    Message("tool", (ToolCallResponsePart("c1", {"degrees": 20}),)),
    Message("tool", (ToolCallResponsePart("c2", "no such city"),)),
    Message("user", (TextPart("And?"),)),
)


def sent(name: str, request: Request, *, streaming: bool = False) -> Seen:
    """What the server saw of one request."""

    async def ask(model: Any) -> None:
        if streaming:
            async for _ in model.stream(request):
                pass
        else:
            await model.generate(request)

    with backend(name, Says(text="Fine.")) as b:
        asyncio.run(ask(b.model))
        assert b.server is not None
        return b.server.seen[0]


def body(name: str, *messages: Message, **fields: Any) -> dict[str, Any]:
    return sent(name, Request(messages=messages or CONVERSATION, model="m-1", **fields)).body


def user(*parts: Any) -> Message:
    return Message("user", parts)


class TestConversation:
    def test_chat(self) -> None:
        got = body("openai-chat", tools=(TOOL,))
        assert got == {
            "model": "m-1",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Lyon or\nOslo?"},
                {
                    "role": "assistant",
                    "content": "Looking.",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"Lyon"}'},
                        },
                        {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": '{"city": '}},
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": '{"degrees":20}'},
                {"role": "tool", "tool_call_id": "c2", "content": "no such city"},
                {"role": "user", "content": "And?"},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA},
                }
            ],
        }

    def test_responses(self) -> None:
        got = body("openai-responses", tools=(TOOL,))
        assert got == {
            "model": "m-1",
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Lyon or\nOslo?"},
                {"role": "assistant", "content": "Looking."},
                {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Lyon"}'},
                {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city": '},
                {"type": "function_call_output", "call_id": "c1", "output": '{"degrees":20}'},
                {"type": "function_call_output", "call_id": "c2", "output": "no such city"},
                {"role": "user", "content": "And?"},
            ],
            "tools": [
                {
                    "type": "function",
                    "name": "weather",
                    "description": "The weather.",
                    "parameters": SCHEMA,
                    "strict": False,
                }
            ],
        }

    def test_anthropic(self) -> None:
        got = body("anthropic", tools=(TOOL,))
        assert got == {
            "model": "m-1",
            "max_tokens": 4096,
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Lyon or"}, {"type": "text", "text": "Oslo?"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Looking."},
                        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Lyon"}},
                        {
                            "type": "tool_use",
                            "id": "c2",
                            "name": "weather",
                            "input": {"malformed_arguments": '{"city": '},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": '{"degrees":20}'},
                        {"type": "tool_result", "tool_use_id": "c2", "content": "no such city"},
                        {"type": "text", "text": "And?"},
                    ],
                },
            ],
            "tools": [{"name": "weather", "description": "The weather.", "input_schema": SCHEMA}],
        }

    def test_responses_keep_the_order_of_texts_and_calls(self) -> None:
        mixed = Message("assistant", (TextPart("a"), ToolCallPart("c1", "weather", {}), TextPart("b"), TextPart("c")))
        got = body("openai-responses", user(TextPart("Go.")), mixed)
        assert got["input"][1:] == [
            {"role": "assistant", "content": "a"},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            {"role": "assistant", "content": "b\nc"},
        ]

    def test_anthropic_wants_no_empty_text_and_no_empty_message(self) -> None:
        got = body("anthropic", user(TextPart("a")), Message("assistant", (TextPart(""),)), user(TextPart("b")))
        assert got["messages"] == [
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
        ]

    @pytest.mark.parametrize("name", WIRE)
    def test_calls_without_ids_get_some_that_match(self, name: str) -> None:
        got = body(
            name,
            user(TextPart("Go.")),
            Message("assistant", (ToolCallPart(None, "weather", {}), ToolCallPart(None, "weather", {}))),
            Message("tool", (ToolCallResponsePart(None, "x"),)),
            Message("tool", (ToolCallResponsePart(None, "y"),)),
        )
        text = json.dumps(got)
        assert text.count('"call_1"') == text.count('"call_2"') == 2

    @pytest.mark.parametrize("name", WIRE)
    def test_reasoning_goes_back_only_to_the_provider_whose_it_is(self, name: str) -> None:
        thoughts = Message(
            "assistant",
            (
                ReasoningPart("Mine."),
                OtherPart("anthropic.thinking", {"signature": "SIGN"}),
                OtherPart("anthropic.redacted_thinking", {"data": "HIDDEN"}),
                OtherPart("openai.reasoning", {"id": "rs_1", "encrypted_content": "SEALED"}),
                TextPart("Hello."),
            ),
        )
        got = body(name, user(TextPart("Hi")), thoughts, user(TextPart("Go on")))
        match name:
            case "anthropic":
                assert got["messages"][1]["content"] == [
                    {"type": "thinking", "thinking": "Mine.", "signature": "SIGN"},
                    {"type": "redacted_thinking", "data": "HIDDEN"},
                    {"type": "text", "text": "Hello."},
                ]
            case "openai-responses":
                assert got["input"][1:3] == [
                    {"type": "reasoning", "summary": [], "id": "rs_1", "encrypted_content": "SEALED"},
                    {"role": "assistant", "content": "Hello."},
                ]
            case _:
                assert got["messages"][1] == {"role": "assistant", "content": "Hello."}

    @pytest.mark.parametrize(
        ("name", "wanted"),
        [
            ("openai-chat", {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
            ("openai-responses", {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"}),
            ("anthropic", {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}),
        ],
    )
    def test_images_go_by_their_uri(self, name: str, wanted: dict[str, Any]) -> None:
        got = body(name, user(TextPart("Look:"), BlobPart("image/png", "https://example.org/a.png")))
        messages = got["input"] if name == "openai-responses" else got["messages"]
        assert messages[0]["content"][1] == wanted

    def test_anthropic_gets_inline_images_as_data(self) -> None:
        got = body("anthropic", user(BlobPart("image/png", "data:image/png;base64,AAAA")))
        source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        assert got["messages"][0]["content"] == [{"type": "image", "source": source}]

    @pytest.mark.parametrize("name", WIRE)
    @pytest.mark.parametrize("part", [BlobPart("image/png", size_bytes=9), OtherPart("video", {"uri": "x"})])
    def test_what_cannot_be_sent_is_refused_and_not_left_out(self, name: str, part: Any) -> None:
        with backend(name, Says(text="Fine.")) as b:
            with pytest.raises(ModelRequestError, match="cannot be sent") as caught:
                asyncio.run(b.model.generate(Request(messages=(user(part),))))
            assert b.asked == 0
        assert caught.value.type == "unsupported_part"


SAMPLING = {"temperature": 0.5, "max_tokens": 99, "top_p": 0.9}
ALL = SAMPLING | {"seed": 7, "stop_sequences": ["END"], "frequency_penalty": 0.1, "presence_penalty": 0.2}


class TestParameters:
    def test_chat(self) -> None:
        got = body("openai-chat", parameters=ALL | {"logprobs": None, "top_k": 5})
        assert {key: got[key] for key in got if key not in ("model", "messages")} == {
            "temperature": 0.5,
            "max_tokens": 99,
            "top_p": 0.9,
            "seed": 7,
            "stop": ["END"],
            "frequency_penalty": 0.1,
            "presence_penalty": 0.2,
            "top_k": 5,
        }

    def test_openai_itself_gets_the_newer_name_of_the_limit(self) -> None:
        request = Request(messages=(), parameters={"max_tokens": 99})
        params = chat_params(request, "m-1", "openai", "max_completion_tokens")
        assert params == {"model": "m-1", "messages": [], "max_completion_tokens": 99}

    def test_responses(self) -> None:
        got = body("openai-responses", parameters=SAMPLING | {"store": False})
        assert {key: got[key] for key in got if key not in ("model", "input")} == {
            "temperature": 0.5,
            "max_output_tokens": 99,
            "top_p": 0.9,
            "store": False,
        }

    def test_anthropic(self) -> None:
        thinking = {"type": "enabled", "budget_tokens": 2000}
        got = body("anthropic", parameters=SAMPLING | {"stop_sequences": ["END"], "thinking": thinking, "top_k": 5})
        assert {key: got[key] for key in got if key not in ("model", "messages", "system")} == {
            "temperature": 0.5,
            "max_tokens": 99,
            "top_p": 0.9,
            "stop_sequences": ["END"],
            "thinking": thinking,
            "top_k": 5,
        }

    @pytest.mark.parametrize(
        ("name", "parameter"),
        [
            ("openai-responses", "seed"),
            ("openai-responses", "stop_sequences"),
            ("openai-responses", "frequency_penalty"),
            ("anthropic", "seed"),
            ("anthropic", "presence_penalty"),
        ],
    )
    def test_what_a_protocol_lacks_is_refused(self, name: str, parameter: str) -> None:
        with backend(name) as b:
            with pytest.raises(ModelRequestError, match=parameter) as caught:
                asyncio.run(b.model.generate(Request(messages=CONVERSATION, parameters={parameter: 1})))
            assert b.asked == 0
        assert caught.value.type == "unsupported_parameter"

    @pytest.mark.parametrize(
        ("choice", "chat", "responses", "anthropic"),
        [
            ("auto", "auto", "auto", {"type": "auto"}),
            ("none", "none", "none", {"type": "none"}),
            ("required", "required", "required", {"type": "any"}),
            ("any", "required", "required", {"type": "any"}),
            ({"type": "any"}, "required", "required", {"type": "any"}),
            (
                {"name": "weather"},
                {"type": "function", "function": {"name": "weather"}},
                {"type": "function", "name": "weather"},
                {"type": "tool", "name": "weather"},
            ),
            (
                {"type": "function", "function": {"name": "weather"}},
                {"type": "function", "function": {"name": "weather"}},
                {"type": "function", "name": "weather"},
                {"type": "tool", "name": "weather"},
            ),
        ],
    )
    def test_tool_choice(self, choice: Any, chat: Any, responses: Any, anthropic: Any) -> None:
        for name, wanted in zip(WIRE, (chat, responses, anthropic), strict=True):
            assert body(name, tools=(TOOL,), parameters={"tool_choice": choice})["tool_choice"] == wanted

    @pytest.mark.parametrize("name", WIRE)
    def test_tool_choice_is_left_out_where_there_are_no_tools(self, name: str) -> None:
        assert "tool_choice" not in body(name, parameters={"tool_choice": "auto"})


class TestStructuredOutput:
    LOOSE = SCHEMA | {"title": "The place!"}
    STRICT = LOOSE | {"additionalProperties": False}

    @pytest.mark.parametrize(("schema", "strict"), [(LOOSE, False), (STRICT, True)])
    def test_openai_gets_a_response_format(self, schema: dict[str, Any], strict: bool) -> None:
        form = {"name": "The_place", "schema": schema, "strict": strict}
        got = body("openai-chat", output_schema=schema)
        assert got["response_format"] == {"type": "json_schema", "json_schema": form}
        assert body("openai-responses", output_schema=schema)["text"] == {"format": {"type": "json_schema", **form}}

    def test_a_schema_whose_root_is_no_object_is_wrapped(self) -> None:
        schema = {"type": "array", "items": {"$ref": "#/$defs/P"}, "$defs": {"P": {"type": "string"}}}
        got = body("openai-chat", output_schema=schema)
        assert got["response_format"]["json_schema"] == {
            "name": "answer",
            "schema": {
                "type": "object",
                "properties": {"value": {"type": "array", "items": {"$ref": "#/$defs/P"}}},
                "required": ["value"],
                "additionalProperties": False,
                "$defs": {"P": {"type": "string"}},
            },
            "strict": True,
        }

    @pytest.mark.parametrize(
        ("fields", "choice", "tools"),
        [
            ({}, {"type": "tool", "name": "The_place"}, ["The_place"]),
            ({"tools": (TOOL,)}, {"type": "any"}, ["weather", "The_place"]),
            ({"tools": (ToolDefinition("The_place"),)}, {"type": "any"}, ["The_place", "The_place_"]),
            ({"parameters": {"thinking": {"type": "adaptive"}}}, {"type": "auto"}, ["The_place"]),
        ],
        ids=["alone", "beside tools", "name taken", "thinking"],
    )
    def test_anthropic_must_call_a_tool(self, fields: dict[str, Any], choice: Any, tools: list[str]) -> None:
        got = body("anthropic", output_schema=self.LOOSE, **fields)
        assert got["tool_choice"] == choice
        assert [each["name"] for each in got["tools"]] == tools
        assert got["tools"][-1]["input_schema"] == self.LOOSE


@pytest.mark.parametrize("name", WIRE)
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
def test_the_key_is_in_its_header_and_nowhere_else(name: str, streaming: bool) -> None:
    seen = sent(name, Request(messages=CONVERSATION, model="m-1"), streaming=streaming)
    assert seen.headers.pop("authorization") == f"Bearer {KEY}"
    assert KEY not in json.dumps([seen.path, seen.headers, seen.body])
    assert bool(seen.body.get("stream")) is streaming


@pytest.mark.parametrize("name", WIRE)
def test_the_sdk_writes_no_spans_of_its_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The run records the call already; a second span would count its tokens twice.
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    sent(name, Request(messages=CONVERSATION, model="m-1"))
    assert [span.name for span in exporter.get_finished_spans()] == []


def test_a_server_that_wants_no_key_gets_none_of_the_environment() -> None:
    with backend("openai-chat", Says(text="Fine."), api_key_env=None) as b:
        asyncio.run(b.model.generate(Request(messages=CONVERSATION)))
        assert b.server is not None
        assert KEY not in json.dumps(b.server.seen[0].headers)


def test_an_unknown_api_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="'chat' or 'responses'"):
        OpenAIModel("m-1", api="completions")  # type: ignore[arg-type]
