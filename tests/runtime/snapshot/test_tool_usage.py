"""What tools report as used up: in the budgets of a dump, of a restore and of every position, but not paid again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime import (
    ContextNotFoundError,
    Run,
    Snapshot,
    agent,
    dump_snapshot,
    read_events,
    record_tool_usage,
    restore_snapshot,
    tool,
)
from runtime.snapshot import SnapshotCursor, snapshot_from_json, snapshot_to_json
from runtime.snapshot._budget import Budget


@tool()
async def search(pages: int) -> str:
    """Read pages."""
    record_tool_usage("search", quantity=pages, unit="pages", costs={"nano_usd": 5 * pages})
    return "found"


@agent()
async def reader() -> str:
    await search(2)
    record_tool_usage("rent", costs={"credits": 1})
    return await search(3)


async def main() -> Snapshot:
    await reader()
    record_tool_usage("search", quantity=1, unit="hours")
    return dump_snapshot()


def run(path: Path, **options: object) -> tuple[Run, Snapshot]:
    dumps = []

    async def function() -> None:
        dumps.append(await main())

    made = Run(enable_snapshot=True, trace_file=path, **options)  # type: ignore[arg-type]
    asyncio.run(made.execute(function))
    return made, dumps[0]


def budgets(snapshot: Snapshot) -> dict[str, Budget]:
    return {frame.call_id: frame.budget for frame in snapshot.frames.values()}


def test_restore_gives_the_budgets_that_a_dump_has(tmp_path: Path) -> None:
    made, dump = run(tmp_path / "trace.jsonl")
    own = budgets(dump)["root/agent:reader:0"].own
    assert own.costs == {"nano_usd": 25, "credits": 1}
    assert own.call_count == 3
    assert {(item.name, item.unit, item.quantity) for item in own.items.values()} == {
        ("search", "pages", 5),
        ("rent", None, 0),
    }
    events = read_events(tmp_path / "trace.jsonl")
    for restored in (restore_snapshot(made.events), restore_snapshot(events)):
        assert budgets(restored)["root/agent:reader:0"] == budgets(dump)["root/agent:reader:0"]
    assert budgets(snapshot_from_json(snapshot_to_json(dump))) == budgets(dump)
    cursor = SnapshotCursor(events)
    first = next(i for i, event in enumerate(events) if event.type == "agent.start")
    for position in range(first, len(events)):
        assert budgets(cursor.at(position)) == budgets(restore_snapshot(events, position=position))


def test_a_tool_that_the_recording_answers_uses_nothing_up(tmp_path: Path) -> None:
    made, _ = run(tmp_path / "trace.jsonl")
    again, _ = run(tmp_path / "again.jsonl", snapshot=restore_snapshot(made.events), memory_from="start")
    reported = [event for event in again.events if event.type == "tool.usage"]
    assert [(event.name, event.unit) for event in reported] == [("rent", None), ("search", "hours")]


def test_only_whole_numbers_within_a_run() -> None:
    with pytest.raises(ContextNotFoundError):
        record_tool_usage("search")

    async def function() -> None:
        record_tool_usage("search", costs={"usd": 0.5})  # type: ignore[dict-item]

    with pytest.raises(ValueError, match=r"usd of tool search is 0\.5"):
        asyncio.run(Run().execute(function))
