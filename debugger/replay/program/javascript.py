"""What the source of a Node.js program tells before the start: the frameworks it imports, the functions it declares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ENDINGS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_RUNNERS: Final = ("node", "nodejs", "npx", "npm", "pnpm", "yarn", "tsx", "ts-node")
_OTHERS: Final = ("bun", "bunx", "deno")
"""They run such files too, and load no adapters."""
_IMPORT: Final = re.compile(r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']([^"'\n]+)["']""")
_FRAMEWORK: Final = re.compile(r"(?:ai|langchain|@langchain/.+|@openai/agents.*)(?:/.*)?")
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


def uses_framework(script: Path) -> bool:
    """Whether the script, or a file that it imports by its path, imports a framework that has an adapter."""
    todo, seen = [script], {script}
    while todo and len(seen) < _MOST_FILES:
        current = todo.pop()
        source = _source(current)
        if _RUNS_TOOLS.search(source):
            return True
        for name in _IMPORT.findall(source):
            if not name.startswith("."):
                if _FRAMEWORK.fullmatch(name):
                    return True
                continue
            path = current.parent / name
            for found in (path, *(path.with_name(path.name + end) for end in ENDINGS)):
                if found not in seen and found.is_file():
                    seen.add(found)
                    todo.append(found)
    return False


def functions_in(script: Path) -> set[str]:
    """The functions that the file declares at its top."""
    return set(_FUNCTION.findall(_source(script)))


def _source(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
