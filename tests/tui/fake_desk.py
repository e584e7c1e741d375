"""Answers in SQL that are made up."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from debugger.analysis.branches import BranchWords
from debugger.analysis.sql_completion import SqlNames
from debugger.analysis.sql_view import ResultView, result_view
from debugger.errors import SqlError
from debugger.store.rows import NumbersBy, NumbersRow


class FakeDesk:
    """Implements ``debugger.tui.session.SqlDesk``: one row, whatever is asked."""

    matches = frozenset(("a" * 32, f"{2:016x}"))
    """The traces and spans for which every condition holds."""

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

    def numbers(self, by: NumbersBy, trace_ids: Collection[str] | None) -> list[NumbersRow]:
        if by == "tool":
            return []
        ms = 1_000_000
        spread = ((100 * ms, 3), (200 * ms, 1), (None, 0))
        return [
            NumbersRow("gpt-4o-mini", 3, 1, (80 * ms, *[90 * ms] * 3), 90 * ms, 230 * ms, 891, 229, 4_200_000, spread),
            NumbersRow(None, 1, 0, None, None, None, None, None, None, ((100 * ms, 0), (200 * ms, 0), (None, 0))),
        ]  # fmt: skip

    def matching(self, condition: str, trace_id: str | None) -> frozenset[str]:
        if "nope" in condition:
            raise SqlError("there is no nope", line=1, column=condition.index("nope") + 1)
        return self.matches

    def reading(self) -> tuple[int, int] | None:
        return None

    def stop(self) -> None:
        pass


class FakeWords:
    """The part of a session that puts traces and replays into words: the same for each replay."""

    words: BranchWords | None = None
    words_asked = "Plan a day in Lyon: check the weather first."

    def opening(self, trace_id: str) -> str:
        return self.words_asked

    def branch(self, trace_id: str) -> BranchWords | None:
        return self.words
