"""Damaged and invented traces all the way: importer, store, calls, events, restore, every JSON that is written.

Short in the suite; ``--hypothesis-profile=search`` runs for minutes.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from debugger.analysis.snapshot_view import snapshot_document, snapshot_view
from debugger.commands._json import CallWriter, call_to_json, dump, indented, issue_to_json, trace_to_json
from debugger.importers import format_of
from debugger.store import Store
from runtime.errors import RuntimeFault
from runtime.messages import json_safe
from runtime.snapshot import restore_snapshot, snapshot_from_json, snapshot_to_json

from .otlp import START, TRACE, pairs
from .test_any_attributes import ATTRIBUTES, KINDS, NAMES

ZOO = Path(__file__).parents[1] / "data" / "zoo"
CASES = Path(__file__).parents[1] / "data" / "cases"
MOST_BYTES = 20_000
assert settings.default is not None
EXAMPLES = settings.default.max_examples // 5
"""Each makes a store: few in the suite, hundreds in a search."""


def whole_way(path: Path, *, every: bool) -> None:
    """What ``list``, ``show`` and ``snapshot`` do with a file; nothing undocumented may be raised."""
    with Store.memory() as store:
        store.load([path])
        json.loads(dump([issue_to_json(row) for row in store.issues()]))
        for row in store.traces():
            json.loads(dump(trace_to_json(row)))
            calls = store.calls(row.trace_id)
            writer = CallWriter()
            for call in calls:
                text = dump(call_to_json(call))
                json.loads(text)
                assert json.loads(writer.text(call)) == json.loads(text)
            events = store.events(row.trace_id)
            cuts: list[tuple[str | None, Any]] = [(None, "after")]
            if every:
                cuts += [(call.span_id, anchor) for call in calls[:6] for anchor in ("before", "after")]
            for span_id, anchor in cuts:
                try:
                    snapshot = restore_snapshot(events, span_id, anchor)
                except RuntimeFault:
                    continue  # documented: no frame, no such cut
                text = "".join(indented(snapshot_to_json(snapshot)))
                assert json.loads(text) == json.loads(dump(snapshot_to_json(snapshot)))
                snapshot_from_json(json.loads(text))
                snapshot_document(snapshot_view(snapshot, source="x"), "name", None)


SEEDS: dict[str, bytes] = {}
for file in sorted([*ZOO.glob("*.otlp.*"), *ZOO.glob("*.console*"), *ZOO.glob("*.logs*"), *CASES.glob("*.json*")]):
    raw = file.read_bytes()
    SEEDS[file.name] = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)[:MOST_BYTES]

WORDS = st.sampled_from(
    [b"null", b"{}", b"[]", b'""', b"-1", b"1e999", b"NaN", b"true", b'"\\ud800"', b'{"stringValue":"[{"}', b"}", b"]",
     b'"', b",", b"\x00", b"\xff", b"\n", b'"intValue":"99999999999999999999"', b'{"arrayValue":{}}', b"0", b'"0"']
)  # fmt: skip
CHANGE = st.tuples(st.integers(0, MOST_BYTES), st.integers(0, 60), WORDS | st.binary(max_size=6))


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(name=st.sampled_from(sorted(SEEDS)), changes=st.lists(CHANGE, min_size=1, max_size=5), every=st.booleans())
def test_damaged_files_go_the_whole_way(
    tmp_path: Path, name: str, changes: list[tuple[int, int, bytes]], every: bool
) -> None:
    data = SEEDS[name]
    for place, length, new in changes:
        place %= len(data) + 1
        data = data[:place] + new + data[place + length :]
    path = tmp_path / "x"
    path.write_bytes(data)
    whole_way(path, every=every)


def _replaced(value: Any, place: list[int], new: Any) -> Any:
    """The value with what stands at a place (counted in walking order) replaced."""
    place[0] -= 1
    if place[0] == 0:
        return new
    if isinstance(value, dict):
        return {key: _replaced(item, place, new) for key, item in value.items()}
    return [_replaced(item, place, new) for item in value] if isinstance(value, list) else value


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    name=st.sampled_from(sorted(name for name in SEEDS if ".jsonl" in name or "logs" in name)),
    line=st.integers(0, 30),
    places=st.lists(st.tuples(st.integers(1, 400), ANY_JSON), min_size=1, max_size=4),
)
def test_wrong_types_at_any_place_go_the_whole_way(tmp_path: Path, name: str, line: int, places: list[Any]) -> None:
    lines = [text for text in SEEDS[name].split(b"\n")[:-1] if text]
    if not lines:
        return
    line %= len(lines)
    try:
        value = json.loads(lines[line])
    except ValueError:
        return
    for place, new in places:
        value = _replaced(value, [place], new)
    lines[line] = json.dumps(value).encode("utf-8", "replace")
    path = tmp_path / "x"
    path.write_bytes(b"\n".join(lines))
    whole_way(path, every=False)


IDS = st.integers(0, 5).map(lambda n: f"{n:016x}" if n else "")
SPAN = st.fixed_dictionaries(
    {"kind": KINDS, "attributes": ATTRIBUTES, "name": NAMES, "id": IDS, "parent": IDS,
     "start": st.integers(-5, 50) | st.just(2**63), "length": st.integers(-3, 20) | st.none(),
     "status": st.sampled_from([0, 1, 2]), "event": ATTRIBUTES,
     "event_name": st.sampled_from(["gen_ai.choice", "gen_ai.tool.message", "exception",
                                    "gen_ai.client.inference.operation.details", "x"])}
)  # fmt: skip


def _otlp(made: dict[str, Any]) -> dict[str, Any]:
    start = START + made["start"]
    return {
        "traceId": TRACE,
        "spanId": made["id"],
        "parentSpanId": made["parent"],
        "name": made["name"],
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": 0 if made["length"] is None else str(start + made["length"]),
        "attributes": pairs(json_safe(made["kind"] | made["attributes"])[0]),
        "events": [{"name": made["event_name"], "attributes": pairs(json_safe(made["event"])[0])}],
        "status": {"code": made["status"]},
    }


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(spans=st.lists(SPAN, min_size=1, max_size=5))
def test_invented_spans_of_every_convention_go_the_whole_way(tmp_path: Path, spans: list[dict[str, Any]]) -> None:
    request = {"resourceSpans": [{"scopeSpans": [{"spans": [_otlp(made) for made in spans]}]}]}
    path = tmp_path / "x"
    path.write_bytes(json.dumps(request).encode("utf-8", "replace"))
    whole_way(path, every=True)


@pytest.mark.parametrize("name", SEEDS)
def test_each_seed_is_read(name: str) -> None:
    assert format_of(SEEDS[name]) is not None
