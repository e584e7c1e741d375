"""View models: bars, conversations, attributes, snapshots, replays, the trace list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from debugger.analysis.attributes import attributes_document
from debugger.analysis.conversation import conversation, document_of
from debugger.analysis.document import Builder, Document, Line, json_lines, unfolded
from debugger.analysis.filter_fields import trace_filter
from debugger.analysis.problem import problem_of
from debugger.analysis.replay_view import from_where, result_document
from debugger.analysis.snapshot_view import snapshot_document, snapshot_view
from debugger.analysis.timeline import Axis, bar_of, ruler
from debugger.analysis.traces import Arrangement, GroupLine, Sort, TraceLine, list_title, trace_lines
from debugger.replay.model import Edit, ReplayJob, ReplayReport
from debugger.store.rows import TraceRow
from runtime.journal import Journal
from runtime.messages import (
    BlobPart,
    Call,
    ErrorInfo,
    Message,
    OtherPart,
    Outcome,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    ToolDefinition,
    ToolRequest,
    Usage,
)
from runtime.snapshot import Cut, Frame, Note, Provenance, Snapshot, UnknownSpanError
from runtime.snapshot._reasons import NO_MEMORY
from runtime.trace import Span, SpanEvent, SpanLink

AXIS = Axis(0, 800, 0)


@pytest.mark.parametrize(
    ("start", "end", "column", "text"),
    [
        (0, 800, 0, "█" * 10),
        (0, 40, 0, "▌"),
        (0, 1, 0, "▏"),
        (80, 240, 1, "██"),
        (120, 250, 1, "▐█▏"),
        (799, 800, 9, "▏"),
        (400, None, 5, "▒▒▒▒▶"),
        (400, 400, 5, "▏"),
        (400, 100, 5, "▏"),
        (-50, 80, 0, "█"),
        (0, 9000, 0, "█" * 10),
        (None, 400, 5, "▏"),
        (None, None, 0, ""),
    ],
)
def test_bars(start, end, column, text):
    bar = bar_of(start, end, AXIS, 10)
    assert (bar.column, bar.text) == (column, text)


@pytest.mark.parametrize("width", range(0, 120, 7))
@pytest.mark.parametrize("length", [0, 1, 999, 10**6, 2_100_000_000, 3600 * 10**9])
def test_a_ruler_has_exactly_its_width(width, length):
    assert len(ruler(Axis(-length // 4, length, 0), width)) == width


def llm(*inputs: Message, output: Message | None = None, tokens: int | None = None, **more: object) -> Call:
    return Call(trace_id="t", span_id="s", parent_span_id=None, kind="llm", name="chat", start_unix_nano=0,
                end_unix_nano=5, input_messages=inputs, output_messages=(output,) if output else None,
                usage=Usage(input_tokens=tokens), **more)  # type: ignore[arg-type]  # fmt: skip


SYSTEM = Message("system", (TextPart("Be kind."),))
USER = Message("user", (TextPart("Hello"),))
ANSWER = Message("assistant", (TextPart("Hi"),), finish_reason="stop")
AGAIN = Message("user", (TextPart("Hello"),))


def test_messages_of_the_previous_call_and_its_answer_are_carried_over():
    view = conversation(llm(SYSTEM, USER, Message("assistant", ANSWER.parts), AGAIN, tokens=30),
                        llm(SYSTEM, USER, output=ANSWER, tokens=10))  # fmt: skip
    assert [shown.is_new for shown in view.messages] == [False, False, False, True]
    assert view.carried is not None
    assert (view.carried.kept, view.grown_tokens) == (3, 20)
    assert "3 messages carried over, 1 new (+), +20 input tokens" in document_of(view).text


def test_without_a_previous_call_nothing_is_called_new():
    assert [shown.is_new for shown in conversation(llm(SYSTEM, USER)).messages] == [None, None]


def test_every_kind_of_part_is_shown():
    parts = (
        TextPart(""), TextPart('{"a": 1}'), ReasoningPart("hm"), ToolCallPart("c1", "look", {"at": "x" * 90}),
        ToolCallResponsePart("c1", "two\nlines"), BlobPart("image/png", None, 2048), OtherPart("video", {"len": 3}),
    )  # fmt: skip
    text = document_of(conversation(llm(Message("user", parts), Message("odd", ())))).text
    for shown in ("(empty text)", '{"a": 1}', "thinking: hm", "▲ look", "↳ c1  two", "image/png, 2 KB", "? video",
                  "odd", "(empty)"):  # fmt: skip
        assert shown in text


def test_what_was_not_recorded_is_said():
    call = Call(trace_id="t", span_id="s", parent_span_id=None, kind="llm", name="chat", start_unix_nano=0,
                end_unix_nano=None, error=ErrorInfo("Boom", ""), lost="cut off")  # fmt: skip
    text = document_of(conversation(call)).text
    for shown in ("unfinished", "not recorded", "✗ Boom: (no message)", "cannot answer a replay: cut off"):
        assert shown in text


def test_attributes_show_everything():
    span = Span(trace_id="t" * 32, span_id="s" * 16, parent_span_id=None, name="", kind=9, start_unix_nano=10,
                end_unix_nano=5, status_code=2, status_message="bad", attributes={"n": None, "b": b"\x01", "l": []},
                events=(SpanEvent(name="e", time_unix_nano=12, attributes={"k": True}),),
                links=(SpanLink(trace_id="x", span_id="y"),), resource={"r": 1}, scope_name="lib",
                extra={"flags": 3})  # fmt: skip
    text = attributes_document([span, span]).text
    for shown in ("1 of 2 spans", "(no name)", "unknown (9)", "error", "bad", "-5 ns", "1 byte: 01", "events (1)",
                  "+2 ns", "links (1)", "resource (1)", "lib", "flags"):  # fmt: skip
        assert shown in text
    assert "not in the store" in attributes_document([]).text


def test_json_is_pretty_and_short_values_stay_on_a_line():
    lines = [" " * line.indent + line.text for line in json_lines({"a": [1, 2], "b": {"c": "x" * 70}, "d": "1\n2"})]
    assert lines == ["{", '  "a": [1, 2],', '  "b": {', f'    "c": "{"x" * 70}"', "  },", '  "d": """', "    1",
                     "    2", '  """', "}"]  # fmt: skip
    deep: list[object] = []
    for _ in range(500):
        deep = [deep, 1]
    assert len(json_lines(deep)) < 400


def showing(document: Document, *opened: str) -> list[Line]:
    """The lines that show, with some blocks unfolded."""
    return [line for block in document.blocks for line, _ in unfolded(block, is_open=block.key in opened)]


@pytest.mark.parametrize("text", ["x" * 1_000_000, "line\n" * 100_000], ids=["one endless line", "many lines"])
def test_a_long_text_folds_to_a_screenful_and_unfolds_completely(text):
    out = Builder()
    out.text("long", text)
    document = out.document()
    assert len(showing(document)) <= 25
    whole = "".join(line.text for line in showing(document, "long")[:-1])
    assert whole == text.replace("\n", "")


def frame_text(frame: Frame) -> str:
    origin = Provenance(trace_id="t", span_id="s", anchor="before", source="restore")
    frames = {frame.call_id: frame}
    snapshot = Snapshot(process_id="p", timestamp=0, root_id=frame.call_id, frames=frames, provenance=origin)
    return snapshot_document(snapshot_view(snapshot, source="a.jsonl"), "chat", None).text


def test_a_snapshot_shows_frames_memory_and_journal():
    journal = Journal()
    journal.record("tool", "h" * 12, Outcome(status="error", error=ErrorInfo("Oops", "503")),
                   ToolRequest(name="book", arguments={"id": 1}))  # fmt: skip
    journal.record("tool", "h" * 12, Outcome(status="ok", output={"ok": True}))
    journal.record("value", "v" * 12, Outcome(status="aborted"))
    text = frame_text(Frame(call_id="root/agent:a:0", agent_id="a", memory={"city": "Lyon"}, journal=journal,
                            status="failed", error=ErrorInfo("Oops", "gone"), input={"q": 1},
                            fidelity=[Note("inferred", "no call ids", None, 3)]))  # fmt: skip
    for shown in ("before chat", "from a.jsonl", "✗ failed", '{"city": "Lyon"}', '▲ book {"id": 1} x2 ✗1',
                  '→ {"ok": true}', "value taken", "cannot answer", "aborted", "inferred: no call ids (3 times)",
                  "✗ Oops: gone"):  # fmt: skip
        assert shown in text


def test_memory_that_was_not_recorded_is_not_called_empty():
    missing = Frame(call_id="a", agent_id="a", fidelity=[Note("missing", "memory")])
    assert "memory  not recorded" in frame_text(missing)
    assert "memory  empty" in frame_text(Frame(call_id="a", agent_id="a", memory_start={}))


@pytest.mark.parametrize(
    ("ended", "same", "said"),
    [
        ("done", True, "✓ same output as recorded"),
        ("done", False, "another output than recorded"),
        ("failed", True, "✓ failed as recorded"),
        ("failed", False, "✗ failed; the recorded run did not"),
        ("past_cut", None, "came to the cut without diverging"),
        ("cancelled", None, "cancelled"),
        ("diverged", None, "✗ diverged from the recording"),
    ],
)
def test_headlines(ended, same, said):
    report = ReplayReport(job=ReplayJob(trace_id="t"), trace_id=None, trace_path=None, ended=ended, same_output=same,
                          output=1, recorded_output=2, error=None)  # fmt: skip
    assert said in result_document(report).text.splitlines()[0]


def test_problems_name_the_way_on():
    problem = problem_of(UnknownSpanError("s", (Cut("1f", "before"),)), "no state", {"1f": "chat"})
    assert problem.sentence == "span 's' is not in the trace"
    assert problem.nearest == ("before chat  1f",)
    assert problem.hint == ""
    assert problem_of(ZeroDivisionError(), "x").sentence == "ZeroDivisionError"
    assert problem_of(KeyError("k"), "x").sentence == "KeyError: 'k'"


def trace(trace_id: str, start: int, origin: str | None = None, **more: object) -> TraceRow:
    values: dict[str, object] = {
        "trace_id": trace_id, "name": trace_id, "service": None, "start_unix_nano": start, "duration_ns": 1,
        "spans": 1, "llm_calls": 0, "tool_calls": 0, "agents": 0, "errors": 0, "unfinished": 0,
        "input_tokens": None, "output_tokens": None, "cost_nano_usd": None, "origin_trace_id": origin, "source": "f",
    }  # fmt: skip
    return TraceRow(**(values | more))  # type: ignore[arg-type]


def names(rows: list[TraceRow], text: str = "", sort: Sort = "started", **more: Any) -> list[str]:
    shown = trace_lines(rows, Arrangement(wanted=trace_filter(text), sort=sort, **more))
    return [
        f"[{line.label}]" if isinstance(line, GroupLine) else ("  " if line.is_nested else "") + line.name
        for line in shown
    ]


def test_replays_stand_under_what_they_replay():
    rows = [trace("a", 1), trace("b", 9), trace("r1", 20, "a"), trace("r2", 30, "r1"), trace("lost", 5, "gone")]
    assert names(rows) == ["b", "lost", "a", "  r1", "  r2"]
    assert names(rows, "r2") == ["r2"]
    assert sorted(names([trace("x", 1, "y"), trace("y", 2, "x"), trace("z", 3, "z")])) == ["x", "y", "z"]


def test_sorting_has_the_biggest_first():
    rows = [trace("a", 1, errors=2), trace("b", 2, duration_ns=9), trace("c", None, input_tokens=3)]  # type: ignore[arg-type]
    assert names(rows) == ["b", "a", "c"]
    assert names(rows, "", "errors")[0] == "a"
    assert names(rows, "", "took")[0] == "b"
    assert names(rows, "", "tokens")[0] == "c"
    assert names(rows, "", "name") == ["a", "b", "c"]
    assert names(rows, is_reversed=True) == ["c", "a", "b"]


def test_groups_come_in_the_order_of_their_first_trace():
    rows = [trace("a", 1, service="x"), trace("b", 2, service="y"), trace("c", 3, service="x"), trace("d", 0)]
    assert names(rows, group="service") == ["[x]", "c", "a", "[y]", "b", "[no service]", "d"]
    rows = [trace("a", 1), trace("r", 2, "a"), trace("b", 3)]
    assert names(rows, group="conversation", conversations={"a": "talk"}) == [
        "[no conversation]",
        "b",
        "[talk]",
        "a",
        "  r",
    ]


def test_a_group_says_what_it_came_to_and_folds():
    rows = [trace("a", 1, service="x", errors=2, input_tokens=5, cost_nano_usd=4), trace("b", 2, service="x", errors=1)]
    rows.append(trace("c", 0, service="y"))
    heading, *rest = trace_lines(rows, Arrangement(group="service", folded=frozenset("x")))
    assert isinstance(heading, GroupLine)
    assert (heading.traces, heading.errors, heading.tokens, heading.cost_nano_usd) == (2, 3, "5 / 0 tok", 4)
    assert heading.is_folded
    assert [type(line) for line in rest] == [GroupLine, TraceLine]


def test_an_empty_document_is_empty():
    assert Document().text == ""


def test_memory_whose_start_was_not_recorded_is_not_counted():
    """Restore begins such a frame with an empty memory and a note."""
    frame = Frame(call_id="a", agent_id="a", memory_start={}, fidelity=[Note("missing", NO_MEMORY)])
    text = frame_text(frame)
    assert "memory not recorded  missing" in text
    assert "memory  not recorded" in text
    assert "0 keys" not in text
    frame = Frame(call_id="a", agent_id="a", memory={"k": 1}, fidelity=[Note("missing", NO_MEMORY)])
    assert "memory: 1 key" in frame_text(frame), "what was written later is known"


def test_the_journal_is_shown_in_the_order_in_which_calls_started():
    journal = Journal()
    for kind, name, start in (("prompt", "p", 20), ("prompt", "p", 5), ("tool", "late", 30), ("tool", "early", 10),
                              ("value", "v", None)):  # fmt: skip
        journal.record(kind, name, Outcome(status="ok", output=name, start_unix_nano=start))
    shown = frame_text(Frame(call_id="a", agent_id="a", journal=journal)).splitlines()
    assert [line.split("→")[1].strip() for line in shown if "→" in line] == ["p", "early", "late", "v"]


def test_an_empty_finish_reason_says_nothing():
    assert "stopped" not in document_of(conversation(llm(USER, output=ANSWER, finish_reasons=("",)))).text
    assert "stopped: length" in document_of(conversation(llm(USER, output=ANSWER, finish_reasons=("", "length")))).text


def test_tools_and_parameters_of_a_model_call_are_shown_and_definitions_fold():
    tools = (ToolDefinition("look", "Looks around", {"type": "object", "properties": {"at": {"type": "string"}}}),
             ToolDefinition("go\x1b", None, None))  # fmt: skip
    parameters = {"temperature": 0.2, "stop": ["x"]}
    call = llm(USER, tool_definitions=tools, parameters=parameters, output_schema={"type": "object"})
    document = document_of(conversation(call))
    shown = "\n".join(line.text for line in showing(document))
    assert 'parameters temperature 0.2 · stop ["x"]' in shown
    assert "tools offered look, go␛" in shown
    assert "▸ 2 tool definitions, 8 lines (enter shows them)" in shown
    assert "Looks around" not in shown
    assert "answer must fit a JSON schema" in shown
    assert "Looks around" in document.text
    assert '"properties"' in document.text


def test_a_span_of_no_known_convention_points_to_its_attributes():
    call = Call(trace_id="t", span_id="s", parent_span_id=None, kind="other", name="ai.thing", start_unix_nano=0,
                end_unix_nano=1)  # fmt: skip
    assert "No convention that Retrospan reads describes this span" in document_of(conversation(call)).text
    known = replace(call, convention="genai")
    assert "No convention" not in document_of(conversation(known)).text


@pytest.mark.parametrize(
    ("ended", "error", "recorded_error", "said"),
    [
        ("failed", "E: 1", None, "✗ failed; the recorded run did not"),
        ("failed", "E: 1", "E: 2", "✗ failed; the recorded run failed otherwise"),
        ("done", None, "E: 2", "✗ came to its end; the recorded run failed"),
    ],
)
def test_a_failure_is_told_from_another_output(ended, error, recorded_error, said):
    report = ReplayReport(job=ReplayJob(trace_id="t"), trace_id=None, trace_path=None, ended=ended, same_output=False,
                          output=None, recorded_output=None, error=error, recorded_error=recorded_error)  # fmt: skip
    text = result_document(report).text
    assert text.splitlines()[0] == said
    assert recorded_error is None or f"recorded: ✗ {recorded_error}" in text


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({}, "the whole trace"),
        ({"span_id": "s"}, "up to the point after chat"),
        ({"span_id": "s", "rest_recorded": True}, "the whole recording answers, also past the point after chat"),
        ({"rest_recorded": True}, "the whole trace"),
        (
            {"span_id": "s", "anchor": "before", "edits": (Edit(path="model", value="m"),)},
            "the whole trace, changed from the point before chat on",
        ),
    ],
)
def test_where_a_replay_starts_is_said_as_it_is(job, said):
    assert from_where(ReplayJob(trace_id="t", **job), "chat") == said


def test_the_title_counts_the_users_files_and_only_where_nothing_else_does():
    rows = [trace("a", 1), trace("b", 2), trace("r", 3, origin="a", source="/scratch/replay-1")]
    assert list_title(rows, ["r"]) == "1 file · 3 traces"
    assert list_title(rows, []) == "2 files · 3 traces"
    assert list_title(rows, ["r"], with_files=False) == "3 traces"
    assert list_title([], []) == "no traces"
