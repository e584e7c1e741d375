"""The trail of a phrase as lines: one block for each step, from where it was asked about to where it first appeared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from runtime.messages import Call

from .conversation import GLYPHS, KIND_STYLES
from .document import Builder, Document, Line, Piece, Style, told
from .lineage import MOST_STEPS, End, Lineage, Link, Step
from .places import Kind, Places
from .text import clock, plural, visible
from .tree import called

_KINDS: dict[Kind, str] = {
    "message": "message",
    "answer": "answer of the model",
    "reasoning": "thoughts of the model",
    "request": "tool call that the model asked for",
    "arguments": "arguments",
    "input": "input",
    "result": "result",
    "error": "error",
}

_LINKS: dict[Link, str] = {
    "start": "",
    "given": "which had been given",
    "asked": "which was asked for by",
    "inside": "which was made inside, by",
    "around": "which had been given from around it",
    "text": "the same text stood earlier, in (the trace does not say that one led to the other)",
}

_LEVELS = {"exact": "", "normalised": "written in another way", "part": "only a part of it"}

_ENDS: dict[End, str] = {
    "model": "Nowhere before: the model wrote it.",
    "tool": "First appeared here: the call brought it in.",
    "outside": "First appeared here: it came from outside.",
    "absent": "It stands nowhere in this trace.",
}


@dataclass(frozen=True, slots=True)
class LineageView:
    """What the screen shows."""

    document: Document = field(repr=False)
    spans: Mapping[str, str] = field(repr=False)
    """The span of each block, by the block's key."""
    steps: int = 0


def lineage_view(lineage: Lineage, places: Places) -> LineageView:
    """The lines of a trail."""
    out = Builder()
    spans: dict[str, str] = {}
    for number, step in enumerate(lineage.steps):
        if number:
            out.line(Piece(f"  ↑ {_LINKS[step.link]}", "warning" if step.link == "text" else "dim"), hang=4)
        out.close()
        key = f"step{number}"
        spans[key] = step.span_id
        is_last = number == len(lineage.steps) - 1
        out.body(key, _step_lines(number + 1, step, places.calls[step.place.call], is_first=is_last))
    _end(out, lineage)
    return LineageView(out.document("where it came from"), spans, len(lineage.steps))


def _step_lines(number: int, step: Step, call: Call, *, is_first: bool) -> list[Line]:
    what = f"{step.place.role} message" if step.place.kind == "message" and step.place.role else _KINDS[step.place.kind]
    level = _LEVELS[step.found.level]
    head = [
        Piece(f"{number:2} ", "number"),
        told(called(call), KIND_STYLES[call.kind] or "strong", before=f"{GLYPHS[call.kind]} "),
        told(what, "strong", before="  "),
        Piece(f"  {clock(step.place.time or None)}", "dim"),
    ]
    if level:
        head.append(Piece(f"  {level}", "warning"))
    if is_first:
        head.append(Piece("  first", "good"))
    before, found, after = step.excerpt
    return [Line(tuple(head)), Line((_flat(before), _flat(found, "added"), _flat(after)), 5)]


_BREAK: Final = re.compile(r"[ \t]*[\r\n]\s*")


def _flat(text: str, style: Style = "") -> Piece:
    """On one line: where the text breaks, and how far what follows is indented, is of no matter here."""
    return Piece(visible(_BREAK.sub(" ", text).replace("\t", " ")), style, text)


def _end(out: Builder, lineage: Lineage) -> None:
    out.gap()
    if not lineage.phrase:
        out.line(Piece("Type a phrase to see where it came from.", "dim"))
        return
    out.line(Piece(_ENDS[lineage.end], "good" if lineage.end != "absent" else "warning"))
    if lineage.end == "absent":
        out.line(Piece("Messages, answers, arguments, results and errors were looked through, whatever the case, the "
                       "spacing and the way of writing numbers. Names and other attributes are searched with / on the "
                       "timeline.", "dim"))  # fmt: skip
    if len(lineage.steps) >= MOST_STEPS:
        out.line(Piece(f"Only {MOST_STEPS} steps are followed.", "warning"))
    if lineage.elsewhere > len(lineage.steps):
        out.line(Piece(f"As it is written it stands in {plural(lineage.elsewhere, 'place')} of this trace.", "dim"))
