"""The library: all traces that a user keeps, in a folder that many processes read and write at once.

Truth is what was loaded (files, named by path and content; the receiver's spool; kept replays) and what the user says
about it; ``segments/`` is derived from it. One SQLite file says what counts: whatever is published, is published by one
transaction of it, whose write lock is also the only lock there is.

Each trace lies whole in one segment: a segment that brings more of a trace takes over what older ones hold of it, so
readers never merge. The newest segment that has a trace is the one that counts.
"""

from __future__ import annotations

from ._library import Library, LibraryFacts
from ._load import LibrarySummary
from ._place import library_folder
from ._rebuild import RebuildSummary

__all__ = ["Library", "LibraryFacts", "LibrarySummary", "RebuildSummary", "library_folder"]
