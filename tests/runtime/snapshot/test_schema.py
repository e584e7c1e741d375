"""Snapshots as JSON: the seed's names, full validation, versions, depth."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from runtime.errors import DepthExceededError, SnapshotFormatError
from runtime.messages import Message, Outcome, Request, TextPart, Usage
from runtime.snapshot import (
    MAX_DEPTH,
    Frame,
    Provenance,
    Snapshot,
    _reading,
    restore_snapshot,
    snapshot_from_json,
    snapshot_to_json,
)

from .script import BOOM, Script


def example() -> Snapshot:
    asked = Request(messages=(Message("user", (TextPart("hi"),)),), model="m", provider="p", parameters={"t": 1})
    usage = Usage(input_tokens=2, output_tokens=1, cost_nano_usd=5)
    script = Script().agent("a", input={"q": 1}, memory={"n": 0})
    script.turn("m1", "a", "sha256.1:aa", {"role": "assistant"}, request=asked, usage=usage, started=3)
    script.agent("b", "a").tool("t1", "b", "plain", None)
    script.tool("t2", "b", "again", outcome=Outcome(status="error", error=BOOM, span_id="t2", start_unix_nano=1))
    script.tool("t3", "b", "again", 7, started=2)
    script.tool("t4", "b", "only-error", outcome=Outcome(status="error", error=BOOM)).fail("b")
    return restore_snapshot(script, metadata={"why": "test"})


def seed_form() -> dict[str, Any]:
    """As little as the seed's format needs."""
    return {
        "processId": "p",
        "timestamp": 1,
        "version": 1,
        "provenance": {"traceId": "t"},
        "root": {"callId": "root", "agentId": "", "memory": {}, "state": {"status": "running"}, "unknown": 1},
    }


def test_the_form_uses_the_names_of_the_seed() -> None:
    form = snapshot_to_json(example())
    assert list(form) == ["processId", "timestamp", "root", "provenance", "version", "metadata"]
    assert form["provenance"] == {"traceId": "t1", "spanId": "b", "anchor": "after", "source": "restore"}
    root = form["root"]
    assert set(root) == {
        "callId", "agentId", "memory", "journal", "children", "state", "budgetState", "input", "generation", "openedIn",
        "memoryAtStart", "fidelity",
    }  # fmt: skip
    assert root["budgetState"]["own"] == {
        "costs": {"nano_usd": 5},
        "promptTokens": 2,
        "completionTokens": 1,
        "totalTokens": 3,
        "callCount": 1,
        "items": [
            {
                "type": "model",
                "name": "m",
                "costs": {"nano_usd": 5},
                "provider": "p",
                "tokens": {"prompt": 2, "completion": 1, "total": 3},
            }
        ],
    }
    child = root["children"]["root/agent:a:0/agent:b:0"]
    assert child["state"] == {"status": "failed", "error": {"type": "ValueError", "message": "boom"}}


def test_an_entry_holds_the_last_success_and_outcomes_only_where_they_say_more() -> None:
    root = snapshot_to_json(example())["root"]
    assert root["journal"]["prompt"]["sha256.1:aa"] == {
        "contentHash": "sha256.1:aa",
        "hashVersion": "sha256.1",
        "output": {"role": "assistant"},
        "origin": {
            "usage": {"input_tokens": 2, "output_tokens": 1, "cost_nano_usd": 5},
            "spanId": "m1",
            "startUnixNano": 3,
        },
    }
    tools = root["children"]["root/agent:a:0/agent:b:0"]["journal"]["tool"]
    assert tools["plain"] == {"contentHash": "plain", "output": None, "origin": {"spanId": "t1"}}
    assert tools["again"]["output"] == 7
    assert "error" not in tools["again"]
    assert [outcome["status"] for outcome in tools["again"]["outcomes"]] == ["error", "ok"]
    assert tools["only-error"]["error"] == {"type": "ValueError", "message": "boom"}
    assert "output" not in tools["only-error"]


def test_requests_are_written_only_when_asked_for() -> None:
    entry = snapshot_to_json(example())["root"]["journal"]["prompt"]["sha256.1:aa"]
    assert "request" not in entry
    entry = snapshot_to_json(example(), with_requests=True)["root"]["journal"]["prompt"]["sha256.1:aa"]
    assert entry["request"] == {
        "kind": "prompt",
        "messages": [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}],
        "tools": [],
        "outputSchema": None,
        "model": "m",
        "provider": "p",
        "parameters": {"t": 1},
    }


def test_reading_gives_back_what_was_written() -> None:
    snapshot = example()
    assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(snapshot, with_requests=True)))) == snapshot


def test_the_seeds_own_form_is_read() -> None:
    form = seed_form()
    form["root"]["journal"] = {"prompt": {"h": {"contentHash": "h", "output": "x"}}, "tool": {}}
    form["root"]["children"] = {
        "root/agent:a:0": form["root"] | {"callId": "root/agent:a:0", "agentId": "a", "journal": {}}
    }
    form["root"]["children"]["root/agent:a:0"]["state"] = {
        "status": "failed",
        "error": {"name": "TypeError", "message": "no"},
    }
    snapshot = snapshot_from_json(form)
    assert list(snapshot.frames) == ["root", "root/agent:a:0"]
    assert snapshot.root.journal.prompt["h"].outcomes == [Outcome(status="ok", output="x")]
    error = snapshot.frames["root/agent:a:0"].error
    assert error is not None
    assert (error.type, error.message) == ("TypeError", "no")
    assert snapshot.root.memory_start is None


def test_a_single_agent_as_root_is_read() -> None:
    form = seed_form()
    form["root"] |= {"callId": "root/agent:a:0", "agentId": "a"}
    assert snapshot_from_json(form).root_id == "root/agent:a:0"


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"processId": None}, ["processId: should be a text"]),
        ({"timestamp": "now"}, ["timestamp: should be a number"]),
        ({"timestamp": True}, ["timestamp: should be a number"]),
        ({"timestamp": 1.5}, ["timestamp: should be a whole number"]),
        ({"root": []}, ["root: should be an object"]),
        ({"provenance": {"traceId": 1, "anchor": "during"}}, [
            "provenance.traceId: should be a text",
            "provenance.anchor: input should be 'before' or 'after'",
        ]),
        ({"version": 2}, ["version: 2 is newer than 1, the newest that this program reads; update it"]),
        ({"version": 0}, ["version: 0 cannot be read; this program knows 1 to 1"]),
        ({"version": "1"}, ["version: should be a whole number, not '1'"]),
    ],
)  # fmt: skip
def test_faults_of_the_head(change: dict[str, Any], faults: list[str]) -> None:
    with pytest.raises(SnapshotFormatError) as caught:
        snapshot_from_json(seed_form() | change)
    assert list(caught.value.faults) == faults


def test_every_fault_is_listed_with_its_path_also_below_a_faulty_frame() -> None:
    form = seed_form()
    form["timestamp"] = None
    bad = {"callId": "x", "memory": [], "state": {"status": "done"}}
    deeper = {
        "callId": "z",
        "agentId": "z",
        "memory": {},
        "state": {"status": "running"},
        "journal": {"prompt": {"h": {"contentHash": "g"}, "k": {}}},
    }
    bad["children"] = {"y": deeper}
    form["root"]["children"] = {"x": bad}
    with pytest.raises(SnapshotFormatError) as caught:
        snapshot_from_json(form)
    assert list(caught.value.faults) == [
        "timestamp: should be a number",
        "root.children['x'].agentId: field required",
        "root.children['x'].memory: should be an object",
        "root.children['x'].state.status: input should be 'running', 'completed' or 'failed'",
        "root.children['x'].children['y'].journal.prompt.k.contentHash: field required",
    ]
    del deeper["journal"]["prompt"]["k"]  # type: ignore[attr-defined]
    with pytest.raises(SnapshotFormatError) as caught:
        snapshot_from_json(form)
    assert "root.children['x'].children['y'].callId: is 'z', but its key is 'y'" in caught.value.faults
    where = "root.children['x'].children['y'].journal.prompt['h'].contentHash"
    assert f"{where}: is 'g', not its key" in caught.value.faults


@pytest.mark.parametrize("data", [None, [], "x", 1])
def test_what_is_no_object_is_no_snapshot(data: Any) -> None:
    with pytest.raises(SnapshotFormatError, match="JSON object"):
        snapshot_from_json(data)


def test_an_old_version_is_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_reading.MIGRATIONS, 0, lambda old: {**old, "processId": old["pid"], "version": 1})
    form = seed_form() | {"version": 0, "pid": "from-old"}
    del form["processId"]
    assert snapshot_from_json(form).process_id == "from-old"


def chain(depth: int) -> Snapshot:
    ids = [f"f{i}" for i in range(depth)]
    frames = {
        call_id: Frame(call_id=call_id, agent_id="a", parent_id=ids[i - 1] if i else None, children=ids[i + 1 : i + 2])
        for i, call_id in enumerate(ids)
    }
    return Snapshot(
        process_id="p",
        timestamp=1,
        provenance=Provenance(trace_id="t", source="dump"),
        root_id="f0",
        frames=frames,
    )


def test_frames_can_be_written_and_read_down_to_the_limit() -> None:
    snapshot = chain(MAX_DEPTH)
    assert snapshot_from_json(snapshot_to_json(snapshot)) == snapshot


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000])
def test_deeper_frames_are_a_clear_error(depth: int) -> None:
    with pytest.raises(DepthExceededError, match="101 deep, the limit is 100"):
        snapshot_to_json(chain(depth))
    form = seed_form()
    frame = form["root"]
    for _ in range(depth):
        frame["children"] = {"x": {"callId": "x", "agentId": "a", "memory": {}, "state": {"status": "running"}}}
        frame = frame["children"]["x"]
    with pytest.raises(SnapshotFormatError, match="nested deeper than 100"):
        snapshot_from_json(form)


def test_restoring_and_writing_do_not_load_pydantic() -> None:
    code = "import sys, runtime.snapshot as s; s.snapshot_to_json; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
