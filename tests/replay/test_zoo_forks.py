"""Forks of every producer's trace: what was before an edit is answered, and what follows from it diverges."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from debugger.replay.edits import resolve
from debugger.replay.model import Edit, ReplayJob
from debugger.replay.reconstruct.build import Rebuilt, rebuild
from debugger.replay.reconstruct.run import rebuilt_agent
from debugger.replay.reconstruct.script import script_to_json
from debugger.replay.recording import Recording
from debugger.store import Store
from runtime.agents import Run
from runtime.agents._run import journals_of
from runtime.errors import ReplayedError, ReplayStop
from runtime.journal import STRICT, ReplaySession
from runtime.messages import Call, TextPart

from .check_zoo import files_in

ZOO = Path(__file__).parents[1] / "data" / "zoo"
OWN = [[path] for path in (Path(__file__).parents[2] / "sample_traces").glob("*_desk.otlp.jsonl")]
FILES = [*files_in([ZOO]), *sorted(OWN)]


def rebuilt_of(files: list[Path]) -> Rebuilt | None:
    """The first trace with model calls and tools; None where there is none."""
    with Store.memory() as store:
        store.load(files)
        for row in reversed(store.traces()):
            recording = Recording(row.trace_id, store.calls(row.trace_id), files)
            kinds = {call.kind for call in recording.calls if call.input_messages or call.has_result}
            if {"llm", "tool"} <= kinds:
                return rebuild(recording)
    return None


def fork(rebuilt: Rebuilt, *edits: Edit) -> ReplaySession:
    """A strict fork in this process."""
    whole = rebuilt.recording.whole
    job = ReplayJob(trace_id=rebuilt.recording.trace_id, edits=edits)
    patches, _ = resolve(rebuilt.recording, job, is_rebuilt=True)
    session = ReplaySession(journals_of(whole), policy=STRICT, edits=patches)
    run = Run(session=session, snapshot=whole, memory_from="start", enable_snapshot=True)
    script = {"script": script_to_json(rebuilt.script), "keep_inputs": True}
    with pytest.raises((ReplayStop, ReplayedError)):
        asyncio.run(run.execute(rebuilt_agent(script)))
    return session


def known(files: list[Path]) -> Rebuilt:
    found = rebuilt_of(files)
    if found is None:
        pytest.skip("no trace of this file has model calls and tools with their content")
    return found


def words_of(call: Call) -> str:
    assert call.input_messages
    return "".join(part.content for part in call.input_messages[0].parts if isinstance(part, TextPart))


@pytest.mark.parametrize("files", FILES, ids=lambda files: files[0].name)
def test_what_follows_from_an_edit_diverges_and_nothing_before_it(files):
    rebuilt = known(files)
    calls = rebuilt.recording.calls
    first = next(call for call in calls if call.kind == "llm")
    words = words_of(first).split()
    session = fork(rebuilt, Edit(path="messages[0].text", value=" ".join(["Otherwise", *words[1:]])))
    found = session.divergence
    assert found is not None
    assert [row.status for row in session.rows if row.kind == "llm"] == ["missed"]
    assert found.cause == "prompt text"
    assert found.differences[0].path.startswith("messages[0].parts[0]")
    assert "Otherwise" in str(found.differences[0].actual)
    assert words[0] in str(found.differences[0].recorded)
    assert found.nearest_span_id == first.span_id

    tool = next(call for call in calls if call.kind == "tool" and call.has_result)
    session = fork(rebuilt, Edit(path=f"span:{tool.span_id}.result", value="something else"))
    found = session.divergence
    assert found is not None
    before = [row for row in session.rows if row.kind in ("llm", "tool")]
    assert before[-1].status == "missed"
    assert before[-1].kind == "llm"
    assert {row.status for row in before[:-1]} == {"hit", "supplied"}
    assert [row.origin_span_id for row in before if row.status == "supplied"] == [tool.span_id]
    assert found.cause == "tool result"
    assert "something else" in str(found.differences[0].actual)
    assert found.nearest_span_id in {c.span_id for c in calls if c.kind == "llm"}
