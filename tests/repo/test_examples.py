"""Every example in the pages is true: the Python ones run, the commands give what they are said to give.

A ``python`` block begins with a comment that names its file; it is written and run, unless the page itself runs it
further down. In a ``console`` block each ``$`` line is run, and the lines below it must be found in its output, in
their order. A line ``…`` stands for any number of lines, and at the end of a line for its rest. ``$ echo $?`` gives
the exit code of the command before; all others must end with 0.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repo import ROOT, blocks_of

PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "sample_traces" / "README.md")
    if {block.language for block in blocks_of(path.read_text("utf-8"))} & {"python", "console"}
]
_SPACE = re.compile(r"\s+")


def plain(line: str) -> str:
    return _SPACE.sub(" ", line).strip()


class Folder:
    """A folder in which one page is followed from top to bottom."""

    def __init__(self, path: Path) -> None:
        self.path = path
        shutil.copytree(ROOT / "sample_traces", path / "sample_traces", ignore=shutil.ignore_patterns("__pycache__"))
        self.environment = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(path),
            "COLUMNS": "120",
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.code = 0

    def run(self, command: str) -> str:
        if command == "echo $?":
            code, self.code = self.code, 0
            return str(code)
        assert self.code == 0, f"{command!r} follows a command that failed"
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=300,
        )  # fmt: skip
        self.code = done.returncode
        return done.stdout

    def follow(self, session: str) -> None:
        command, expected = None, []
        for line in [*session.splitlines(), "$"]:
            if not line.startswith("$"):
                expected.append(line)
                continue
            if command is not None:
                check(command, expected, self.run(command))
            command, expected = line[1:].strip(), []

    def write(self, code: str, page: str) -> None:
        """Write a Python example; run it where the page does not."""
        name = code.partition("\n")[0].removeprefix("# ").strip()
        assert re.fullmatch(r"\w+\.py", name), f"the first line names the file: {name!r}"
        (self.path / name).write_text(code, "utf-8")
        if re.search(rf"^\$ .*\bpython {re.escape(name)}\b", page, re.MULTILINE):
            return
        output = self.run(f"python {name}")
        assert self.code == 0, output


def check(command: str, expected: list[str], output: str) -> None:
    """The expected lines stand in the output, in their order."""
    lines = iter([plain(line) for line in output.splitlines()])
    for line in map(plain, expected):
        if line in ("", "…"):
            continue
        wanted = line.removesuffix("…").strip()
        assert any(wanted in shown for shown in lines), f"$ {command}\nlacks {line!r}, or has it too early:\n{output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of(page, tmp_path):
    folder = Folder(tmp_path)
    text = page.read_text("utf-8")
    for block in blocks_of(text):
        if block.language == "python":
            folder.write(block.text, text)
        elif block.language == "console":
            folder.follow(block.text)
    assert folder.code == 0


def test_pages_with_examples_are_found():
    assert {"tutorial.md", "writing-an-agent.md"} <= {page.name for page in PAGES}


def test_a_missing_line_is_noticed():
    with pytest.raises(AssertionError, match="lacks"):
        check("show", ["one", "…", "two"], "two\none\n")
