"""Traces that instrumentations wrote answer what the SDKs of the same programs really send.

Each pair is the trace of an instrumented program, and the request bodies of its SDK when it ran without a recorder.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debugger.replay.endpoint import chat, messages, responses
from debugger.replay.endpoint.door import Door
from debugger.replay.endpoint.speaking import Answer, Fault
from debugger.replay.endpoint.trail import Trail
from debugger.replay.recording import Recording
from debugger.store import Store
from runtime.journal import MISS_TYPE
from runtime.messages import ToolCallPart
from tests.replay.endpoint.doors import tape_for

HERE = Path(__file__).parent


def door_of(trace: Path) -> Door:
    with Store.memory() as store:
        store.load([str(trace)])
        traces = [row.trace_id for row in reversed(store.traces())]
        calls = [call for trace_id in traces for call in store.calls(trace_id)]
    return Door(Trail(None, name="replay", input={}), tape_for(Recording(traces[0], calls, [trace]), tools="live"))


@pytest.mark.parametrize(
    ("name", "speaker"), [("langfuse_openai", chat.SPEAKER), ("openinference_anthropic", messages.SPEAKER)]
)
def test_the_requests_of_the_sdk_are_answered(name, speaker):
    door = door_of(HERE / f"{name}.otlp.jsonl")
    bodies = [json.loads(line) for line in (HERE / f"{name}.requests.jsonl").read_text("utf-8").splitlines()]
    found = [door.ask(speaker, body) for body in bodies]
    assert all(isinstance(answer, Answer) for answer in found[:-1])
    assert isinstance(found[-1], Fault), "the last request was refused by its provider"
    assert found[-1].status == 429
    assert door.tape is not None
    assert {row.status for row in door.tape.session.rows if row.kind != "tool"} == {"hit"}


@pytest.mark.parametrize("name", ["openllmetry_agents", "opentelemetry_agents"])
def test_what_a_recording_lacks_is_found_by_what_it_holds(name):
    """Items of one answer as messages, ids of calls unlike those of their results, no request of a failure."""
    door = door_of(HERE / f"{name}.otlp.jsonl")
    bodies = [json.loads(line) for line in (HERE / "openai_agents.requests.jsonl").read_text("utf-8").splitlines()]
    *most, failing = bodies
    found = []
    for body in most:
        found.append(door.ask(responses.SPEAKER, body))
        assert isinstance(found[-1], Answer)
        for part in found[-1].message.parts:
            if isinstance(part, ToolCallPart):
                assert door.tool(part.name, part.arguments, part.id)["do"] == "give"
    assert [len(each.message.parts) for each in found] == [2, 1, 1, 1, 1]
    refused = door.ask(responses.SPEAKER, failing)
    assert isinstance(refused, Fault)
    assert refused.status == 429


def test_a_call_that_the_recording_lacks_answers_only_in_its_turn():
    door = door_of(HERE / "openllmetry_agents.otlp.jsonl")
    bodies = [json.loads(line) for line in (HERE / "openai_agents.requests.jsonl").read_text("utf-8").splitlines()]
    early = door.ask(responses.SPEAKER, bodies[-1])
    assert isinstance(early, Fault)
    assert early.type == MISS_TYPE
