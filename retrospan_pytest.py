"""The pytest plugin: a fixture that replays a trace and fails with the report where the replay diverges.

Loaded by every pytest run in an environment where Retrospan is installed, so it imports nothing, and ours least of all:
the replay runs in a process of its own, started by the fixture.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any


class ReplayFixture:
    """Replays traces for a test. Relative paths are meant from the folder of the test's file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def replay(
        self,
        trace: str,
        *,
        trace_id: str | None = None,
        agent: str | None = None,
        command: Sequence[str] = (),
        tools: Sequence[str] = (),
        run_tools: bool = False,
        together: bool = False,
        ignore: Sequence[str] = (),
        redact: Sequence[str] = (),
        options: Sequence[str] = (),
        timeout_s: float = 300.0,
    ) -> dict[str, Any]:
        """Replay a trace in strict mode; the test fails where it does not come out as recorded.

        Args:
            trace: the file.
            trace_id: which trace, where the file holds several; its first digits are enough.
            agent: ``FILE.py:NAME`` of the agent; without it and without a command, the one that the trace names.
            command: a program to run instead, such as ``["python", "agent.py"]``; ``python`` is this interpreter.
            tools: ``NAME=FILE.py:FUNCTION`` of plain functions of the program that are tools.
            run_tools: agree that tools which nothing answers really run.
            together: all traces of the file are of one run of the program.
            ignore: rules for what may differ: ``dates``, ``ids``, ``/pattern/`` or a path.
            redact: the rules with which the trace was redacted.
            options: further words for ``retrospan replay``.
            timeout_s: after which the replay is ended and the test fails.

        Returns: the report, as ``retrospan replay --json`` gives it.
        """
        words = ["replay", trace, "--json", *options]
        for name, values in (("--trace", [trace_id] if trace_id else []), ("--agent", [agent] if agent else [])):
            words += [word for value in values for word in (name, value)]
        for name, several in (("--tool", tools), ("--ignore", ignore), ("--redact", redact)):
            words += [word for value in several for word in (name, value)]
        words += ["--run-tools"] if run_tools else []
        words += ["--together"] if together else []
        return self._run(words, list(command), timeout_s)

    def _run(self, words: list[str], command: list[str], timeout_s: float) -> dict[str, Any]:
        import json
        import os
        import subprocess
        import sys

        if command:
            command[0] = sys.executable if command[0] in ("python", "python3") else command[0]
            words += ["--", *command]
        home = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
        # Its own folder leads the path, so that no package of the user's can stand in for one of ours.
        start = f"import sys; sys.path.insert(0, {home!r}); from debugger.cli import main; sys.exit(main(sys.argv[1:]))"
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", start, *words],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pytest.fail(f"the replay took longer than {timeout_s:g} s", pytrace=False)
        said = done.stderr.decode("utf-8", "replace")
        try:
            report = json.loads(done.stdout)
        except ValueError:
            pytest.fail(f"the replay did not start (exit code {done.returncode})\n{said}", pytrace=False)
        if done.returncode != 0:
            pytest.fail(f"{_text(report)}\n\n{said}".rstrip(), pytrace=False)
        found: dict[str, Any] = report
        return found


def _text(report: Any) -> str:
    """The report in words."""
    import json

    if isinstance(report, list):
        return "\n\n".join(map(_text, report))
    ended = {"diverged": "the replay diverged from the recording", "failed": "the replay failed"}
    lines = [ended.get(report["ended"], f"the replay ended as {report['ended']}")]
    counts = (f"{report[name]} {name}" for name in ("hits", "reused", "live", "misses", "errors") if report.get(name))
    lines.append(", ".join(counts) or "no calls")
    if report.get("error"):
        lines.append(str(report["error"]))
    divergence = report.get("first_divergence")
    if divergence:
        lines.append(f"first divergence: {divergence['kind']} {divergence['name']}: {divergence['reason']}")
        for one in divergence["differences"][:10]:
            was, now = (json.dumps(one[side], ensure_ascii=False) for side in ("recorded", "actual"))
            lines += [f"  {one['part']} {one['path']}", f"    recorded: {was}", f"    now:      {now}"]
    elif report.get("same_output") is False:
        was, now = (json.dumps(report[side], ensure_ascii=False) for side in ("recorded_output", "output"))
        lines += ["the output differs", f"    recorded: {was}", f"    now:      {now}"]
    return "\n".join(lines)


@pytest.fixture
def retrospan(request: pytest.FixtureRequest) -> ReplayFixture:
    """Replays traces: ``retrospan.replay("trace.otlp.jsonl", agent="agent.py:main")``."""
    return ReplayFixture(request.path.parent)
