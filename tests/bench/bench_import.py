"""How fast a file becomes rows, against the least that any loader must do.

The floor: the typed decode of the file with its wide parts left raw, plus an in-memory bulk insert of the very rows
that the loader makes. Usage: ``bench_import.py [SPANS] [REPEATS]``. Compare ratios, not seconds.
"""

from __future__ import annotations

import gc
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb
from generate import write

from debugger.importers import otlp_json
from debugger.store import Store
from debugger.store._calls import KeptCalls
from debugger.store._database import Database, sql_text


def timed(work: Callable[[], object], repeats: int) -> float:
    """Median seconds."""
    seconds = []
    for _ in range(repeats):
        gc.collect()
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def bare_decode(path: Path) -> None:
    """Typed decode of every line, nothing else."""
    gc.disable()
    with path.open("rb") as lines:
        for line in lines:
            otlp_json._decode(line)
    gc.enable()


def insert(rows: list[tuple[object, ...]]) -> None:
    """The rows of a load into an empty database in memory, by the appender in its best piece size."""
    connection = duckdb.connect()
    connection.execute(sql_text("schema"))
    gc.disable()
    connection.begin()
    with connection.appender("spans") as appender:
        for i in range(0, len(rows), 2048):
            appender.append_rows(rows[i : i + 2048])
            appender.flush()
    connection.commit()
    gc.enable()
    connection.close()


def load(path: Path) -> Store:
    """The whole loader."""
    store = Store.memory()
    store.load([path])
    return store


def first_rows(path: Path) -> float:
    """Seconds until the first rows can be read."""
    began = time.perf_counter()
    seen: list[float] = []
    with Store.memory() as store:
        store.load([path], on_progress=lambda _: seen.append(time.perf_counter() - began), cancelled=lambda: bool(seen))
    return seen[0]


def main() -> None:
    """Print the table."""
    spans = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench.jsonl")
        size = write(path, spans)
        print(f"{spans:,} spans, {size / 1e6:.0f} MB")
        decode = timed(lambda: bare_decode(path), repeats)
        bulk = _bulk_seconds(path, repeats)
        whole = timed(lambda: load(path).close(), repeats)
        floor = decode + bulk
        store = load(path)
        trace_id = store.traces()[0].trace_id
        queries = {
            "list of traces": timed(store.traces, 5),
            "rows of one trace": timed(lambda: store.spans(trace_id), 5),
            "calls of one trace": timed(lambda: _fresh_calls(store, trace_id), 5),
        }
        print(f"bare decode          {decode:7.2f} s")
        print(f"bulk insert          {bulk:7.2f} s")
        print(f"load                 {whole:7.2f} s  {whole / floor:5.2f} x of the floor, {spans / whole:,.0f} spans/s")
        print(f"first rows           {first_rows(path):7.2f} s")
        for name, seconds in queries.items():
            print(f"{name:<20} {seconds * 1000:7.1f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of all this: {peak:,.0f} MB")


def _bulk_seconds(path: Path, repeats: int) -> float:
    rows = _rows_of(path)
    return timed(lambda: insert(rows), repeats)


def _rows_of(path: Path) -> list[tuple[object, ...]]:
    """The rows that the loader hands to the database."""
    taken: list[tuple[object, ...]] = []
    plain = Database.append

    def keep(self: Database, table: str, rows: object) -> None:
        batch = list(rows)  # type: ignore[call-overload]
        if table == "spans":
            taken.extend(batch)
        plain(self, table, batch)

    Database.append = keep  # type: ignore[method-assign, assignment]
    try:
        load(path).close()
    finally:
        Database.append = plain  # type: ignore[method-assign]
    return taken


def _fresh_calls(store: Store, trace_id: str) -> None:
    store._calls = KeptCalls()
    store.calls(trace_id)


if __name__ == "__main__":
    main()
