"""Dialogs that ask for a new file or for a name."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType

from ...errors import DebuggerError
from ..keymap import bindings
from .editor import EditorScreen


class NoFileNameError(DebuggerError):
    """A text names no file that can be written; the message says why, as a sentence."""


def file_named(text: str) -> Path:
    """The file that is to be written. Raises: NoFileNameError."""
    if not text or "\n" in text:
        raise NoFileNameError("A file needs a name of one line.")
    try:
        path = Path(text).expanduser()
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except (OSError, RuntimeError) as fault:  # too long, in a folder that is not the user's, of a user who is unknown
        why = fault.strerror if isinstance(fault, OSError) else str(fault).rstrip(".")
        raise NoFileNameError(f"No file can be written there: {why}.") from fault
    if is_folder:
        raise NoFileNameError("That is a folder.")
    if not has_folder:
        raise NoFileNameError(f"There is no folder {path.parent}.")
    return path


class FileScreen(EditorScreen[tuple[Path, bool] | None]):
    """Answers with the file to write and whether it is there and may be replaced, or None.

    Args:
        title: what is written.
        path: what is proposed.
        endings: of the names of files that can be written.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("file")
    has_one_line = True

    def __init__(self, title: str, path: Path, endings: Collection[str]) -> None:
        super().__init__()
        self.title_text = title
        self._path = path
        self._endings = tuple(endings)
        self._warned: Path | None = None

    def on_mount(self) -> None:
        """Show what is proposed."""
        self.propose(str(self._path))
        self.area.focus()
        self.say_above(f"to the file, in the form of its ending: {' '.join(self._endings)}", "dim")

    def action_done(self) -> None:
        """Write; where the file is there, only when asked once more."""
        try:
            path = file_named(self.area.text.strip())
        except NoFileNameError as fault:
            self.say_above(fault.message)
            return
        if path.suffix not in self._endings:
            self.say_above(f"The name has to end in {', '.join(self._endings)}.")
        elif path.exists() and self._warned != path:
            self._warned = path
            self.say_above(f"{path.name} is there already; the same key again replaces it.")
        else:
            self.dismiss((path, self._warned == path))


class NameScreen(EditorScreen[str | None]):
    """Answers with the name for a query, or None.

    Args: taken: names that are used already.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("name")
    has_one_line = True
    title_text = "Save the query"

    def __init__(self, taken: Collection[str]) -> None:
        super().__init__()
        self._taken = taken
        self._warned = ""

    def on_mount(self) -> None:
        """Wait for a name."""
        self.area.focus()
        self.say_above("under the name", "dim")

    def action_done(self) -> None:
        """Save; where the name is used, only when asked once more."""
        name = " ".join(self.area.text.split())[:80]
        if not name:
            self.say_above("A name is needed.")
        elif name in self._taken and self._warned != name:
            self._warned = name
            self.say_above("There is a query of this name; the same key again replaces it.")
        else:
            self.dismiss(name)


class BranchNameScreen(EditorScreen[str | None]):
    """Answers with the name for a replay, empty for that of the recorded run, or None.

    Args: name: what it is called so far.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("name")
    has_one_line = True
    title_text = "Name the replay"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._so_far = name

    def on_mount(self) -> None:
        """Begin with the name so far."""
        self.area.recorded = self._so_far
        self.area.focus()
        self.say_above("the name in lists, and for --trace on the command line", "dim")

    def action_done(self) -> None:
        """Take the name."""
        self.dismiss(" ".join(self.area.recorded.split())[:80])
