"""Recorded calls, as a convention gives them."""

from __future__ import annotations

from typing import Any

from runtime.messages import Call, Message, TextPart, ToolCallPart, ToolCallResponsePart

TRACE = "a" * 32


def call(number: int, kind: Any, **fields: Any) -> Call:
    given: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": f"{number:016x}",
        "parent_span_id": None,
        "kind": kind,
        "name": kind,
        "start_unix_nano": number * 1000,
        "end_unix_nano": number * 1000 + 500,
        "convention": "genai",
    }
    return Call(**given | fields)


def user(text: str) -> Message:
    return Message("user", (TextPart(text),))


def says(text: str) -> Message:
    return Message("assistant", (TextPart(text),))


def turn(number: int, asked: tuple[Message, ...], answer: Message, **fields: Any) -> Call:
    given: dict[str, Any] = {"input_messages": asked, "output_messages": (answer,), "model": "m", "provider": "openai"}
    return call(number, "llm", **given | fields)


def asks_for(*tools: tuple[str, str, dict[str, Any]]) -> Message:
    return Message("assistant", tuple(ToolCallPart(*tool) for tool in tools))


def result(id_: str, value: Any) -> Message:
    return Message("tool", (ToolCallResponsePart(id_, value),))


def recorded_chat() -> list[Call]:
    """A greeting, and a tool call whose result a later request shows."""
    look = asks_for(("c1", "look", {"at": "sky"}))
    tool = call(
        3, "tool", tool_name="look", tool_call_id="c1", arguments={"at": "sky"}, result={"is": "blue"}, has_result=True
    )
    return [
        turn(1, (user("hi"),), says("hello")),
        turn(2, (user("look"),), look),
        tool,
        turn(4, (user("look"), look, result("c1", {"is": "blue"})), says("It is blue.")),
    ]
