"""SQL of the user: what it sees, and that it can do nothing but read that."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from debugger.cli import main
from debugger.errors import QueryCancelledError, SqlError
from debugger.scratch import process_scratch
from debugger.store import Column, Console, Store, _store, console_over
from debugger.store._calls import KeptCalls
from debugger.store.result_files import write_result
from runtime.messages import Call, part_to_json
from tests.support.repo import ROOT

SAMPLES = ROOT / "sample_traces"
DESK = SAMPLES / "travel_desk.otlp.jsonl"

COLUMNS = {
    "calls": "trace_id span_id parent_span_id kind name agent_name provider model tool_name started start_unix_nano "
    "duration_ns is_error error_type error_message input_tokens output_tokens cost_usd service",
    "messages": "trace_id span_id direction position role text parts",
    "attributes": "trace_id span_id key value",
    "events": "trace_id span_id name time_unix_nano attributes",
    "logs": "trace_id span_id event_name time_unix_nano severity body attributes",
    "issues": "path line reason",
    "traces": "trace_id name service start_unix_nano duration_ns spans llm_calls tool_calls agents errors input_tokens "
    "output_tokens cost_usd",
}


@pytest.fixture(scope="module")
def console():
    with Store.memory() as store:
        store.load([str(DESK)])
        with store.console() as console:
            yield console


def rows(console, query):
    return [row for piece in console.run(query)[1] for row in piece]


@pytest.mark.parametrize("view", COLUMNS)
def test_views_have_the_columns_that_the_docs_promise(console, view):
    columns, pieces = console.run(f"from {view}")
    list(pieces)
    assert [column.name for column in columns] == COLUMNS[view].split()
    told = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert f"| `{view}` | {', '.join(f'`{name}`' for name in COLUMNS[view].split())} |" in told


def test_sums_agree_with_the_list_of_traces(console):
    with Store.memory() as store:
        store.load([str(DESK)])
        row = store.traces()[0]
    found = rows(console, "select spans, llm_calls, errors, input_tokens, duration_ns from traces")
    assert found == [(row.spans, row.llm_calls, row.errors, row.input_tokens, row.duration_ns)]
    query = "select sum(input_tokens)::bigint from calls where kind in ('llm', 'embedding')"
    assert rows(console, query) == [(row.input_tokens,)]
    assert rows(console, "select count(*) from messages where role = 'system' and text like '%travel desk%'")[0][0] > 0


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('/etc/passwd')", "from read_text('/etc/passwd')", "from read_blob('/etc/passwd')",
        "from '/etc/passwd'", "from glob('/*')", "from read_json('http://127.0.0.1/x')",
        "from sniff_csv('/etc/passwd')",
        "from 'http://127.0.0.1/a.parquet'", "from read_parquet('/etc/passwd')", "from parquet_metadata('/x')",
        "from read_duckdb('{other}')", "from query('copy (select 1) to ''{out}''')", "from query_table('/etc/passwd')",
        "copy (select 1) to '{out}'", "explain analyze copy (select 1) to '{out}'", "attach '{out}'", "install httpfs",
        "explain (format json) copy (select 1) to '{out}'", "explain analyze insert into issues values ('a', 1, 'b')",
        "load httpfs", "set memory_limit = '8GB'", "pragma database_list", "call enable_logging()", "checkpoint",
        "create table x as select 1", "drop view spans", "insert into part0.spans select * from part0.spans",
        "with x as (insert into issues values ('a', 1, 'b') returning *) from x", "select getenv('HOME')",
        "prepare x as select 1", "execute x", "export database '{out}'", "select 1; select 2", "", "-- nothing",
        "explain select 1; drop view spans", "explain /* */ analyze copy (select 1) to '{out}'",
        "select (select max(content) from read_text('/etc/passwd'))", "selec 1", "delete from below.hidden", "vacuum",
        "with x as (delete from below.hidden returning *) from x",
        "merge into issues using spans on false when not matched "
        "then insert values ('a', 1, 'b')", "begin", "use part0", "reset lock_configuration", "import database '/'",
    ],
)  # fmt: skip
def test_nothing_but_reading_the_views_is_answered(console, tmp_path, query):
    other, out = tmp_path / "other.duckdb", tmp_path / "out"
    if "{other}" in query:
        with duckdb.connect(other) as made:
            made.execute("create table secret as select 1")
    before = rows(console, "select (select count(*) from issues), (select count(*) from spans)")
    with pytest.raises(SqlError):
        rows(console, query.format(other=other, out=out))
    assert not out.exists()
    assert rows(console, "select (select count(*) from issues), (select count(*) from spans)") == before


def test_a_mistake_is_said_with_its_place(console):
    with pytest.raises(SqlError) as fault:
        console.run("select kind,\n  nme from calls")
    assert (fault.value.line, fault.value.column) == (2, 3)
    assert "Candidate bindings" in fault.value.reason


def test_the_schema_is_what_can_be_asked(console):
    schema = console.schema()
    found = {name: [column.name for column in columns] for name, columns in schema.tables}
    assert found.keys() == {*COLUMNS, "spans"}
    assert all(found[name] == told.split() for name, told in COLUMNS.items())
    assert {"is_error", "attributes"} <= set(found["spans"])
    assert {"count", "quantile_cont", "lower"} <= set(schema.functions)
    assert not {name for name in schema.functions if name.startswith(("read_", "duckdb_"))}
    for name in found:
        list(console.run(f"from {name} limit 1")[1])


def test_what_the_views_are_made_of_is_not_shown(console):
    assert [name for (name,) in rows(console, "show tables")] == [name for name, _ in console.schema().tables]


def test_a_value_that_is_nested_too_deep_is_refused(console):
    assert rows(console, f"select len({'[' * 150}1{']' * 150})") == [(1,)]
    with pytest.raises(SqlError, match="more than 200 levels"):
        rows(console, f"select {'[' * 600}1{']' * 600}")


def test_several_stores_are_asked_as_one_without_what_was_thrown_away():
    with Store.memory() as one, Store.memory() as other:
        one.load([str(DESK)])
        other.load([str(SAMPLES / "order_watch.otlp.jsonl")])
        ids = [store.traces()[0].trace_id for store in (one, other)]
        with console_over([one, other]) as console:
            assert {row[0] for row in rows(console, "select trace_id from traces")} == set(ids)
        with console_over([one, other], hidden=ids[:1]) as console:
            assert rows(console, "select distinct trace_id from messages") == [(ids[1],)]


def test_a_query_that_would_never_end_is_interrupted(console):
    has_ended = threading.Event()

    def interrupt() -> None:
        # Again and again: an interrupt before the query has begun is for nobody.
        while not has_ended.wait(0.1):
            console.interrupt()

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        with pytest.raises(QueryCancelledError):
            rows(console, "select count(*) from range(1000000000000) a, range(1000000000) b")
    finally:
        has_ended.set()
        interrupting.join()
    assert rows(console, "select 1") == [(1,)]


def test_the_command_writes_tables_json_csv_and_parquet(capsys, tmp_path):
    query = "select kind, count(*) as n from calls group by all order by kind"
    assert main(["sql", query, str(DESK)]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["kind", "n"]
    assert main(["sql", query, str(DESK), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"kind": "llm", "n": 6} in found
    assert main(["sql", query, str(DESK), "--csv"]) == 0
    assert next(csv.DictReader(io.StringIO(capsys.readouterr().out)))["kind"] == "agent"
    assert main(["sql", query, str(DESK), "-o", str(tmp_path / "o.parquet")]) == 0
    with duckdb.connect() as plain:
        assert ("llm", 6) in plain.execute(f"from '{tmp_path / 'o.parquet'}'").fetchall()
    assert main(["sql", "from span", str(DESK), "-o", str(tmp_path / "none.csv")]) == 2
    assert "there is no view span; did you mean spans? there are attributes, calls, " in capsys.readouterr().err
    assert not (tmp_path / "none.csv").exists()
    assert main(["sql", query, str(DESK), "-o", str(tmp_path / "o.txt")]) == 2


def test_the_library_is_asked_without_what_was_removed(capsys, tmp_path):
    library = str(tmp_path / "library")
    count = ["sql", "select count(*) as n from traces", "--library", library, "--json"]
    assert main(["load", str(SAMPLES), "--library", library]) == 0
    capsys.readouterr()
    assert main(count) == 0
    before = json.loads(capsys.readouterr().out)[0]["n"]
    trace_id = json.loads(_listed(capsys, library))[0]["trace_id"]
    assert main(["library", "remove", trace_id, "--library", library]) == 0
    capsys.readouterr()
    assert main(count) == 0
    assert json.loads(capsys.readouterr().out)[0]["n"] == before - 1


def _listed(capsys, library):
    assert main(["list", "--library", library, "--json"]) == 0
    return capsys.readouterr().out


def test_a_result_that_ends_early_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("before")

    def pieces():
        yield [(1,)]
        raise QueryCancelledError("q")

    with pytest.raises(QueryCancelledError):
        write_result(path, [Column("n", "INTEGER")], pieces())
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("rows.csv", "before")]


@pytest.fixture
def no_collection():
    """Hypothesis measures each collection of garbage; an interrupt that Python raises in there is lost."""
    yield gc.disable
    gc.enable()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_query_that_python_hears_nothing_of(monkeypatch, tmp_path, no_collection, number, code):
    process_scratch()  # of all tests: not in this one's folder
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = signal.getsignal(number)
    run = Console.run

    def pressed(console: Console, query: str) -> object:
        assert list(tmp_path.glob("retrospan-scratch-*"))
        no_collection()
        os.kill(os.getpid(), number)
        return run(console, query)

    monkeypatch.setattr(Console, "run", pressed)
    assert main(["sql", "select count(*) from range(100000000000) a, range(1000) b", str(DESK)]) == code
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) == before


def test_ctrl_c_ends_a_write_to_a_pipe_that_stands_still(monkeypatch, tmp_path, no_collection):
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    for size in (1 << 16, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(reader, bytes(size))

    def pressed(out, *_):
        out.write("what closing would wait for")
        no_collection()
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("debugger.store.result_files.write_text", pressed)
    assert main(["sql", "from range(9)", str(DESK), "-o", str(pipe)]) == 130
    os.close(reader)
    os.mkfifo(pipe.with_suffix(".parquet"))
    assert main(["sql", "from range(9)", str(DESK), "-o", str(pipe.with_suffix(".parquet"))]) == 2


def asked(capsys, *words):
    """Exit code, output and errors of a query to a sample."""
    code = main(["sql", words[0], str(DESK), *words[1:]])
    return code, *capsys.readouterr()


def test_values_of_every_kind_can_be_written(capsys, tmp_path):
    query = "select 'a\\xff'::blob b, ['\\xff'::blob] l, map{'k': 1} m, {'x': [1.5::decimal(3,1)]} s, null n"
    row = {"b": "Yf8=", "l": ["/w=="], "m": {"k": 1}, "s": {"x": ["1.5"]}, "n": None}
    assert json.loads(asked(capsys, query, "--json")[1]) == [row]
    (cells,) = csv.DictReader(io.StringIO(asked(capsys, query, "--csv")[1]))
    assert {key: json.loads(cells[key]) for key in "lms"} == {key: row[key] for key in "lms"}
    assert (cells["b"], cells["n"]) == ("Yf8=", "")
    path = tmp_path / "o.parquet"
    assert asked(capsys, query, "-o", str(path))[0] == 0
    with duckdb.connect() as plain:
        assert plain.execute(f"select m, s.x[1]::varchar from '{path}'").fetchall() == [({"k": 1}, "1.5")]
    code, _, said = asked(capsys, "select row(1, 'a') r", "-o", str(path))
    assert code == 2
    assert "the rows cannot be written as Parquet" in said
    assert said.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["o.parquet"], "what was there stays"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("name", ["full.csv", "full.json", "full.parquet"])
def test_a_result_for_a_full_disk_is_one_line(name, capsys, tmp_path):
    (tmp_path / name).symlink_to("/dev/full")
    code, _, said = asked(capsys, "from range(9)", "-o", str(tmp_path / name))
    assert code == 2
    assert said.startswith(f"retrospan: {tmp_path / name}: cannot be written (")
    assert said.count("\n") == 1


def test_a_terminal_sees_control_characters_and_a_file_gets_them(capsys, monkeypatch):
    query = "select '=1+' || chr(27) || '[2J' as \"a\x1b\""
    assert asked(capsys, query, "--csv")[1] == "a\x1b\n=1+\x1b[2J\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert asked(capsys, query, "--csv")[1] == "a␛\n=1+␛[2J\n"


def test_rows_come_in_pieces_of_bounded_size(console, monkeypatch):
    sizes = [len(piece) for piece in console.run("select repeat('x', 3000000) x, range from range(8)")[1]]
    assert sizes == [3, 3, 2]
    assert [len(piece) for piece in console.run("from range(2500)")[1]] == [1000, 1000, 500]
    monkeypatch.setattr("debugger.store._console.MOST_IN_CELL", 1000)
    assert rows(console, "select repeat('x', 1000) x")
    with pytest.raises(SqlError, match=r"a value has 1,002 characters or bytes"):
        rows(console, "select ['ab', repeat('x', 1000)] x")


def test_what_is_refused_is_said_in_words_of_the_user(console):
    with pytest.raises(SqlError) as fault:
        rows(console, "pivot calls on kind using count(*)")
    assert "a PIVOT has to say which columns it makes" in str(fault.value)
    assert rows(console, f"select llm from (pivot calls on kind {fault.value.hint[-19:]} using count(*))")
    for acts in ("select write_log('x')", "from checkpoint()", 'from "Force_Checkpoint" ()', "from enable_profiling()"):
        with pytest.raises(SqlError, match=r"\(\) does something instead of answering"):
            rows(console, acts)
    said = "select 'checkpoint()', $$nextval('x')$$ -- write_log(1)\n /* checkpoint() */"
    assert rows(console, said) == [("checkpoint()", "nextval('x')")], "what is only said is not called"
    told = rows(console, "from duckdb_extensions()"), rows(console, "from duckdb_settings()")
    assert str(Path.home() / ".duckdb") not in repr(told)


def test_each_message_is_kept_once_and_stands_where_the_calls_say():
    with Store.memory() as store:
        store.load([str(DESK)])
        calls = store.calls(store.traces()[0].trace_id)
        said = [
            (call.span_id, direction, place, message.role, [part_to_json(part) for part in message.parts])
            for call in calls
            for direction, messages in (("input", call.input_messages), ("output", call.output_messages))
            for place, message in enumerate(messages or ())
        ]
        with store.console() as console:
            found = rows(console, "select span_id, direction, position, role, parts from messages")
            assert sorted((*row[:4], json.loads(row[4])) for row in found) == sorted(said, key=str)
            assert rows(console, "select count(*) from below.message_texts")[0][0] < len(said)


def test_reading_messages_tells_how_far_it_is_and_begins_anew_once_it_was_stopped(monkeypatch):
    monkeypatch.setattr(_store, "_TOLD_EVERY", 3)
    seen = []
    with Store.memory() as store:
        store.load([str(DESK)])
        with store.console() as console:
            tell = console._tell

            def stops(done: int, total: int) -> None:
                seen.append((done, total))
                console.interrupt()
                tell(done, total)

            monkeypatch.setattr(console, "_tell", stops)
            with pytest.raises(QueryCancelledError):
                rows(console, "select count(*) from messages")
            assert seen == [(3, 14)]
            assert console.reading is None
            monkeypatch.undo()
            assert rows(console, "select count(*) > 0, count(*) = count(distinct (span_id, direction, position)) from "
                        "messages") == [(True, True)]  # fmt: skip


def test_a_trace_is_read_once_however_many_wait_for_it():
    kept = KeptCalls()
    began, goes_on = threading.Event(), threading.Event()
    told, found = [], []
    version = (1, "")

    def slowly(tell):
        began.set()
        assert goes_on.wait(30)
        tell(7)
        return [call]

    def never(_):
        raise AssertionError("read twice")

    def waits(done):
        told.append(done)
        goes_on.set()

    call = Call(
        trace_id="t", span_id="s", parent_span_id=None, kind="llm", name="n", start_unix_nano=1, end_unix_nano=2
    )
    reader = threading.Thread(target=lambda: found.append(kept.read("t", version, slowly, lambda _: None)))
    reader.start()
    assert began.wait(30)
    assert kept.read("t", version, never, waits) == [call]
    reader.join()
    assert told[0] == 0
    assert found == [[call]]
    assert kept.get("t", (2, "")) is None

    def stopped(done):
        raise QueryCancelledError("t")

    with pytest.raises(QueryCancelledError):
        kept.read("u", version, lambda tell: tell(1), stopped)
    assert kept.read("u", version, lambda _: [call], lambda _: None) == [call]
