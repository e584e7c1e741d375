"""An agent of pydantic-ai."""

from __future__ import annotations

from booking import QUESTION, SYSTEM, book
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel


def main() -> None:
    agent = Agent(OpenAIChatModel("m"), system_prompt=SYSTEM, tools=[book])
    print(agent.run_sync(QUESTION).output)


if __name__ == "__main__":
    main()
