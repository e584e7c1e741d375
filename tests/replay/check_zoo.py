"""Replays every trace of a folder with the agent rebuilt from it, and prints a table. Not collected by pytest.

    python tests/replay/check_zoo.py FOLDER_OR_FILE ...

Strict, no network, no program: a trace with model calls whose content was recorded must give no miss and the recorded
output (or the recorded error). Where a truth file (``NAME.expected.json``) lies beside the trace, the output is also
held against the last answer that the provider really gave.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from debugger.errors import DebuggerError
from debugger.replay.model import ReplayJob, ReplayReport
from debugger.replay.recording import Recording
from debugger.replay.run import run_replay
from debugger.store import Store
from runtime.messages import Call

ENDINGS = (
    ".otlp.jsonl",
    ".otlp.json",
    ".otlp.jsonl.gz",
    ".otlp.pb",
    ".otlp.pb.gz",
    ".console.json",
    ".console.json.gz",
)


class Row(NamedTuple):
    """One trace of the table."""

    file: str
    trace_id: str
    model_calls: int
    report: ReplayReport | None
    problem: str
    wanted: str | None
    """The last answer that the provider gave, by the truth file."""

    @property
    def is_good(self) -> bool:
        """Whether the replay did all that can be asked of it."""
        if self.report is None:
            return self.model_calls == 0 or "not recorded" in self.problem
        said = self.wanted is None or self.wanted.strip() in str(self.report.output)
        return self.report.count("missed") == 0 and self.report.same_output is True and said


def files_in(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Each trace file, with its log records where there are any."""
    for path in paths:
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if path.is_dir() and not file.name.endswith(ENDINGS):
                continue
            logs = file.with_name(file.name.replace(".otlp.", ".logs."))
            yield [file, logs] if logs != file and logs.exists() else [file]


def truth_of(file: Path) -> dict[str, Any]:
    """The truth file beside a trace; empty where there is none."""
    truth = file.with_name(f"{file.name.split('.')[0]}.expected.json")
    return dict(json.loads(truth.read_text("utf-8"))) if truth.exists() else {}


def wanted_output(calls: Sequence[Call], truth: dict[str, Any]) -> str | None:
    """What the provider said last in this trace; None where the truth does not tell or it failed."""
    llms = [call for call in calls if call.kind == "llm"]
    if not llms or llms[-1].error is not None:
        return None
    tokens = (llms[-1].usage.input_tokens, llms[-1].usage.output_tokens)
    fits = [
        call["output_text"]
        for call in truth.get("llm_calls", ())
        if (call.get("input_tokens"), call.get("output_tokens")) == tokens and call.get("output_text")
    ]
    return str(fits[0]) if len(set(fits)) == 1 else None


def check(files: Sequence[Path], folder: Path) -> Iterator[Row]:
    """Replay each trace of the files."""
    truth = truth_of(files[0])
    with Store.memory() as store:
        store.load(files)
        for trace in reversed(store.traces()):
            calls = store.calls(trace.trace_id)
            count = sum(call.kind == "llm" for call in calls)
            job = ReplayJob(trace_id=trace.trace_id, rebuild=True)
            recording = Recording(trace.trace_id, calls, files)
            try:
                report = run_replay(recording, job, folder / "replay.otlp.jsonl")
            except DebuggerError as fault:
                yield Row(files[0].name, trace.trace_id, count, None, str(fault), None)
                continue
            yield Row(files[0].name, trace.trace_id, count, report, "", wanted_output(calls, truth))


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where a row is not good."""
    bad = 0
    with TemporaryDirectory(prefix="retrospan-") as folder:
        for files in files_in([Path(argument) for argument in arguments]):
            for row in check(files, Path(folder)):
                bad += not row.is_good
                print(_line(row))
    print(f"{bad} not as wanted" if bad else "all as wanted")
    return int(bool(bad))


def _line(row: Row) -> str:
    head = f"{'ok ' if row.is_good else 'BAD'} {row.file:42} {row.trace_id[:8]} llm {row.model_calls:2}"
    if row.report is None:
        return f"{head}  {row.problem}"
    report = row.report
    counts = f"hits {report.count('hit'):2} misses {report.count('missed')} errors {report.count('error')}"
    same = {True: "same", False: "OTHER OUTPUT", None: "unknown"}[report.same_output]
    why = f" {report.error}" if report.error else ""
    missed = f" {report.first_divergence.reason}" if report.first_divergence else ""
    return f"{head}  {counts}  {report.ended} {same}{why[:60]}{missed}  [{'; '.join(report.notes)}]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
