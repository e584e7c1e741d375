"""The paths that an edit may take, and which of them a wrong one may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final, Literal

from runtime.messages import Call

LIKE: Final = 0.6
"""From here on a path is taken for a slip of the keys; as in ``difflib``."""
MOST: Final = 10
"""Paths that an error lists beside the likeliest one."""
LONGEST: Final = 80
"""Characters of a wrong path that an error repeats."""

_PREFIX: Final = re.compile(r"(span|agent|tool):((?:[^.\\]|\\.)+)\.(.+)", re.DOTALL)
_KIND: Final = re.compile(r"[.:\[]")
_TEXT: Final = re.compile(r"(.*messages\[)\d+(\]\.text)")


def split(path: str) -> tuple[str, str, str]:
    """What a path begins with (``span``, ``agent`` or ``tool``), the name after it as it is written, and the target."""
    found = _PREFIX.fullmatch(path)
    return (found[1], found[2], found[3]) if found else ("", "", path)


def touched_by(path: str) -> Literal["request", "answer", "other"]:
    """What the edit of a path changes: what a model is asked, what a call gave, or what may show in either.

    Parameters make no request another one, and what an agent does with its memory is its own affair.
    """
    target = split(path)[2]
    if target in ("result", "error", "answer", "answer.text"):
        return "answer"
    return "other" if target.startswith(("params.", "memory.")) else "request"


def paths_of(call: Call) -> Iterator[str]:
    """The paths that name something in a model call: its request, its answer, and what follows."""
    messages = call.input_messages or ()
    if any(message.role in ("system", "developer") for message in messages):
        yield "system"
    for i in range(len(messages)):
        yield f"messages[{i}].text"
    yield "messages[+]"
    yield "model"
    for name in call.parameters:
        yield f"params.{name}"
    yield "params.temperature"
    for tool in call.tool_definitions or ():
        yield f"tools.{tool.name}"
        yield f"tools.{tool.name}.description"
        yield f"tools.{tool.name}.parameters"
    yield "schema"
    yield "answer.text"
    yield "error"
    yield "next"


def tool_paths(calls: Iterable[Call]) -> Iterator[str]:
    """The paths of recorded tools' outcomes."""
    for call in calls:
        if call.kind == "tool" and call.tool_name:
            yield f"tool:{call.tool_name}.result"
            yield f"tool:{call.tool_name}.error"


def nearby(path: str, valid: Iterable[str]) -> str:
    """What a wrong path may have meant, and the valid ones, the nearest first; empty where there are none."""
    known = list(dict.fromkeys(valid))
    if not known:
        return ""
    by_lower = {each.lower(): each for each in reversed(known)}
    ranked = [by_lower[low] for low in get_close_matches(path.lower()[:LONGEST], by_lower, n=len(by_lower), cutoff=0.0)]
    meant = get_close_matches(path.lower()[:LONGEST], by_lower, n=1, cutoff=LIKE)
    # Where nothing is like it, what can be changed at all helps more than what happens to be spelt nearly so.
    listed = _collapsed([*ranked, *known] if meant else [*_one_of_each_kind(known), *ranked])
    shown = listed[:MOST] + (["…"] if len(listed) > MOST else [])
    return (f"did you mean {by_lower[meant[0]]}? " if meant else "") + f"paths here: {', '.join(shown)}"


def shortened(path: str) -> str:
    """A path as an error repeats it."""
    return path if len(path) <= LONGEST else path[: LONGEST - 1] + "…"


def _one_of_each_kind(paths: Iterable[str]) -> list[str]:
    """The first path that begins with each word, such as ``system``, ``messages`` and ``tools``."""
    return list({_KIND.split(path, 1)[0]: path for path in reversed(list(paths))}.values())[::-1]


def _collapsed(paths: Sequence[str]) -> list[str]:
    """Each path once; the texts of many messages as one."""
    texts = dict.fromkeys(path for path in paths if _TEXT.fullmatch(path))
    numbers = sorted(int(path.rpartition("[")[2].partition("]")[0]) for path in texts)
    out: dict[str, None] = {}
    for path in paths:
        found = _TEXT.fullmatch(path)
        if found and len(numbers) > 2:
            path = f"{found[1]}{numbers[0]}{found[2]} to {found[1]}{numbers[-1]}{found[2]}"
        out[path] = None
    return list(out)
