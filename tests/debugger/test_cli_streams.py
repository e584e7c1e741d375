"""The command line with streams that are closed or full, with words that are no text, and with values JSON lacks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from debugger.cli import main
from debugger.commands._json import compact, dump, indented

from .otlp import line, span

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_traces" / "order_watch.otlp.jsonl"


def shell(text: str) -> subprocess.CompletedProcess[bytes]:
    """The words after ``retrospan``, run by a shell, with its redirections."""
    command = f'"{sys.executable}" -m debugger.cli {text}'
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False, cwd=ROOT)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (f'list "{SAMPLE}" >&-', 0, b""),
        ("list - <&-", 2, b"retrospan: no spans in - (empty)\n"),
        ("list nosuch 2>&-", 2, b""),
        (f'replay "{SAMPLE}" --json <&- 2>&- >&-', 0, b""),
    ],
    ids=["output", "input", "errors", "all"],
)
def test_a_closed_stream_is_no_fault(words: str, code: int, said: bytes) -> None:
    done = shell(words)
    assert (done.returncode, done.stderr) == (code, said)


def test_a_closed_stream_gives_its_number_to_nobody_else() -> None:
    done = shell(f'replay "{SAMPLE}" --json <&- 2>&-')
    assert done.returncode == 0
    assert json.loads(done.stdout)["ended"] == "done"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("words", ["list", "show", "show --json", "snapshot", "snapshot --every"])
def test_a_full_disk_is_one_line(words: str) -> None:
    done = shell(f'{words} "{SAMPLE}" >/dev/full')
    assert done.returncode == 2
    assert done.stderr.startswith(b"retrospan: standard output or a temporary file cannot be written (")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_where_nothing_can_be_said_the_exit_code_tells() -> None:
    assert shell("list nosuch 2>/dev/full").returncode == 2


def test_what_the_system_refuses_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "a" * 5000]) == 2
    out = capsys.readouterr()
    assert out.err.startswith("retrospan: aaaa")
    assert out.err.rstrip().endswith(": file name too long")


@pytest.mark.parametrize(
    "words",
    [["list", ""], ["show", ""], ["snapshot", ""], [""], ["show", str(SAMPLE), "--trace", ""],
     ["snapshot", str(SAMPLE), "--span", ""], ["replay", str(SAMPLE), "--trace", ""]],
)  # fmt: skip
def test_an_empty_word_is_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert "an empty" in out.err


@pytest.mark.parametrize("words", [["show", "--trace"], ["snapshot", "--span"], ["replay", "--trace"]])
def test_bytes_that_are_no_text_fit_no_id(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command, option = words
    assert main([command, str(SAMPLE), option, "\udcff\udcff\udcff\udcff"]) == 2
    assert "'????'" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--every"]])
def test_a_snapshot_is_json_whatever_the_trace_holds(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "a",
        "retrospan.format": 1,
        "retrospan.kind": "agent",
        "retrospan.input": '{"x": NaN, "y": 1e999}',
        "retrospan.memory.start": '{"z": -Infinity}',
    }
    path = tmp_path / "odd.jsonl"
    path.write_bytes(line(span(attributes=attributes)))
    assert main(["snapshot", str(path), *options]) == 0
    text = capsys.readouterr().out
    assert '"NaN"' in text
    assert '"-Infinity"' in text
    for document in text.splitlines() if options else [text]:
        json.loads(document, parse_constant=pytest.fail)


@pytest.mark.parametrize("missing", ["stdin", "stdout", "stderr"])
def test_the_screen_needs_all_three_streams(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda is_there=name != missing: is_there)
    assert main([str(SAMPLE)]) == 2
    assert "the screen needs a terminal" in capsys.readouterr().err


def test_what_is_written_piece_by_piece_reads_as_if_written_at_once() -> None:
    odd = {"text": "\x7f\u2028é\U0001f600\ud800", "deep": [], "number": 2**70, "float": 0.1, "none": None, "list": [{}]}
    for _ in range(300):
        odd["deep"] = [odd["deep"]]
    entry = {"contentHash": "sha256.1:00", "output": {"parts": [{"type": "text", "content": 'a\n  "b"'}]}}
    frame = {"memory": odd, "journal": {"prompt": {"h": entry, "é": entry}, "tool": {}, "value": 1}, "children": {}}
    document = {"version": 1, "root": frame | {"children": {"root/agent:a:0": frame, "empty": {}}}}
    assert "".join(indented(document)) == dump(document, indent=2)
    assert len(list(indented(document))) > 20
    text = compact(odd)
    assert text.isascii()
    assert json.loads(text) == json.loads(dump(odd))
