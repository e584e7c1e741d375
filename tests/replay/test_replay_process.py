"""Replays in a child process: the main road, its cuts and modes, and agents that misbehave."""

from __future__ import annotations

import json
import shutil
import textwrap
from functools import cache
from pathlib import Path

import pytest

from debugger.analysis.replay_view import result_document
from debugger.errors import EntryPointError
from debugger.replay.entry import named_by_trace, named_by_user
from debugger.replay.model import ReplayJob
from debugger.replay.plan import plan_replay
from debugger.replay.recording import Recording
from debugger.replay.report import is_yes, report_to_json
from debugger.replay.run import run_replay
from debugger.store import Store
from runtime.snapshot import RestoreError, restore_every, restore_snapshot, snapshot_to_json

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
OWN = ("travel_desk", "research_team", "order_watch", "refund_desk")


def load(path: Path) -> Recording:
    with Store.memory() as store:
        store.load([path])
        trace_id = store.traces()[0].trace_id
        return Recording(trace_id, store.calls(trace_id), [path])


@cache
def sample(name: str) -> Recording:
    return load(SAMPLES / f"{name}.otlp.jsonl")


@pytest.fixture(scope="module")
def desk() -> Recording:
    return sample("travel_desk")


def span(recording: Recording, name: str, nth: int = 0) -> str:
    return [call.span_id for call in recording.calls if name in (call.tool_name, call.name)][nth]


@pytest.mark.parametrize("name", OWN)
def test_a_sample_replays_strictly_without_one_model_call(name, tmp_path):
    recording = sample(name)
    asked = sum(call.kind == "llm" for call in recording.calls)
    report = run_replay(recording, ReplayJob(trace_id=recording.trace_id), tmp_path / "r.jsonl")
    assert (report.count("missed"), report.count("live"), report.count("error")) == (0, 0, 0)
    assert report.same_output is True
    assert report.ended == ("failed" if name == "refund_desk" else "done")
    assert sum(call.kind == "llm" and call.status == "hit" for call in report.calls) == asked
    assert report.saved_ns > 0
    assert report.fidelity == "exact"
    assert is_yes(report)


@pytest.mark.parametrize("name", OWN)
def test_the_trace_of_a_replay_restores_to_the_same_snapshot(name, tmp_path):
    recording = sample(name)
    run_replay(recording, ReplayJob(trace_id=recording.trace_id), tmp_path / "r.jsonl")
    replayed = load(tmp_path / "r.jsonl")

    def comparable(snapshot):
        return {
            key: (frame.status, frame.memory, frame.output, frame.error, {
                kind: {h: [(o.status, o.output, o.error) for o in e.outcomes] for h, e in
                frame.journal.map(kind).items()}
                for kind in ("prompt", "tool", "value")
            })
            for key, frame in snapshot.frames.items()
        }  # fmt: skip

    assert comparable(replayed.whole) == comparable(recording.whole)
    assert replayed.run.origin_trace_id == recording.trace_id


@pytest.mark.parametrize("name", OWN)
def test_every_cut_of_a_sample_gives_a_snapshot_or_a_documented_error(name):
    recording = sample(name)
    found = list(restore_every(recording.events))
    assert len(found) == 2 * len(recording.calls)
    for span_id, anchor, snapshot in found:
        if isinstance(snapshot, RestoreError):
            assert snapshot.to_json()["nearest"]
            continue
        json.dumps(snapshot_to_json(snapshot))
        alone = restore_snapshot(recording.events, span_id, anchor)
        assert alone.frames.keys() == snapshot.frames.keys()


def test_a_replay_ends_at_its_cut_and_may_go_on_from_the_recording(desk, tmp_path):
    cut = {"trace_id": desk.trace_id, "span_id": span(desk, "book_museum")}
    before = run_replay(desk, ReplayJob(**cut, anchor="before"), tmp_path / "a.jsonl")
    after = run_replay(desk, ReplayJob(**cut, anchor="after"), tmp_path / "b.jsonl")
    rest = run_replay(desk, ReplayJob(**cut, anchor="before", rest_recorded=True), tmp_path / "c.jsonl")
    assert [(r.ended, r.count("hit"), r.same_output) for r in (before, after, rest)] == [
        ("past_cut", 4, None),
        ("past_cut", 5, None),
        ("done", 10, True),
    ]
    assert all(map(is_yes, (before, after, rest)))


def test_the_branch_of_a_replay_that_stopped_at_its_cut_is_not_in_error(desk, tmp_path):
    job = ReplayJob(trace_id=desk.trace_id, span_id=span(desk, "convert_currency"), anchor="after")
    run_replay(desk, job, tmp_path / "r.jsonl")
    calls = load(tmp_path / "r.jsonl").calls
    assert [call.name for call in calls if call.error is not None] == []
    assert [call.name for call in calls if call.aborted][:2] == [
        "invoke_workflow travel_desk",
        "invoke_agent travel_desk",
    ]


def test_the_plan_says_what_would_answer_and_what_comes_after(desk):
    plan = plan_replay(desk, ReplayJob(trace_id=desk.trace_id, span_id=span(desk, "book_museum"), anchor="before"))
    assert (plan.model_answers, plan.tool_answers, plan.later_model_calls, plan.later_tool_calls) == (2, 2, 4, 3)
    assert plan.entry_point == "travel_desk.py:travel_desk"
    assert plan.trusted
    assert plan.problem is None
    assert "2 model calls and 2 tool calls" in plan.sentence


def edited(tmp_path: Path, old: str, new: str, sample: str = "travel_desk") -> Recording:
    """The sample beside a program in which one text was changed."""
    source = (SAMPLES / f"{sample}.py").read_text(encoding="utf-8")
    assert old in source
    (tmp_path / f"{sample}.py").write_text(source.replace(old, new), encoding="utf-8")
    shutil.copy(SAMPLES / f"{sample}.otlp.jsonl", tmp_path)
    return load(tmp_path / f"{sample}.otlp.jsonl")


def test_one_changed_word_of_the_system_text_is_named(tmp_path):
    recording = edited(tmp_path, "report failures honestly", "never mention failures")
    job = ReplayJob(trace_id=recording.trace_id)
    assert "has changed since the recording" in plan_replay(recording, job).warning
    report = run_replay(recording, job, tmp_path / "r.jsonl")
    assert report.ended == "diverged"
    assert not is_yes(report)
    found = report.first_divergence
    assert found.differences[0].path == "messages[0].parts[0].content"
    assert "honestly" in found.differences[0].recorded
    assert "never mention" in found.differences[0].actual
    assert found.nearest_span_id == span(recording, "chat desk-large")
    assert report_to_json(report)["first_divergence"]["differences"][0]["part"] == "message"


def test_a_changed_tool_definition_diverges_at_the_first_turn_that_offers_it(tmp_path):
    recording = edited(tmp_path, "Search the city guide.", "Find things in the guide.")
    report = run_replay(recording, ReplayJob(trace_id=recording.trace_id), tmp_path / "r.jsonl")
    assert report.count("hit") == 6
    assert report.first_divergence.differences[0].path == "tools[search_guide].description"
    assert report.first_divergence.call_id.startswith("root/agent:travel_desk:0/agent:guide_writer:0/")


def test_in_live_mode_the_rest_runs_for_real(tmp_path):
    recording = edited(tmp_path, "report failures honestly", "never mention failures")
    job = ReplayJob(trace_id=recording.trace_id, mode="live", tools="strict")
    report = run_replay(recording, job, tmp_path / "r.jsonl")
    assert report.ended == "done"
    assert report.count("live") == 4
    assert report.count("hit") == 6  # the tools, and the guide writer's turns, still answer


def test_a_tool_beyond_the_recording_is_not_run_unless_asked(tmp_path):
    marker = tmp_path / "booked"
    recording = edited(tmp_path, 'return await book_refund(invoice, amount)',
                       f'open({str(marker)!r}, "a").close() if False else None\n    return await mark(invoice)',
                       "refund_desk")  # fmt: skip
    program = tmp_path / "refund_desk.py"
    body = f"    open({str(marker)!r}, 'a').write('x')\n    return 'ok'\n"
    extra = f"@tool\nasync def mark(invoice: str) -> str:\n{body}\n\n@agent(model=desk_model"
    program.write_text(program.read_text().replace("@agent(model=desk_model", extra))
    strict = run_replay(recording, ReplayJob(trace_id=recording.trace_id), tmp_path / "a.jsonl")
    assert strict.ended == "diverged"
    assert strict.first_divergence.reason == "the recording never calls tool 'mark' here"
    assert not marker.exists()
    live = run_replay(recording, ReplayJob(trace_id=recording.trace_id, tools="live"), tmp_path / "b.jsonl")
    assert live.count("live") == 1
    assert marker.read_text() == "x"


BAD = """
import asyncio, os, socket, sys, time
print("loaded")

async def prints(**given):
    print("one"); print("two", file=sys.stderr)
    return given

async def connects(**given):
    socket.create_connection(("127.0.0.1", 9), timeout=1)

async def resolves(**given):
    socket.getaddrinfo("example.org", 80)

async def leaves(**given):
    sys.exit(3)

async def dies(**given):
    os._exit(5)

async def hangs(**given):
    open(__file__ + ".began", "w").close()
    time.sleep(600)

async def waits(**given):
    open(__file__ + ".began", "w").close()
    await asyncio.sleep(600)

async def swallows(**given):
    from runtime import tool
    @tool
    def unknown() -> int:
        return 1
    for _ in range(3):
        try:
            await unknown()
        except BaseException:
            pass
    return "survived"
"""


@pytest.fixture
def bad(tmp_path: Path):
    (tmp_path / "bad.py").write_text(textwrap.dedent(BAD))
    return lambda name: {"agent": f"{tmp_path / 'bad.py'}:{name}"}


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("connects", "NetworkBlockedError"),
        ("resolves", "NetworkBlockedError"),
        ("leaves", "SystemExit: 3"),
        ("dies", "ended by itself (exit code 5)"),
    ],
)
def test_an_agent_that_misbehaves_is_reported(desk, bad, tmp_path, name, error):
    report = run_replay(desk, ReplayJob(trace_id=desk.trace_id, **bad(name)), tmp_path / "r.jsonl")
    assert report.ended == "failed"
    assert error in report.error
    assert report.printed == ("loaded",)
    assert not is_yes(report)


def test_the_input_can_be_given(desk, bad, tmp_path):
    job = ReplayJob(trace_id=desk.trace_id, **bad("prints"), input={"a": [1]})
    assert run_replay(desk, job, tmp_path / "r.jsonl").output == {"a": [1]}


def test_what_the_agent_prints_is_kept_apart(desk, bad, tmp_path):
    report = run_replay(desk, ReplayJob(trace_id=desk.trace_id, **bad("prints")), tmp_path / "r.jsonl")
    assert set(report.printed) == {"loaded", "one", "two"}
    assert report.output == desk.run.input


def test_an_agent_that_swallows_the_stop_has_diverged_all_the_same(desk, bad, tmp_path):
    report = run_replay(desk, ReplayJob(trace_id=desk.trace_id, **bad("swallows")), tmp_path / "r.jsonl")
    assert (report.ended, report.output) == ("diverged", None)


@pytest.mark.parametrize("name", ["waits", "hangs"])
def test_a_cancelled_replay_ends_also_when_the_agent_blocks(desk, bad, tmp_path, name):
    began = tmp_path / "bad.py.began"
    report = run_replay(
        desk,
        ReplayJob(trace_id=desk.trace_id, **bad(name)),
        tmp_path / "r.jsonl",
        cancelled=began.exists,
    )
    assert report.ended == "cancelled"


@pytest.mark.parametrize("name", ["absent", "BAD"])
def test_an_agent_that_is_not_there_is_said_before_anything_runs(desk, bad, tmp_path, name):
    with pytest.raises(EntryPointError, match=r"cannot be loaded.*no agent or function"):
        run_replay(desk, ReplayJob(trace_id=desk.trace_id, **bad(name)), tmp_path / "r.jsonl")


def test_a_program_that_does_not_load_is_said_with_its_error(desk, tmp_path):
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(EntryPointError, match="No module named 'nothing_of_that_name'"):
        run_replay(desk, ReplayJob(trace_id=desk.trace_id, agent=f"{tmp_path / 'broken.py'}:x"), tmp_path / "r.jsonl")


def test_a_module_of_the_users_cannot_stand_in_for_ours(desk, tmp_path):
    (tmp_path / "runtime.py").write_text("raise SystemExit('the wrong runtime')\n")
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')\n")
    shutil.copy(SAMPLES / "travel_desk.py", tmp_path)
    job = ReplayJob(trace_id=desk.trace_id, agent=f"{tmp_path / 'travel_desk.py'}:travel_desk")
    assert run_replay(desk, job, tmp_path / "r.jsonl").same_output is True


@pytest.mark.parametrize("text", ["", "x.py", "x.py:", ":name", "x.py:not a name", "/nowhere/x.py:name"])
def test_an_agent_option_that_names_nothing_is_refused(text):
    with pytest.raises(EntryPointError):
        named_by_user(text)


@pytest.mark.parametrize(
    "text", [None, "", "travel_desk", "../travel_desk.py:f", "/etc/x.py:f", "a/b.py:f", "x.py:a.b", "gone.py:f"]
)
def test_an_entry_point_named_by_a_trace_is_only_looked_up_beside_it(text, tmp_path):
    (tmp_path / "travel_desk.otlp.jsonl").touch()
    with pytest.raises(EntryPointError) as caught:
        named_by_trace(text, [tmp_path / "t.jsonl"])
    assert "--agent" in caught.value.hint


def test_a_link_beside_the_trace_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "linked.py").write_text("")
    (tmp_path / "linked.py").symlink_to(tmp_path / "elsewhere" / "linked.py")
    with pytest.raises(EntryPointError):
        named_by_trace("linked.py:f", [tmp_path / "t.jsonl"])


def test_a_trace_of_another_framework_is_replayed_with_an_agent_rebuilt_from_it(tmp_path):
    recording = load(SAMPLES / "genai_langchain.otlp.jsonl")
    plan = plan_replay(recording, ReplayJob(trace_id=recording.trace_id))
    assert (plan.problem, plan.is_rebuilt, plan.trusted) == (None, True, True)
    assert plan.entry_point == "an agent rebuilt from the trace: travel_desk"
    assert "It runs an agent rebuilt from the trace" in plan.sentence
    report = run_replay(recording, ReplayJob(trace_id=recording.trace_id), tmp_path / "r.jsonl")
    assert (report.same_output, report.fidelity, report.notes) == (True, "missing", ())
    assert "fidelity" not in result_document(report).text, "there was no cut that a state could be missing at"
    run = load(tmp_path / "r.jsonl").run
    assert run is not None
    assert list(run.input) == ["input"], "its own run says what the agent was told"
