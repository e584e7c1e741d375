"""An error as a readable panel: what went wrong in one sentence, what to do, and which cuts would work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .document import Builder, Document, Piece
from .text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What an error says, as plain data."""

    title: str
    sentence: str
    hint: str = ""
    nearest: tuple[str, ...] = ()
    """Anchors that would work, in words."""


def problem_of(error: BaseException, title: str, names: Mapping[str, str] | None = None) -> Problem:
    """The error as data. Errors of ours bring ``hint`` and, from restore, ``nearest``; others only their message.

    Args:
        error: what was raised.
        title: what was being done.
        names: span names by id, so that anchors read as names.
    """
    said = str(error).strip()
    kind = type(error).__name__
    ours = type(error).__module__.partition(".")[0] in ("runtime", "debugger")
    sentence = said if said and ours else f"{kind}: {said}" if said else kind
    nearest = tuple(_anchors(getattr(error, "nearest", None), names or {}))
    # A restore error's hint only lists the same anchors by id.
    hint = "" if nearest else str(getattr(error, "hint", "") or "")
    return Problem(title=title, sentence=sentence, hint=hint, nearest=nearest)


def _anchors(nearest: object, names: Mapping[str, str]) -> Iterable[str]:
    if nearest is None or isinstance(nearest, str) or not isinstance(nearest, Iterable):
        return
    for item in nearest:
        span_id, anchor = _anchor(item)
        if span_id is None:
            yield one_line(str(item))
        else:
            yield f"{anchor} {one_line(names.get(span_id, span_id))}  {one_line(span_id)}"


def _anchor(item: object) -> tuple[str | None, str]:
    """An anchor in any of its forms: an object or mapping with span id and anchor, or a pair."""
    if isinstance(item, Mapping):
        return _pair(item.get("span_id"), item.get("anchor"))
    if isinstance(item, tuple) and len(item) == 2:
        if item[0] in ("before", "after"):
            return _pair(item[1], item[0])
        return _pair(item[0], item[1])
    return _pair(getattr(item, "span_id", None), getattr(item, "anchor", None))


def _pair(span_id: object, anchor: object) -> tuple[str | None, str]:
    return (span_id, str(anchor)) if isinstance(span_id, str) else (None, "")


def problem_document(problem: Problem) -> Document:
    """The panel."""
    out = Builder()
    out.line(Piece(f"✗ {problem.title}", "error"))
    out.gap()
    out.text("sentence", problem.sentence or "no reason given")
    if problem.hint:
        out.gap()
        out.text("hint", problem.hint, style="dim")
    if problem.nearest:
        out.heading("anchors that would work")
        for anchor in problem.nearest:
            out.line(Piece(anchor, "strong"), indent=2)
    return out.document(problem.title)
