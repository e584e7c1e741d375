"""Chat completions with the openai SDK; ``--stream`` reads a stream."""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
from booking import DESCRIPTION, QUESTION, SCHEMA, SYSTEM, book

TOOLS: Any = [{"type": "function", "function": {"name": "book", "description": DESCRIPTION, "parameters": SCHEMA}}]


def ask(client: openai.OpenAI, messages: list[Any]) -> Any:
    if "--stream" not in sys.argv:
        return client.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message
    with client.chat.completions.stream(model="m", messages=messages, tools=TOOLS) as stream:
        stream.until_done()
        return stream.get_final_completion().choices[0].message


def main() -> None:
    client = openai.OpenAI()
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    while (answer := ask(client, messages)).tool_calls:
        calls = [call.model_dump(include={"id", "type", "function"}) for call in answer.tool_calls]
        for call in calls:
            call["function"] = {key: call["function"][key] for key in ("name", "arguments")}
        messages.append({"role": "assistant", "content": answer.content, "tool_calls": calls})
        for call in answer.tool_calls:
            result = book(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(answer.content)


if __name__ == "__main__":
    main()
