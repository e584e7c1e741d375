"""Two traces beside each other."""

from __future__ import annotations

import json
from dataclasses import replace

from debugger.analysis.compare import compare_traces
from debugger.analysis.compare_snapshots import compare_snapshots
from debugger.analysis.compare_view import call_document, counts_text, totals_line, trace_document
from debugger.cli import main
from debugger.commands.diff import comparison_to_json
from runtime.messages import Call, ErrorInfo, Message, TextPart, ToolCallPart, Usage
from tests.support.repo import ROOT

DESK = ROOT / "sample_traces" / "travel_desk.otlp.jsonl"
REFUND = ROOT / "sample_traces" / "refund_desk.otlp.jsonl"


def said(role: str, text: str) -> Message:
    return Message(role=role, parts=(TextPart(content=text),))


def call(n: int, kind: str, name: str, parent: int | None = 1, **more: object) -> Call:
    values: dict[str, object] = {
        "trace_id": "a" * 32, "span_id": f"{n:016x}", "parent_span_id": None if parent is None else f"{parent:016x}",
        "kind": kind, "name": name, "start_unix_nano": n * 1000, "end_unix_nano": n * 1000 + 500,
    }  # fmt: skip
    return Call(**(values | more))  # type: ignore[arg-type]


def llm(n: int, asked: str, answer: str, tokens: int = 10) -> Call:
    return call(n, "llm", "chat m", model="m", input_messages=(said("user", asked),), usage=Usage(input_tokens=tokens),
                output_messages=(said("assistant", answer),))  # fmt: skip


def tool(n: int, name: str, arguments: object, result: object) -> Call:
    return call(n, "tool", f"execute_tool {name}", tool_name=name, arguments=arguments, result=result, has_result=True)


AGENT = call(1, "agent", "invoke_agent desk", None, agent_name="desk", usage=Usage(input_tokens=999))
LEFT = [AGENT, llm(2, "hello", "use it"), tool(3, "weather", {"city": "Lyon"}, 18), llm(4, "18", "It is 18 degrees")]


def test_the_same_calls_are_the_same_whenever_and_under_whatever_id_they_ran():
    later = [replace(c, trace_id="b" * 32, start_unix_nano=(c.start_unix_nano or 0) * 7) for c in LEFT]
    found = compare_traces(LEFT, later)
    assert found.is_same
    assert counts_text(found) == "4 same"
    assert found.left.input_tokens == 20, "what the agent reports repeats its calls"


def test_what_only_one_side_has_is_said_in_words_and_replayed_answers_are_saved():
    failed = replace(AGENT, error=ErrorInfo("error", ""))
    asked = replace(LEFT[1], usage=Usage(cost_nano_usd=7), served_by="live")
    left = [failed, asked, LEFT[2], replace(LEFT[3], error=ErrorInfo("Refused", "no\x1b[0m"))]
    right = [AGENT, replace(asked, served_by="journal"), replace(LEFT[2], end_unix_nano=None), LEFT[3]]
    found = compare_traces(left, right)
    text = trace_document(found, "a", "b").text
    assert "failed in the left one, not in the right one\n      error\n" in text
    assert "Refused: no␛[0m" in text
    assert "never ended in the right one, ended in the other" in text
    assert "[-" not in text
    assert found.rows[1].status == "same", "what was asked and answered is"
    assert (found.left.cost_nano_usd, found.left.saved_nano_usd) == (7, None)
    assert (found.right.cost_nano_usd, found.right.saved_nano_usd) == (0, 7)
    assert comparison_to_json(found, "a", "b")["right"]["saved_usd"] == 7e-9


def test_one_more_call_moves_nothing_else_and_a_change_is_said_word_by_word():
    extra = tool(9, "clock", {}, "noon")
    right = [*LEFT[:2], extra, LEFT[2], llm(4, "18", "It is 19 degrees", 12)]
    found = compare_traces(LEFT, right)
    assert [(row.status, row.label) for row in found.rows] == [
        ("same", "desk"), ("same", "m"), ("added", "clock"), ("same", "weather"), ("changed", "m"),
    ]  # fmt: skip
    assert found.differing == (2, 4)
    assert [(d.part, d.recorded, d.actual) for d in found.rows[4].differences] == [
        ("output", "It is 18 degrees", "It is 19 degrees"), ("tokens", 10, 12),
    ]  # fmt: skip
    assert "It is [-18-]{+19+} degrees" in call_document(found.rows[4]).text
    assert "+ ▲ clock   only right" in trace_document(found, "a", "b").text
    assert "tokens in 20 → 22" in totals_line(found.left, found.right)


def test_how_a_program_was_replayed_is_no_input_of_it():
    run = call(1, "agent", "invoke_workflow a.py", None, convention="retrospan")
    left = replace(run, input={"command": ["python", "a.py"], "redacted": []})
    settings = {"mode": "live", "tools": "strict", "ignore": []}
    assert compare_traces([left], [replace(run, input={"command": ["python", "a.py"], **settings})]).is_same
    found = compare_traces([left], [replace(run, input={"command": ["python", "b.py"], **settings})])
    assert [d.path for d in found.rows[0].differences] == ["input.command[1]"]
    of_agent = replace(left, entry_point="a.py:main")
    assert not compare_traces([of_agent], [replace(of_agent, input={"command": ["python", "a.py"]})]).is_same


def test_calls_with_other_names_show_both_and_a_chain_has_the_sign_of_the_timeline():
    flow = call(1, "chain", "invoke_workflow", None)
    was, now = (replace(llm(2, "hello", "use it"), model=model) for model in ("small", "large"))
    found = compare_traces([flow, was], [flow, now])
    text = trace_document(found, "a", "b").text
    assert "~ ◆ small → large   model" in text
    assert "~ ◆ small → large " in call_document(found.rows[1]).text
    assert call_document(found.rows[0]).text.startswith("= ○ invoke_workflow ")
    names = [(row["left"]["name"], row["right"]["name"]) for row in comparison_to_json(found, "a", "b")["rows"]]
    assert names == [("invoke_workflow", "invoke_workflow"), ("small", "large")]


def test_what_only_follows_from_a_difference_below_is_told_apart_and_a_run_has_whatever_name():
    run = call(8, "chain", "invoke_workflow desk", None, call_id="root", result="18", has_result=True)
    desk = replace(AGENT, parent_span_id=run.span_id, result="18", has_result=True)
    left = [run, desk, *LEFT[1:]]
    right = [replace(run, name="invoke_workflow warmer", result="19"), replace(desk, result="19"), *LEFT[1:3]]
    right.append(llm(4, "18", "It is 19 degrees"))
    rows = compare_traces(left, right).rows
    assert [(row.status, row.only_follows) for row in rows] == [
        ("changed", True), ("changed", True), ("same", False), ("same", False), ("changed", False),
    ]  # fmt: skip
    assert [found.part for found in rows[0].differences] == ["result"]
    asked = compare_traces(left, [right[0], replace(right[1], input="other"), *right[2:]]).rows
    assert [row.only_follows for row in asked[:2]] == [True, False], "another input is a difference of its own"


def test_a_comparison_that_nobody_waits_for_ends():
    asked = iter((True, False))
    assert len(compare_traces(LEFT, LEFT, lambda: next(asked)).rows) == 1


def test_errors_and_what_was_not_recorded_are_differences():
    failed = replace(LEFT[2], error=ErrorInfo(type="Timeout", message="slow"), result=None, has_result=False)
    bare = replace(LEFT[1], input_messages=None)
    found = compare_traces(LEFT, [AGENT, bare, failed, LEFT[3]])
    assert [row.status for row in found.rows] == ["same", "changed", "changed", "same"]
    assert {d.part for d in found.rows[1].differences} == {"message", "recorded"}
    assert {d.part for d in found.rows[2].differences} == {"result", "error"}
    nameless = compare_traces(LEFT, [AGENT, replace(LEFT[1], model=None), *LEFT[2:]])
    assert [(d.part, d.path) for d in nameless.rows[1].differences] == [("recorded", "model")]


def test_ids_that_models_give_their_tool_calls_are_no_difference():
    def asks(call_id: str) -> Call:
        part = ToolCallPart(id=call_id, name="weather", arguments={})
        return replace(LEFT[1], output_messages=(Message(role="assistant", parts=(part,)),))

    assert compare_traces([AGENT, asks("call_1")], [AGENT, asks("call_2")]).is_same


def test_long_different_traces_and_cycles_are_compared_in_linear_time():
    many = [tool(n, f"t{n % 7}", n, n) for n in range(2, 4_000)]
    other = [tool(n, f"t{n % 7}", -n, n) for n in range(2, 4_100)]
    found = compare_traces(many, other)
    assert len([row for row in found.rows if row.status == "changed"]) == 3_998
    ring = [call(1, "agent", "a", 2), call(2, "agent", "b", 1), call(3, "agent", "c", 3)]
    assert len(compare_traces(ring, ring).rows) == 3
    assert compare_traces([], LEFT).left.duration_ns is None


def test_the_command_says_it_in_json_and_by_its_exit_code(capsys, tmp_path):
    assert main(["diff", str(DESK), str(DESK)]) == 0
    assert "same content" in capsys.readouterr().out
    assert main(["diff", str(DESK), str(REFUND), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["kind", "same", "left", "right", "first_difference", "rows"]
    assert list(found["rows"][0]) == ["status", "kind", "name", "depth", "left", "right", "differences"]
    paths = []
    for path in (DESK, REFUND):
        assert main(["snapshot", str(path), "-o", str(tmp_path / path.stem)]) == 0
        paths.append(str(tmp_path / path.stem))
    assert main(["diff", paths[0], paths[0]]) == 0
    capsys.readouterr()
    assert main(["diff", *paths, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["kind"] == "snapshot"
    assert main(["diff", paths[0], str(DESK)]) == 2
    assert "is a trace and" in capsys.readouterr().err


def test_a_snapshot_differs_in_what_the_agent_knew_not_in_when_it_was_taken(capsys):
    main(["snapshot", str(REFUND)])
    data = json.loads(capsys.readouterr().out)
    same = json.loads(json.dumps(data))
    same |= {"timestamp": 1, "processId": "other"}
    same["root"]["memory"]["decision"] = "none"
    found = compare_snapshots(data, same)
    assert [d.path.rpartition(".")[2] for d in found] == ["decision"]
