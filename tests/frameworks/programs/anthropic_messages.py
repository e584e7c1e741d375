"""Messages with the anthropic SDK; ``--stream`` reads a stream."""

from __future__ import annotations

import sys
from typing import Any

import anthropic
from booking import DESCRIPTION, QUESTION, SCHEMA, SYSTEM, book

TOOLS: Any = [{"name": "book", "description": DESCRIPTION, "input_schema": SCHEMA}]


def ask(client: anthropic.Anthropic, messages: list[Any]) -> Any:
    given: Any = {"model": "m", "max_tokens": 100, "system": SYSTEM, "messages": messages, "tools": TOOLS}
    if "--stream" not in sys.argv:
        return client.messages.create(**given)
    with client.messages.stream(**given) as stream:
        return stream.get_final_message()


def main() -> None:
    client = anthropic.Anthropic()
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    answer = ask(client, messages)
    while calls := [block for block in answer.content if block.type == "tool_use"]:
        asked = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in calls]
        told = [{"type": "tool_result", "tool_use_id": call.id, "content": book(**call.input)} for call in calls]
        messages += [{"role": "assistant", "content": asked}, {"role": "user", "content": told}]
        answer = ask(client, messages)
    print("".join(block.text for block in answer.content if block.type == "text"))


if __name__ == "__main__":
    main()
