"""Runs that are killed by SIGKILL at random moments, and resumed from their trace alone, in production.

A call that was running when the process died may happen again: nobody can know how far it had got. A call whose end
stands in the trace never does.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from debugger.store import Store
from runtime import Run, agent, read_events, resume, tool
from runtime.snapshot import SeveralTracesError, restore_every, restore_snapshot
from runtime.trace import TraceFileWriter

from .program import EXPECTED, WORLD

KILLS = int(os.environ.get("RETROSPAN_KILLS", "9"))
MANY_KILLS = 60
"""How many runs are killed in ordinary and in thorough runs; the variable says another number."""
SEED = int(os.environ.get("RETROSPAN_SEED", "1"))
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(
    scope="module", params=[KILLS, pytest.param(MANY_KILLS, marks=pytest.mark.thorough)], ids=["few", "many"]
)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    kills = request.param
    folder = tmp_path_factory.mktemp("killed")
    program = Path(__file__).with_name("program.py")
    done = subprocess.run(
        [sys.executable, str(program), "batch", str(folder), str(SEED), str(kills)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120 + 20 * kills,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_run_was_killed_and_had_done_something_else_each_time(runs):
    assert len(runs) in (KILLS, MANY_KILLS)
    for run in runs:
        # A kill by the clock may come too late.
        assert run["killed"][0] == 9 or "after_s" in run["how"]["kills"][0]
    assert len({run["done"] for run in runs}) > len(runs) / 5


def test_no_call_that_had_ended_happens_again(runs):
    assert [(run["how"], run["repeated"]) for run in runs if run["repeated"]] == []


def test_the_rest_runs_and_the_output_is_right(runs):
    for run in runs:
        assert (run["ended"], run["output"]) == (0, EXPECTED), run["how"]
        assert run["world"].keys() == WORLD.keys(), run["how"]
        # Once for each process that died in it, and once that counts.
        assert max(run["world"].values()) <= 1 + len(run["killed"]), run["how"]


def test_what_a_killed_run_left_restores_at_every_cut_and_opens_in_the_debugger(runs):
    for run in runs[:10]:
        events = read_events(run["trace"])
        for trace_id in dict.fromkeys(e.trace_id for e in events):
            assert list(restore_every(events, trace_id))
        with Store.memory() as store:
            loaded = store.load([Path(run["trace"])])
            assert not loaded.issues
            assert {t.trace_id for t in store.traces()} == {e.trace_id for e in events}


@pytest.mark.parametrize("command", ["show", "snapshot"])
def test_the_command_line_opens_what_a_killed_run_left(runs, command):
    run = next(run for run in runs if len(run["how"]["kills"]) == 1 and 0 < run["done"] < 20)
    done = subprocess.run(
        [sys.executable, "-m", "debugger.cli", command, run["trace"], "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    found = json.loads(done.stdout)
    if command == "show":
        assert any(call["agent_name"] == "researcher" for call in found["traces"][0]["calls"])
    else:
        assert found["root"]["agentId"] == "desk"
        assert found["root"]["state"] == {"status": "running"}


# Resume, without a crash ---------------------------------------------------------------------------------------

DONE: list[str] = []


class Died(BaseException):
    """Stands for the end of the process: aborts never answer."""


@tool
async def step(n: int) -> int:
    DONE.append(f"step {n}")
    if DONE.count(f"step {n}") == 1 and n in STOPS:
        raise Died
    return n


STOPS: set[int] = set()


@agent()
async def climbs(upto: int) -> list[int]:
    return [await step(n) for n in range(upto)]


@pytest.fixture(autouse=True)
def _nothing_done():
    DONE.clear()
    STOPS.clear()


def go(path: Path) -> Any:
    if path.exists():
        return asyncio.run(resume(climbs, path, trace_file=path))
    return asyncio.run(Run(trace_file=path).execute(climbs, {"upto": 4}))


def test_a_run_that_is_killed_time_and_again_is_resumed_from_one_file(tmp_path):
    path = tmp_path / "t.jsonl"
    STOPS.update((1, 2, 3))
    for _ in range(3):
        with pytest.raises(Died):
            go(path)
    assert go(path) == [0, 1, 2, 3]
    assert DONE == ["step 0", "step 1", "step 1", "step 2", "step 2", "step 3", "step 3"]


@pytest.mark.parametrize("size", [1, 40, 400, -1, -2, -60])
def test_a_line_that_was_cut_off_costs_no_other_line(tmp_path, size):
    path = tmp_path / "t.jsonl"
    STOPS.add(2)
    run = Run()
    with pytest.raises(Died):
        asyncio.run(run.execute(climbs, {"upto": 4}))
    writer = TraceFileWriter(path, resource={})
    for event in run.events[:-3]:
        writer(event)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-1]) + whole[-1][:size])
    known = len(read_events(path))
    assert go(path) == [0, 1, 2, 3]
    traces = {e.trace_id for e in read_events(path)}
    assert len(traces) == 2
    assert len(read_events(path)) > known
    with Store.memory() as store:
        store.load([path])
        assert {t.trace_id for t in store.traces()} == traces


def test_a_run_that_had_only_started_is_run_with_its_recorded_input(tmp_path):
    STOPS.add(2)
    with pytest.raises(Died):
        go(tmp_path / "t.jsonl")
    DONE.clear()
    STOPS.clear()
    started = [e for e in read_events(tmp_path / "t.jsonl") if e.type == "run.start"]
    assert asyncio.run(resume(climbs, started)) == [0, 1, 2, 3]
    assert [f"step {n}" for n in range(4)] == DONE


def test_runs_that_do_not_go_on_from_each_other_have_to_be_chosen_from(tmp_path):
    path = tmp_path / "t.jsonl"
    runs = [Run(trace_file=path) for _ in range(2)]
    for n, run in enumerate(runs, 1):
        asyncio.run(run.execute(climbs, {"upto": n}))
    with pytest.raises(SeveralTracesError):
        asyncio.run(resume(climbs, path))
    DONE.clear()
    for n, run in enumerate(runs, 1):
        # With the input of that run, not of the first one in the file.
        assert asyncio.run(resume(climbs, read_events(path), trace_id=run.trace_id)) == list(range(n))
    assert DONE == []


def test_a_resumed_run_names_the_trace_that_it_goes_on_from(tmp_path):
    path = tmp_path / "t.jsonl"
    STOPS.add(1)
    with pytest.raises(Died):
        go(path)
    go(path)
    first, second = (e for e in read_events(path) if e.type == "run.start")
    assert second.origin == {"trace_id": first.trace_id, "span_id": None, "anchor": None}
    assert restore_snapshot(read_events(path), trace_id=second.trace_id).root.status == "completed"


STREAMED = """
import asyncio, os, signal, sys
from runtime import Run, ScriptedModel, agent, prompt, resume

def script(request):
    print("asked", request.messages[-1].parts[0].content, flush=True)
    return "an answer that comes in several pieces"

@agent(model=ScriptedModel(id="m", script=script))
async def talks() -> list[str]:
    pieces = []
    def consume(delta):
        pieces.append(delta)
        if "die" in sys.argv and len(pieces) == 7:
            os.kill(os.getpid(), signal.SIGKILL)
    return [(await prompt(f"part {n}", on_delta=consume)).text for n in range(2)]

if "die" in sys.argv:
    asyncio.run(Run(trace_file="t.jsonl").execute(talks))
else:
    print(asyncio.run(resume(talks, "t.jsonl")))
"""


def test_a_run_that_is_killed_while_an_answer_streams_asks_for_that_answer_alone_again(tmp_path):
    (tmp_path / "streamed.py").write_text(STREAMED, encoding="utf-8")

    def go_on(*args: str) -> tuple[int, list[str]]:
        done = subprocess.run(
            [sys.executable, "streamed.py", *args],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "RETROSPAN_ENV": "production"},
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout.splitlines()

    assert go_on("die") == (-9, ["asked part 0", "asked part 1"])
    frame = restore_snapshot(read_events(tmp_path / "t.jsonl")).root
    assert (frame.status, len(frame.journal.prompt)) == ("running", 1)
    answer = "an answer that comes in several pieces"
    assert go_on() == (0, ["asked part 1", str([answer, answer])])
