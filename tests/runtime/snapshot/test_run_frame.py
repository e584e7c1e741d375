"""What the function that ``run_with`` was given does itself is kept in the run's own frame, as in a dump."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime import Run, Snapshot, agent, dump_snapshot, memory, read_events, restore_snapshot

from .script import Script


@agent()
async def helper() -> str:
    memory["mine"] = 1
    return "done"


async def main() -> Snapshot:
    memory["plan"] = [*memory.get("plan", []), "look"]
    memory["gone"] = True
    await helper()
    del memory["gone"]
    return dump_snapshot()


def run(path: Path, **options: Any) -> tuple[Run, Snapshot]:
    dumps = []

    async def function() -> None:
        dumps.append(await main())

    made = Run(enable_snapshot=True, trace_file=path, **options)
    asyncio.run(made.execute(function))
    return made, dumps[0]


def facts(snapshot: Snapshot) -> Any:
    frames = snapshot.frames.values()
    return snapshot.root_id, [(f.call_id, f.memory, f.memory_start, f.children) for f in frames]


@pytest.mark.parametrize("memory_from", ["snapshot", "start"])
def test_restore_gives_the_memory_of_the_run_as_a_dump_does(tmp_path: Path, memory_from: Any) -> None:
    made, dump = run(tmp_path / "first.jsonl")
    assert dump.root.memory == {"plan": ["look"]}
    assert facts(restore_snapshot(made.events)) == facts(dump)
    assert facts(restore_snapshot(read_events(tmp_path / "first.jsonl"))) == facts(dump)

    again, second = run(tmp_path / "again.jsonl", snapshot=dump, memory_from=memory_from)
    before = ["look"] if memory_from == "snapshot" else []
    assert second.root.memory == {"plan": [*before, "look"]}
    assert facts(restore_snapshot(again.events)) == facts(second)
    assert facts(restore_snapshot(read_events(tmp_path / "again.jsonl"))) == facts(second)


def test_memory_of_the_run_makes_its_frame_the_root_from_then_on() -> None:
    script = Script().run().agent("a", "run").end("a").write("run", "k", 1)
    assert restore_snapshot(script, position=2).root_id == "root/agent:a:0"
    assert restore_snapshot(script).root.memory == {"k": 1}
    assert restore_snapshot(script).root_id == "root"
