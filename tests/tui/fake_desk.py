"""Answers in SQL that are made up."""

from __future__ import annotations

from pathlib import Path

from debugger.analysis.sql_completion import SqlNames
from debugger.analysis.sql_view import ResultView, result_view
from debugger.errors import SqlError


class FakeDesk:
    """Implements ``debugger.tui.session.SqlDesk``: one row, whatever is asked."""

    def names(self) -> SqlNames:
        return SqlNames({"calls": (("trace_id", "VARCHAR"), ("model", "VARCHAR"))}, ("count",))

    def ask(self, text: str) -> ResultView:
        if "nope" in text:
            raise SqlError("there is no nope", line=1, column=text.index("nope") + 1)
        rows = [("a" * 32, f"{2:016x}", "gpt-4o-mini", 277, None)] * (0 if "false" in text else 3)
        types = [("trace_id", "VARCHAR"), ("span_id", "VARCHAR"), ("model", "VARCHAR"), ("n", "BIGINT"), ("x", "JSON")]
        return result_view(types, rows)

    def write(self, text: str, path: Path, *, overwrites: bool) -> int:
        return 3

    def stop(self) -> None:
        pass
