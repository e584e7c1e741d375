"""A replay for the screen: what will run, what is running, and how it came out beside the recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ..replay.model import (
    CallStatus,
    Divergence,
    Edit,
    Ended,
    ReplayCall,
    ReplayJob,
    ReplayPlan,
    ReplayReport,
)
from ..store.rows import SpanRow
from .document import Builder, Document, Line, Piece, Style, told, told_lines
from .text import cost, duration, one_line
from .tree import name_of
from .word_diff import diff_lines, diff_text, difference_lines, place_pieces

STATUS_SIGNS: dict[CallStatus, tuple[str, Style]] = {
    "running": ("… running", "dim"),
    "hit": ("✓ hit", "good"),
    "reused": ("↺ reused", "good"),
    "live": ("» live", "warning"),
    "supplied": ("✎ supplied", "warning"),
    "missed": ("✗ missed", "error"),
    "error": ("✗ error", "error"),
}
"""How each status reads in a row; the sign tells them apart without colour."""

NO_ANSWER: Final = "no answer"
"""What is said of a call that was still running when its replay ended."""
_KIND: dict[str, tuple[str, Style]] = {"llm": ("◆", "llm"), "tool": ("▲", "tool"), "value": ("·", "dim")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """One call of the replay beside the recorded call that answered it."""

    kind: str
    name: str
    status: CallStatus
    recorded: str
    """The recorded call's name, after a ``≈`` where it only comes near; a dash where there is none."""
    origin_span_id: str | None


def replay_row(call: ReplayCall, recorded: Mapping[str, SpanRow], nearest: str | None = None) -> ReplayRow:
    """The call as a row, given the recorded spans by id, and for a call that missed the recorded one nearest to it."""
    origin = recorded.get(call.origin_span_id) if call.origin_span_id else None
    near = recorded.get(nearest) if nearest and origin is None else None
    return ReplayRow(
        kind=call.kind,
        name=one_line(call.name),
        status=call.status,
        recorded=name_of(origin) if origin else f"≈ {name_of(near)}" if near else "",
        origin_span_id=call.origin_span_id,
    )


def left_out(recorded: Mapping[str, SpanRow], report: ReplayReport) -> tuple[SpanRow, ...]:
    """The recorded model and tool calls that a replay did not come to, in the order of the recording.

    What lies inside a call that was answered as a whole, or around one that was made again, is none of its own.
    """
    asked = {call.origin_span_id for call in report.calls}
    if report.first_divergence is not None:
        asked.add(report.first_divergence.nearest_span_id)
    around: set[str] = set()
    for span_id in asked:
        row = recorded.get(span_id or "")
        while row is not None and row.parent_span_id is not None and row.parent_span_id not in around:
            around.add(row.parent_span_id)
            row = recorded.get(row.parent_span_id)
    out: list[SpanRow] = []
    covered: set[str] = set()
    for row in recorded.values():
        if row.span_id in asked or row.parent_span_id in covered:
            covered.add(row.span_id)
        elif row.kind in ("llm", "tool") and row.span_id not in around:
            covered.add(row.span_id)
            out.append(row)
    return tuple(out)


def row_pieces(row: ReplayRow) -> tuple[Piece, Piece]:
    """Glyph and name, and the sign of the status."""
    glyph, style = _KIND.get(row.kind, ("·", ""))
    sign, sign_style = STATUS_SIGNS[row.status]
    return Piece(f"{glyph} {row.name}", style), Piece(sign, sign_style)


def counts_text(calls: Iterable[ReplayCall], *, runs: bool = False) -> str:
    """``9 hit · 1 missed``, in the order of ``STATUS_SIGNS``, absent ones left out; ``runs``: more may come."""
    found: dict[str, int] = {}
    for call in calls:
        found[call.status] = found.get(call.status, 0) + 1
    words = {} if runs else {"running": NO_ANSWER}
    said = [f"{found[status]:,} {words.get(status, status)}" for status in STATUS_SIGNS if status in found]
    return " · ".join(said) or ("no calls yet" if runs else "no calls")


def from_where(job: ReplayJob, span_name: str | None) -> str:
    """What the job starts from, in words."""
    if job.span_id is None:
        return "the whole trace"
    point = f"{job.anchor} {one_line(span_name, job.span_id)}"
    if job.edits:
        return f"the whole trace, changed from the point {point} on"
    if job.rest_recorded:
        return f"the whole recording answers, also past the point {point}"
    return f"up to the point {point}"


_ENDED: dict[Ended, tuple[str, Style]] = {
    "done": ("came to its end", "good"),
    "past_cut": ("came to the cut without diverging", "good"),
    "diverged": ("✗ diverged from the recording", "error"),
    "failed": ("✗ failed", "error"),
    "cancelled": ("cancelled", "warning"),
    "nothing": ("- nothing to replay", "dim"),
}


def headline(report: ReplayReport) -> Piece:
    """The result in one short sentence."""
    ended = _ended(report)
    unreached = report.unreached
    if not unreached or report.ended == "cancelled":
        return ended
    paths = ", ".join(map(one_line, unreached[:_MOST_PATHS])) + (", …" if len(unreached) > _MOST_PATHS else "")
    return Piece(f"✗ {ended.text.lstrip('✓✗ ')}; change not reached: {paths}", "error")


_MOST_PATHS: Final = 3
"""Paths that the headline names; the edits below it tell all."""


def _ended(report: ReplayReport) -> Piece:
    text, style = _ENDED[report.ended]
    if report.same_output and report.ended in ("done", "failed"):
        return Piece("✓ same output as recorded" if report.ended == "done" else "✓ failed as recorded", "good")
    if report.same_output is False and report.ended == "failed":
        recorded = "the recorded run failed otherwise" if report.recorded_error else "the recorded run did not"
        return Piece(f"✗ failed; {recorded}", "error")
    if report.same_output is False and report.recorded_error:
        return Piece(f"✗ {text}; the recorded run failed", "error")
    if report.same_output is False:
        return Piece(f"✗ {text.removeprefix('✗ ')}, with another output than recorded", "error")
    return Piece(text, style)


def result_document(report: ReplayReport, opens: str = "enter", saves: str = "s") -> Document:
    """The result as lines: headline, counts, savings, the divergence with what differs, outputs, prints."""
    out = Builder()
    out.line(headline(report))
    out.line(Piece(counts_text(report.calls), "dim"))
    saved = [text for text in (_saved_time(report), _saved_money(report)) if text]
    if saved:
        out.line(Piece("saved ", "dim"), Piece(" and ".join(saved), "good"))
    if used := _used(report):
        out.line(Piece("used ", "dim"), Piece(used, "warning"))
    # Where a rebuilt agent ran without a cut, a state that is not exact had no part in it.
    if report.fidelity != "exact" and (report.notes or report.program or report.job.span_id):
        out.line(told(report.fidelity, "warning", before="! fidelity: "))
    _edits(out, report.edits)
    for i, note in enumerate(report.notes):
        out.text(f"note{i}", note, style="dim", first=(Piece("· ", "dim"),))
    if report.error:
        out.gap()
        out.text("error", report.error, style="error", first=(Piece("✗ ", "error"),))
    if report.recorded_error and report.same_output is False:
        out.text("recorded_error", report.recorded_error, style="dim", first=(Piece("recorded: ✗ ", "dim"),))
    if report.first_divergence is not None:
        _divergence(out, report.first_divergence)
    _outputs(out, report)
    if report.printed:
        out.heading("the agent printed")
        out.body("printed", [Line((piece,), 2) for text in report.printed for piece in told_lines(text, "dim")])
    if report.trace_id is not None and report.trace_fault:
        out.gap()
        out.text("fault", f"the replay's own trace could not be written: {report.trace_fault}", style="warning",
                 first=(Piece("! ", "warning"),))  # fmt: skip
    elif report.trace_id is not None:
        out.gap()
        out.line(Piece("The replay is a trace of its own, a branch of the recording: ", "dim"),
                 Piece(opens, "key"), Piece(" opens it.", "dim"))  # fmt: skip
        if report.job.output:
            out.text("kept", f"It is kept in {report.job.output}", style="dim")
        else:
            out.line(Piece("It is temporary and gone when Retrospan is left: ", "dim"), Piece(saves, "key"),
                     Piece(" saves it and says where.", "dim"))  # fmt: skip
    return out.document()


def _edits(out: Builder, edits: Iterable[Edit]) -> None:
    """What a fork changes, word by word where it is a text."""
    for i, edit in enumerate(edits):
        unreached = () if edit.is_reached else (Piece("  not reached: nothing has changed by it", "error"),)
        out.line(Piece("✎ ", "warning"), told(edit.path, "key"), *unreached)
        out.body(f"edit{i}", diff_lines(diff_text(edit.was), diff_text(edit.value), 2))


def _used(report: ReplayReport) -> str:
    """What the calls used that were done for real."""
    usage = report.live_usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    tokens = f"{usage.input_tokens or 0:,} tokens in and {usage.output_tokens or 0:,} out"
    return tokens if usage.cost_nano_usd is None else f"{tokens}, {cost(usage.cost_nano_usd)}"


def _saved_time(report: ReplayReport) -> str:
    return duration(report.saved_ns) if report.saved_ns is not None and report.saved_ns > 0 else ""


def _saved_money(report: ReplayReport) -> str:
    return cost(report.saved_nano_usd) if report.saved_nano_usd else ""


def _divergence(out: Builder, found: Divergence) -> None:
    glyph, style = _KIND.get(found.kind, ("·", ""))
    out.heading("first divergence")
    out.line(told(found.name, style, before=f"{glyph} "), told(found.call_id, "dim", before="  "), indent=2)
    out.text("reason", found.reason, indent=2, first=(Piece(f"{found.cause}: ", "strong"),))
    for i, difference in enumerate(found.differences):
        out.gap()
        out.line(*place_pieces(difference), indent=2)
        out.body(f"d{i}", difference_lines(difference, 4))
    if found.differences:
        out.gap()
        out.line(Piece("[-recorded-]", "removed"), Piece(" "), Piece("{+asked now+}", "added"), indent=2)


def _outputs(out: Builder, report: ReplayReport) -> None:
    if report.same_output is None or (report.ended == "failed" and report.output is None):
        return
    if report.same_output:
        out.heading("output")
        out.json("output", report.output, indent=2)
        return
    out.heading("output, recorded and now")
    out.body("outputs", diff_lines(diff_text(report.recorded_output), diff_text(report.output), 2))


def waiting_document(where: str) -> Document:
    """What the dialog before a replay says while the plan from another place is worked out."""
    out = Builder()
    out.line(Piece("from       ", "dim"), Piece(where), hang=11)
    out.gap()
    out.line(Piece("Working out what a replay from there would do…", "dim"))
    return out.document()


def question_document(plan: ReplayPlan, where: str, job: ReplayJob) -> Document:
    """What the dialog before a replay says: what runs, from where, whether it is trusted."""
    out = Builder()
    if plan.problem:
        out.line(Piece("This cannot be replayed as it is.", "warning"))
        out.gap()
        out.text("problem", plan.problem)
        out.gap()
        out.text("way", "The state before and after any span can be looked at all the same. "
                 "An agent of your own can be named when the trace is opened: retrospan FILE --agent FILE.py:NAME",
                 style="dim")  # fmt: skip
        return out.document()
    out.line(Piece("runs       ", "dim"), told(plan.entry_point, "strong", "nothing"), hang=11)
    if plan.is_rebuilt:
        trust = Piece("made of the recorded calls alone: no program runs", "good")
    elif job.agent:
        trust = Piece("named by you with --agent, instead of what the trace names", "good")
    elif plan.trusted:
        trust = Piece("found beside the trace or in the samples: trusted", "good")
    else:
        trust = Piece("! the trace names this program; run it only if you trust where the trace came from", "warning")
    out.line(Piece("           "), trust, hang=11)
    out.line(Piece("from       ", "dim"), Piece(where), hang=11)
    out.gap()
    out.text("sentence", plan.sentence)
    _edits(out, plan.edits)
    for i, note in enumerate(plan.notes):
        out.text(f"note{i}", note, style="dim", first=(Piece("· ", "dim"),))
    if plan.warning:
        out.gap()
        out.text("warning", plan.warning, style="warning", first=(Piece("! ", "warning"),))
    if plan.lacking is not None and job.mode == "live":
        out.gap()
        out.text("lacking", plan.lacking, style="warning", first=(Piece("! ", "warning"),))
    return out.document()
