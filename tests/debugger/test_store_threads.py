"""The store and threads: readers beside a load, and queries that are cut short."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from debugger.errors import QueryCancelledError
from debugger.store import Store

from .otlp import TRACE, line, span


def sid(number: int) -> str:
    return f"{number:016x}"


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.memory() as fresh:
        yield fresh


def test_threads_read_while_another_loads(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(line(*(span(spanId=sid(i * 100 + j + 1)) for j in range(100))) for i in range(60)))
    counts: list[int] = []
    loading = threading.Thread(target=lambda: store.load([path]))
    loading.start()
    while loading.is_alive():
        counts.append(len(store.spans(TRACE)))
    loading.join()
    assert counts == sorted(counts)
    assert len(store.spans(TRACE)) == 6000


def test_an_interrupted_query_says_so(store: Store) -> None:
    import duckdb

    def interrupted(*_: object) -> None:
        raise duckdb.InterruptException("INTERRUPT Error")

    class Cursor:
        execute = staticmethod(interrupted)

    store._database._cursors[threading.get_ident()] = Cursor()  # type: ignore[assignment]
    with pytest.raises(QueryCancelledError) as cancelled:
        store.traces()
    assert cancelled.value.query == "trace_list"
    del store._database._cursors[threading.get_ident()]


def test_interrupt_reaches_the_cursor_of_the_thread(store: Store) -> None:
    called: list[str] = []

    class Cursor:
        def interrupt(self) -> None:
            called.append("interrupt")

        def close(self) -> None: ...

    store._database._cursors[12345] = Cursor()  # type: ignore[assignment]
    store.interrupt(12345)
    store.interrupt(54321)
    assert called == ["interrupt"]
