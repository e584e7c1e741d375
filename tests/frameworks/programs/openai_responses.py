"""Responses with the openai SDK; ``--stream`` reads a stream."""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
from booking import DESCRIPTION, QUESTION, SCHEMA, SYSTEM, book

TOOLS: Any = [{"type": "function", "name": "book", "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}]


def ask(client: openai.OpenAI, items: list[Any]) -> Any:
    given: Any = {"model": "m", "instructions": SYSTEM, "input": items, "tools": TOOLS}
    if "--stream" not in sys.argv:
        return client.responses.create(**given)
    with client.responses.stream(**given) as stream:
        stream.until_done()
        return stream.get_final_response()


def main() -> None:
    client = openai.OpenAI()
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    answer = ask(client, items)
    while calls := [item for item in answer.output if item.type == "function_call"]:
        for call in calls:
            asked = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            result = book(**json.loads(call.arguments))
            items += [asked, {"type": "function_call_output", "call_id": call.call_id, "output": result}]
        answer = ask(client, items)
    print(answer.output_text)


if __name__ == "__main__":
    main()
