"""The sentence of a plan follows every choice of the job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from debugger.cli import main
from debugger.replay.model import Edit, ReplayJob, ReplayPlan
from debugger.replay.plan import sentence_of, without_cut
from runtime.messages import Usage
from tests.support.repo import ROOT

PLAN = ReplayPlan(entry_point="a.py:run", trusted=True, problem=None, warning=None, model_answers=2, tool_answers=1,
                  later_model_calls=3, later_tool_calls=0, sentence="")  # fmt: skip
CUT = ReplayJob(trace_id="t", span_id="s")
HERE = ("A replay from here would answer 2 model calls and 1 tool call from the recording, which has 3 model calls "
        "after this point.")  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({}, "and stops at this point."),
        ({"mode": "live"}, "and then asks the real model; a new tool call stops it."),
        ({"tools": "live"}, "and then runs tools for real; a new model request stops it."),
        ({"mode": "live", "tools": "live"}, "and then asks the real model and runs tools for real."),
        ({"rest_recorded": True}, "and lets the whole recording answer, and stops if it asks for anything else."),
        (
            {"rest_recorded": True, "mode": "live"},
            "and lets the whole recording answer, and then asks the real model; a new tool call stops it.",
        ),
    ],
)
def test_from_a_cut(changes, end):
    said = sentence_of(replace(CUT, **changes), PLAN)
    assert said == f"{HERE} It runs a.py:run again from its start {end}"


@pytest.mark.parametrize(
    ("path", "changes", "start", "end"),
    [
        ("system", {}, "asks the model something that was not recorded", "let models be live (really asked) or ask "
         "(you give the answer): m switches."),
        ("span:a\\.b.tools.f", {"mode": "live"}, "asks the model something that was not recorded",
         "and then asks the real model; a new tool call stops it."),
        ("tool:f.result", {}, "touches only what was answered, so that requests after it may still match",
         "and stops if it asks for anything else."),
        ("params.temperature", {}, "is answered by the recording, 2 model calls and 1 tool call, as long as it asks "
         "the same", "and stops if it asks for anything else."),
    ],
)  # fmt: skip
def test_a_fork_says_whether_its_change_makes_a_new_request(path, changes, start, end):
    said = sentence_of(replace(CUT, edits=(Edit(path=path, value="x"),), **changes), PLAN, "m")
    assert said.startswith(f"A fork with 1 change at this point {start}")
    assert said.endswith(end)
    assert ("as diverged" in said) is (path == "system")


def test_tools_of_a_rebuilt_agent_run_for_real_only_where_their_code_was_given():
    plan, job = replace(PLAN, is_rebuilt=True), replace(CUT, mode="live", tools="live")
    assert sentence_of(job, plan).endswith("a new tool call stops it, as no tool's code was given.")
    named = replace(job, named_tools={"find": "a.py:find"})
    assert sentence_of(named, plan).endswith("and runs find for real, with the code that was given.")
    assert "none can run for real" in sentence_of(replace(job, mode="strict"), plan)


def test_the_whole_trace_has_no_point_to_stop_at():
    said = sentence_of(ReplayJob(trace_id="t"), without_cut(PLAN))
    assert said == (
        "A replay of the whole trace would answer 5 model calls and 1 tool call from the recording. "
        "It runs a.py:run again from its start and stops if it asks for anything else."
    )


def test_nothing_recorded_is_said_as_nothing():
    plan = replace(PLAN, model_answers=0, tool_answers=0, later_model_calls=0)
    assert "would answer nothing from the recording, which has nothing after this point" in sentence_of(CUT, plan)


def test_without_a_program_there_is_nothing_to_run():
    assert sentence_of(CUT, replace(PLAN, entry_point=None)) == HERE


def test_a_plan_without_its_cut_tells_what_all_model_calls_used_and_cost():
    later, both = Usage(input_tokens=10, output_tokens=1), Usage(input_tokens=1_030, output_tokens=7)
    plan = replace(
        PLAN, later_usage=later, all_usage=both, later_price=" That would be $0.01.", all_price=" That would be $0.07."
    )
    job = ReplayJob(trace_id="a" * 32, span_id="b" * 16, mode="live")
    assert "10 tokens in and 1 out, as recorded. That would be $0.01." in sentence_of(job, plan)
    whole = sentence_of(replace(job, span_id=None), without_cut(plan))
    assert "1,030 tokens in and 7 out, as recorded. That would be $0.07." in whole


@pytest.mark.parametrize("words", [("--set", "system={deep}"), ("--input", '{{"a":{deep}}}')])
def test_json_that_is_nested_too_deep_is_one_line(words, capsys):
    deep = "[" * 30_000 + "]" * 30_000
    trace = ROOT / "sample_traces" / "travel_desk.otlp.jsonl"
    assert main(["replay", str(trace), words[0], words[1].format(deep=deep)]) == 2
    assert "nested too deep" in capsys.readouterr().err.splitlines()[-1]
