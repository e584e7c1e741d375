"""The export dialog: what, where to, and what is taken out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from ..exporting import SUFFIXES, ExportJob, What
from ..keymap import bindings
from ..widgets.drawn import OneLine, Run, key_for
from .editor import EditorScreen
from .files import NoFileNameError, file_named

_SAID: dict[What, str] = {
    "trace": "its spans as OTLP JSON, which OpenTelemetry tools read",
    "conversation": "every message once, as Markdown",
    "snapshot": "the state at the playhead, else at the end, as JSON",
}
_REDACTIONS: Sequence[tuple[tuple[str, ...], str]] = (
    ((), "nothing is taken out"),
    (("secret",), "secrets are taken out: keys, tokens, passwords"),
    (("all",), "also personal data: mail, phone, card, account numbers"),
)


class ExportScreen(EditorScreen[ExportJob | None]):
    """Answers with what to write, or None.

    Args:
        job: what is proposed.
        name: makes a file that is free, from the ending of its name.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("export")
    has_one_line = True
    title_text = "Export"

    def __init__(self, job: ExportJob, name: Callable[[str], Path]) -> None:
        super().__init__()
        self.job = job
        self._free_file = name
        self._redaction = 0

    def above(self) -> ComposeResult:
        """The choices."""
        yield OneLine(id="export-what")
        yield OneLine(id="export-redaction")
        yield OneLine(id="editor-line")

    def on_mount(self) -> None:
        """Show what is proposed."""
        self.propose(str(self.job.path))
        self.area.focus()
        self._draw()

    def _draw(self, warning: str = "") -> None:
        what, redaction = (Run(f"{key_for(self, f'export.{name}')} ", "key") for name in ("what", "redaction"))
        self.query_one("#export-what", OneLine).pieces = (
            what, Run(f"{self.job.what:<13}", "strong"), Run(_SAID[self.job.what]),
        )  # fmt: skip
        self.query_one("#export-redaction", OneLine).pieces = (
            redaction, Run("redaction    ", "dim"), Run(_REDACTIONS[self._redaction][1]),
        )  # fmt: skip
        self.say_above(warning or "to the file", "warning" if warning else "dim")

    def action_what(self) -> None:
        """Write something else."""
        order = list(SUFFIXES)
        what = order[(order.index(self.job.what) + 1) % len(order)]
        if self.area.text == str(self.job.path):
            self.job = replace(self.job, path=self._free_file(SUFFIXES[what]))
            self.propose(str(self.job.path))
        self.job = replace(self.job, what=what, overwrites=False)
        self._draw()

    def action_redaction(self) -> None:
        """Take out more, or nothing."""
        self._redaction = (self._redaction + 1) % len(_REDACTIONS)
        self._draw()

    def action_done(self) -> None:
        """Write; where the file is there, only when asked once more."""
        try:
            path = file_named(self.area.text.strip())
        except NoFileNameError as fault:
            self._draw(fault.message)
            return
        is_again = self.job.overwrites and self.job.path == path
        self.job = replace(self.job, path=path, redaction=_REDACTIONS[self._redaction][0], overwrites=True)
        if path.exists() and not is_again:
            self._draw(f"{path.name} is there already; the same key again replaces it.")
        else:
            self.dismiss(replace(self.job, overwrites=is_again))
