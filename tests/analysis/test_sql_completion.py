"""How a query can go on: where the cursor stands decides what is offered."""

from __future__ import annotations

import pytest

from debugger.analysis.sql_choices import query_rows, schema_rows
from debugger.analysis.sql_completion import SqlNames, complete_sql
from debugger.analysis.sql_view import cell_text, result_view, row_document, sql_problem_document, target_of

NAMES = SqlNames(
    {
        "calls": (("trace_id", "VARCHAR"), ("model", "VARCHAR"), ("cost_usd", "DOUBLE")),
        "messages": (("trace_id", "VARCHAR"), ("text", "VARCHAR")),
    },
    ("count", "mode", "corr"),
)


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("sel|", ["select"]),
        ("select | from calls", []),
        ("select mo| from calls", ["model", "mode("]),
        ("select co| from calls", ["cost_usd", "count(", "corr("]),
        ("select te| from calls", []),
        ("select te|", ["text"]),
        ("select * from |", ["calls", "messages"]),
        ("select * from calls c join |", ["calls", "messages"]),
        ("select * from calls c, |", ["calls", "messages"]),
        ("select * from calls c where c.|", ["trace_id", "model", "cost_usd"]),
        ("select * from calls as c join messages m where m.te|", ["text"]),
        ("select m.| from messages m", ["trace_id", "text"]),
        ("select nobody.| from messages m", []),
        ("select 'fro|", []),
        ("select 'it''s' fro|", ["from"]),
        ("select 1 -- fro|", []),
        ('select "mo|', []),
        ("/* fro|", []),
        ("select 12|", []),
        ("|", []),
        ("SELECT MO| FROM CALLS", ["model", "mode("]),
    ],
)
def test_offers(text, offered):
    found = complete_sql(text.replace("|", ""), text.index("|"), NAMES)
    assert list(found.candidates) == offered


def test_a_whole_word_says_what_it_is():
    found = complete_sql("select model from calls", 12, NAMES)
    assert (found.start, found.hint) == (7, "varchar, of calls")


def test_rows_of_choices():
    rows = query_rows([("one", "select 1")], [("mine\x1b", "select 2")], ["select 3"])
    assert [row.title for row in rows] == ["saved", "mine␛", "examples", "one", "asked before", ""]
    assert [row.is_heading for row in rows] == [True, False] * 3
    assert [row.column for row in schema_rows(NAMES, {"messages"})] == ["", "", "trace_id", "text"]


def test_a_result_is_measured_made_harmless_and_leads_to_its_span():
    hostile = "\x1b[31m[b]red\u202e\n" + "x" * 500
    view = result_view([("trace_id", "VARCHAR"), ("n", "DECIMAL(18,3)"), (hostile, "JSON")], [("a", 5, hostile)])
    assert [column.is_number for column in view.columns] == [False, True, False]
    assert view.columns[2].width == 60
    assert cell_text(hostile).startswith("␛[31m[b]red<U+202E>⏎")
    assert target_of(view, 0) == ("a", "")
    assert target_of(result_view([("n", "INTEGER")], [(1,)]), 0) is None
    assert "\x1b" not in row_document(view, 0).text
    shown = sql_problem_document("wrong\x1b", "", "select\n\t\x1bbad", 2, 3).text.splitlines()
    assert shown[2:4] == ["   2     ␛bad", "          ^ here"]
