"""Where the library lies, and what lies in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ...errors import LibraryError

HOME: Final = "RETROSPAN_HOME"
"""Names the folder of all that Retrospan keeps; the library is ``library`` in it."""
CATALOG: Final = "library.sqlite"
_SEGMENTS: Final = "segments"
_SPOOL: Final = "spool"
_KEPT: Final = "replays"
_SET_ASIDE: Final = "set-aside"


def library_folder() -> Path:
    """The user's library: in ``RETROSPAN_HOME``, else in the platform's folder for data."""
    named = os.environ.get(HOME)
    if named:
        return Path(named).absolute() / "library"
    from platformdirs import user_data_path

    return user_data_path("retrospan", appauthor=False) / "library"


class Place:
    """The folders and files of one library."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = folder / CATALOG
        self.segments = folder / _SEGMENTS
        self.spool = folder / _SPOOL
        self.kept = folder / _KEPT
        self.set_aside = folder / _SET_ASIDE
        """Requests of the spool that could not be brought in. Made with the first one."""

    def is_empty(self) -> bool:
        """Whether there is nothing at all where the library would lie.

        Raises: LibraryError: the folder cannot be looked into.
        """
        try:
            return not self.folder.exists() or (self.folder.is_dir() and not any(self.folder.iterdir()))
        except OSError as fault:
            raise LibraryError.from_system(self.folder, fault) from fault

    def prepare(self) -> None:
        """Make the folders of a library that is not there yet.

        Raises: LibraryError: the folder is something else, or cannot be written.
        """
        if self.catalog.exists():
            return
        try:
            if self.folder.exists() and any(self.folder.iterdir()):
                # A library that another process is making at this moment has folders, and nothing else yet.
                strange = {path.name for path in self.folder.iterdir()} - {_SEGMENTS, _SPOOL, _KEPT}
                if strange and not self.catalog.exists() and not any(name.startswith(CATALOG) for name in strange):
                    raise LibraryError(f"{self.folder}: not a library", hint="name a new folder, or an empty one")
            for folder in (self.segments, self.spool, self.kept):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise LibraryError.from_system(self.folder, fault) from fault
