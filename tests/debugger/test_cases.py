"""Traces made to be hard: what the loader and the text output make of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from debugger.analysis.attributes import attributes_document
from debugger.analysis.conversation import conversation, document_of
from debugger.analysis.tree import build_forest
from debugger.cli import main
from debugger.replay.endpoint.ignore import ignoring
from debugger.store import Store
from debugger.store._spans import identity
from runtime.journal import Matcher, Miss
from runtime.snapshot import restore_snapshot
from runtime.trace import encode_request

CASES = Path(__file__).parents[1] / "data" / "cases"
TRACE = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1"


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.memory() as fresh:
        yield fresh


def shown(capsys: pytest.CaptureFixture[str], *names: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
    code = main(["show", *(str(CASES / name) for name in names), *options])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_orphans_and_cycles_are_each_shown_once(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.load([CASES / "01-orphans-cycles.jsonl"])
    assert len({row.span_id for row in store.spans(TRACE)}) == store.traces()[0].spans == 7
    assert len(store.calls(TRACE)) == 7
    _, out, _ = shown(capsys, "01-orphans-cycles.jsonl")
    lines = out.splitlines()
    assert "7 spans" in lines[1]
    assert len(lines) == 4 + 7, "two lines of head, two of how faithful it is, and the spans"
    for mark in ("ff missing", "cycle cut here", "names itself as parent"):
        assert sum(mark in line for line in lines) == 1


def test_an_orphan_is_restored_where_it_was_by_time(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CASES / "01-orphans-cycles.jsonl")
    assert main(["snapshot", path, "--span", "00000000000000a2", "--anchor", "before"]) == 0
    fidelity = json.loads(capsys.readouterr().out)["root"]["fidelity"]
    (placed,) = [row for row in fidelity if row["spanId"] == "00000000000000a2"]
    assert (placed["level"], placed["what"]) == ("inferred", "the parent span is not in the trace; placed by time")


def test_times_that_do_not_fit(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.load([CASES / "02-times.jsonl"])
    (row,) = store.traces()
    assert (row.duration_ns, row.unfinished) == (2_100_000_000, 2)
    calls = {call.name: call for call in store.calls(TRACE)}
    assert calls["end before start"].duration_ns == -200_000_000
    assert calls["never ended"].end_unix_nano is None
    assert calls["zero length"].duration_ns == 0
    assert calls["no times at all"].start_unix_nano is None
    _, out, _ = shown(capsys, "02-times.jsonl")
    for text in ("-200 ms", "unfinished", "0 ns", "no time recorded"):
        assert text in out
    assert "1970" not in out
    (timeless,) = [line for line in out.splitlines() if "no times at all" in line]
    assert "unfinished" not in timeless, "nothing is known of its end"


def test_every_kind_of_value(store: Store) -> None:
    store.load([CASES / "05-anyvalues.jsonl"])
    (span,) = store.whole_spans(TRACE)
    got: dict[str, Any] = dict(span.attributes)
    assert got.pop("nan") != got.get("nan", 0)
    assert got["kv"] == {"role": "user", "n": 1}
    assert got["arr"] == ["x", 2, [], None]
    assert got["bytes"] == b"\x00\x01\x02\xff"
    assert (got["inf"], got["null double"], got["empty"], got["dup"]) == (float("-inf"), None, None, "second")
    assert store.traces()[0].input_tokens is None
    text = attributes_document([span]).text
    for said in (
        'kv  {"role": "user", "n": 1}', '"x",\n      2,\n      [],\n      null', "bytes  4 bytes: 00 01 02 ff",
        "nan  NaN", "inf  -Infinity", "null double  no value", "empty  no value", "dup  second", "dup  first",
        "more than once",
    ):  # fmt: skip
        assert said in text, text
    assert "attributes (13)" in text, "and the one that is there twice"


def test_every_kind_of_value_is_written_and_read_back(store: Store, tmp_path: Path) -> None:
    store.load([CASES / "05-anyvalues.jsonl"])
    (span,) = store.whole_spans(TRACE)
    assert span.repeated == (("dup", "first"),)
    path = tmp_path / "again.jsonl"
    path.write_text(encode_request([span]) + "\n")
    json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    with Store.memory() as again:
        assert again.load([path]).issues == ()
        (back,) = again.whole_spans(TRACE)
    assert identity(back) == identity(span)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_hostile_text_never_reaches_the_terminal(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("list", "show"):
        code = main([command, str(CASES / "06-hostile-text.jsonl"), *options])
        out = capsys.readouterr()
        assert code == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", out.out + out.err)
        if options:
            json.loads(out.out)


def test_hostile_names_take_one_row_and_keep_their_brackets(capsys: pytest.CaptureFixture[str], store: Store) -> None:
    code, out, _ = shown(capsys, "06-hostile-text.jsonl")
    assert code == 0
    assert len(out.splitlines()) == 3 + 5, "the name of the whole trace takes two rows, each span one"
    for text in ("[red]not red[/red]", "␛", "⏎", "(no name)", "\ufffd"):
        assert text in out
    summary = store.load([CASES / "06-hostile-text.jsonl"])
    assert (summary.spans, summary.skipped) == (5, ())
    assert [(row.line, row.reason) for row in summary.issues] == [
        (1, "bytes that are not Unicode, shown as U+FFFD"),
        (2, "bytes that are not Unicode, shown as U+FFFD"),
    ]


def test_hostile_text_is_exported_as_it_was(store: Store, tmp_path: Path) -> None:
    store.load([CASES / "06-hostile-text.jsonl"])
    spans = store.whole_spans(TRACE)
    path = tmp_path / "again.jsonl"
    path.write_text("".join(encode_request([span]) + "\n" for span in spans))
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", path.read_text()), "controls stand there as escapes of JSON"
    with Store.memory() as again:
        again.load([path])
        assert list(map(identity, again.whole_spans(TRACE))) == list(map(identity, spans))


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1)])
def test_a_damaged_log_loads_what_is_good(
    options: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    got, out, err = shown(capsys, "07-truncated.jsonl", options=options)
    assert got == code
    assert "3 spans" in out
    assert err.count("\n") == 1
    assert err.endswith("07-truncated.jsonl line 3: not JSON; line 6: ends in the middle\n")
    assert err.startswith("retrospan: 2 lines skipped: ")


@pytest.mark.parametrize(("name", "spans"), [("08-pretty.json", 2), ("08-pretty.json.gz", 3)])
def test_indented_and_gzip(store: Store, tmp_path: Path, name: str, spans: int) -> None:
    other_name = tmp_path / "trace.dat"
    other_name.write_bytes((CASES / name).read_bytes())
    summary = store.load([other_name])
    assert (summary.spans, summary.issues) == (spans, ())


def test_cut_messages_in_a_trace(store: Store) -> None:
    store.load([CASES / "09-genai-shapes.jsonl"])
    cut = store.call(TRACE, "0000000000000095")
    assert cut.kind == "llm"
    assert cut.input_messages is not None
    assert cut.input_messages[0].role == "user"
    assert cut.lost is not None
    assert "cut off after" in cut.lost
    first, second = store.call(TRACE, "0000000000000093"), store.call(TRACE, "0000000000000094")
    assert (first.tool_call_id, second.tool_call_id) == ("call_1", "call_2")
    row = store.traces()[0]
    assert (row.input_tokens, row.output_tokens) == (140, 34), "what the agent reports is not added to its calls"


def test_four_dialects_of_one_chat(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.load([CASES / "09-genai-shapes.jsonl"])
    calls = {call.span_id[-2:]: call for call in store.calls(TRACE)}
    for span_id, convention in (("92", "genai"), ("95", "genai"), ("96", "openinference"), ("97", "openllmetry")):
        call = calls[span_id]
        assert (call.kind, call.convention, call.model) == ("llm", convention, "m")
        assert call.input_messages
        assert call.usage.input_tokens
    agent = calls["91"]
    assert (agent.usage.input_tokens, agent.usage.output_tokens) == (130, 30), "what it says of itself stays"
    (mark,) = build_forest(store.spans(TRACE)).marks_of(0)
    assert mark.text == "reported 130/30, its calls add up to 140/34"
    _, out, _ = shown(capsys, "09-genai-shapes.jsonl")
    assert mark.text in out
    assert "130/30" in out
    text = document_of(conversation(calls["95"])).text
    assert "cut off after 40 characters" in text
    assert "! cannot answer a replay" in text
    assert (calls["93"].arguments, calls["94"].arguments) == ({"id": 12}, {"id": 7}), "tied by id, not by order"


def test_a_journal_keeps_every_answer_in_order(store: Store) -> None:
    store.load([CASES / "10-replay-journal.jsonl"])
    (trace,) = store.traces()
    events = store.events(trace.trace_id)
    ids = {call.span_id[-2:]: call.span_id for call in store.calls(trace.trace_id)}

    def journal(span: str, anchor: str) -> dict[str, list[Any]]:
        frames = restore_snapshot(events, ids[span], anchor).frames.values()
        entries = [entry for frame in frames for entry in frame.journal.tool.values()]
        return {entry.request.name: list(entry.outcomes) for entry in entries}

    polled = journal("a4", "after")["job_status"]
    assert [outcome.output for outcome in polled] == ["pending", "pending", "done"]
    assert [outcome.status for outcome in journal("a8", "before")["http_get"]] == ["error"]
    assert [outcome.status for outcome in journal("a8", "after")["http_get"]] == ["error", "ok"]
    prompts = [call.request().content_hash for call in store.calls(trace.trace_id) if call.kind == "llm"]
    assert len(set(prompts)) == 2


def test_a_journal_answers_in_order_and_never_once_more(store: Store) -> None:
    store.load([CASES / "10-replay-journal.jsonl"])
    (trace,) = store.traces()
    (frame,) = restore_snapshot(store.events(trace.trace_id)).frames.values()
    asked = {entry.request.name: entry.request for entry in frame.journal.tool.values()}
    matcher = Matcher({"f": frame.journal})

    def answers(request: Any, times: int) -> list[Any]:
        found = [matcher.match("f", "tool", request) for _ in range(times)]
        return [miss.reason if isinstance(miss, Miss) else miss.outcome.output or miss.outcome.status for miss in found]

    fourth = "the recording has 3 answers, asked a 4th time"
    assert answers(asked["job_status"], 4) == ["pending", "pending", "done", fourth]
    failed, worked = answers(asked["http_get"], 2)
    assert failed == "error"
    assert worked == store.call(trace.trace_id, "00000000000001a8").result


def test_a_time_in_the_prompt_is_left_out_by_rule(store: Store) -> None:
    store.load([CASES / "10-replay-journal.jsonl"])
    calls = store.calls(store.traces()[0].trace_id)
    first, second = [call.request() for call in calls if call.kind == "llm"]
    masked = ignoring(["dates"])
    assert masked is not None
    assert first.content_hash != second.content_hash
    assert masked(first).content_hash == masked(second).content_hash
    assert "[dates]" in str(masked(first)), "a difference says where something was left out"
    answers = [call.output_messages for call in calls if call.kind == "llm"]
    assert answers[0] != answers[1], "and their order tells them apart"


def test_nothing_of_a_journal_is_done_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(CASES / "10-replay-journal.jsonl"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["hits"], report["misses"], report["live"], report["same_output"]) == (8, 0, 0, True)
    assert [call["status"] for call in report["calls"] if call["name"] == "send_email"] == ["hit"]
