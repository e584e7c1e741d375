"""Rejelly's events in every form and with every oddity: what becomes of them, and that nothing is lost."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from debugger.commands._json import indented
from debugger.conventions import View, call_of, promote
from debugger.importers import format_of
from debugger.importers.rejelly import nanoseconds
from debugger.store import Store
from runtime.snapshot import Snapshot, restore_every, restore_snapshot, snapshot_to_json
from runtime.trace import TraceEvent

ORACLE = Path(__file__).parents[1] / "data" / "oracle"


class Script:
    """Events one millisecond after another."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add(self, kind: str, span: str | None = None, parent: str = "", **fields: Any) -> Script:
        trace = {"traceId": "t1", "spanId": span, "parentSpanId": parent}
        event = {"type": kind, "schemaVersion": 1, "timestamp": 1000 + len(self.events), "trace": trace}
        self.events.append(event | fields)
        return self

    def agent(self, span: str, parent: str = "", **fields: Any) -> Script:
        return self.add("agent:start", span, parent, **({"agentId": span.lower(), "props": {}} | fields))

    def end(self, span: str, parent: str = "", **fields: Any) -> Script:
        return self.add("agent:end", span, parent, **({"success": True, "result": f"{span}-out"} | fields))

    def turn(self, span: str | None, parent: str = "", key: str = "h", text: str = "hi", **fields: Any) -> Script:
        answer = {"success": True, "contentHash": key, "message": {"role": "assistant", "content": text}}
        return self.add("turn:end", span, parent, **(answer | fields))


def loaded(tmp_path: Path, data: bytes | list[dict[str, Any]], name: str = "events.json") -> Store:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    store = Store.memory()
    store.load([path])
    return store


def events_in(tmp_path: Path, data: bytes | list[dict[str, Any]], name: str = "events.json") -> list[TraceEvent]:
    with loaded(tmp_path, data, name) as store:
        (row,) = store.traces()
        return list(store.events(row.trace_id))


def latest(tmp_path: Path, script: Script) -> Snapshot:
    return restore_snapshot(events_in(tmp_path, script.events))


def states(events: list[TraceEvent]) -> list[Any]:
    return [
        (span, anchor, found.frames if isinstance(found, Snapshot) else type(found))
        for span, anchor, found in restore_every(events)
    ]


def recorded(name: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads((ORACLE / f"{name}.json").read_text("utf-8"))["events"]
    return events


def lines(items: list[Any]) -> bytes:
    return "\n".join(json.dumps(item) for item in items).encode()


def shuffled(events: list[Any]) -> list[Any]:
    out = events[:]
    random.Random(3).shuffle(out)
    return out


FORMS: dict[str, Callable[[list[Any]], bytes]] = {
    "array": lambda events: json.dumps(events).encode(),
    "indented": lambda events: json.dumps(events, indent=2).encode(),
    "object": lambda events: json.dumps({"name": "x", "events": events, "frames": [{"a": [1]}]}).encode(),
    "json lines": lines,
    "lines with gaps and a byte order mark": lambda events: b"\xef\xbb\xbf" + lines(events).replace(b"\n", b"\r\n\n"),
    "batches": lambda events: lines([events[i : i + 7] for i in range(0, len(events), 7)]),
    "gzip": lambda events: gzip.compress(lines(events)),
    "shuffled": lambda events: json.dumps(shuffled(events)).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_restores_to_the_same(tmp_path: Path, form: str) -> None:
    events = recorded("tools")
    expected = states(events_in(tmp_path, events))
    assert states(events_in(tmp_path, FORMS[form](events))) == expected


@pytest.mark.parametrize("form", ["array", "indented", "object", "json lines"])
def test_a_cut_file_gives_what_is_whole(tmp_path: Path, form: str) -> None:
    data = FORMS[form](recorded("tools"))
    with loaded(tmp_path, data[: len(data) // 2]) as store:
        (row,) = store.traces()
        assert row.agents == 1
        assert [issue.reason for issue in store.issues()] in (
            ["ends in the middle, or is no JSON"],
            ["no JSON"],
        )


@pytest.mark.parametrize("version", [None, 2, "1", 1.0, True])
def test_other_versions_are_refused_with_all_that_is_with_them(tmp_path: Path, version: Any) -> None:
    events = Script().agent("A").end("A").events
    events[1]["schemaVersion"] = version
    with loaded(tmp_path, events) as store:
        assert store.traces() == []
        (issue,) = store.issues()
        assert "schema version 1" in issue.reason


def test_the_events_lie_on_the_span_word_for_word(tmp_path: Path) -> None:
    text = '{ "type":"agent:start","schemaVersion":1,"timestamp":5,"trace":{"traceId":"t","spanId":"A"},"x":1.50 }'
    with loaded(tmp_path, f"[{text}]".encode()) as store:
        (span,) = store.whole_spans("t")
        assert span.attributes["rejelly.events"] == f"[{text}]"


@pytest.mark.parametrize("name", ["tools", "nested3", "model_error", "edge.span_reused_by_types", "edge.double_end"])
def test_narrow_facts_agree_with_the_call(tmp_path: Path, name: str) -> None:
    with loaded(tmp_path, recorded(name)) as store:
        (row,) = store.traces()
        for span in store.whole_spans(row.trace_id):
            facts, call = promote(View.of(span)), call_of(span)
            assert (facts.kind, facts.agent_name, facts.provider, facts.model, facts.tool_name, facts.start_seq) == (
                call.kind, call.agent_name, call.provider, call.model, call.tool_name, call.start_seq,
            )  # fmt: skip
            assert facts.error_type == (None if call.error is None else call.error.type)
            assert facts.input_tokens == call.usage.input_tokens
            assert facts.convention == call.convention == "rejelly"


def test_a_turn_knows_its_model_and_each_tool_result_is_a_call(tmp_path: Path) -> None:
    with loaded(tmp_path, recorded("tools")) as store:
        (row,) = store.traces()
        calls = store.calls(row.trace_id)
    turn = next(call for call in calls if call.kind == "llm")
    assert (turn.model, turn.provider, turn.usage.input_tokens) == ("mock-1", "mockco", 10)
    tools = [call for call in calls if call.kind == "tool"]
    assert [call.tool_name for call in tools][:3] == ["add", "boom", "nope"]
    assert tools[0].result == {"sum": 3}
    assert tools[1].error is not None


def test_an_answer_without_a_span_goes_to_the_agent_that_is_open(tmp_path: Path) -> None:
    script = Script().agent("A").turn(None, key="h1")
    script.events[-1]["trace"] = None
    assert list(latest(tmp_path, script).root.journal.prompt) == ["h1"]


def test_an_agent_without_a_span_opens_no_frame(tmp_path: Path) -> None:
    script = Script().agent("A").add("agent:start", None, "A", agentId="ghost").end("A", success=True)
    assert [frame.agent_id for frame in latest(tmp_path, script).frames.values()] == ["a"]


def test_what_tools_used_up_is_in_the_budget_of_their_agent_and_above(tmp_path: Path) -> None:
    used = [
        {"type": "tool", "name": "search", "costs": {"micro_usd": 2, "credits": 7}, "quantity": 3, "unit": "pages"},
        {"type": "tool", "name": "search", "costs": {"micro_usd": "much"}, "quantity": None, "unit": "pages"},
        {"type": "model", "name": "m", "costs": {"micro_usd": 9}, "tokens": {"prompt": 1, "completion": 1, "total": 2}},
    ]
    script = Script().agent("A").agent("B", "A").add("generation:start", "G", "B", generationId=0)
    script.add("budget:update", "bu", "G", delta={"items": used}).add("budget:update", "bad", "G", delta={"items": 3})
    snapshot = restore_snapshot(events_in(tmp_path, script.events))
    inner = next(frame for frame in snapshot.frames.values() if frame.agent_id == "b").budget
    assert inner.own.costs == {"nano_usd": 2_000, "credits": 7}
    assert [(item.name, item.quantity, item.unit) for item in inner.own.items.values()] == [("search", 3, "pages")]
    assert snapshot.root.budget.own.call_count == 0
    assert snapshot.root.budget.aggregate == inner.own


def test_a_second_end_changes_nothing_and_one_before_its_start_is_not_used(tmp_path: Path) -> None:
    script = Script().agent("A").end("C", "A").agent("C", "A").end("A").end("A", result="late")
    frames = latest(tmp_path, script).frames
    assert frames["root/agent:a:0"].output == "A-out"
    assert frames["root/agent:a:0/agent:c:0"].status == "failed"


def test_a_span_id_for_several_things_keeps_all_of_them(tmp_path: Path) -> None:
    script = Script().agent("A").turn("A", "p").add("generation:end", "A", "A", memory={"m": 1}).end("A")
    frame = latest(tmp_path, script).root
    assert (list(frame.journal.prompt), frame.memory, frame.status) == (["h"], {"m": 1}, "completed")


def test_parallel_children_keep_what_is_theirs(tmp_path: Path) -> None:
    script = Script().agent("P").agent("A", "P").agent("B", "P")
    script.turn("t1", "A", "ha").turn("t2", "B", "hb").end("A", "P").end("B", "P").end("P")
    frames = latest(tmp_path, script).frames
    assert list(frames["root/agent:p:0/agent:a:0"].journal.prompt) == ["ha"]
    assert list(frames["root/agent:p:0/agent:b:0"].journal.prompt) == ["hb"]


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"message": None}, ["h"]),
        ({"success": False, "error": {"name": "E", "message": "m"}}, ["h"]),
        ({"contentHash": ""}, []),
    ],
)
def test_answers_with_odd_fields(tmp_path: Path, fields: dict[str, Any], keys: list[str]) -> None:
    script = Script().agent("A").turn("t", "A", **fields)
    assert list(latest(tmp_path, script).root.journal.prompt) == keys


def test_an_answer_that_was_not_written_down_has_no_key(tmp_path: Path) -> None:
    script = Script().agent("A").turn("t", "A")
    del script.events[-1]["message"]
    assert latest(tmp_path, script).root.journal.prompt == {}


def test_several_traces_stay_apart(tmp_path: Path) -> None:
    script = Script().agent("A").end("A").agent("A").end("A")
    for event in script.events[2:]:
        event["trace"]["traceId"] = "t2"
    with loaded(tmp_path, script.events) as store:
        assert sorted(row.trace_id for row in store.traces()) == ["t1", "t2"]
        assert len(restore_snapshot(store.events("t2")).frames) == 1


def test_what_no_database_can_store_is_still_read(tmp_path: Path) -> None:
    script = Script().agent("A", agentId="a\ud800", props={"x": float("nan")}).end("A", result="\udfff")
    frame = latest(tmp_path, script).root
    assert (frame.agent_id, frame.output, frame.input) == ("a\ud800", "\udfff", {"x": "NaN"})


def test_numbers_that_are_none_are_their_words_in_a_snapshot(tmp_path: Path) -> None:
    script = Script().agent("A", props=float("-inf")).end("A", result=[float("nan")])
    written = "".join(indented(snapshot_to_json(latest(tmp_path, script))))
    root = json.loads(written)["root"]
    assert (root["input"], root["state"]["output"]) == ("-Infinity", ["NaN"])


def test_points_lie_on_the_span_that_they_happened_in(tmp_path: Path) -> None:
    script = Script().agent("A").add("budget:update", "b", "A").add("sys:log", "A", level="info", message="m").end("A")
    with loaded(tmp_path, script.events) as store:
        (call,) = store.calls("t1")
    assert [mark.type for mark in call.marks] == ["agent.start", "log", "log", "agent.end"]


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (1700000000161, 1700000000161_000_000),
        (1.5, 1_500_000),
        ("2", 2_000_000),
        ("x", None),
        (None, None),
        (True, None),
        (1e300, 2**63 - 1),
        (float("nan"), None),
        ("-inf", -(2**63 - 1)),
    ],
)
def test_times(milliseconds: Any, expected: int | None) -> None:
    assert nanoseconds(milliseconds) == expected


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"type": "x"}', b'{"resourceSpans": [{"timestamp": "type"}]}', b"no"])
def test_other_files_are_not_taken_for_events(data: bytes) -> None:
    form = format_of(data)
    assert form is None or form.name != "rejelly events"


def test_ids_that_are_no_hex_digits_are_found_as_they_are_written(tmp_path: Path) -> None:
    script = Script().agent("A").agent("Ab", "A").end("Ab", "A").end("A")
    with loaded(tmp_path, script.events) as store:
        assert store.resolve_span("t1", "A") == "A"
        assert store.resolve_span("t1", "Ab") == "Ab"
        assert store.resolve_trace("t1") == "t1"
