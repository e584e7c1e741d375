"""``record``, ``replay … -- COMMAND``, ``export-test`` and the pytest fixture, on the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from debugger.cli import main
from tests.runtime.models.servers import KEY, Raw, Says, serving
from tests.support.repo import ROOT

PROGRAM = """
import json, os, sys, urllib.request

def ask(messages):
    body = json.dumps({"model": "m", "messages": messages}).encode()
    key = os.environ["OPENAI_API_KEY"]
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Authorization": key})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

text = "What is new?"
if "--polite" in sys.argv:
    text = "What is new, please?"
print(ask([{"role": "user", "content": text}]))
if "--more" in sys.argv:
    print(ask([{"role": "user", "content": "More."}]))
if "--fail" in sys.argv:
    sys.exit(3)
"""
PYTHON = [sys.executable, "program.py"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    return tmp_path


def record(monkeypatch, path, *words, script=(), options=()):
    with serving(*(script or (Says("Not much."),))) as real, monkeypatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", real.url)
        patch.setenv("OPENAI_API_KEY", KEY)
        code = main(["record", "-o", str(path), *options, "--", *PYTHON, *words])
        return code, real.seen


def test_recorded_and_replayed(folder, monkeypatch, capfd):
    code, seen = record(monkeypatch, "t.otlp.jsonl")
    assert code == 0
    assert seen[0].headers["authorization"] == KEY, "the real endpoint gets the program's key"
    assert KEY not in (folder / "t.otlp.jsonl").read_text("utf-8")
    out, err = capfd.readouterr()
    assert out == "Not much.\n"
    assert "1 model call recorded" in err

    assert main(["replay", "t.otlp.jsonl", "-o", "r.otlp.jsonl", "--", *PYTHON]) == 0
    out, err = capfd.readouterr()
    assert out == "Not much.\n"
    assert "same output as recorded" in err

    assert main(["replay", "t.otlp.jsonl", "--json", "--", *PYTHON, "--polite"]) == 1
    out, err = capfd.readouterr()
    report = json.loads(out)
    assert (report["ended"], report["misses"], report["exit_code"]) == ("diverged", 1, 1)
    assert report["first_divergence"]["differences"][0]["actual"] == "What is new, please?"

    assert main(["show", "r.otlp.jsonl", "--json"]) == 0
    run, turn = json.loads(capfd.readouterr().out)["traces"][0]["calls"]
    assert (run["kind"], turn["kind"]) == ("chain", "llm")
    assert main(["replay", "r.otlp.jsonl", "--", *PYTHON]) == 0, "a replay is itself a recording"


def test_the_recorded_end_counts(folder, monkeypatch, capfd):
    code, _ = record(monkeypatch, "t.otlp.jsonl", "--fail")
    assert code == 3, "the program's exit code is ours"
    assert main(["replay", "t.otlp.jsonl", "--", *PYTHON, "--fail"]) == 0
    assert main(["replay", "t.otlp.jsonl", "--", *PYTHON]) == 1
    assert main(["replay", "t.otlp.jsonl", "--", *PYTHON, "--more"]) == 1
    assert "has 1 answer" not in capfd.readouterr().out


def test_live_asks_the_real_endpoint_for_what_is_missing(folder, monkeypatch, capfd):
    record(monkeypatch, "t.otlp.jsonl")
    with serving(Says("Plenty.")) as real, monkeypatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", real.url)
        patch.setenv("OPENAI_API_KEY", KEY)
        capfd.readouterr()
        main(["replay", "t.otlp.jsonl", "--mode", "live", "--json", "-o", "l.otlp.jsonl", "--", *PYTHON, "--more"])
        assert [seen.body["messages"][0]["content"] for seen in real.seen] == ["More."]
    report = json.loads(capfd.readouterr().out)
    assert (report["hits"], report["live"], report["output"]) == (1, 1, "Plenty.")
    assert main(["replay", "l.otlp.jsonl", "--", *PYTHON, "--more"]) == 0, "what was live is recorded now"


def test_wrong_words_are_one_line(folder, monkeypatch, capfd):
    record(monkeypatch, "t.otlp.jsonl", script=[Raw(400, '{"error": {"message": "no"}}')])
    capfd.readouterr()
    for words in (
        ["record", "-o", "t.otlp.jsonl", "--", "true"],
        ["record", "-o", "x.otlp.jsonl", "--", "no-such-program"],
        ["record"],
        ["record", "--redact", "everything", "--", "true"],
        ["record", "--endpoint", "NOT_SET", "--", "true"],
        ["replay", "t.otlp.jsonl", "--"],
        ["replay", "t.otlp.jsonl", "--ignore", "colour", "--", "true"],
        ["replay", "t.otlp.jsonl", "--ignore", "/(/", "--", "true"],
        ["replay", "t.otlp.jsonl", "--ignore", "/(/"],
        ["replay", "t.otlp.jsonl", "--agent", "a.py:b", "--", "true"],
        ["export-test", "t.otlp.jsonl", "-o", "weather.py"],
    ):
        assert main(words) == 2, words
        out, err = capfd.readouterr()
        assert out == ""
        assert err.splitlines()[-1].startswith("retrospan: "), err


def test_a_rule_for_programs_is_said_to_do_nothing_elsewhere(folder, capfd):
    assert main(["replay", "missing.otlp.jsonl", "--ignore", "dates"]) == 2
    assert "--ignore has no effect here: it is for a program" in capfd.readouterr().err


def test_nothing_asked_is_said(folder, monkeypatch, capfd):
    record(monkeypatch, "t.otlp.jsonl")
    capfd.readouterr()
    assert main(["replay", "t.otlp.jsonl", "--", sys.executable, "-c", "pass"]) == 1
    assert "asked the endpoint nothing" in capfd.readouterr().err


def test_a_folder_is_replayed_in_parallel_with_a_summary(folder, monkeypatch, capfd):
    for number in range(3):
        record(monkeypatch, f"t{number}.otlp.jsonl", *(["--polite"] if number == 2 else []))
    capfd.readouterr()
    assert main(["replay", str(folder), "--jobs", "3", "--junit", "out.xml", "--", *PYTHON]) == 1
    out, _ = capfd.readouterr()
    assert out.splitlines()[-1] == "2 of 3 traces came out as recorded"
    assert out.count("same output as recorded") == 2
    suite = ElementTree.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    failures = suite.findall("testcase/failure")
    assert "differs from the nearest recorded one" in (failures[0].get("message") or "")
    assert main(["replay", str(folder), "--json", "--", *PYTHON]) == 1
    assert [report["ended"] for report in json.loads(capfd.readouterr().out)].count("diverged") == 1


def test_an_exported_test_passes_and_then_fails_with_the_report(folder, monkeypatch, capfd):
    record(monkeypatch, "t.otlp.jsonl")
    (folder / "tests").mkdir()
    command = ["export-test", "t.otlp.jsonl", "-o", "tests/test_news.py", "--", "python", "program.py"]
    assert main(command) == 0
    assert main(command) == 2, "nothing is overwritten"
    source = (folder / "tests" / "test_news.py").read_text("utf-8")
    assert 'command=["python", "../program.py"]' in source
    # A user's own packages of our names must not get in the way.
    for name in ("debugger", "runtime"):
        (folder / "tests" / name).mkdir()
        (folder / "tests" / name / "__init__.py").write_text("raise SystemExit('the wrong package')", "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def pytest_run():
        words = ["-m", "pytest", "-q", "-p", "retrospan_pytest", "-p", "no:cacheprovider", "tests"]
        return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)

    done = pytest_run()
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "program.py").write_text(PROGRAM.replace("What is new?", "What is old?"), "utf-8")
    done = pytest_run()
    assert done.returncode == 1
    assert "the replay diverged from the recording" in done.stdout
    assert 'recorded: "What is new?"' in done.stdout
    assert 'now:      "What is old?"' in done.stdout


def test_an_agent_of_ours_is_exported_with_its_entry_point(folder, capfd):
    shutil.copy(ROOT / "sample_traces" / "travel_desk.py", folder)
    shutil.copy(ROOT / "sample_traces" / "travel_desk.otlp.jsonl", folder)
    assert main(["export-test", "travel_desk.otlp.jsonl", "-o", "test_desk.py"]) == 0
    assert 'agent="travel_desk.py:travel_desk"' in (folder / "test_desk.py").read_text("utf-8")


def test_a_test_that_would_run_tools_is_not_exported_unasked(folder, capfd):
    shutil.copy(ROOT / "sample_traces" / "travel_desk.otlp.jsonl", folder)
    command = ["export-test", "travel_desk.otlp.jsonl", "-o", "test_x.py"]
    assert main([*command, "--", *PYTHON]) == 2
    assert "get_weather" in capfd.readouterr().err
    assert not (folder / "test_x.py").exists()
    assert main([*command, "--run-tools", "--", *PYTHON]) == 0
    assert "run_tools=True" in (folder / "test_x.py").read_text("utf-8")


def test_the_traces_of_one_run_are_exported_together(folder, capfd):
    traces = ROOT / "tests" / "replay" / "cross" / "openllmetry_agents.otlp.jsonl"
    command = ["export-test", str(traces), "-o", "test_x.py", "--run-tools"]
    assert main([*command, "--together"]) == 2, "it is of a program"
    assert main([*command, "--together", "--", *PYTHON]) == 0
    source = (folder / "test_x.py").read_text("utf-8")
    assert "together=True" in source
    assert "trace_id" not in source
    capfd.readouterr()
    assert main(["list", "x-test.otlp.jsonl", "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)) == 3


def test_nothing_is_left_of_a_recording_that_did_not_begin(folder, capfd):
    assert main(["record", "-o", "t.otlp.jsonl", "--", "no-such-program-here"]) == 2
    assert not (folder / "t.otlp.jsonl").exists()
    (folder / "null").symlink_to(os.devnull)
    assert main(["record", "-o", "null", "--", "no-such-program-here"]) == 2
    assert (folder / "null").is_symlink(), "a device is not ours to remove"
    assert main(["record", "--", sys.executable, "-c", "import sys; sys.exit(7)"]) == 7
    assert [path.name for path in folder.glob("*.otlp.jsonl")] == [f"{Path(sys.executable).name}.otlp.jsonl"]


def test_the_plugin_imports_nothing_of_ours(tmp_path):
    ask = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import pytest; before = set(sys.modules); "
    ask += "import retrospan_pytest; "
    ask += "print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['retrospan_pytest']"


def test_traces_of_one_run_answer_together(folder, monkeypatch, capfd):
    for name, words in (("a", ()), ("b", ("--polite",))):
        record(monkeypatch, f"{name}.otlp.jsonl", *words, script=(Says(name),))
    capfd.readouterr()
    both = f"{sys.executable} program.py && {sys.executable} program.py --polite"
    files = ["a.otlp.jsonl", "b.otlp.jsonl"]
    assert main(["replay", *files, "--together", "--json", "--", "sh", "-c", both]) == 0
    report = json.loads(capfd.readouterr().out)
    assert (report["hits"], report["misses"], report["same_output"]) == (2, 0, True)
    assert main(["replay", *files, "--json", "--", "sh", "-c", both]) == 1
    assert "--together takes them as one run" in capfd.readouterr().err
    assert main(["replay", *files, "--together", "--trace", report["origin"]["trace_id"], "--", "true"]) == 2
