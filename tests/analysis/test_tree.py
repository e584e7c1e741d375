"""Rows to a forest: every span once, whatever its parent says."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from debugger.analysis.timeline import axis_of, bar_of, took
from debugger.analysis.tree import Forest, build_forest, time_marks
from debugger.store.rows import SpanRow

CASES = Path(__file__).parent.parent / "data" / "cases"


def row(seq: int, parent: str | None = None, start: int | None = 0, end: int | None = 0, **more: object) -> SpanRow:
    values: dict[str, object] = {
        "seq": seq, "trace_id": "t", "span_id": f"{seq:016x}", "parent_span_id": parent, "name": f"n{seq}",
        "kind": "other", "convention": None, "start_unix_nano": start, "end_unix_nano": end, "status_code": 0,
        "status_message": "", "error_type": None, "agent_name": None, "provider": None, "model": None,
        "tool_name": None, "input_tokens": None, "output_tokens": None, "cost_nano_usd": None, "run_id": None,
        "start_seq": None,
    }  # fmt: skip
    return SpanRow(**(values | more))  # type: ignore[arg-type]


def test_the_mark_of_a_missing_parent_shows_no_control_characters() -> None:
    forest = build_forest([row(1, "ab\x1b[\x00")])
    assert [mark.text for mark in forest.marks_of(0)] == ["parent …b␛[␀ missing"]


def of(number: int) -> str:
    return f"{number:016x}"


def case(name: str) -> Forest:
    rows = []
    for line in (CASES / name).read_text(encoding="utf-8").splitlines():
        for group in json.loads(line)["resourceSpans"]:
            for scope in group["scopeSpans"]:
                for raw in scope["spans"]:
                    start, end = int(raw["startTimeUnixNano"]) or None, int(raw["endTimeUnixNano"]) or None
                    rows.append(row(len(rows), raw["parentSpanId"] or None, start, end, span_id=raw["spanId"],
                                    name=raw["name"]))  # fmt: skip
    return build_forest(rows)


def test_orphans_cycles_and_self_parents_are_all_shown_once_and_marked():
    forest = case("01-orphans-cycles.jsonl")
    seen = [(r.span_id[-2:], forest.depth[i], [m.text for m in forest.marks_of(i)]) for i, r in enumerate(forest.rows)]
    assert seen == [
        ("a1", 0, []),
        ("a2", 0, ["parent …ff missing"]),
        ("a3", 1, []),
        ("a4", 0, ["cycle cut here"]),
        ("a5", 1, []),
        ("a6", 0, ["names itself as parent"]),
        ("a7", 0, []),
    ]


def test_times_that_do_not_fit_are_shown_as_recorded_and_marked():
    forest = case("02-times.jsonl")
    axis = axis_of(forest.rows, forest.origin)
    assert axis is not None
    assert (axis.start - axis.zero, axis.end - axis.zero) == (-500_000_000, 1_600_000_000)
    seen = {}
    for i, r in enumerate(forest.rows):
        bar = bar_of(r.start_unix_nano, r.end_unix_nano, axis, 42)
        seen[r.span_id[-2:]] = (took(r, axis), bar.kind, bar.column, [m.text for m in forest.marks_of(i)])
    assert seen == {
        "b1": ("1.00 s", "span", 10, []),
        "b2": ("700 ms", "span", 0, ["outside its parent by 500 ms before it"]),
        "b3": ("800 ms", "span", 26, ["outside its parent by 600 ms after it"]),
        "b4": ("-200 ms", "tick", 20, ["ends 200 ms before it starts"]),
        "b5": ("≥ 1.00 s", "open", 22, []),
        "b6": ("0 ns", "tick", 24, []),
        "b7": ("no time", "none", 0, ["no time recorded"]),
    }


def check(forest: Forest, total: int) -> None:
    """What holds for every forest."""
    assert len({r.seq for r in forest.rows}) == total == len(forest)
    for i in range(total):
        above = forest.parent[i]
        assert forest.depth[i] == (0 if above < 0 else forest.depth[above] + 1)
        assert above < i
        assert i + forest.size[i] <= (total if above < 0 else above + forest.size[above])
    assert sum(forest.size[i] for i in range(total) if forest.parent[i] < 0) == total


@pytest.mark.parametrize("seed", range(30))
def test_any_parents_make_a_forest(seed):
    chance = random.Random(seed)
    total = chance.randrange(0, 60)
    rows = [
        row(n, chance.choice([None, of(chance.randrange(-2, total + 2) % 70)]), chance.choice([None, *range(9)]),
            chance.choice([None, *range(9)]), span_id=of(chance.choice([n, n, n, n // 2])))
        for n in range(total)
    ]  # fmt: skip
    check(build_forest(rows), total)


def test_a_chain_of_100_000_spans_has_no_limit():
    rows = [row(n, of(n - 1) if n else None, n, 200_000) for n in range(100_000)]
    forest = build_forest(rows)
    assert max(forest.depth) == 99_999
    assert forest.size[0] == 100_000


def test_a_ring_of_100_000_spans_is_cut_once_at_its_earliest_start():
    rows = [row(n, of((n + 1) % 100_000), n, None) for n in range(100_000)]
    forest = build_forest(rows)
    assert [marks[0].kind for marks in forest.marks.values()] == ["cycle"]
    assert forest.rows[0].seq == 0
    assert forest.size[0] == 100_000


def test_siblings_follow_the_emitters_sequence_and_others_the_clock():
    ours = [row(1, None, 5, 9, run_id="r"), *(row(2 + n, of(1), 9 - n, 9, run_id="r", start_seq=n) for n in range(3))]
    assert [r.seq for r in build_forest(ours).rows] == [1, 2, 3, 4]
    mixed = [*ours[:3], row(4, of(1), 7, 9)]
    assert [r.seq for r in build_forest(mixed).rows] == [1, 4, 3, 2]


def test_the_same_span_id_twice_keeps_both():
    forest = build_forest([row(1), row(2, of(1), 1), row(3, of(1), 2, span_id=of(2)), row(4, of(2), 3)])
    assert len(forest) == 4
    assert [m.kind for m in forest.marks[3]] == ["twice"]
    assert forest.depth[2] == 2, "children hang below the earliest"


def test_a_parent_without_times_marks_nobody():
    assert time_marks(row(2, None, 1, 5), row(1, None, None, None)) == ()
    assert [m.kind for m in time_marks(row(2, None, 1, 5), row(1, None, 0, None))] == []
    both = time_marks(row(2, None, 1, 50), row(1, None, 10, 20))
    assert both[0].text == "outside its parent by 9 ns before it and 30 ns after it"
    assert both[0].label == "outside by 30 ns"


def test_finding_spans():
    forest = build_forest([row(1), row(2, of(1), 1, kind="llm"), row(3, of(2), 2, kind="llm"), row(4, of(1), 3)])
    assert forest.find(of(4)) == 3
    assert forest.find("nowhere") is None
    assert build_forest([]).origin is None


@pytest.mark.parametrize(("reported", "marked"), [(10, None), (16, None), (12, "calls: 16/0")])
def test_an_agent_may_report_its_tokens_with_or_without_those_of_the_agents_inside_it(reported, marked):
    forest = build_forest([
        row(1, kind="agent", input_tokens=reported, output_tokens=0),
        row(2, of(1), 1, kind="llm", input_tokens=10),
        row(3, of(1), 2, kind="tool"),
        row(4, of(3), 3, kind="agent"),
        row(5, of(4), 4, kind="llm", input_tokens=4),
        row(6, of(4), 5, kind="agent"),
        row(7, of(6), 6, kind="llm", input_tokens=2),
    ])  # fmt: skip
    found = [mark.short for mark in forest.marks.get(0, ()) if mark.kind == "reported"]
    assert found == ([] if marked is None else [marked])
