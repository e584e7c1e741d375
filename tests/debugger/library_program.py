"""A program for the tests of the library: loads that are killed, and many processes at once.

Its own process never opens a database: each step is a fork of it, so that the imports are paid once.

Usage: ``library_program.py kill FOLDER NUMBER SEED`` or ``library_program.py crowd FOLDER``.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import debugger.store.library._compact as compaction
from debugger.store import Library
from tests.debugger.otlp import START, line, span

compaction.MOST, compaction.FEWEST = 2, 1

TRACES = [f"{number:032x}" for number in range(1, 5)]


def write_files(folder: Path) -> list[Path]:
    """Files of which each has something of two traces."""
    out = []
    for number in range(4):
        path = folder / f"{number}.jsonl"
        spans = [
            span(traceId=trace, spanId=f"{number + 1:016x}", startTimeUnixNano=START + number, name=f"{number}")
            for trace in (TRACES[number], TRACES[(number + 1) % 4])
        ]
        path.write_bytes(b"".join(map(line, spans)))
        out.append(path)
    return out


def said(library: Library) -> Any:
    """What a library holds."""
    reader = library.reader()
    return [[row.trace_id, [x.name for x in reader.spans(row.trace_id)]] for row in reader.traces()]


def forked(work: Callable[[], Any]) -> tuple[int, Any]:
    """Do it in a process of its own: the signal that killed it, or 0, and what it found."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        code = 1
        try:
            os.write(writing, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read()
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, f"a step failed with {status}"
    return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0), (json.loads(text) if text else None)


def die_at(number: int | None) -> Callable[[], int]:
    """Kill this process at the nth call of anything from now on; gives the number of calls so far."""
    calls = 0

    def called(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(called)
    return lambda: calls


def load(folder: Path, paths: list[Path]) -> Any:
    with Library.open(folder) as library:
        library.load(paths)
        return said(library)


def loaded_to_death(folder: Path, path: Path, number: int | None) -> int:
    counted = die_at(number)
    try:
        with Library.open(folder) as library:
            library.load([path])
        return counted()
    finally:
        sys.setprofile(None)


def read(folder: Path) -> Any:
    with Library.open(folder) as library:
        return said(library)


def kill(folder: Path, number: int, seed: int) -> None:
    """Kill a load at random moments. Whatever the moment, the library is as before or as after, and goes on."""
    *first, last = write_files(folder)
    base = folder / "base"
    for path in first[:-1]:
        forked(lambda path=path: load(base, [path]))
    _, before = forked(lambda: load(base, [first[-1]]))
    whole = folder / "whole"
    shutil.copytree(base, whole)
    _, calls = forked(lambda: loaded_to_death(whole, last, None))
    _, after = forked(lambda: read(whole))
    assert before != after
    rng = random.Random(seed)
    results = {"before": 0, "after": 0}
    for turn in range(number):
        here = folder / f"kill-{turn}"
        shutil.copytree(base, here)
        # Every other time towards the end, where it is published and compacted.
        at = rng.randrange(1 if turn % 2 else calls * 2 // 3, calls + 1)
        died, _ = forked(lambda here=here, at=at: loaded_to_death(here, last, at))
        # How many calls it takes differs a little from one time to the next, so the last of them may not come.
        assert died == signal.SIGKILL or at > calls * 0.9
        _, found = forked(lambda here=here: read(here))
        assert found in (before, after), f"killed at call {at} of {calls}: {found}"
        results["before" if found == before else "after"] += 1
        _, again = forked(lambda here=here: load(here, [last]))
        assert again == after, f"killed at call {at} of {calls}, then loaded again: {again}"
        left = {path.name for path in (here / "segments").iterdir() if not path.name.endswith(".duckdb")}
        assert found == after or not left, f"left behind after a kill at call {at}: {left}"
        shutil.rmtree(here)
    print(json.dumps(results))


def crowd(folder: Path) -> None:
    """Four processes load files at once, two of them the same, while one reads; in the end all is there, once."""
    paths = write_files(folder)
    home = folder / "library"
    forked(lambda: read(home))
    children = []
    for order in (paths, paths[::-1], [paths[2], paths[0]], [paths[2], paths[0]]):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                with Library.open(home) as library:
                    for path in order:
                        library.load([path])
                code = 0
            except BaseException:
                traceback.print_exc()
                raise
            finally:
                os._exit(code)
        children.append(pid)

    def watch() -> int:
        seen: dict[str, set[str]] = {}
        with Library.open(home) as library:
            reader = library.reader()
            while len(seen) < len(TRACES) or any(len(names) < 2 for names in seen.values()):
                for row in reader.traces():
                    names = {x.name for x in reader.spans(row.trace_id)}
                    assert names >= seen.get(row.trace_id, set()), "what was there is gone"
                    seen[row.trace_id] = names
        return len(seen)

    _, watched = forked(watch)
    assert watched == len(TRACES)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0
    _, found = forked(lambda: read(home))
    alone = folder / "alone"
    _, expected = forked(lambda: load(alone, paths))
    assert found == expected, (found, expected)
    print(json.dumps({"traces": len(found)}))


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    if what == "kill":
        kill(Path(where), *map(int, rest))
    else:
        crowd(Path(where))
