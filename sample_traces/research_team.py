"""A research team: three researchers in parallel, two at a time on one source, then an editor with a typed answer."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from runtime import Request, ScriptedModel, agent, call, memory, new_id, now, prompt, tool
from runtime.messages import ToolCallResponsePart, text_of

LIBRARY = {
    "tides": "Spring tides follow the full and the new moon by about two days.",
    "currents": "The Gulf Stream carries some 30 million cubic metres a second past Florida.",
    "waves": "A wave breaks when its height passes about 0.8 of the depth.",
}


class Report(BaseModel):
    """What the editor hands in."""

    headline: str
    findings: list[str]
    confidence: float


@tool(effect="pure")
async def look_up(topic: str) -> str:
    """One finding about the topic."""
    # The topics take different times, so that the researchers end in another order than they start.
    await asyncio.sleep(0.02 * len(topic))
    return LIBRARY[topic]


def researcher_script(request: Request):
    """Looks its topic up once, then reports it."""
    topic = text_of(request.messages).rpartition("about ")[2].split(".")[0]
    results = [p for m in request.messages for p in m.parts if isinstance(p, ToolCallResponsePart)]
    return f"On {topic}: {results[0].response}" if results else call("look_up", topic=topic)


def editor_script(request: Request):
    """Writes the report; its first try lacks the confidence and is sent back."""
    findings = [line[2:] for line in text_of(request.messages).splitlines() if line.startswith("- ")]
    report = Report(headline="How the sea moves", findings=findings, confidence=0.8)
    retried = any("does not fit" in text_of([m]) for m in request.messages)
    return report.model_dump_json() if retried else report.model_dump_json(exclude={"confidence"})


researcher_model = ScriptedModel(
    id="researcher-small", script=researcher_script, latency_s=0.05, input_nano_usd=50, output_nano_usd=200
)
editor_model = ScriptedModel(
    id="editor-large", script=editor_script, latency_s=0.09, input_nano_usd=150, output_nano_usd=600
)


@agent(model=researcher_model, tools=[look_up])
async def researcher(topic: str) -> str:
    """Find one thing out."""
    memory["topic"] = topic
    answer = await prompt(f"Tell me about {topic}.", system="You are a researcher. Look things up; never guess.")
    memory["finding"] = answer.text
    return answer.text


@agent(model=editor_model)
async def editor(findings: list[str], edition: str) -> Report:
    """Make a report of the findings."""
    lines = "\n".join(f"- {finding}" for finding in findings)
    answer = await prompt(
        f"Edition {edition}. Findings:\n{lines}", system="You are the editor. Answer with the report.", output=Report
    )
    return answer.output


@agent()
async def research_team(topics: list[str]) -> Report:
    """Research the topics in parallel and edit what comes back."""
    memory["job"] = new_id()
    # Called here in the order of the topics, before anything is awaited: stable call ids, also in a replay.
    findings = await asyncio.gather(*[researcher(topic) for topic in topics])
    memory["findings"] = len(findings)
    return await editor(list(findings), edition=now().strftime("%Y-%m-%d %H:%M:%S"))


if __name__ == "__main__":
    from _record import record

    record(research_team, "research_team", topics=["tides", "currents", "waves"])
