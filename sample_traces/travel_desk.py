"""A travel desk: parallel tools, a tool that fails, and a guide writer as a nested agent."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from runtime import Request, ScriptedModel, agent, call, prompt, say, tool
from runtime.messages import ToolCallResponsePart


class BookingError(Exception):
    """The booking service did not answer."""


@tool(effect="pure")
async def get_weather(city: str) -> dict[str, object]:
    """Current weather for a city."""
    await asyncio.sleep(0.06)
    return {"city": city, "temp_c": 18, "sky": "clear", "wind": {"kmh": 11.5, "from": "NW"}}


@tool(effect="pure")
async def convert_currency(amount: float, source: str, target: str = "CHF") -> str:
    """Convert an amount of money."""
    await asyncio.sleep(0.04)
    return f"{amount * 0.94:.2f} {target}"


@tool(effect="committed")
async def book_museum(museum: str, day: str) -> str:
    """Book a museum visit for a day, written as YYYY-MM-DD."""
    await asyncio.sleep(0.03)
    raise BookingError(f"booking service returned 503 for {museum}")


@tool(effect="pure")
async def search_guide(query: str, limit: int = 3) -> list[dict[str, object]]:
    """Search the city guide."""
    await asyncio.sleep(0.05)
    hits = [{"title": "Traboules of Lyon", "score": 0.92}, {"title": "Rue du Bœuf", "score": 0.81}]
    return hits[:limit]


def answers_so_far(request: Request) -> int:
    """How many tool results the model has seen: where in the script it is."""
    return sum(isinstance(part, ToolCallResponsePart) for m in request.messages for part in m.parts)


def desk_script(request: Request):
    """What the desk's model says, from the conversation alone."""
    match answers_so_far(request):
        case 0:
            return [call("get_weather", city="Lyon"), call("convert_currency", amount=120, source="EUR")]
        case 2:
            return call("book_museum", museum="Musée des Confluences", day="2026-05-04")
        case 3:
            return call("guide_writer", topic="Lyon old town")
        case _:
            return say(
                "Lyon is clear at 18 °C, and 120 EUR are 112.80 CHF. The museum could not be booked: the booking "
                "service returned 503. Walk: start at Place Saint-Paul, cross the Long Traboule, end at Saint-Jean."
            )


def guide_script(request: Request):
    """What the guide writer's model says."""
    if answers_so_far(request) == 0:
        return call("search_guide", query='traboules "Vieux Lyon"', limit=2)
    return '{"title": "Old Lyon on foot", "stops": ["Place Saint-Paul", "Long Traboule", "Saint-Jean"], "minutes": 45}'


class Walk(BaseModel):
    """A walk through a city."""

    title: str
    stops: list[str]
    minutes: int


desk_model = ScriptedModel(id="desk-large", script=desk_script, latency_s=0.12, input_nano_usd=150, output_nano_usd=600)
guide_model = ScriptedModel(
    id="guide-small", script=guide_script, latency_s=0.08, input_nano_usd=100, output_nano_usd=400
)


@agent(model=guide_model, tools=[search_guide])
async def guide_writer(topic: str) -> Walk:
    """Write one short walk about the topic."""
    answer = await prompt(
        f"Write about: {topic}", system="You are the guide writer. Search the guide, then write one walk.", output=Walk
    )
    return answer.output


@agent(model=desk_model, tools=[get_weather, convert_currency, book_museum, guide_writer])
async def travel_desk(request: str) -> str:
    """Plan a day, and say honestly what failed."""
    answer = await prompt(
        request,
        system="You are the travel desk. Use the tools, report failures honestly, and delegate the walking guide.",
        temperature=0.2,
    )
    return answer.text


REQUEST = "Plan a day in Lyon: check the weather, convert 120 EUR to CHF, book the Musée des Confluences, write a walk."

if __name__ == "__main__":
    from _record import record

    record(travel_desk, "travel_desk", request=REQUEST)
