"""The command line's contract: JSON, exit codes, one clear line for bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from debugger import cli
from debugger.analysis.text import width_of
from debugger.cli import main
from debugger.commands import COMMANDS
from debugger.importers import readable_formats

from .otlp import SPAN, START, TRACE, line, span

ZOO = Path(__file__).parents[1] / "data" / "zoo"
LANGCHAIN = ZOO / "genai_langchain.otlp.jsonl"


def run(*words: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "debugger.cli", *words],
        input=stdin,
        capture_output=True,
        timeout=300,
        check=False,
        env={**os.environ, **env},
        cwd=Path(__file__).parents[2],
    )


LIST_KEYS = [
    "trace_id", "name", "service", "start_unix_nano", "duration_ns", "spans", "llm_calls", "tool_calls", "agents",
    "errors", "input_tokens", "output_tokens", "cost_usd", "origin",
]  # fmt: skip
CALL_KEYS = [
    "span_id", "parent_span_id", "kind", "name", "convention", "agent_name", "provider", "model", "input_messages",
    "output_messages", "tool_name", "tool_call_id", "arguments", "result", "input_tokens", "output_tokens", "cost_usd",
    "computed_cost", "finish_reasons", "error", "start_unix_nano", "duration_ns",
]  # fmt: skip


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(LANGCHAIN), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [list(trace) for trace in listed] == [LIST_KEYS] * 2
    assert listed[1] == {
        "trace_id": "a59f3a80754b72e03c49b9badeabda0b", "name": "invoke_agent travel_desk", "service": "travel-desk",
        "start_unix_nano": 1795989124124155452, "duration_ns": 408380176, "spans": 14, "llm_calls": 6, "tool_calls": 5,
        "agents": 2, "errors": 1, "input_tokens": 1294, "output_tokens": 129, "cost_usd": None,
        "origin": None,
    }  # fmt: skip


def test_show_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(LANGCHAIN), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown) == ["traces", "issues"]
    assert [list(trace) for trace in shown["traces"]] == [["trace_id", "name", "fidelity", "calls"]] * 2
    calls = shown["traces"][1]["calls"]
    assert [list(call) for call in calls] == [CALL_KEYS] * 14
    starts = [call["start_unix_nano"] for call in calls]
    assert starts == sorted(starts)
    failed = next(call for call in calls if call["error"])
    assert failed["tool_name"] == "book_museum"
    assert list(failed["error"]) == ["type", "message"]
    asked = calls[1]["output_messages"][0]
    assert asked["role"] == "assistant"
    assert asked["parts"][0] == {
        "type": "tool_call", "id": "call_0bc6eb6557f44bfcfdf8", "name": "get_weather", "arguments": {"city": "Lyon"},
    }  # fmt: skip


def test_show_one_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(LANGCHAIN), "--json", "--trace", "a59f"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [trace["trace_id"] for trace in shown["traces"]] == ["a59f3a80754b72e03c49b9badeabda0b"]


def test_an_unknown_trace_names_those_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(LANGCHAIN), "--trace", "ffff"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith("retrospan: no trace 'ffff'; traces here: 8afa")


def test_what_is_neither_a_file_nor_a_trace_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = ["--library", str(tmp_path)]
    assert main(["load", str(LANGCHAIN), *library]) == 0
    assert main(["diff", "nope.json", "a59f", *library]) == 2
    assert main(["show", *library]) == 2
    said = capsys.readouterr().err
    assert "no file 'nope.json', and no trace of the library has that id; traces here: 8afa" in said
    assert "the library holds 2 traces; name one with --trace, or a PATH to read" in said


def test_the_only_trace_of_a_library_needs_no_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = ["--library", str(tmp_path / "library")]
    one = tmp_path / "one"
    one.write_bytes(line(span(name="alone")))
    assert main(["load", str(one), *library]) == 0
    assert main(["show", *library]) == 0
    assert "alone" in capsys.readouterr().out


def test_what_is_said_of_a_trace_is_never_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["show", str(LANGCHAIN), "--trace", "a59f"]) == 0
    rows = capsys.readouterr().out.splitlines()
    said = " ".join(row.strip() for row in rows[: rows.index(next(row for row in rows if row.startswith("agent")))])
    assert "14 spans, 1 error" in said
    assert "…" not in said
    assert max(map(len, rows)) <= 60


def test_several_paths_and_the_same_one_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    other.write_bytes(line(span()))
    assert main(["list", str(LANGCHAIN), str(other), str(LANGCHAIN), "--json"]) == 0
    assert sorted(trace["spans"] for trace in json.loads(capsys.readouterr().out)) == [1, 2, 14]


def test_values_that_json_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = "[" * 3000 + "]" * 3000
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.arguments": '{"x": NaN}',
        "gen_ai.tool.call.result": deep,
    }
    path = tmp_path / "odd.jsonl"
    path.write_bytes(line(span(attributes=attributes, name="é\u202e")))
    assert main(["show", str(path), "--json"]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    (call,) = json.loads(out)["traces"][0]["calls"]
    assert call["arguments"] == {"x": "NaN"}
    assert call["name"] == "é\u202e"


READ = f"what is read: {readable_formats()}"
BAD = [
    ("no such file", None, "nothing.jsonl: no such file or folder"),
    ("an empty file", b"", "no spans in {path} (empty)"),
    ("a picture", b"\x89PNG\r\n\x1a\n\x00", "{path}: looks like a PNG image; " + READ),
    ("half a line", line(span())[:80], "{path}, line 1: ends in the middle"),
    ("other JSON", b'{"a": 1}', "{path}: looks like JSON that is no trace; " + READ),
    ("only logs", b'{"resourceLogs": []}', "{path}: no spans in it"),
    ("no spans at all", b'{"resourceSpans": []}', "{path}: no spans in it"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "words"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
@pytest.mark.parametrize("command", ["list", "show"])
def test_bad_input_is_one_clear_line(
    command: str, data: bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("nothing.jsonl" if data is None else "input")
    if data is not None:
        path.write_bytes(data)
    assert main([command, str(path), "--json"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.count("\n") == 1
    assert out.err.rstrip("\n").endswith(words.format(path=path))


def test_a_folder_without_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"retrospan: no spans in {tmp_path}\n"
    (tmp_path / "notes.txt").write_text("hello")
    assert main(["list", str(tmp_path)]) == 2
    assert "notes.txt: looks like plain text (passed over); what is read: " in capsys.readouterr().err


def test_good_input_beside_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(span()) + b"junk\n")
    (tmp_path / "b.txt").write_text("hello")
    line_of_a = f"{tmp_path}/a.jsonl line 2: not JSON"
    # What lies beside the traces in a folder was not asked for; what is named is.
    for named, said in (
        ([tmp_path], f"1 line skipped: {line_of_a}"),
        (
            [tmp_path / "a.jsonl", tmp_path / "b.txt"],
            f"1 line and 1 file skipped: {line_of_a}; {tmp_path}/b.txt: looks like plain text",
        ),
    ):
        for options, code in (([], 0), (["--strict"], 1)):
            assert main(["list", *map(str, named), "--json", *options]) == code
            out = capsys.readouterr()
            assert len(json.loads(out.out)) == 1
            assert out.err == f"retrospan: {said}\n"


def test_names_of_files_are_hostile_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\x1b[2Jb"
    path.write_text("hello")
    assert main(["list", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("command", ["list", "show"])
def test_lines_fit_the_terminal(
    command: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wide = tmp_path / "wide.jsonl"
    wide.write_bytes(line(span(name="你好世界" * 40)))
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([command, str(LANGCHAIN), str(wide)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(width_of, lines)) <= width
    assert any("travel" in text for text in lines)


def test_the_tree(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["show", str(LANGCHAIN), "--trace", "a59f"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "invoke_agent travel_desk  travel-desk"
    assert lines[1] == "trace a59f3a80754b72e03c49b9badeabda0b  29 Nov 2026 21:52, 408 ms, 14 spans, 1"
    assert lines[2] == "  error", "what is said of the whole trace is never cut"
    assert lines[3].startswith("inferred: the memory is not recorded; the conversation of the last model call")
    assert lines[5].startswith("agent     invoke_agent travel_desk")
    assert lines[9].startswith("├ llm       chat gpt-4o-mini")
    assert any(text.startswith("├ tool      execute_tool book_museum  ! ") for text in lines)
    assert lines[-3].startswith("│   ├ tool      execute_tool search_guide") or "search_guide" in lines[-3]


def test_a_deep_trace_is_a_tree_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.jsonl"
    parents = ["", *(f"{i:016x}" for i in range(1, 3000))]
    path.write_bytes(line(*(span(spanId=f"{i:016x}", parentSpanId=p) for i, p in enumerate(parents, 1))))
    assert main(["show", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3002
    assert "[2999]" in lines[-1]


def test_input_from_standard_input() -> None:
    done = run("list", "-", "--json", stdin=line(span()))
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["trace_id"] == TRACE


def test_the_version_imports_almost_nothing() -> None:
    code = (
        "import sys; from debugger.cli import main; code = main(['--version'])\n"
        "heavy = {'duckdb', 'textual', 'pydantic', 'msgspec', 'rich', 'opentelemetry', 'debugger.store'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(f'{code} {heavy}' if heavy or code else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("retrospan ")


@pytest.mark.parametrize("module", ["debugger", "debugger.cli", "debugger.commands.show", "msgspec"])
def test_an_interrupt_while_modules_are_imported_is_no_traceback(module: str) -> None:
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        f"sys.argv = ['retrospan', 'show', {str(LANGCHAIN)!r}]\n"
        "from retrospan_main import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_nothing_that_msgspec_needs_in_c_is_still_to_be_imported_with_it() -> None:
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'datetime' and 'msgspec' in sys.modules: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        f"sys.argv = ['retrospan', 'show', {str(LANGCHAIN)!r}]\n"
        "from retrospan_main import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_while_duckdb_starts_waits_for_it() -> None:
    code = (
        "import signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'duckdb': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "try:\n"
        "    from debugger.store import Store\n"
        "except KeyboardInterrupt:\n"
        "    print('duckdb' in sys.modules, signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")


def test_help_names_every_command_and_each_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    done = run("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert command.name.encode() in done.stdout.split()
        assert main([command.name, "--help"]) == 0
        said = capsys.readouterr().out
        assert f"usage: retrospan {command.name} " in said
        assert command.help[1:] + "." in " ".join(said.split())  # OTLP and SQL keep their capital letters
    assert b"retrospan [PATH ...]" in done.stdout


@pytest.mark.parametrize("words", [["load"], ["show", "--nonsense", "x"], ["library"]])
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert said.startswith("retrospan")
    assert "--help` says more" in said


def test_a_query_without_a_path_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql"]) == 2
    assert "required: QUERY (" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "meant"), [("shwo", "show"), ("reply", "replay"), ("zzz", None)])
def test_a_mistyped_command_gets_a_hint(word: str, meant: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word, "x.jsonl"]) == 2
    said = capsys.readouterr().err
    assert (f"did you mean `retrospan {meant}`?" in said) if meant else ("did you mean" not in said)


def test_too_few_digits_of_an_id_are_said_to_be_too_few(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(LANGCHAIN), "--trace", "a5"]) == 2
    assert "at least its first 4 digits" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(line(*(span(spanId=f"{i + 1:016x}", name="x" * 500) for i in range(2000))))
    shell = f'"{sys.executable}" -m debugger.cli show "{path}" --json | head -c 10'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell], capture_output=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"traces":', b"")


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("debugger.store.Store.load", stopped)
    assert main(["list", str(LANGCHAIN)]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("debugger.store.Store.load", broken)
    with pytest.raises(ZeroDivisionError):
        main(["list", str(LANGCHAIN)])


def test_spans_of_one_start_are_shown_parents_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ties.jsonl"
    child = span(spanId="00f067aa0ba902b7", parentSpanId=SPAN, name="child", startTimeUnixNano=START)
    path.write_bytes(line(child, span(name="parent")))
    main(["show", str(path), "--json"])
    calls = json.loads(capsys.readouterr().out)["traces"][0]["calls"]
    assert [call["name"] for call in calls] == ["parent", "child"]


def test_words_that_are_no_command_go_to_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(cli, "DEFAULT", next(command for command in COMMANDS if command.name == "list"))
    monkeypatch.setattr("debugger.commands.list_traces.run", lambda args: seen.append(args.paths) or 0)
    assert main([str(LANGCHAIN)]) == 0
    assert seen == [[str(LANGCHAIN)]]


def test_files_of_other_kinds_in_a_folder_are_one_issue_and_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(span()))
    (tmp_path / "sub").mkdir()
    for number in range(7):
        (tmp_path / "sub" / f"{number}.py").write_text("import os\n")
    assert main(["show", "--json", "--strict", str(tmp_path)]) == 0
    out = capsys.readouterr()
    (issue,) = json.loads(out.out)["issues"]
    shown = ", ".join(f"{number}.py (plain text)" for number in range(5))
    assert issue["path"] == str(tmp_path / "sub")
    assert issue["reason"] == f"7 files that are no traces were passed over: {shown} and 2 more"
    assert out.err == ""
    assert main(["show", "--strict", str(tmp_path), str(tmp_path / "sub" / "0.py")]) == 1
    assert main(["show", "--strict", str(tmp_path / "sub")]) == 2


def test_the_list_says_how_faithful_a_trace_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(LANGCHAIN)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.endswith("COST  FIDELITY")
    assert [text.split()[-1] for text in lines] == ["inferred", "inferred"]
    assert main(["list", str(LANGCHAIN), "--json", "--fidelity"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(list(trace)[-1], trace["fidelity"]) for trace in listed] == [("fidelity", "inferred")] * 2
