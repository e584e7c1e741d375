"""What goes wrong in emission: files, providers, samplers and limits. The agent never notices; the trace says it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from debugger.store import Store
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
    restore_snapshot,
    say,
    tool,
)
from runtime.trace import TraceFileWriter, events_of


async def once_more(invocation: Any, inner: Any) -> Any:
    return await inner(invocation)


@tool
async def one(n: int) -> int:
    return n


@tool(middleware=[once_more])
async def layered(n: int) -> int:
    return n


def script(request: Any) -> Any:
    return say("done") if len(request.messages) > 1 else [call("one", n=1), call("one", n=2)]


@agent()
async def sub(n: int) -> str:
    memory["n"] = n
    return f"{n} {len(new_id())}"


@agent(model=ScriptedModel(id="m", script=script), tools=[one])
async def top() -> list[Any]:
    for n in range(6):
        memory[f"k{n}"] = n
    return [(await prompt("go", temperature=0.5)).text, await layered(5), await sub(3)]


RESULT = ["done", 5, "3 32"]


def execute(**options: Any) -> Run:
    run = Run(enable_snapshot=True, **options)
    assert asyncio.run(asyncio.wait_for(run.execute(top), 120)) == RESULT
    return run


def frames_of(events: Any) -> dict[str, Any]:
    return {key: (f.status, f.output, f.memory, f.journal) for key, f in restore_snapshot(events).frames.items()}


# Files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["nowhere/t.jsonl", "."])
def test_a_trace_file_that_cannot_be_opened_is_said_before_the_agent_starts(tmp_path, path):
    started: list[Any] = []
    run = Run(trace_file=tmp_path / path)
    run.subscribe("*", started.append)
    with pytest.raises(OSError, match=str(tmp_path)):
        asyncio.run(run.execute(top))
    assert started == []


def test_a_full_disk_is_logged_once_and_the_run_goes_on(caplog):
    execute(trace_file="/dev/full")
    assert len([r for r in caplog.records if "a subscriber failed" in r.message]) == 1


def test_what_a_full_disk_cut_off_spoils_nothing_that_is_written_later(tmp_path, monkeypatch):
    from runtime.trace import _file

    run = execute()
    path = tmp_path / "t.jsonl"
    writer = TraceFileWriter(path, resource={})
    write = _file.os.write
    for i, event in enumerate(run.events):
        if i == 5:
            monkeypatch.setattr(_file.os, "write", lambda fd, data: write(fd, data[:30]) and 1 / 0)
            with pytest.raises(ZeroDivisionError):
                writer(event)
            monkeypatch.setattr(_file.os, "write", write)
        else:
            writer(event)
    writer.close()
    assert frames_of(read_events(path)).keys() == frames_of(run.events).keys()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_to_a_trace_file_stays_a_link(tmp_path, exists):
    target, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    if exists:
        target.touch()
    link.symlink_to(target)
    run = execute(trace_file=link)
    assert link.is_symlink()
    spans = {e.span_id for e in run.events}
    assert len(target.read_text().splitlines()) == len(spans)
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["link.jsonl", "real.jsonl"]


def test_the_end_of_an_agent_that_was_left_behind_is_in_the_file(tmp_path):
    async def main() -> None:
        tasks: list[Any] = []

        @agent()
        async def late() -> int:
            await gate.wait()
            return 7

        @agent()
        async def leaves() -> None:
            tasks.append(asyncio.ensure_future(late()))
            await asyncio.sleep(0)

        gate = asyncio.Event()
        await Run(trace_file=tmp_path / "t.jsonl").execute(leaves)
        gate.set()
        await tasks[0]

    asyncio.run(main())
    frame = restore_snapshot(read_events(tmp_path / "t.jsonl")).frames["root/agent:leaves:0/agent:late:0"]
    assert (frame.status, frame.output) == ("completed", 7)
    assert '"endTimeUnixNano":"0"' not in (tmp_path / "t.jsonl").read_text()


# Providers -----------------------------------------------------------------------------------------------------


class Failing(SpanProcessor):
    def __init__(self, where: str) -> None:
        self.where = where

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.where == "start":
            raise RuntimeError("start")

    def on_end(self, span: Any) -> None:
        if self.where == "end":
            raise RuntimeError("end")


class NoTracer:
    def get_tracer(self, *args: Any) -> Any:
        raise RuntimeError("no tracer")


class FailsAtThe:
    def __init__(self, nth: int) -> None:
        self.left = nth

    def get_tracer(self, *args: Any) -> Any:
        self.tracer = TracerProvider().get_tracer("x")
        return self

    def start_span(self, *args: Any, **options: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("no more")
        return self.tracer.start_span(*args, **options)


def failing(where: str) -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(Failing(where))
    return made


@pytest.mark.parametrize(
    "make",
    [
        lambda: failing("start"),
        lambda: failing("end"),
        NoTracer,
        lambda: FailsAtThe(1),
        lambda: FailsAtThe(4),
        lambda: TracerProvider(sampler=ALWAYS_OFF),
    ],
    ids=["fails at a start", "fails at an end", "no tracer", "fails at once", "fails in between", "not sampled"],
)
def test_a_provider_that_fails_or_records_nothing_changes_nothing_for_the_run(make, tmp_path):
    run = execute(tracer_provider=make(), trace_file=tmp_path / "t.jsonl")
    assert len({e.trace_id for e in run.events}) == 1
    snapshot = restore_snapshot(read_events(tmp_path / "t.jsonl"))
    assert snapshot.fidelity_level == "exact"
    assert [f.output for f in snapshot.frames.values() if f.agent_id] == [RESULT, "3 32"]


LIMITS: list[dict[str, int]] = [
    {"max_events": 3},
    {"max_span_attributes": 5},
    {"max_span_attributes": 8},
    {"max_span_attributes": 12},
    {"max_attributes": 3},
    {"max_event_attributes": 1},
    {"max_attribute_length": 20},
    {"max_attribute_length": 70},
    {"max_attribute_length": 200},
    {"max_span_attribute_length": 40},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_what_the_limits_of_an_sdk_cut_off_is_said_and_never_silently_wrong(limits, tmp_path):
    path = tmp_path / "t.jsonl"
    made = TracerProvider(span_limits=SpanLimits(**limits))
    made.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(path)))
    run = execute(tracer_provider=made)
    with Store.memory() as store:
        store.load([path])
        stored = events_of(store.calls(store.traces()[0].trace_id))
    whole = restore_snapshot(run.events)
    for events in (read_events(path), stored):
        snapshot = restore_snapshot(events)
        assert len(snapshot.frames) == len(whole.frames)
        # Frames whose call ids were cut off are found by their order.
        for frame, right in zip(snapshot.frames.values(), whole.frames.values(), strict=True):
            same = [
                getattr(frame, name) == getattr(right, name)
                for name in ("call_id", "agent_id", "status", "output", "memory", "memory_start", "input", "error")
            ]
            same += [
                [o.output for o in entry.outcomes] == [o.output for o in frame.journal.map(kind)[key].outcomes]
                if key in frame.journal.map(kind)
                else False
                for kind in ("prompt", "tool", "value")
                for key, entry in right.journal.map(kind).items()
            ]
            assert all(same) or frame.fidelity_level == "missing", (frame.call_id, same)


def test_without_limits_a_trace_through_an_sdk_is_exact(tmp_path):
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(tmp_path / "t.jsonl")))
    run = execute(tracer_provider=made)
    snapshot = restore_snapshot(read_events(tmp_path / "t.jsonl"))
    assert snapshot.fidelity_level == "exact"
    assert {key: frame.memory for key, frame in snapshot.frames.items()} == {
        key: frame.memory for key, frame in restore_snapshot(run.events).frames.items()
    }
