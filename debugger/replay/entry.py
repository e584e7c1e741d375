"""Which function a replay runs, and whether it may be run without asking.

The entry point that a trace names is data from outside. It is looked up by file name only, beside the trace file or
among
the bundled samples; everything else has to be named by the user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import EntryPointError


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPoint:
    """A function that can be run in a child process."""

    name: str
    """Name of the agent or async function in its module."""
    file: Path | None = None
    module: str | None = None
    """A module name, where the user gave one instead of a file."""
    trusted: bool = False
    """True for what the user named, what lies beside the trace, and the bundled samples."""
    named_by_trace: bool = False
    """True where the name comes from the trace, which is data from outside."""

    @property
    def shown(self) -> str:
        """``FILE:NAME`` or ``MODULE:NAME``, as the user would write it."""
        return f"{self.file.name if self.file else self.module}:{self.name}"

    def digest(self) -> str | None:
        """SHA-256 (hex) of the source file as it is now; None for a module."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest() if self.file else None


def samples_folder() -> Path | None:
    """The bundled sample traces with their programs: in the wheel, or at the top of a checkout."""
    package = Path(__file__).resolve().parent.parent
    return next((p for p in (package / "samples", package.parent / "sample_traces") if p.is_dir()), None)


def named_by_user(text: str) -> EntryPoint:
    """The entry point of ``--agent``.

    Raises:
        EntryPointError: the text has no name, or the file is not there.
    """
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name.isidentifier():
        raise EntryPointError(f"--agent {text!r} is not FILE.py:NAME or MODULE:NAME")
    try:
        path = Path(where).expanduser()
    except RuntimeError:
        raise EntryPointError(f"--agent {text!r}: there is no such home folder") from None
    if path.suffix == ".py" or _is_file(path):
        if not _is_file(path):
            raise EntryPointError(f"--agent: there is no file {where!r}")
        return EntryPoint(name=name, file=path.resolve(), trusted=True)
    return EntryPoint(name=name, module=where, trusted=True)


def named_by_trace(recorded: str | None, sources: Sequence[Path]) -> EntryPoint:
    """The entry point that the trace recorded, found beside one of its files or among the samples.

    Args:
        recorded: ``file.py:name``, or None where the trace names none.
        sources: the files that the trace was loaded from.

    Raises:
        EntryPointError: there is none, or it is not found where it may be looked for.
    """
    way_on = "name the agent with --agent FILE.py:NAME"
    if not recorded:
        raise EntryPointError("the trace does not say which agent made it", hint=way_on)
    file_name, _, name = recorded.rpartition(":")
    if not file_name or Path(file_name).name != file_name or "\0" in file_name or not name.isidentifier():
        raise EntryPointError(f"the trace names {recorded!r}, which is no plain FILE.py:NAME", hint=way_on)
    samples = samples_folder()
    folders = [*(source.parent for source in sources), *([samples] if samples else [])]
    for folder in folders:
        # A link could lead anywhere, and the trace is what names it.
        if _is_file(path := folder / file_name) and not path.is_symlink():
            return EntryPoint(name=name, file=path.resolve(), trusted=True, named_by_trace=True)
    raise EntryPointError(f"the trace names {recorded!r}, but there is no {file_name} beside it", hint=way_on)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # A name that no file can have: too long, or with characters that the system has no bytes for.
        return False
