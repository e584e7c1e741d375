"""Many traces at once: rebuilt agents share children, and what was done stays said when the user breaks off."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from debugger.cli import main
from debugger.commands import _many
from debugger.errors import ReplayError
from debugger.replay import process
from debugger.replay.model import ReplayJob, ReplayReport
from tests.support.repo import ROOT

THREE = ROOT / "tests" / "data" / "zoo" / "openllmetry_legacy.otlp.jsonl.gz"
"""Three traces; the last one failed."""


def started(monkeypatch) -> list[process.ChildProcess]:
    """The children that are started from now on."""
    made: list[process.ChildProcess] = []
    plain = process.ChildProcess.__init__

    def counted(self: process.ChildProcess) -> None:
        made.append(self)
        plain(self)

    monkeypatch.setattr(process.ChildProcess, "__init__", counted)
    return made


def test_one_child_replays_many_rebuilt_agents_and_then_ends(monkeypatch, capfd):
    made = started(monkeypatch)
    assert main(["replay", str(THREE), "--jobs", "1", "--json"]) == 0
    reports = json.loads(capfd.readouterr().out)
    assert [(report["ended"], report["misses"], report["same_output"]) for report in reports] == [
        ("done", 0, True),
        ("done", 0, True),
        ("failed", 0, True),
    ]
    assert len({report["trace_id"] for report in reports}) == 3
    (child,) = made
    assert child.exit_code is not None, "it ends when the last trace is done"


def test_a_branch_is_found_by_its_name(tmp_path, capsys):
    sample = ROOT / "sample_traces" / "travel_desk.otlp.jsonl"
    fork = tmp_path / "fork.otlp.jsonl"
    words = ["replay", str(sample), "--rebuild", "--set", "params.seed=7", "--name", "with a seed", "-o", str(fork)]
    assert main(words) == 0
    library = ["--library", str(tmp_path / "library")]
    assert main(["load", str(sample), str(fork), *library]) == 0
    capsys.readouterr()
    assert main(["show", "--trace", "with a seed", "--json", *library]) == 0
    (trace,) = json.loads(capsys.readouterr().out)["traces"]
    assert trace["name"] == "invoke_workflow with a seed"
    assert main(["list", "--json", *library]) == 0
    replay, recording = json.loads(capsys.readouterr().out)
    assert recording["origin"] is None
    assert replay["origin"] == {
        "trace_id": recording["trace_id"], "span_id": None, "anchor": None,
        "edits": [{"path": "params.seed", "value": 7, "was": None}], "ended": "done",
    }  # fmt: skip
    assert main(["list", *library]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].strip() == "↺ of d47eb1c4fe5a, fork: ✎ params.seed = 7, complete"
    assert main(["library", "remove", "with a seed", *library]) == 0
    assert main(["list", "--json", *library]) == 0
    out = capsys.readouterr().out
    assert [row["name"] for row in json.loads(out[out.index("[") :])] == ["invoke_workflow travel_desk"]
    assert main(["show", "--trace", "with a seed", *library]) == 2
    capsys.readouterr()
    # A replay without a name of its own has that of its recording.
    assert main([*words[:-4], "-o", str(tmp_path / "same.otlp.jsonl")]) == 0
    assert main(["show", str(sample), str(tmp_path / "same.otlp.jsonl"), "--trace", "travel_desk"]) == 2
    assert "'travel_desk' is the name of 2 traces; their ids: " in capsys.readouterr().err


def test_a_job_that_cannot_be_handed_over_ends_its_child(monkeypatch):
    made = started(monkeypatch)
    deep: object = 0
    for _ in range(20_000):
        deep = [deep]
    deep_job = {"recording": deep}
    with pytest.raises(ReplayError, match="nested too deep"), process.Children() as children, children.one() as child:
        list(child.run(deep_job))
    assert [child.exit_code is not None for child in made] == [True]


def report_of(trace_id: str) -> ReplayReport:
    return ReplayReport(
        job=ReplayJob(trace_id=trace_id),
        trace_id=None,
        trace_path=None,
        ended="done",
        same_output=True,
        output=1,
        recorded_output=1,
        error=None,
    )


def test_breaking_off_says_what_was_done(monkeypatch, tmp_path: Path):
    asked = ["a" * 32, "b" * 32, "c" * 32]
    looks = iter([_many.wait])

    def interrupted(futures, **more):
        found = next(looks, None)
        if found is None:
            raise KeyboardInterrupt
        return found(futures, **more)

    def one(trace_id: str, cancelled) -> ReplayReport:
        while trace_id != asked[0] and not cancelled():
            pass
        return report_of(trace_id)

    monkeypatch.setattr(_many, "wait", interrupted)
    args = Namespace(jobs=2, json=False, junit=tmp_path / "out.xml", output=None)
    reports = _many.replay_many(asked, one, args)
    assert [report.job.trace_id for report in reports] == asked[:1]
    text = _many.written(args, asked, reports, [], lambda report: "")
    assert text.splitlines()[-2:] == [
        "1 of 1 traces came out as recorded",
        "broken off: 2 of 3 traces were not replayed to their end",
    ]
    suite = ElementTree.parse(args.junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "0", "2")
    assert len(suite.findall("testcase/skipped")) == 2
    with pytest.raises(KeyboardInterrupt):
        _many.exit_code_of(args, asked, reports)


def test_traces_without_a_model_call_are_counted_apart(tmp_path, capfd):
    sample = str(ROOT / "sample_traces" / "vercel_ai.otlp.jsonl")
    junit = tmp_path / "out.xml"
    assert main(["replay", sample, "--junit", str(junit)]) == 0
    out, err = capfd.readouterr()
    assert out.splitlines()[-1] == "3 of 3 traces came out as recorded, 1 with nothing to replay"
    assert err == ""
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "0", "1")
    nothing = replace(report_of("a"), ended="nothing", same_output=None)
    assert _many.exit_code_of(Namespace(output=None), ["a"], [nothing]) == 1, "a gate that checks nothing is no gate"
