"""What a library costs: loading into it, opening it, listing it, one trace, one span, size and memory.

Each step that a command would do runs in a process of its own. Usage: ``bench_library.py [SPANS] [FILE]``; the file is
made where it is not there. Compare ratios, not seconds.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from bench_import import bare_decode, timed
from generate import write

_STEPS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {}


def step(work: Callable[[Path, Path], dict[str, Any]]) -> Callable[[Path, Path], dict[str, Any]]:
    """A step that gets the library's folder and the file."""
    _STEPS[work.__name__] = work
    return work


@step
def load(folder: Path, path: Path) -> dict[str, Any]:
    """Into a new library."""
    from debugger.store import Library

    first: list[float] = []
    began = time.perf_counter()
    with Library.open(folder) as library:
        summary = library.load([path], on_progress=lambda _: first or first.append(time.perf_counter() - began))
    return {"seconds": time.perf_counter() - began, "spans": summary.spans, "first rows": first[0]}


@step
def memory_store(folder: Path, path: Path) -> dict[str, Any]:
    """The same file into a store in memory, for comparison."""
    from debugger.store import Store

    began = time.perf_counter()
    with Store.memory() as store:
        store.load([path])
    return {"seconds": time.perf_counter() - began}


@step
def load_again(folder: Path, path: Path) -> dict[str, Any]:
    """A file that the library holds."""
    from debugger.store import Library

    with Library.open(folder) as library:
        library.load([])
        return {"ms": timed(lambda: library.load([path]), 5) * 1000}


@step
def read(folder: Path, path: Path) -> dict[str, Any]:
    """First and later looks at a library that is there: all but the first in a process that has it open."""
    from debugger.store import Library

    began = time.perf_counter()
    with Library.open(folder) as library:
        reader = library.reader()
        traces = reader.traces()
        opened = time.perf_counter() - began
        ids = [row.trace_id for row in traces]
        some = ids[:: max(len(ids) // 20, 1)]

        def fresh_list() -> None:
            for attached in reader._segments._view.segments:
                attached.traces = None
            reader._segments._listed = (None, [])
            reader.traces()

        def each(work: Callable[[str], object]) -> float:
            seconds = []
            for trace_id in some:
                start = time.perf_counter()
                work(trace_id)
                seconds.append(time.perf_counter() - start)
            return median(seconds) * 1000

        spans = {trace_id: reader.spans(trace_id)[-1].span_id for trace_id in some}
        return {
            "open and first list ms": opened * 1000,
            "list read again ms": timed(fresh_list, 5) * 1000,
            "list kept ms": timed(reader.traces, 5) * 1000,
            "refresh us": timed(reader.refresh, 5) * 1e6,
            "one trace ms": each(reader.spans),
            "one span ms": each(lambda trace_id: reader.span(trace_id, spans[trace_id])),
            "traces": len(ids),
        }


def _step(name: str, folder: Path, path: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, name, folder, path], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print the table."""
    if len(sys.argv) > 3:
        found = _STEPS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found | {"peak MB": peak}))
        return
    spans = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(scratch, "bench.jsonl")
        if not path.exists():
            write(path, spans)
        folder = Path(scratch, "library")
        size = path.stat().st_size
        decode = timed(lambda: bare_decode(path), 1)
        print(f"{spans:,} spans, {size / 1e6:,.0f} MB; bare decode {decode:.2f} s", flush=True)
        for name in ("load", "memory_store", "load_again", "read"):
            found = _step(name, folder, path)
            print(f"{name:<14}" + ", ".join(f"{key} {value:,.2f}" for key, value in found.items()), flush=True)
        held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"on disk        {held / 1e6:,.0f} MB, {held / size:.3f} of the input")
        command = [sys.executable, "-m", "debugger.cli", "list", "--json", "--library", str(folder)]
        bare = timed(lambda: subprocess.run([sys.executable, "-c", "import duckdb"], check=True), 3)
        listed = timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ), 3)
        print(f"retrospan list {listed:.2f} s, {listed / bare:.1f} x an interpreter that imports duckdb")


if __name__ == "__main__":
    main()
