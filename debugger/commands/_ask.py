"""The terminal's side of ``--mode ask``: shows what the recording cannot answer, and reads what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ..errors import ReplayError

if TYPE_CHECKING:
    from runtime.journal import Question, Supplied

_MOST = 2_000
"""Characters of a request or proposal that are shown."""
_HOW = "result as JSON or text; empty = as proposed, !error TEXT = it fails, !live = do it for real, !stop = end here"


def terminal_prompt() -> Callable[[Question], Supplied]:
    """Asks on the terminal itself, so that standard input and output stay free for data.

    Raises: ReplayError: there is no terminal.
    """
    try:
        # Held as long as it asks; one for each direction, since a terminal cannot be sought in.
        heard = Path("/dev/tty").open(encoding="utf-8")  # noqa: SIM115
        shown = Path("/dev/tty").open("w", encoding="utf-8")  # noqa: SIM115
    except OSError as fault:
        raise ReplayError("ask mode needs a terminal to ask on", hint="use --mode live or strict here") from fault
    return lambda question: ask_on(heard, shown, question)


def ask_on(heard: TextIO, terminal: TextIO, question: Question) -> Supplied:
    """Ask one question; the end of the input ends the replay."""
    from runtime.journal import Supplied
    from runtime.messages import ErrorInfo

    from ..replay.editing import supplied_value

    asked = question.request[-1] if question.kind == "llm" and question.request else question.request
    _write(terminal, f"\n? {question.kind} {question.name}: {question.reason}")
    _write(terminal, f"  asked:    {_shown(asked)}")
    if question.proposal is not None:
        _write(terminal, f"  proposed: {_shown(question.proposal)}")
    terminal.write(f"  {_HOW}\n> ")
    terminal.flush()
    line = heard.readline()
    text = line.strip()
    if not line or text == "!stop" or (not text and question.proposal is None):
        return Supplied(kind="stop")
    if text == "!live":
        return Supplied(kind="live")
    if text.startswith("!error"):
        return Supplied(kind="error", error=ErrorInfo("Error", text.removeprefix("!error").strip() or "failed"))
    return Supplied(kind="result", value=supplied_value(question.kind, text) if text else question.proposal)


def _write(terminal: TextIO, text: str) -> None:
    from ..analysis.text import visible

    terminal.write("\n".join(visible(line) for line in text.split("\n")) + "\n")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST else text[:_MOST] + "…"
