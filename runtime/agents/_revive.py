"""Recorded errors -> exceptions, so that an agent that handles its errors by class does so in a replay too."""

from __future__ import annotations

import asyncio
import builtins
import sys

from ..errors import ReplayedError
from ..messages import ErrorInfo


def revive(error: ErrorInfo) -> Exception:
    """An exception of the recorded class with the recorded message.

    The class is looked up only among the builtins and the modules that are loaded already: a trace is data from outside
    and must not import anything. Its own ``__init__`` is not run, so extra fields are missing. Where no class is
    found, or
    it does not print as recorded, a ``ReplayedError`` stands for it.
    """
    kind = _find_class(error.type)
    if kind is not None:
        revived = kind.__new__(kind)
        revived.args = (error.message,)
        if _prints_as(revived, error.message):
            return revived
    return ReplayedError(error.type, error.message)


def type_name_of(error: BaseException) -> ErrorInfo:
    """The error as data; one that stands for a recorded error keeps the recorded class name."""
    if isinstance(error, ReplayedError):
        return ErrorInfo(error.type_name, error.message)
    if isinstance(error, asyncio.CancelledError) and not str(error):
        return ErrorInfo.of(asyncio.CancelledError("cancelled"))
    return ErrorInfo.of(error)


def _find_class(name: str) -> type[Exception] | None:
    parts = name.split(".")
    for split in range(len(parts) - 1, -1, -1):
        found: object = sys.modules.get(".".join(parts[:split])) if split else builtins
        for part in parts[split:]:
            found = getattr(found, part, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return found
    return None


def _prints_as(error: Exception, message: str) -> bool:
    try:
        return str(error) == message
    except Exception:  # noqa: BLE001 - a class whose __str__ needs fields that were not recorded
        return False
