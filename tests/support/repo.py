"""The repository as its own tests see it: its files, and the commands and examples in its pages."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str


def blocks_of(page: str) -> list[Block]:
    """The fenced blocks, in order."""
    return [Block(language, text) for language, text in _FENCE.findall(page)]


def setup_commands() -> list[str]:
    """The commands in the README's section on setting up."""
    section = (ROOT / "README.md").read_text("utf-8").partition("\n## Set up\n")[2].partition("\n## ")[0]
    return [block.text.strip() for block in blocks_of(section)]


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that belongs to the project, committed or about to be; relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return tuple(sorted(Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()))


def texts(*suffixes: str) -> Iterator[tuple[Path, str]]:
    """The project's text files, all or those with one of the suffixes."""
    for path in project_files():
        if suffixes and path.suffix not in suffixes:
            continue
        data = (ROOT / path).read_bytes()
        if b"\0" not in data[:8192] and not data.startswith(b"\x1f\x8b"):
            yield path, data.decode("utf-8", errors="replace")
