"""A session over made-up traces: a travel desk with two agents, a failing tool and a replay."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path

from debugger.analysis.places import Places, places_of
from debugger.analysis.playhead import StateView, Track
from debugger.analysis.snapshot_view import EntryView, FrameView, SnapshotView
from debugger.analysis.state_changes import StateChange
from debugger.errors import DebuggerError
from debugger.importers import Following, LogRecord
from debugger.receiver.status import Status
from debugger.replay.model import (
    Anchor,
    Difference,
    Divergence,
    ReplayCall,
    ReplayJob,
    ReplayPlan,
    ReplayReport,
)
from debugger.replay.run import stop_here
from debugger.store.notebook import Notebook
from debugger.store.rows import IssueRow, LoadProgress, SearchPart, SpanRow, TraceRow
from debugger.tui.exporting import ExportJob
from runtime.journal import Question, Supplied
from runtime.messages import (
    BlobPart,
    Call,
    CallKind,
    ErrorInfo,
    Json,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    Usage,
)
from runtime.trace import Span, SpanEvent, SpanLink
from tests.tui.fake_desk import FakeDesk, FakeWords

T0 = 1_764_424_931_000_000_000  # 29 Nov 2025 14:02:11 UTC.
MS = 1_000_000


class NoStateError(DebuggerError):
    """A made-up restore error."""

    def __init__(self) -> None:
        super().__init__("span '…0001' starts the trace, so there is nothing before it")
        self.nearest = (("0000000000000001", "after"), ("0000000000000002", "before"))


def span_row(seq: int, parent: int | None, kind: CallKind, name: str, start: int | None, end: int | None, **more: object) -> SpanRow:  # fmt: skip  # noqa: E501
    """A span row; times in milliseconds from ``T0``."""
    values: dict[str, object] = {
        "seq": seq, "trace_id": "a" * 32, "span_id": f"{seq:016x}",
        "parent_span_id": None if parent is None else f"{parent:016x}", "name": name, "kind": kind,
        "convention": "genai", "start_unix_nano": None if start is None else T0 + start * MS,
        "end_unix_nano": None if end is None else T0 + end * MS, "status_code": 0, "status_message": "",
        "error_type": None, "agent_name": None, "provider": None, "model": None, "tool_name": None,
        "input_tokens": None, "output_tokens": None, "cost_nano_usd": None, "run_id": None, "start_seq": None,
    }  # fmt: skip
    return SpanRow(**(values | more))  # type: ignore[arg-type]


TRAVEL = (
    span_row(1, None, "agent", "invoke_agent travel_desk", 0, 4210, agent_name="travel_desk"),
    span_row(2, 1, "llm", "chat gpt-4o-mini", 5, 585, model="gpt-4o-mini", input_tokens=212, output_tokens=61),
    span_row(3, 1, "tool", "execute_tool get_weather", 600, 720, tool_name="get_weather"),
    span_row(4, 1, "tool", "execute_tool convert_currency", 602, 702, tool_name="convert_currency"),
    span_row(5, 1, "llm", "chat gpt-4o-mini", 730, 1340, model="gpt-4o-mini", input_tokens=277, output_tokens=48),
    span_row(6, 1, "tool", "execute_tool book_museum", 1350, 1400, tool_name="book_museum", status_code=2,
             status_message="booking service returned 503", error_type="BookingError"),
    span_row(7, 1, "agent", "invoke_agent guide_writer", 1500, 2800, agent_name="guide_writer"),
    span_row(8, 7, "llm", "chat gpt-4.1-nano", 1510, 1910, model="gpt-4.1-nano", input_tokens=140, output_tokens=90),
    span_row(9, 7, "retriever", "search city notes", 1920, 1990),
    span_row(10, 7, "llm", "chat gpt-4.1-nano", 2000, 2790, model="gpt-4.1-nano", input_tokens=260, output_tokens=180),
    span_row(11, 1, "chain", "format_plan", 2810, 2830),
    span_row(12, 1, "llm", "chat gpt-4o-mini", 2840, 4200, model="gpt-4o-mini", input_tokens=402, output_tokens=120),
)  # fmt: skip


def trace_row(trace_id: str, name: str, start: int, **more: object) -> TraceRow:
    """A trace row; start in seconds from ``T0``."""
    values: dict[str, object] = {
        "trace_id": trace_id, "name": name, "service": "travel-desk", "start_unix_nano": T0 + start * 1000 * MS,
        "duration_ns": 4210 * MS, "spans": 12, "llm_calls": 5, "tool_calls": 3, "agents": 2, "errors": 1,
        "unfinished": 0, "input_tokens": 1291, "output_tokens": 499, "cost_nano_usd": 4_200_000,
        "origin_trace_id": None, "source": "travel.jsonl",
    }  # fmt: skip
    return TraceRow(**(values | more))  # type: ignore[arg-type]


def travel_traces() -> list[TraceRow]:
    """Three recordings and one replay."""
    return [
        trace_row("a" * 32, "travel_desk", 0),
        trace_row("b" * 32, "poller", -16, service="demo-agent", duration_ns=1000 * MS, spans=9, llm_calls=2,
                  tool_calls=6, agents=1, input_tokens=120, output_tokens=40, cost_nano_usd=None,
                  source="poller.jsonl"),
        trace_row("c" * 32, "researcher", -249, service="lab", duration_ns=12_000 * MS, spans=16, llm_calls=4,
                  tool_calls=9, errors=0, unfinished=3, input_tokens=9800, output_tokens=1100,
                  cost_nano_usd=31_000_000, source="lab.jsonl"),
        trace_row("d" * 32, "travel_desk", 3600, duration_ns=20 * MS, cost_nano_usd=0, origin_trace_id="a" * 32,
                  source="replays"),
    ]  # fmt: skip


SYSTEM = Message(
    "system", (TextPart("You are the travel desk. Use the tools, report failures honestly, and delegate writing."),)
)
USER = Message("user", (TextPart("Plan a day in Lyon: check the weather, convert 120 EUR and book the museum."),))
ASKED = Message(
    "assistant",
    (
        ReasoningPart("Weather first, then money."),
        ToolCallPart("call_1", "get_weather", {"city": "Lyon"}),
        ToolCallPart("call_2", "convert_currency", {"amount": 120, "from": "EUR", "to": "USD"}),
    ),
)
WEATHER = Message("tool", (ToolCallResponsePart("call_1", {"temp_c": 18, "sky": "clear"}),))
MONEY = Message("tool", (ToolCallResponsePart("call_2", {"usd": 129.6}),))
BOOK = Message(
    "assistant", (ToolCallPart("call_3", "book_museum", {"museum": "Musée des Beaux-Arts", "day": "2026-05-04"}),)
)


def travel_call(row: SpanRow) -> Call:
    """What a row of the travel trace means."""
    more: dict[str, Json] = {}
    if row.span_id.endswith("02"):
        more = {"input_messages": (SYSTEM, USER), "output_messages": (ASKED,), "finish_reasons": ("tool_calls",)}
    elif row.span_id.endswith("05"):
        more = {
            "input_messages": (SYSTEM, USER, ASKED, WEATHER, MONEY),
            "output_messages": (BOOK,),
            "finish_reasons": ("tool_calls",),
        }
    elif row.span_id.endswith("0c"):
        plan = "Here is your day in Lyon.\n" + "\n".join(f"{hour}:00  stop number {hour}" for hour in range(8, 48))
        photo = Message("user", (BlobPart("image/png", None, 20_480),))
        more = {"input_messages": (SYSTEM, USER, photo), "output_messages": (Message("assistant", (TextPart(plan),)),)}
    elif row.kind == "tool":
        more = {"arguments": {"city": "Lyon"}, "result": {"temp_c": 18}, "has_result": row.error_type is None}
        if row.error_type:
            more["error"] = ErrorInfo(row.error_type, row.status_message)
    elif row.kind == "agent":
        more = {"input": "Plan a day in Lyon", "result": "Done", "has_result": True}
    return Call(
        trace_id=row.trace_id, span_id=row.span_id, parent_span_id=row.parent_span_id, kind=row.kind, name=row.name,
        start_unix_nano=row.start_unix_nano, end_unix_nano=row.end_unix_nano, agent_name=row.agent_name,
        provider="openai" if row.kind == "llm" else None, model=row.model, tool_name=row.tool_name,
        usage=Usage(row.input_tokens, row.output_tokens), **more,
    )  # fmt: skip


def travel_span(row: SpanRow) -> Span:
    """A row of the travel trace as it was written."""
    return Span(
        trace_id=row.trace_id, span_id=row.span_id, parent_span_id=row.parent_span_id, name=row.name, kind=3,
        start_unix_nano=row.start_unix_nano, end_unix_nano=row.end_unix_nano, status_code=row.status_code,
        status_message=row.status_message,
        attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": row.model,
                    "gen_ai.tool.call.arguments": '{"city": "Lyon", "units": "metric", "days": [1, 2, 3]}'},
        events=(SpanEvent(name="gen_ai.choice", time_unix_nano=(row.start_unix_nano or 0) + 5 * MS,
                          attributes={"index": 0}),),
        links=(SpanLink(trace_id="b" * 32, span_id="1" * 16),),
        resource={"service.name": "travel-desk"}, scope_name="demo", scope_version="1.2",
    )  # fmt: skip


def travel_state(trace_id: str, span_id: str | None, anchor: Anchor) -> SnapshotView:
    """Two frames with memory and journal."""
    entries = (
        EntryView(kind="prompt", name="gpt-4o-mini", content_hash="sha256.1:9f2c11aa22", outcomes=1, failed=0,
                  last="▲ get_weather  ▲ convert_currency", answers=True),
        EntryView(kind="tool", name="get_weather", content_hash="sha256.1:07bb31cc", outcomes=1, failed=0,
                  last='{"temp_c": 18, "sky": "clear"}', answers=True),
        EntryView(kind="tool", name="book_museum", content_hash="sha256.1:55aa31cc", outcomes=2, failed=1,
                  last="BookingError: booking service returned 503", answers=True),
    )  # fmt: skip
    return SnapshotView(
        trace_id=trace_id, span_id=span_id, anchor=anchor, taken_unix_nano=T0 + 1400 * MS, source="travel.jsonl",
        frames=(
            FrameView(call_id="root/agent:travel_desk:0", agent_id="travel_desk", depth=0, status="running",
                      generation=0, memory={"city": "Lyon", "draft": {"stops": ["old town", "museum"], "budget": 120}},
                      entries=entries, input="Plan a day in Lyon", budget="2 model turns, 489 → 109 tok"),
            FrameView(call_id="root/agent:travel_desk:0/agent:guide_writer:0", agent_id="guide_writer", depth=1,
                      status="failed", generation=1, memory=None, error="the parent ended first",
                      fidelity="missing", notes=("memory is not recorded in this trace",)),
        ),
    )  # fmt: skip


PLAN = ReplayPlan(
    entry_point="travel.py:desk", trusted=True, problem=None, warning=None, model_answers=2, tool_answers=3,
    later_model_calls=3, later_tool_calls=0,
    sentence="A replay from here runs travel.py:desk again: 2 model turns and 3 tool calls are answered from the "
    "recording; the recording goes on with 3 model turns after the cut.",
)  # fmt: skip

CALLS = (
    ReplayCall(call_id="p1", kind="llm", name="gpt-4o-mini", status="hit", origin_span_id=f"{2:016x}"),
    ReplayCall(call_id="t1", kind="tool", name="get_weather", status="hit", origin_span_id=f"{3:016x}"),
    ReplayCall(call_id="t2", kind="tool", name="convert_currency", status="reused", origin_span_id=f"{4:016x}"),
    ReplayCall(call_id="p2", kind="llm", name="gpt-4o-mini", status="missed"),
)


def same_report(job: ReplayJob) -> ReplayReport:
    """A replay that came out the same."""
    calls = tuple(replace(c, status="hit", origin_span_id=c.origin_span_id or f"{5:016x}") for c in CALLS)
    return ReplayReport(
        job=job, trace_id="d" * 32, trace_path=Path("replays/d.jsonl"), ended="done", same_output=True,
        output="Here is your day in Lyon.", recorded_output="Here is your day in Lyon.", error=None, calls=calls,
        saved_nano_usd=4_200_000, saved_ns=4190 * MS,
    )  # fmt: skip


def diverged_report(job: ReplayJob) -> ReplayReport:
    """A replay whose system text was changed."""
    return ReplayReport(
        job=job, trace_id="d" * 32, trace_path=Path("replays/d.jsonl"), ended="diverged", same_output=None,
        output=None, recorded_output="Here is your day in Lyon.", error=None, calls=CALLS, saved_ns=1300 * MS,
        first_divergence=Divergence(
            kind="llm", name="gpt-4o-mini", call_id="p2", nearest_span_id=f"{5:016x}", cause="prompt text",
            reason="the request differs from the nearest recorded one in message 1, role system",
            differences=(Difference(
                part="message", path="messages[0].parts[0].content",
                recorded="You are the travel desk. Use the tools, report failures honestly, and delegate writing.",
                actual="You are the travel desk. Use the tools, never mention failures, and delegate writing."),),
        ),
        printed=("planning…",),
    )  # fmt: skip


class FakeSession(FakeWords):
    """Implements ``debugger.tui.session.Session``. Counts its calls; ``gate`` holds a replay or load back."""

    def __init__(self, traces: Sequence[TraceRow] | None = None, spans: Sequence[SpanRow] = TRAVEL) -> None:
        self.rows = travel_traces() if traces is None else list(traces)
        self.span_rows = list(spans)
        self.issue_rows: list[IssueRow] = []
        self.the_plan = PLAN
        self.make_report: Callable[[ReplayJob], ReplayReport] = same_report
        self.jobs: list[ReplayJob] = []
        self.asked: list[str] = []
        self.gate: threading.Event | None = None
        self.load_gate: threading.Event | None = None
        self.state_gate: threading.Event | None = None
        self.fail: dict[str, Exception] = {}
        self.agent: str | None = None
        self.temporary: set[str] = set()
        self.kept: list[str] = []
        self.exports: list[ExportJob] = []
        self.is_library = False
        self.has_changed = threading.Event()
        self.changes = 0
        self.receiver_status: Status | None = None
        self.following_now: Following | None = None
        self.sql = FakeDesk()

    def _asked(self, what: str) -> None:
        self.asked.append(what)
        if what in self.fail:
            raise self.fail[what]

    def load(self, on_progress: Callable[[LoadProgress], None], cancelled: Callable[[], bool]) -> None:
        self._asked("load")
        on_progress(LoadProgress(path="travel.jsonl", bytes_done=500_000, bytes_total=1_000_000, spans=12))
        while self.load_gate is not None and not self.load_gate.wait(0.01) and not cancelled():
            continue

    @property
    def notebook(self) -> Notebook:
        return Notebook(Path("notes"))  # in the folder of the test

    def opened_as(self, row: TraceRow) -> str:
        return row.source

    def version(self) -> int:
        self.changes += self.has_changed.is_set()
        self.has_changed.clear()
        return self.changes

    def is_temporary(self, trace_id: str) -> bool:
        return trace_id in self.temporary

    def remove(self, trace_id: str) -> None:
        self._asked("remove")
        self.rows = [row for row in self.rows if row.trace_id != trace_id]

    def receive(self, wanted: bool) -> None:
        self._asked("receive")
        state, at = ("listening", "127.0.0.1:4318") if wanted else ("stopped", None)
        self.receiver_status = Status(state=state, http=at, grpc=None, library="library", spans=1234)

    def follow(self, wanted: bool) -> None:
        self._asked("follow")
        assert self.following_now is not None
        self.following_now = replace(self.following_now, is_on=wanted)

    def following(self) -> Following | None:
        return self.following_now

    def receiver(self) -> Status | None:
        return self.receiver_status

    def traces(self) -> list[TraceRow]:
        self._asked("traces")
        return list(self.rows)

    def spans(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> list[SpanRow]:
        self._asked("spans")
        return self.span_rows

    def _row(self, span_id: str) -> SpanRow:
        return next(row for row in self.span_rows if row.span_id == span_id)

    def call(self, trace_id: str, span_id: str) -> Call:
        self._asked("call")
        return travel_call(self._row(span_id))

    def span(self, trace_id: str, span_id: str) -> list[Span]:
        self._asked("span")
        return [travel_span(self._row(span_id))]

    def search(self, texts: Sequence[str], trace_id: str | None) -> Generator[SearchPart]:
        self._asked("search")
        for start in range(0, len(self.span_rows), 4):
            part = [(row, str(travel_call(row)).casefold()) for row in self.span_rows[start : start + 4]]
            yield [(row.trace_id, row.seq, sum((t in all_) << i for i, t in enumerate(texts))) for row, all_ in part]

    def stop(self) -> None:
        pass

    stop_search = stop_preparing = stop

    def conversations(self) -> dict[str, str]:
        self._asked("conversations")
        return {"a" * 32: "trip", "c" * 32: "trip"}

    def issues(self) -> list[IssueRow]:
        self._asked("issues")
        return list(self.issue_rows)

    def calls(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> list[Call]:
        self._asked("calls")
        return [travel_call(row) for row in self.span_rows]

    def places(self, trace_id: str, tell: Callable[[str, int], None]) -> Places:
        return places_of(self.calls(trace_id), lambda done: tell("call", done))

    def logs(self, trace_id: str, span_id: str) -> list[LogRecord]:
        self._asked("logs")
        start = self._row(span_id).start_unix_nano or 0
        return [LogRecord(event_name="gen_ai.choice", time_unix_nano=start + 7 * MS, severity=9, body={"index": 0})]

    def _events(self) -> list[tuple[int, int, str]]:
        """Time, whether it is an end, and span of each event."""
        out = []
        for row in self.span_rows:
            out.append((row.start_unix_nano or T0, 1, row.span_id))
            if row.end_unix_nano is not None:
                out.append((row.end_unix_nano, 2, row.span_id))
        return sorted(out)

    def fidelity(self, trace_id: str, tell: Callable[[int], None] = lambda _: None) -> str:
        return ""

    def prepare(self, trace_id: str, tell: Callable[[str, int], None]) -> None:
        pass

    def track(self, trace_id: str) -> Track:
        self._asked("track")
        events = self._events()
        return Track(
            trace_id=trace_id,
            span_ids=[e[2] for e in events],
            types=[("span.start", "span.end")[e[1] - 1] for e in events],
            times=[e[0] for e in events],
            edges=bytes([e[1] for e in events]),
        )

    def position_of(self, trace_id: str, span_id: str, anchor: Anchor) -> int:
        self._asked("position_of")
        wanted = (1 if anchor == "before" else 2, span_id)
        at = next(i for i, event in enumerate(self._events()) if event[1:] == wanted)
        if anchor == "before" and not at:
            raise NoStateError
        return at - 1 if anchor == "before" else at

    def state(self, trace_id: str, position: int, since: int | None) -> StateView:
        self._asked("snapshot")
        assert self.state_gate is None or self.state_gate.wait(5)
        change = StateChange(call_id="root/agent:travel_desk:0", agent_id="travel_desk", kind="memory", how="changed",
                             what="draft", before=f"a walk at event {since}",
                             after=f"a walk at event {position}")  # fmt: skip
        return StateView(
            position=position,
            snapshot=travel_state(trace_id, None, "after"),
            changes=(change,) if since != position else (),
            since=since,
            summary="● travel_desk running · 3 journal entries · memory: 2 keys",
        )

    def plan(self, job: ReplayJob, *, priced: bool = False) -> ReplayPlan:
        self._asked("plan")
        return self.the_plan

    def replay(
        self,
        job: ReplayJob,
        on_call: Callable[[ReplayCall], None],
        cancelled: Callable[[], bool],
        on_ask: Callable[[Question], Supplied] = stop_here,
    ) -> ReplayReport:
        self._asked("replay")
        self.jobs.append(job)
        report = self.make_report(job)
        for call in report.calls:
            running = replace(call, status="running", origin_span_id=None)
            on_call(running)
            while self.gate is not None and not self.gate.wait(0.01):
                if cancelled():
                    return replace(report, ended="cancelled", same_output=None, first_divergence=None, calls=(running,))
            on_call(call)
        return report

    def keep(self, trace_id: str) -> Path:
        self._asked("keep")
        self.kept.append(trace_id)
        return Path("travel.replay-1.otlp.jsonl")

    def export(self, job: ExportJob) -> Path:
        self._asked("export")
        self.exports.append(job)
        return job.path

    def branches(self, trace_id: str) -> list[TraceRow]:
        self._asked("branches")
        return [row for row in self.rows if row.origin_trace_id == trace_id]
