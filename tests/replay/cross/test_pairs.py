"""Traces that instrumentations wrote answer what the SDKs of the same programs really send.

Each pair is the trace of an instrumented program, and the request bodies of its SDK when it ran without a recorder.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debugger.replay.endpoint import chat, messages
from debugger.replay.endpoint.door import Door
from debugger.replay.endpoint.speaking import Answer, Fault
from debugger.replay.endpoint.trail import Trail
from debugger.replay.recording import Recording
from debugger.store import Store
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
