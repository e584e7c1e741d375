"""A comparison for reading: one line a call, the numbers of both sides, and what differs word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.journal import Difference
from runtime.messages import Call, Json

from .compare import ComparedCall, Comparison, Status, Totals
from .conversation import GLYPHS, KIND_STYLES, summary
from .document import Builder, Document, Line, Piece, Style, told, told_lines
from .text import cost, count, duration, plural
from .word_diff import difference_lines, place_pieces

SIGNS: dict[Status, tuple[str, Style]] = {
    "same": ("=", "dim"),
    "changed": ("~", "warning"),
    "removed": ("-", "removed"),
    "added": ("+", "added"),
}
"""How each status reads; the sign tells them apart without colour."""

_SHOWN = 20
"""Differences of one call that are listed."""


def counts_text(comparison: Comparison) -> str:
    """``14 same · 2 changed · 1 added``, absent ones left out."""
    found: dict[Status, int] = {}
    for row in comparison.rows:
        found[row.status] = found.get(row.status, 0) + 1
    return " · ".join(f"{found[status]:,} {status}" for status in SIGNS if status in found) or "no calls"


def totals_pairs(left: Totals, right: Totals) -> list[tuple[str, str, str, bool]]:
    """Name, left and right text of each number, and whether they differ."""
    pairs: list[tuple[str, str, str]] = [
        ("calls", f"{left.calls:,}", f"{right.calls:,}"),
        ("model calls", f"{left.llm_calls:,}", f"{right.llm_calls:,}"),
        ("tool calls", f"{left.tool_calls:,}", f"{right.tool_calls:,}"),
        ("errors", f"{left.errors:,}", f"{right.errors:,}"),
        ("tokens in", count(left.input_tokens), count(right.input_tokens)),
        ("tokens out", count(left.output_tokens), count(right.output_tokens)),
        ("cost", cost(left.cost_nano_usd), cost(right.cost_nano_usd)),
        ("saved", cost(left.saved_nano_usd), cost(right.saved_nano_usd)),
        ("took", duration(left.duration_ns), duration(right.duration_ns)),
    ]
    return [(name, a, b, a != b) for name, a, b in pairs]


def totals_line(left: Totals, right: Totals, room: int | None = None) -> str:
    """The numbers on one line: ``tokens in 2.1k → 2.4k``, equal ones once, unknown ones not at all.

    Args:
        left: of the left trace.
        right: of the right trace.
        room: cells that there are, for shorter names and only as many numbers as fit; None writes all of them out.
    """
    known = [pair for pair in totals_pairs(left, right) if pair[1:3] != (count(None), count(None))]
    if room is None:
        return "   ".join(f"{name} {a} → {b}" if differs else f"{name} {a}" for name, a, b, differs in known)
    line = ""
    for name, a, b, differs in known:
        longer = f"{line}{'  ' if line else ''}{_SHORT.get(name, name)} {a}{f'→{b}' if differs else ''}"
        if len(longer) > room:
            break
        line = longer
    return line


_SHORT: Final = {"model calls": "model", "tool calls": "tool", "tokens in": "tok in", "tokens out": "out"}


def parts_text(row: ComparedCall) -> str:
    """What differs, in a word each: ``message, output, tokens``."""
    if row.status != "changed":
        return {"removed": "only left", "added": "only right"}.get(row.status, "")
    return ", ".join(dict.fromkeys(difference.part for difference in row.differences))


def row_head(row: ComparedCall) -> tuple[Piece, Piece, Piece]:
    """Sign, glyph and name, both names where they differ."""
    sign, style = SIGNS[row.status]
    kind_style = KIND_STYLES[row.kind]
    return Piece(f"{sign} ", style), Piece(f"{GLYPHS[row.kind]} ", kind_style), Piece(row.both_labels, kind_style)


def call_document(row: ComparedCall) -> Document:
    """Everything about one row: numbers of both sides, then each difference word by word."""
    out = Builder()
    out.line(*row_head(row), Piece(f"   {_STATUS[row.status]}", "dim"))
    for name, a, b in _numbers(row.left, row.right):
        out.pair(name, a if a == b else f"{a} → {b}", style="" if a == b else "strong")
    _differences(out, row.differences)
    if row.status in ("removed", "added"):
        one = row.left or row.right
        assert one is not None
        _only(out, one, "removed" if row.status == "removed" else "added")
    elif row.status == "same":
        out.gap()
        out.line(Piece("Request, answer, error, tokens and cost are the same.", "dim"))
    return out.document(f"compare {row.both_labels}")


def _only(out: Builder, call: Call, style: Style) -> None:
    """What a call that only one side has was given, and what came of it."""
    out.gap()
    told_of: dict[str, Json] = {"arguments": call.arguments} if call.arguments is not None else {}
    if call.has_result:
        told_of["result"] = call.result
    if call.error is not None or not told_of:
        out.text("what", summary(call), style=style)
    for name, value in told_of.items():
        out.line(Piece(name, "dim"))
        out.json(name, value, indent=2)


_STATUS: dict[Status, str] = {
    "same": "the same in both",
    "changed": "in both, with differences",
    "removed": "only in the left one",
    "added": "only in the right one",
}


def _numbers(left: Call | None, right: Call | None) -> list[tuple[str, str, str]]:
    def both(name: str, texts: Sequence[str]) -> tuple[str, str, str]:
        return name, texts[0], texts[1]

    calls = (left, right)
    return [
        both("took", [duration(call.duration_ns) if call else "-" for call in calls]),
        both("tokens in", [count(call.usage.input_tokens) if call else "-" for call in calls]),
        both("tokens out", [count(call.usage.output_tokens) if call else "-" for call in calls]),
        both("cost", [cost(call.usage.cost_nano_usd) if call else "-" for call in calls]),
    ]


def _differences(out: Builder, differences: Sequence[Difference]) -> None:
    for i, difference in enumerate(differences[:_SHOWN]):
        out.gap()
        out.line(*place_pieces(difference))
        out.body(f"d{i}", _lines(difference, 2))
    if len(differences) > _SHOWN:
        out.line(Piece(f"… and {plural(len(differences) - _SHOWN, 'more difference')}", "dim"))
    if differences:
        out.gap()
        out.line(Piece("[-left-]", "removed"), Piece(" "), Piece("{+right+}", "added"))


def _lines(difference: Difference, indent: int) -> list[Line]:
    """What differs, word by word; what only one side has at all, in words."""
    was, now = difference.recorded, difference.actual
    if difference.path == "unfinished":
        return [Line((Piece(f"never ended in the {'left' if was else 'right'} one, ended in the other"),), indent)]
    if difference.path != "error" or (was is None) == (now is None):
        return difference_lines(difference, indent)
    side, other, error, style = ("left", "right", was, _REMOVED) if now is None else ("right", "left", now, _ADDED)
    lines = [Line((Piece(f"failed in the {side} one, not in the {other} one"),), indent)]
    if isinstance(error, dict):
        words = [str(error[key]) for key in ("type", "message") if error.get(key)]
        lines += [Line((piece,), indent) for piece in told_lines(": ".join(words), style)]
    return lines


_REMOVED: Final[Style] = "removed"
_ADDED: Final[Style] = "added"


def trace_document(comparison: Comparison, left: str, right: str) -> Document:
    """The whole comparison: the numbers, and every call that differs. For a terminal without a screen."""
    out = Builder()
    out.line(Piece("- ", "removed"), told(left))
    out.line(Piece("+ ", "added"), told(right))
    out.line(Piece(totals_line(comparison.left, comparison.right), "dim"))
    out.line(
        Piece("The same calls with the same content." if comparison.is_same else counts_text(comparison), "strong")
    )
    if comparison.stopped:
        out.line(Piece(f"✗ {comparison.stopped}", "error"))
    same = 0
    for row in comparison.rows:
        if row.status == "same":
            same += 1
            continue
        _skipped(out, same)
        same = 0
        out.line(*row_head(row), Piece(f"   {parts_text(row)}", "dim"), indent=min(2 * row.depth, 40))
        for difference in row.differences[:_SHOWN]:
            out.line(told(difference.path, "key"), indent=min(2 * row.depth, 40) + 4)
            for line in _lines(difference, min(2 * row.depth, 40) + 6):
                out.line(*line.pieces, indent=line.indent)
    _skipped(out, same if not comparison.is_same else 0)
    return out.document()


def _skipped(out: Builder, same: int) -> None:
    if same:
        out.line(Piece(f"  … {plural(same, 'call')} the same", "dim"))


def snapshot_document(differences: Sequence[Difference], left: str, right: str) -> Document:
    """What differs between two snapshots."""
    out = Builder()
    out.line(Piece("- ", "removed"), told(left))
    out.line(Piece("+ ", "added"), told(right))
    same = "The same frames, memory, journals, status and budget."
    out.line(Piece(plural(len(differences), "difference") if differences else same, "strong"))
    for difference in differences:
        out.line(told(difference.path, "key"))
        for line in difference_lines(difference, 2):
            out.line(*line.pieces, indent=line.indent)
    return out.document()
