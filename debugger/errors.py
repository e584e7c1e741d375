"""Every error of the debugger, as one tree.

DebuggerError
├── UnreadableInputError  nothing could be read from an input
├── UnwritableError       a file cannot be written
├── StoreError
│   ├── UnknownTraceError     no trace has this id
│   ├── UnknownSpanError      the trace has no span with this id
│   ├── ShortIdError          too few digits to name anything by
│   ├── AmbiguousIdError      the beginning of an id fits several
│   ├── QueryCancelledError   a query was interrupted
│   ├── TooLargeError         one text is larger than the store's memory
│   └── LibraryError          the library cannot be opened, read or written
│       └── NewerLibraryError a newer version has written it
├── ReceiverError         the receiver cannot be started
│   ├── PortInUseError    another program listens there
│   ├── NotLoopbackError  reachable from outside, without a token
│   └── NoGrpcError       gRPC was asked for and is not installed
└── ReplayError           a replay that cannot be started
    └── EntryPointError   the function to run is not known, not found or not trusted
        └── NothingToReplayError   the trace holds no model call
"""

from __future__ import annotations

from pathlib import Path


class DebuggerError(Exception):
    """Root of all errors of the debugger: one clear sentence, and what to do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)


def install_hint(*extras: str) -> str:
    """How optional packages are installed, also from a checkout, of which no package index knows."""
    names = ",".join(extras)
    return f"pip install 'retrospan[{names}]', or in a checkout pip install '.[{names}]'"


class UnreadableInputError(DebuggerError):
    """Nothing could be read from the input; the message says what is there instead."""


class UnwritableError(DebuggerError):
    """A file that was to be written cannot be; nothing of it is left."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        self.why = why
        # The system's words begin with a capital letter, within which a name such as "IO" stays.
        said = why if why[1:2].isupper() else why[:1].lower() + why[1:]
        super().__init__(f"{path}: cannot be written ({said})")


class StoreError(DebuggerError):
    """A question that the store cannot answer."""


class UnknownTraceError(StoreError):
    """No trace has this id."""

    def __init__(self, trace_id: str, known: tuple[str, ...]) -> None:
        self.trace_id = trace_id
        self.known = known
        super().__init__(f"no trace {trace_id!r}", hint=f"traces here: {_listed(known)}" if known else "")


class UnknownSpanError(StoreError):
    """The trace has no span with this id."""

    def __init__(self, trace_id: str, span_id: str) -> None:
        self.trace_id = trace_id
        self.span_id = span_id
        super().__init__(f"no span {span_id!r} in trace {trace_id}", hint="`retrospan show PATH --json` says their ids")


class ShortIdError(StoreError):
    """Too few digits to name anything by."""

    def __init__(self, text: str, least: int) -> None:
        self.text = text
        self.least = least
        super().__init__(f"{text!r} is too short for an id", hint=f"give at least its first {least} digits")


class AmbiguousIdError(StoreError):
    """The beginning of an id fits several."""

    def __init__(self, text: str, matches: tuple[str, ...]) -> None:
        self.text = text
        self.matches = matches
        super().__init__(f"{text!r} is not the beginning of one id only", hint=f"it fits {_listed(matches)}")


class AmbiguousNameError(StoreError):
    """Several traces have the name."""

    def __init__(self, text: str, matches: tuple[str, ...]) -> None:
        self.text = text
        self.matches = matches
        super().__init__(f"{text!r} is the name of {len(matches)} traces", hint=f"their ids: {_listed(matches)}")


class QueryCancelledError(StoreError):
    """A query was interrupted before it was done."""

    def __init__(self, query: str) -> None:
        self.query = query
        super().__init__(f"query {query!r} was cancelled")


class TooLargeError(StoreError):
    """A single text of a trace is larger than what the store works in."""

    def __init__(self, limit: str) -> None:
        self.limit = limit
        super().__init__(
            f"the traces hold a text that does not fit into {limit}, the store's memory",
            hint="it is a name or an attribute of some 100 MB; limit the length of attributes where the trace is made",
        )


class NoRoomError(StoreError):
    """What all spans of a trace mean does not fit into the memory of this machine."""

    def __init__(self, spans: int, needed: int, room: int) -> None:
        self.spans = spans
        self.needed = needed
        self.room = room
        super().__init__(
            f"all that the {spans:,} spans of this trace say takes some {needed / 1e9:.1f} GB of memory, and this "
            f"machine can give {room / 1e9:.1f} GB",
            hint="spans open one by one, search and filters work, and SQL answers about all but messages",
        )


class SqlError(StoreError):
    """A query of the user that is not answered.

    Args:
        reason: why, in the words of the database where it refused it.
        line: line of the query that is at fault, from 1; None where no place is known.
        column: character of that line, from 1.
        hint: what to do.
    """

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None, hint: str = "") -> None:
        self.reason = reason
        self.line = line
        self.column = column
        place = "" if line is None else f"line {line}, character {column}: "
        super().__init__(f"{place}{reason}", hint=hint)


class LibraryError(StoreError):
    """The library cannot be opened, read or written."""

    @classmethod
    def from_system(cls, folder: Path, fault: OSError) -> LibraryError:
        """What the system refused."""
        return cls(
            f"{fault.filename or folder}: the library cannot be written ({(fault.strerror or str(fault)).lower()})"
        )

    @classmethod
    def from_database(cls, folder: Path, fault: Exception) -> LibraryError:
        """What the database said, in one line."""
        said = str(fault).strip().partition("\n")[0]
        return cls(f"{folder}: the library cannot be used ({said})")


class NoLibraryError(LibraryError):
    """There is no library in the folder, and what was asked for makes none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"{folder}: there is no library yet", hint="`retrospan load FILE` makes it")


class NewerLibraryError(LibraryError):
    """A newer version has written it, and this one would not know what it means."""

    def __init__(self, folder: Path, found: int, known: int) -> None:
        self.folder = folder
        self.found = found
        self.known = known
        super().__init__(
            f"{folder}: the library is of version {found}, and this retrospan knows {known}", hint="update retrospan"
        )


def _listed(ids: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(ids[:most])
    return shown + (f" and {len(ids) - most} more" if len(ids) > most else "")


class ReplayError(DebuggerError):
    """A replay that cannot be started."""


class EntryPointError(ReplayError):
    """The function to run is not known, not found or not trusted."""


class NothingToReplayError(EntryPointError):
    """The trace names no program and holds no model call, so there is nothing that a replay would do."""


class EditError(ReplayError):
    """An edit that names nothing, or that cannot be made."""


class ReceiverError(DebuggerError):
    """A receiver that cannot be started, or cannot go on."""


class PortInUseError(ReceiverError):
    """Another program listens on the port."""

    def __init__(self, what: str, host: str, port: int) -> None:
        self.host = host
        self.port = port
        option = "--grpc-port" if what == "gRPC" else "--http-port"
        super().__init__(
            f"port {port} of {host} is in use, so {what} cannot be received there",
            hint=f"stop what listens there (another `retrospan listen`, a Collector?), or take another port with "
            f"`{option} {port + 10}` and name it to the exporters",
        )


class NotLoopbackError(ReceiverError):
    """An address that others can reach, without a token of some length."""

    def __init__(self, host: str, why: str) -> None:
        self.host = host
        super().__init__(
            f"{host} can be reached from other machines, and {why}",
            hint="put a secret of 16 characters or more into the environment variable RETROSPAN_TOKEN; exporters send "
            "it as the header `Authorization: Bearer SECRET`",
        )


class NoGrpcError(ReceiverError):
    """gRPC was asked for, and its package is not installed."""

    def __init__(self) -> None:
        super().__init__("gRPC needs the package grpcio", hint=install_hint("grpc"))
