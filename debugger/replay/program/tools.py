"""Which tools of a program will really run, foreseen from its words and its source before it is started."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime.messages import Call, ToolCallPart

from . import javascript

_FRAMEWORKS: Final = {
    "langchain": "langchain",
    "langchain_core": "langchain",
    "langgraph": "langchain",
    "pydantic_ai": "pydantic-ai",
    "agents": "openai-agents",
    "mcp": "mcp",
    "fastmcp": "mcp",
}
"""Modules whose import says that an adapter takes the tools in hand."""
_MOST_FILES: Final = 200


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What is known before the start."""

    open: tuple[str, ...] = ()
    """Recorded tools that nothing answers."""
    why: str = ""
    suggested: tuple[str, ...] = ()
    """``NAME=FILE.py:FUNCTION`` for functions with such a name in the program's own file."""


def foresee(calls: Sequence[Call], command: Sequence[str], functions: Sequence[str]) -> Foreseen:
    """The tools that were called in the recording and that no adapter and no named function answers.

    Args:
        calls: of the recording.
        command: the program.
        functions: ``NAME=FILE.py:FUNCTION`` of the functions that the user named.
    """
    names = _called(calls)
    if not names:
        return Foreseen()
    named = {word.partition("=")[0] for word in functions}
    if not is_python(command):
        if not javascript.is_node(command):
            return Foreseen(names, "no adapter reaches into a program that is neither Python nor Node.js")
        return _in_node(tuple(name for name in names if name not in named), command)
    script = next((Path(word) for word in command if word.endswith(".py") and Path(word).is_file()), None)
    if script is not None and _uses_framework(script):
        return Foreseen()
    rest = tuple(name for name in names if name not in named)
    if script is None:
        return Foreseen(rest, "which tools adapters reach is not known for this command")
    defined = _functions_in(script)
    suggested = tuple(f"{name}={script}:{name}" for name in rest if name in defined)
    return Foreseen(rest, "no framework with an adapter is imported there", suggested)


def _in_node(rest: tuple[str, ...], command: Sequence[str]) -> Foreseen:
    script = javascript.script_of(command)
    if script is None:
        return Foreseen(rest, "which tools adapters reach is not known for this command" if rest else "")
    if not rest:
        return Foreseen()
    reached = javascript.reached_packages(script)
    if reached:
        unknown = (javascript.unknown_layout(script, name) for name in reached)
        return next((Foreseen(rest, why) for why in unknown if why is not None), Foreseen())
    defined = javascript.functions_in(script)
    suggested = tuple(f"{name}={script}:{name}" for name in rest if name in defined)
    return Foreseen(rest, "no framework with an adapter is imported there", suggested)


def is_python(command: Sequence[str]) -> bool:
    """Whether the command starts a Python program, as far as its words and its first line tell."""
    name = Path(command[0]).name
    if name.startswith(("python", "pypy")) or any(word.endswith(".py") for word in command):
        return True
    found = shutil.which(command[0])
    if found is None:
        return False
    try:
        with Path(found).open("rb") as file:
            first = file.read(200).partition(b"\n")[0]
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first


def _called(calls: Iterable[Call]) -> tuple[str, ...]:
    """Tools that models asked for; a handoff or an agent as a tool counts as well."""
    names = {
        part.name
        for call in calls
        if call.kind == "llm"
        for message in call.output_messages or ()
        for part in message.parts
        if isinstance(part, ToolCallPart)
    }
    return tuple(sorted(names | {call.tool_name for call in calls if call.kind == "tool" and call.tool_name}))


def _uses_framework(script: Path) -> bool:
    """Whether the script, or a module beside it, imports a framework that has an adapter."""
    todo, seen = [script], {script}
    while todo and len(seen) < _MOST_FILES:
        current = todo.pop()
        for module in _imports_of(current):
            if module.partition(".")[0] in _FRAMEWORKS:
                return True
            path = script.parent.joinpath(*module.split("."))
            for found in (path.with_suffix(".py"), path / "__init__.py"):
                if found not in seen and found.is_file():
                    seen.add(found)
                    todo.append(found)
    return False


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _imports_of(path: Path) -> list[str]:
    out: list[str] = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            out.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            out.append(node.module)
            out.extend(f"{node.module}.{alias.name}" for alias in node.names)
    return out


def _functions_in(path: Path) -> set[str]:
    return {node.name for node in _tree(path).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
