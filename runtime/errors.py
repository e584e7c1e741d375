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
    ├── ToolError
    │   └── ToolArgumentsError      arguments that do not fit the tool's signature
    ├── SnapshotFormatError         a snapshot file that is not one
    ├── RestoreError                see runtime.snapshot
    ├── TraceFormatError            a trace file that cannot be read
    └── ReplayedError               a recorded error whose class is not at hand

``ReplayStop`` is no RuntimeFault: it ends a strict replay, and an agent's ``except Exception`` must not catch it.
"""

from __future__ import annotations


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


class ModelError(RuntimeFault):
    """A model refused or could not answer."""


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

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
