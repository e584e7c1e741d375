"""Every error of the runtime, as one tree.

    RuntimeFault
    ├── ContextNotFoundError        an agent feature was used outside a run
    ├── SnapshotDisabledError       a dump was asked for in a run with snapshots off
    ├── DepthExceededError          more nested frames than the runtime allows
    ├── NotSerializableError        a value that has to be recorded is not JSON
    ├── AgentError
    │   ├── RebornLimitError        too many generations
    │   ├── StepLimitError          too many model turns in one prompt
    │   └── OutputError             the model's answer does not fit the wanted type
    ├── ModelError                  a model refused or could not answer
    │   ├── ModelSetupError         the SDK is not installed, or the key is not in the environment
    │   ├── ModelRequestError       the provider (or its adapter) does not accept the request
    │   ├── ModelRefusedError       the model or its provider will not answer this content
    │   ├── ModelAnswerError        an answer that cannot be read
    │   └── ModelTransportError     no answer: connection, overload or a fault of the server
    │       ├── ModelTimeoutError   no answer in time
    │       └── ModelRateLimitError too many requests, or no quota left
    ├── ToolError
    │   └── ToolArgumentsError      arguments that do not fit the tool's signature
    ├── SnapshotFormatError         a snapshot file that is not one
    ├── RestoreError                see runtime.snapshot
    ├── TraceFormatError            a trace file that cannot be read
    └── ReplayedError               a recorded error whose class is not at hand

``ReplayStop`` is no RuntimeFault: it ends a strict replay, and an agent's ``except Exception`` must not catch it.
"""

from __future__ import annotations

import re


class RuntimeFault(Exception):
    """Root of all errors of the runtime."""

    hint: str = ""
    """What to do about it, where something general can be said."""


class ContextNotFoundError(RuntimeFault):
    """An agent feature was used outside a run."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} works only inside a run; start one with run_with(...)")


class SnapshotDisabledError(RuntimeFault):
    """A dump was asked for in a run with snapshots off."""

    def __init__(self) -> None:
        super().__init__(
            "snapshots are off in this run; pass enable_snapshot=True to run_with or set RETROSPAN_ENV=development"
        )


def is_snapshot_disabled_error(error: BaseException) -> bool:
    """True for the error of a dump in a run with snapshots off."""
    return isinstance(error, SnapshotDisabledError)


class DepthExceededError(RuntimeFault):
    """More nested frames than allowed: usually agents that call each other without end."""

    def __init__(self, depth: int, limit: int, call_id: str) -> None:
        self.depth = depth
        self.limit = limit
        self.call_id = call_id
        tail = call_id if len(call_id) <= 120 else "…" + call_id[-120:]
        super().__init__(f"agents are nested {depth} deep, the limit is {limit} (at {tail!r})")


class NotSerializableError(RuntimeFault):
    """A value that has to be recorded is not JSON."""

    def __init__(self, what: str, faults: tuple[str, ...]) -> None:
        self.what = what
        self.faults = faults
        super().__init__(f"{what} cannot be recorded as JSON: {'; '.join(faults)}")


class AgentError(RuntimeFault):
    """An agent could not finish."""


class RebornLimitError(AgentError):
    """Too many generations."""

    def __init__(self, agent_id: str, limit: int) -> None:
        self.agent_id = agent_id
        self.limit = limit
        super().__init__(f"agent {agent_id!r} asked for more than {limit} generations")


class StepLimitError(AgentError):
    """Too many model turns in one prompt."""

    def __init__(self, agent_id: str, limit: int) -> None:
        self.agent_id = agent_id
        self.limit = limit
        super().__init__(f"agent {agent_id!r}: the model still asked for tools after {limit} steps")


class OutputError(AgentError):
    """The model's answer does not fit the wanted type, also after the retries."""

    def __init__(self, agent_id: str, wanted: str, reason: str, text: str) -> None:
        self.agent_id = agent_id
        self.wanted = wanted
        self.reason = reason
        self.text = text
        super().__init__(f"agent {agent_id!r}: the answer is no {wanted}: {reason}")


_NO_WORD = re.compile(r"[^\w.:-]+")
_MODEL_FACTS = re.compile(r"([^\s\[\]]+) \[(\d{3})? ?([^\s\[\]]*)\]: ")


class ModelError(RuntimeFault):
    """A model refused or could not answer.

    ``provider``, ``status`` and ``type`` are read from the message, since a recording keeps nothing else of an error:
    so the error that a replay raises has them too.

    Args:
        detail: what happened, in a sentence.
        provider: whose model it was.
        status: the HTTP status, where the provider gave one.
        type: the provider's own word for the error, or ours (``timeout``, ``connection``).
    """

    def __init__(
        self, detail: str, *, provider: str | None = None, status: int | None = None, type: str | None = None
    ) -> None:
        if provider is None and status is None and type is None:
            super().__init__(detail)
            return
        facts = " ".join(filter(None, (f"{status:03}" if status else "", _NO_WORD.sub("_", type or "")[:80])))
        super().__init__(f"{_NO_WORD.sub('_', provider or 'model')} [{facts}]: {detail}")

    @property
    def provider(self) -> str | None:
        """Whose model it was; None where the error does not say."""
        found = _MODEL_FACTS.match(str(self))
        return found[1] if found else None

    @property
    def status(self) -> int | None:
        """The HTTP status; None where there was none."""
        found = _MODEL_FACTS.match(str(self))
        return int(found[2]) if found and found[2] else None

    @property
    def type(self) -> str | None:
        """The provider's word for the error, such as ``rate_limit_exceeded``."""
        found = _MODEL_FACTS.match(str(self))
        return (found[3] or None) if found else None

    @property
    def detail(self) -> str:
        """What happened, without the facts before it."""
        found = _MODEL_FACTS.match(str(self))
        return str(self)[found.end() :] if found else str(self)


class ModelSetupError(ModelError):
    """The model cannot be asked at all: its SDK is not installed, or the key is not in the environment."""


class ModelRequestError(ModelError):
    """The provider, or its adapter, does not accept the request. The same request will fail again."""


class ModelRefusedError(ModelError):
    """The model or its provider will not answer this content."""


class ModelAnswerError(ModelError):
    """An answer came, but it cannot be read."""


class ModelTransportError(ModelError):
    """No answer came, also after the retries: connection, overload or a fault of the server."""


class ModelTimeoutError(ModelTransportError):
    """No answer came in time, also after the retries."""


class ModelRateLimitError(ModelTransportError):
    """Too many requests, or no quota left, also after the retries."""


class ToolError(RuntimeFault):
    """A tool could not be called."""


class ToolArgumentsError(ToolError):
    """Arguments that do not fit the tool's signature."""

    def __init__(self, tool: str, reason: str) -> None:
        self.tool = tool
        self.reason = reason
        super().__init__(f"arguments of tool {tool!r}: {reason}")


class SnapshotFormatError(RuntimeFault):
    """A snapshot that does not have the right form; every fault is listed with its path."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        self.faults = faults
        super().__init__("not a valid snapshot: " + "; ".join(faults))


class TraceFormatError(RuntimeFault):
    """A trace file that cannot be read."""

    def __init__(self, path: str, line: int | None, reason: str) -> None:
        self.path = path
        self.line = line
        self.reason = reason
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {reason}")


class ReplayedError(RuntimeFault):
    """A recorded error whose class is not at hand in this process."""

    def __init__(self, type_name: str, message: str) -> None:
        self.type_name = type_name
        self.message = message
        super().__init__(message)


class ReplayStop(BaseException):
    """Ends a replay that came to its cut or diverged; the agent's own ``except Exception`` must not catch it."""

    def __init__(self, reason: str, where: str = "") -> None:
        """``reason`` is ``past_cut`` or ``diverged``; ``where`` says at which call and why."""
        self.reason = reason
        said = {"past_cut": "the replay has come to the end of what may answer", "diverged": "the replay diverged"}
        super().__init__(said.get(reason, reason) + (f" at {where}" if where else ""))
