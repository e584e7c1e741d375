"""An agent of OpenAI's agents SDK."""

from __future__ import annotations

import booking
from agents import Agent, Runner, function_tool

book = function_tool(booking.book)


def main() -> None:
    agent = Agent(name="Booker", instructions=booking.SYSTEM, model="m", tools=[book])
    print(Runner.run_sync(agent, booking.QUESTION).final_output)


if __name__ == "__main__":
    main()
