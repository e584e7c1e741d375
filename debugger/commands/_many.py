"""Many replays at once: in parallel, with a bar while they run, and a summary as text or JUnit."""

from __future__ import annotations

import os
import sys
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ..whole_file import whole_file

if TYPE_CHECKING:
    from ..replay.model import ReplayReport
    from ..store.rows import TraceRow

_BAR: Final = 24
_LOOK_S: Final = 0.2


def add_many(parser: ArgumentParser) -> None:
    """The arguments that count where there are several traces."""
    group = parser.add_argument_group(
        "several traces", "A folder, or a file with several traces, is replayed as a whole."
    )
    group.add_argument("--jobs", metavar="N", type=_number, help="so many at once; default: the number of processors")
    group.add_argument("--junit", metavar="FILE", type=Path, help="write the results as JUnit XML")


def _number(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def replay_many(
    trace_ids: Sequence[str], one: Callable[[str, Callable[[], bool]], ReplayReport], args: Namespace
) -> list[ReplayReport]:
    """The reports, in the order of the traces; fewer than traces where the user broke off.

    Then the replays that ran have been ended, and count as not done.

    Args: one: replays one trace, given its id and what tells that it is cancelled; must not raise what is of the trace.
    """
    workers = min(len(trace_ids), args.jobs or os.cpu_count() or 1)
    stop = threading.Event()
    bar = _Bar(len(trace_ids))
    done: dict[str, ReplayReport] = {}
    with ThreadPoolExecutor(workers, thread_name_prefix="replay") as pool:
        waiting: dict[Future[ReplayReport], str] = {pool.submit(one, id_, stop.is_set): id_ for id_ in trace_ids}
        try:
            while waiting:
                ended, _ = wait(waiting, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                for future in ended:
                    report = done[waiting.pop(future)] = future.result()
                    bar.count(report)
        except BaseException as fault:
            stop.set()
            for future in waiting:
                future.cancel()
            if not isinstance(fault, KeyboardInterrupt):
                raise
        finally:
            bar.clear()
    return [done[trace_id] for trace_id in trace_ids if trace_id in done]


class _Bar:
    """A line on the terminal that overwrites itself; nothing where standard error is no terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._bad = 0
        self._shows = sys.stderr.isatty()
        self._next = 0.0
        self._draw()

    def count(self, report: ReplayReport) -> None:
        from ..replay.report import is_yes

        self._done += 1
        self._bad += report.ended != "nothing" and not is_yes(report)
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._shows or (now < self._next and self._done < self._total):
            return
        self._next = now + 0.1
        full = self._done * _BAR // self._total
        bad = f", {self._bad} not as recorded" if self._bad else ""
        line = f"replaying [{'#' * full}{'.' * (_BAR - full)}] {self._done}/{self._total}{bad}"
        sys.stderr.write(f"\r\x1b[K{line}\r")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shows:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def written(
    args: Namespace,
    asked: Sequence[str],
    reports: Sequence[ReplayReport],
    rows: Sequence[TraceRow],
    text_of: Callable[[ReplayReport], str],
    extra: Mapping[str, object] = MappingProxyType({}),
) -> str:
    """The reports as text or JSON, as the words ask for; the JUnit file is written, where one is wanted.

    Args: asked: the traces that were to be replayed. extra: what the JSON of a single report has beside it.

    Raises: UnwritableError: the JUnit file.
    """
    from ..analysis.prices import live_cost
    from ..replay.report import report_to_json
    from ._json import dump

    if args.junit:
        _write_junit(args.junit, asked, reports, rows, text_of)
    if args.json:
        found = [report_to_json(report) for report in reports]
        for report, document in zip(reports, found, strict=True):
            computed = live_cost(report.live) if report.live else None
            document["live_usage"]["computed_cost"] = computed.to_json() if computed else None
        return dump(found if len(asked) > 1 else {**found[0], **extra}, indent=2) + "\n"
    return _summary_text(len(asked), reports, rows, text_of) if len(asked) > 1 else text_of(reports[0])


def exit_code_of(args: Namespace, asked: Sequence[str], reports: Sequence[ReplayReport]) -> int:
    """0 where every trace that has something to replay came out as recorded, else 1; also 1 where none has.

    2 where the file for the replay's own trace could not be written.

    Raises: KeyboardInterrupt: the user broke off.
    """
    from ..replay.report import is_yes

    if len(reports) < len(asked):
        raise KeyboardInterrupt
    if args.output and any(report.trace_fault for report in reports):
        return 2
    replayed = [report for report in reports if report.ended != "nothing"]
    return int(not replayed or not all(map(is_yes, replayed)))


def _summary_text(
    asked: int, reports: Sequence[ReplayReport], rows: Sequence[TraceRow], text_of: Callable[[ReplayReport], str]
) -> str:
    """One line for each trace that came out as recorded, the whole report of the others, and the totals."""
    from ..analysis.replay_view import counts_text, headline
    from ..analysis.text import visible
    from ..replay.report import is_yes

    names = {row.trace_id: row.name for row in rows}
    good, bad = [], []
    nothing = 0
    for report in reports:
        title = visible(f"{report.job.trace_id[:12]}  {names.get(report.job.trace_id, '')}")
        if report.ended == "nothing":
            nothing += 1
            good.append(f"{headline(report).text}  {title}  {report.error}\n")
        elif is_yes(report):
            good.append(f"{headline(report).text}  {title}  {counts_text(report.calls)}\n")
        else:
            bad.append(f"{title}\n{text_of(report)}\n")
    total = f"{len(good) - nothing} of {len(reports) - nothing} traces came out as recorded" if reports else ""
    total += f", {nothing} with nothing to replay\n" if nothing else "\n" if reports else ""
    if len(reports) < asked:
        total += f"broken off: {asked - len(reports)} of {asked} traces were not replayed to their end\n"
    return "".join(good) + ("\n" if good and bad else "") + "\n".join(bad) + total


def _write_junit(
    path: Path,
    asked: Sequence[str],
    reports: Sequence[ReplayReport],
    rows: Sequence[TraceRow],
    text_of: Callable[[ReplayReport], str],
) -> None:
    """The results in the form that test servers read; skipped is what has no report, or nothing to replay.

    Raises: UnwritableError.
    """
    from xml.etree import ElementTree as xml

    from ..replay.report import is_yes

    named = {row.trace_id: row for row in rows}
    done = {report.job.trace_id: report for report in reports}
    nothing = sum(report.ended == "nothing" for report in reports)
    bad = sum(not is_yes(report) for report in reports) - nothing
    counts = {"tests": len(asked), "failures": bad, "errors": 0, "skipped": len(asked) - len(done) + nothing}
    suite = xml.Element("testsuite", {name: str(count) for name, count in counts.items()}, name="retrospan replay")
    for trace_id in asked:
        row, report = named.get(trace_id), done.get(trace_id)
        case = xml.SubElement(
            suite,
            "testcase",
            classname=_printable((row.service if row else None) or "trace"),
            name=_printable(f"{row.name if row else ''} {trace_id}".strip()),
        )
        if report is None:
            xml.SubElement(case, "skipped", message="broken off before it was replayed to its end")
        elif report.ended == "nothing":
            xml.SubElement(case, "skipped", message=_printable(report.error or ""))
        elif not is_yes(report):
            why = report.first_divergence.reason if report.first_divergence else report.error or report.ended
            failure = xml.SubElement(case, "failure", message=_printable(why), type=report.ended)
            failure.text = _printable(text_of(report))
    with whole_file(path) as unfinished:
        unfinished.write_bytes(xml.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n")


def _printable(text: str) -> str:
    """Text that XML 1.0 can hold."""
    return "".join(
        c if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c < "\ufffe") else "\ufffd" for c in text
    )
