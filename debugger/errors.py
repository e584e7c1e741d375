"""Every error of the debugger, as one tree.

DebuggerError
├── ImportFailedError     nothing could be read from an input          (debugger.importers)
├── StoreError            see debugger.store
└── ReplayError           a replay that cannot be started
    └── EntryPointError   the function to run is not known, not found or not trusted
"""

from __future__ import annotations


class DebuggerError(Exception):
    """Root of all errors of the debugger: one clear sentence, and what to do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}; {hint}" if hint else message)


class ReplayError(DebuggerError):
    """A replay that cannot be started."""


class EntryPointError(ReplayError):
    """The function to run is not known, not found or not trusted."""
