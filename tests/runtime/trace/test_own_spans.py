"""Our own spans: what a run writes, every way, reads back as the events that it emitted."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from runtime import (
    OtlpJsonFileExporter,
    Run,
    ScriptedModel,
    agent,
    call,
    memory,
    new_id,
    prompt,
    read_events,
    say,
    tool,
)
from runtime.errors import TraceFormatError
from runtime.trace import _keys, read_spans


@tool
async def look(topic: str) -> dict[str, object]:
    """Look a topic up."""
    if topic == "bad":
        raise LookupError("nothing on bad")
    return {"topic": topic, "n": 1.5}


@agent(model=ScriptedModel(id="m", script=lambda r: say("ok"), input_nano_usd=7))
async def child(n: int) -> str:
    memory["n"] = n
    return (await prompt("hello", temperature=0.5)).text


@agent(
    model=ScriptedModel(
        id="m",
        script=lambda r: say("end") if len(r.messages) > 2 else [call("look", topic="é"), call("look", topic="bad")],
    ),
    tools=[look],
)
async def parent(question: str) -> dict[str, object]:
    memory["id"] = new_id()
    answers = await asyncio.gather(child(1), child(2))
    return {"answers": answers, "text": (await prompt(question)).text}


def recorded(**options):
    run = Run(**options)
    asyncio.run(run.execute(parent, {"question": "why?"}))
    return run


def comparable(events):
    """The events by sequence; an outcome read back knows its place, which a live one knows too."""
    out = []
    for event in sorted(events, key=lambda e: e.seq):
        fields = {f.name: getattr(event, f.name) for f in dataclasses.fields(event)}
        outcome = fields.get("outcome")
        if outcome is not None:
            fields["outcome"] = (outcome.status, outcome.output, outcome.error, outcome.usage.to_json(), outcome.lost)
        out.append((event.type, fields))
    return out


def test_a_trace_file_reads_back_as_the_events_of_the_run(tmp_path):
    run = recorded(trace_file=tmp_path / "t.jsonl")
    assert comparable(read_events(tmp_path / "t.jsonl")) == comparable(run.events)


def test_a_finished_file_holds_each_span_once_and_ended(tmp_path):
    run = recorded(trace_file=tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert len(lines) == len({e.span_id for e in run.events})
    assert '"endTimeUnixNano":"0"' not in "".join(lines)
    assert [p.name for p in tmp_path.iterdir()] == ["t.jsonl"]


def test_two_runs_can_share_a_file(tmp_path):
    one = recorded(trace_file=tmp_path / "t.jsonl")
    two = recorded(trace_file=tmp_path / "t.jsonl")
    for run in (one, two):
        assert comparable(read_events(tmp_path / "t.jsonl", run.trace_id)) == comparable(run.events)


def test_a_gzipped_file_is_read(tmp_path):
    run = recorded(trace_file=tmp_path / "t.jsonl")
    (tmp_path / "t.gz").write_bytes(gzip.compress((tmp_path / "t.jsonl").read_bytes()))
    assert len(read_events(tmp_path / "t.gz")) == len(run.events)


def test_the_sdk_exporter_writes_the_same_events(tmp_path):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(tmp_path / "sdk.jsonl")))
    run = recorded(tracer_provider=provider)
    assert comparable(read_events(tmp_path / "sdk.jsonl")) == comparable(run.events)


def test_ids_are_those_of_opentelemetry_where_it_records():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    run = recorded(tracer_provider=provider)
    spans = {f"{s.context.span_id:016x}": s for s in exporter.get_finished_spans()}
    assert spans.keys() == {e.span_id for e in run.events}
    assert {f"{s.context.trace_id:032x}" for s in spans.values()} == {run.trace_id}
    for event in run.events:
        if event.opens and event.parent_span_id:
            assert f"{spans[event.span_id].parent.span_id:016x}" == event.parent_span_id
    failed = [s for s in spans.values() if not s.status.is_ok and s.status.description]
    assert [s.status.description for s in failed] == ["nothing on bad"]


def test_a_run_joins_the_span_around_it():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("web").start_as_current_span("GET /") as outer:
        run = recorded(tracer_provider=provider)
    assert run.trace_id == f"{outer.get_span_context().trace_id:032x}"
    root = next(s for s in exporter.get_finished_spans() if s.attributes.get(_keys.KIND) == "run")
    assert root.parent.span_id == outer.get_span_context().span_id


def test_genai_attributes_are_those_of_the_conventions(tmp_path):
    recorded(trace_file=tmp_path / "t.jsonl")
    spans = {s.name: s for s in read_spans(tmp_path / "t.jsonl")}
    assert spans.keys() == {
        "invoke_workflow parent",
        "invoke_agent parent",
        "invoke_agent child",
        "chat m",
        "execute_tool look",
    }
    chat = spans["chat m"].attributes
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "scripted"
    assert chat["gen_ai.request.model"] == "m"
    assert isinstance(chat["gen_ai.usage.input_tokens"], int)
    assert json.loads(chat["gen_ai.output.messages"])[0]["role"] == "assistant"
    assert spans["execute_tool look"].attributes["gen_ai.tool.name"] == "look"
    assert spans["invoke_agent child"].attributes["gen_ai.agent.name"] == "child"


KILLED = """
import asyncio, os, signal, sys
from runtime import agent, memory, run_sync, tool

@tool
async def step(n: int) -> int:
    return n

@agent()
async def worker() -> None:
    for n in range(3):
        await step(n)
        memory["done"] = n
    os.kill(os.getpid(), signal.SIGKILL)

run_sync(worker, trace_file=sys.argv[1])
"""


def test_a_run_that_is_killed_leaves_everything_up_to_its_last_event(tmp_path):
    from runtime import restore_snapshot

    path = tmp_path / "killed.jsonl"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(path)], timeout=300)
    assert done.returncode == -signal.SIGKILL
    events = read_events(path)
    assert [e.type for e in sorted(events, key=lambda e: e.seq)][-1] == "memory.write"
    frame = restore_snapshot(events).frames["root/agent:worker:0"]
    assert frame.status == "running"
    assert frame.memory == {"done": 2}
    assert [o.output for e in frame.journal.tool.values() for o in e.outcomes] == [0, 1, 2]


def test_a_line_that_was_cut_off_by_a_crash_is_left_out(tmp_path):
    run = recorded(trace_file=tmp_path / "t.jsonl")
    text = (tmp_path / "t.jsonl").read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(text[:-40])
    assert 0 < len(read_events(tmp_path / "cut.jsonl")) < len(run.events)


def test_a_bad_line_in_the_middle_names_its_place(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"resourceSpans":[]}\nnot json\n{"resourceSpans":[]}\n')
    with pytest.raises(TraceFormatError, match=r"bad\.jsonl, line 2"):
        read_events(tmp_path / "bad.jsonl")


def test_a_disk_that_refuses_does_not_reach_the_agent(caplog):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    run = recorded(trace_file=Path("/dev/full"))
    assert run.root.status == "completed"
    assert len([r for r in caplog.records if "a subscriber failed" in r.message]) == 1


def test_a_disk_that_fills_up_leaves_what_fits_and_nothing_beside_it(tmp_path, caplog, monkeypatch):
    left = [3000]

    def write(fd, data):
        room = min(len(data), left[0])
        left[0] -= room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os_write(fd, data[:room])

    os_write = os.write
    monkeypatch.setattr("runtime.trace._file.os.write", write)
    run = recorded(trace_file=tmp_path / "t.jsonl")
    monkeypatch.undo()
    assert run.root.status == "completed"
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert isinstance(said.fault, OSError)
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    assert read_spans(tmp_path / "t.jsonl"), "what was written whole is read"


def test_values_that_are_not_json_are_said_to_be_lost(tmp_path):
    @agent()
    async def odd() -> object:
        return object()

    run = Run(trace_file=tmp_path / "t.jsonl")
    asyncio.run(run.execute(odd))
    end = next(e for e in read_events(tmp_path / "t.jsonl") if e.type == "agent.end")
    assert "not a JSON value" in end.outcome.lost
