"""What the source of a Node.js program tells before the start: the frameworks it imports, the functions it declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

PACKAGES: Final = Path(__file__).parent.parent / "inject" / "node" / "packages.json"
"""The packages that adapters reach into: their files, and what has to stand there."""

ENDINGS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_RUNNERS: Final = ("node", "nodejs", "npx", "npm", "pnpm", "yarn", "tsx", "ts-node")
_OTHERS: Final = ("bun", "bunx", "deno")
"""They run such files too, and load no adapters."""
_IMPORT: Final = re.compile(r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']([^"'\n]+)["']""")
_FRAMEWORK: Final = re.compile(r"(ai|langchain|@langchain/[^/]+|@openai/agents[^/]*)(?:/.*)?")
_RUNS_TOOLS: Final = re.compile(r"\.runTools\s*\(")
"""Of the openai package, the one way that calls tools itself."""
_FUNCTION: Final = re.compile(r"^(?:export\s+(?:default\s+)?)?(?:async\s+)?function\s+([\w$]+)", re.MULTILINE)
_MOST_FILES: Final = 200


def is_node(command: Sequence[str]) -> bool:
    """Whether the command starts a program of Node.js, as far as its words tell."""
    name = Path(command[0]).name
    return name not in _OTHERS and (name in _RUNNERS or command[0].endswith(ENDINGS))


def script_of(command: Sequence[str]) -> Path | None:
    """The file that the command runs; None where it names none."""
    return next((Path(word) for word in command if word.endswith(ENDINGS) and Path(word).is_file()), None)


def reached_packages(script: Path) -> list[str]:
    """The packages with an adapter that the script uses, or a file that it imports by its path; most use none."""
    return list(dict.fromkeys(_reached(script)))


def _reached(script: Path) -> Iterator[str]:
    todo, seen = [script], {script}
    while todo and len(seen) < _MOST_FILES:
        current = todo.pop()
        source = _source(current)
        if _RUNS_TOOLS.search(source):
            yield "openai"
        for name in _IMPORT.findall(source):
            if not name.startswith("."):
                if (found := _FRAMEWORK.fullmatch(name)) is not None:
                    yield _adapted(found[1])
                continue
            path = current.parent / name
            for file in (path, *(path.with_name(path.name + end) for end in ENDINGS)):
                if file not in seen and file.is_file():
                    seen.add(file)
                    todo.append(file)


def _adapted(name: str) -> str:
    """The package in which the tools of a framework are called."""
    if name.startswith("@openai/"):
        return "@openai/agents-core"
    return "ai" if name == "ai" else "@langchain/core"


@cache
def _packages() -> dict[str, dict[str, Any]]:
    return {each["package"]: each for each in json.loads(PACKAGES.read_text("utf-8"))}


def unknown_layout(script: Path, name: str) -> str | None:
    """Why the adapter would not find what it needs in the package, as a program there would load it; None if it does.

    Adapters go by a package's files, and a version that moves them would leave its tools to run for real.
    """
    known = _packages()[name]
    for folder in _installed(script, name):
        present = [folder / file for file in known["files"] if (folder / file).is_file()]
        if present and all(all(word in _source(file) for word in known["needs"]) for file in present):
            return None
        return f"the adapter does not know the files of {name} {_version(folder)}".rstrip()
    return f"{name} was not found beside {script.name}, so that its adapter is not sure to reach it"


def _installed(script: Path, name: str) -> Iterator[Path]:
    """Where the package may lie: in the folders above the script, also below another package or in pnpm's store."""
    for above in script.resolve().parents:
        modules = above / "node_modules"
        if modules.is_dir():
            direct = modules / name
            if direct.is_dir():
                yield direct
            yield from sorted(modules.glob(f"*/node_modules/{name}"))
            yield from sorted(modules.glob(f"@*/*/node_modules/{name}"))
            yield from sorted(modules.glob(f".pnpm/{name.replace('/', '+')}@*/node_modules/{name}"))


def _version(folder: Path) -> str:
    try:
        found = json.loads((folder / "package.json").read_text("utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return str(found)[:40]


def functions_in(script: Path) -> set[str]:
    """The functions that the file declares at its top."""
    return set(_FUNCTION.findall(_source(script)))


def _source(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
