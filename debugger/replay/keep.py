"""Keeping the trace of a replay: a copy beside the recording, under a name that is free."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

from ..errors import ReplayError

_ENDINGS = frozenset((".gz", ".zst", ".zip", ".json", ".jsonl", ".ndjson", ".otlp", ".pb"))


def copy_beside(trace: Path, recording: Path) -> Path:
    """Copy a trace to ``NAME.replay-N.otlp.jsonl`` beside the recording; never over a file that is there.

    Args:
        trace: the file to copy.
        recording: the recording's file; gives folder and NAME.

    Raises:
        ReplayError: the copy cannot be written.
    """
    name = recording.name
    while (ending := Path(name).suffix) in _ENDINGS and name != ending:
        name = name.removesuffix(ending)
    for number in itertools.count(1):
        target = recording.parent / f"{name}.replay-{number}.otlp.jsonl"
        try:
            with trace.open("rb") as source, target.open("xb") as copy:
                try:
                    shutil.copyfileobj(source, copy)
                except OSError:
                    target.unlink()
                    raise
        except FileExistsError:
            continue
        except OSError as fault:
            raise ReplayError(
                f"{fault.filename or target}: the replay cannot be kept there ({fault.strerror})",
                hint="`retrospan replay FILE -o FILE` writes elsewhere",
            ) from fault
        return target
    raise AssertionError("unreachable: the numbers never end")
