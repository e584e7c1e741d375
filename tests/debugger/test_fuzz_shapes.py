"""Real traces of every format, changed in their shape: what a producer with faults, or another version, could write.

The changed file goes the way of every view: commands, timeline, texts of the panes, playhead, rebuilt agent, export.
Short in the suite; ``--hypothesis-profile=search`` runs for minutes.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from debugger.analysis.attributes import attributes_document
from debugger.analysis.context import context_growth, earlier_calls
from debugger.analysis.conversation import conversation, document_of
from debugger.analysis.critical import critical_path
from debugger.analysis.fidelity import trace_fidelity
from debugger.analysis.request_view import events_document, request_document
from debugger.analysis.rhythm import minimap, rhythm_of
from debugger.analysis.thread_view import thread_of
from debugger.analysis.timeline import axis_of, bar_of, ruler, took
from debugger.analysis.traces import TraceLine, trace_facts, trace_lines
from debugger.analysis.tree import build_forest
from debugger.commands.show import tree_lines
from debugger.errors import ReplayError
from debugger.replay.reconstruct.build import rebuild
from debugger.replay.recording import Recording
from debugger.store import Store
from runtime.snapshot import RestoreError

from . import formats
from .test_fuzz import CASES, EXAMPLES, ZOO, whole_way

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
MOST_LINES = 4
ORACLE = ZOO.parent / "oracle"


def _lines(path: Path) -> list[Any]:
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    if ".console" in path.name or path.suffix == ".json":
        return [json.loads(part) for part in re.split(r"(?m)(?<=^})\n", text.decode()) if part.strip()][:MOST_LINES]
    return [json.loads(line) for line in text.splitlines()[:MOST_LINES] if line.startswith(b"{")]


def _others() -> dict[str, list[Any]]:
    """The formats that the zoo has no file of, with what real producers write as attributes."""
    made = []
    for name in ("oi_agno", "openllmetry_openai", "vercel_ai"):
        for request in _lines(ZOO / f"{name}.otlp.jsonl.gz")[:2]:
            for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"][:2]:
                plain = {pair["key"]: next(iter(pair["value"].values()), None) for pair in span["attributes"]}
                words = {key: value for key, value in plain.items() if isinstance(value, str | int | float)}
                made.append(formats.Made(span_id=span["spanId"], name=span["name"], attributes=words))
    rejelly = {path.name: [json.loads(path.read_bytes())["events"]] for path in sorted(ORACLE.glob("edge.*.json"))[:3]}
    return rejelly | {name: [json.loads(getattr(formats, name)(made))] for name in ("jaeger", "zipkin")}


SEEDS: dict[str, list[Any]] = _others()
for file in [*ZOO.glob("*.otlp.jsonl*"), *ZOO.glob("*.console*"), *ZOO.glob("*.logs*"), CASES / "09-genai-shapes.jsonl",
             CASES / "10-replay-journal.jsonl"]:  # fmt: skip
    SEEDS[file.name] = _lines(file)

ODD: list[Callable[[random.Random], Any]] = [
    lambda _: None, lambda _: True, lambda _: 0, lambda _: -1, lambda _: 2**63, lambda _: -(2**63), lambda _: 10**400,
    lambda _: "9" * 5000, lambda _: 1.5, lambda _: float("nan"), lambda _: float("-inf"), lambda _: "", lambda _: [],
    lambda _: {}, lambda _: [[]], lambda _: [None], lambda _: {"": None},
    lambda _: "\x00\x1b]0;x\x07\u202e", lambda _: "\ud800",
    lambda _: "[", lambda _: '{"role":', lambda _: "null", lambda _: "NaN", lambda _: "1e999", lambda _: "0" * 32,
    lambda r: "x" * r.choice((400, 40_000)), lambda _: {"stringValue": 5}, lambda _: {"kvlistValue": {"values": 5}},
    lambda _: {"arrayValue": {"values": [{"kvlistValue": {}}, {}, 3]}}, lambda _: {"bytesValue": "!"},
    lambda _: [{"role": None, "parts": [None, 5, {"type": "tool_call"}, {"type": 7}]}], lambda _: [[[["x"]]]],
    lambda _: [{"role": "tool", "content": {"a": [1]}, "tool_calls": [{"function": "f"}, 3, {"id": 4}]}],
    lambda r: _nested(r.choice((30, 150, 600))), lambda r: json.dumps(_nested(r.choice((60, 600)))),
]  # fmt: skip


def _nested(depth: int) -> Any:
    value: Any = "deep"
    for i in range(depth):
        value = [value] if i % 2 else {"content": value}
    return value


def _slots(value: Any, out: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every place of a value, as container and key."""
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in places:
        out.append((value, key))
        _slots(inner, out)
    return out


def _change(root: list[Any], rng: random.Random) -> None:
    """One change somewhere, within JSON that stands in a text as well."""
    slots = _slots(root, [])
    if not slots:
        return
    holder, key = rng.choice(slots)
    value = holder[key]
    kind = rng.randrange(9)
    if isinstance(value, str) and value[:1] in ("{", "[") and kind < 6:
        try:
            inner = [json.loads(value)]
        except ValueError:
            inner = [value]
        for _ in range(rng.randint(1, 3)):
            _change(inner, rng)
        holder[key] = json.dumps(inner[0]) if inner else ""
    elif kind < 3:
        holder[key] = rng.choice(ODD)(rng)
    elif kind == 3:
        other, place = rng.choice(slots)
        holder[key] = json.loads(json.dumps(other[place])) if place in other or isinstance(other, list) else None
    elif kind == 4:
        del holder[key]
    elif kind == 5 and isinstance(holder, dict):
        holder[rng.choice(("", "x", str(key).upper(), f"{key}.0", "type", "role", "content"))] = holder.pop(key)
    elif isinstance(value, list) and value:
        value.append(value[rng.randrange(len(value))]) if kind == 6 else rng.shuffle(value)
    elif isinstance(value, str):
        at = rng.randint(0, len(value))
        holder[key] = value[:at] + rng.choice(("", "\x00", "\ud800", '"', "\n", "€" * 50)) + value[at + kind - 6 :]
    else:
        holder[key] = [value]


def changed(name: str, seed: int, changes: int) -> bytes:
    """A file that is not quite what a producer wrote."""
    rng = random.Random(seed)
    values = json.loads(json.dumps(SEEDS[name]))
    for _ in range(changes):
        try:
            _change(values, rng)
        except (IndexError, KeyError):
            continue  # the place went with an earlier change
    lines = [json.dumps(value) for value in values if value is not None]
    if rng.random() < 0.3:
        rng.shuffle(lines)
        lines += lines[:1]
    return "\n".join(lines).encode()


def every_view(path: Path) -> None:
    """What the screen makes of a file."""
    with Store.memory() as store:
        store.load([path])
        for line in trace_lines(store.traces()):
            assert isinstance(line, TraceLine)
            assert not CONTROLS.search(line.name + line.service + line.source)
        for row in store.traces():
            assert not CONTROLS.search(" ".join(trace_facts(row, 200)))
            calls = store.calls(row.trace_id)
            rows = store.spans(row.trace_id)
            assert len(calls) == len(rows) == row.spans
            forest = build_forest(rows)
            axis = axis_of(forest.rows, forest.origin)
            assert len(forest) == row.spans
            texts = [ruler(axis, 80), *tree_lines(forest, 120), *(took(one, axis) for one in forest.rows)]
            for one in forest.rows:
                bar_of(one.start_unix_nano, one.end_unix_nano, axis, 60)
            minimap(rhythm_of(forest, axis), axis, axis, 60)
            critical_path(forest)
            trace_fidelity(store.events(row.trace_id), calls, row.trace_id)
            texts.append(thread_of(calls).document.text)
            before = None
            for call in calls[:8]:
                spans = store.span(row.trace_id, call.span_id)
                logs = store.logs(row.trace_id, call.span_id).get(call.span_id, [])
                place = forest.find(call.span_id)
                marks = forest.marks_of(place) if place is not None else ()
                earlier = earlier_calls(forest, place) if place is not None else ()
                growth = context_growth(forest, place, earlier) if place is not None else ()
                texts += [document_of(conversation(call, before, growth), marks).text]
                texts += [attributes_document(spans, marks).text, request_document(call).text]
                texts.append(events_document(spans, logs).text)
                before = call
            for text in texts:
                assert not CONTROLS.search(text)
            recording = Recording(row.trace_id, calls, [path])
            try:
                rebuild(recording)
                for position in (0, len(recording.cursor.timeline.events) // 2):
                    if recording.cursor.has_state(position):
                        recording.cursor.at(position)
            except (ReplayError, RestoreError):
                continue  # documented: nothing to rebuild, no state there


@settings(max_examples=EXAMPLES // 2, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(name=st.sampled_from(sorted(SEEDS)), seed=st.integers(0, 2**32), changes=st.integers(1, 12))
def test_traces_of_another_shape_go_through_every_view(tmp_path: Path, name: str, seed: int, changes: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(changed(name, seed, changes))
    whole_way(path, every=seed % 4 == 0)
    every_view(path)
