"""Recorded errors -> exceptions, so that an agent that handles its errors by class does so in a replay too."""

from __future__ import annotations

import asyncio
import builtins
import sys

from ..errors import ReplayedError, ReplayStop
from ..messages import ErrorInfo, Outcome

_NOT_REVIVED = (StopIteration, StopAsyncIteration, ReplayedError)
"""Raising the first two would end an iteration of the caller instead of reaching it; the last has fields of its own."""


def revive(error: ErrorInfo) -> Exception:
    """An exception of the recorded class with the recorded message.

    The class is looked up only among the builtins and the modules that are loaded already: a trace is data from outside
    and must not import anything. Its own ``__init__`` is not run, so extra fields are missing. One that would not print
    as recorded (a KeyError quotes its text) is of a subclass that does. Where there is no such class, a
    ``ReplayedError`` stands for it.
    """
    kind = _find_class(error.type)
    if kind is not None:
        for make in (_bare, _printing):
            revived = make(kind, error.message)
            if revived is not None and _prints_as(revived, error.message):
                return revived
    return ReplayedError(error.type, error.message)


def _bare(kind: type[Exception], message: str) -> Exception | None:
    try:
        # The members of a group are not recorded, and it cannot be without any.
        given = (message, [ReplayedError("Exception", message)]) if issubclass(kind, ExceptionGroup) else ()
        revived = kind.__new__(kind, *given)
        revived.args = (message,)
    except BaseException:  # noqa: BLE001 - foreign code: a class that cannot be made, or wants to end the process
        return None
    return revived


def _printing(kind: type[Exception], message: str) -> Exception | None:
    """Of a subclass with the same names that prints the message, whatever the class itself makes of it."""
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__str__": lambda _: message}
    try:
        stand_in = type(kind.__name__, (kind,), names)
    except BaseException:  # noqa: BLE001 - foreign code: a class that must not have subclasses
        return None
    return _bare(stand_in, message)


def type_name_of(error: BaseException) -> ErrorInfo:
    """The error as data; one that stands for a recorded error keeps the recorded class name."""
    if isinstance(error, ReplayedError):
        return ErrorInfo(error.type_name, error.message)
    if isinstance(error, asyncio.CancelledError) and not str(error):
        return ErrorInfo.of(asyncio.CancelledError("cancelled"))
    return ErrorInfo.of(error)


def outcome_of(error: BaseException) -> Outcome:
    """What came of a call that raised. The end of a replay is no error of the call: it was only not gone on with."""
    if isinstance(error, ReplayStop) or (isinstance(error, BaseExceptionGroup) and error.subgroup(ReplayStop)):
        return Outcome(status="aborted")
    return Outcome(status="error" if isinstance(error, Exception) else "aborted", error=type_name_of(error))


def _find_class(name: str) -> type[Exception] | None:
    parts = name.split(".")
    for split in range(len(parts) - 1, -1, -1):
        found: object = sys.modules.get(".".join(parts[:split])) if split else builtins
        for part in parts[split:]:
            try:
                found = getattr(found, part, None)
            except BaseException:  # noqa: BLE001 - foreign code: a module's own __getattr__
                found = None
        if isinstance(found, type) and issubclass(found, Exception) and not issubclass(found, _NOT_REVIVED):
            return found
    return None


def _prints_as(error: Exception, message: str) -> bool:
    try:
        return str(error) == message
    except BaseException:  # noqa: BLE001 - foreign code: a __str__ that needs fields that were not recorded
        return False
