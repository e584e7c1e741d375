"""The embedded agent runtime of Retrospan: agents, snapshots, journal, restore and replay.

It knows nothing of the debugger, of DuckDB or of Textual. Public names are loaded on first use, so that
reading a trace does not import pydantic or OpenTelemetry.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents import (
        Agent,
        Answer,
        Memory,
        Run,
        agent,
        dump_snapshot,
        memory,
        new_id,
        now,
        prompt,
        random,
        reborn,
        record_tool_usage,
        resource,
        resume,
        run_sync,
        run_with,
    )
    from .errors import (
        ContextNotFoundError,
        ReplayStop,
        RuntimeFault,
        SnapshotDisabledError,
        is_snapshot_disabled_error,
    )
    from .journal import STRICT, ReplayPolicy, ReplaySession
    from .messages import Message, Request, Usage
    from .models import AnthropicModel, FaultyModel, Model, OpenAIModel, Reply, ScriptedModel, call, say
    from .snapshot import Frame, RestoreError, Snapshot, restore_snapshot, snapshot_from_json, snapshot_to_json
    from .tools import Tool, tool
    from .trace import EVENTS, TraceEvent, read_events, subscribe
    from .trace._otel import OtlpJsonFileExporter

_HOMES = {
    "agents": (
        "Agent", "Answer", "Memory", "Run", "agent", "dump_snapshot", "memory", "new_id", "now", "prompt", "random",
        "reborn", "record_tool_usage", "resource", "resume", "run_sync", "run_with",
    ),
    "errors": (
        "ContextNotFoundError", "ReplayStop", "RuntimeFault", "SnapshotDisabledError", "is_snapshot_disabled_error",
    ),
    "journal": ("STRICT", "ReplayPolicy", "ReplaySession"),
    "messages": ("Message", "Request", "Usage"),
    "models": ("AnthropicModel", "FaultyModel", "Model", "OpenAIModel", "Reply", "ScriptedModel", "call", "say"),
    "snapshot": ("Frame", "RestoreError", "Snapshot", "restore_snapshot", "snapshot_from_json", "snapshot_to_json"),
    "tools": ("Tool", "tool"),
    "trace": ("EVENTS", "TraceEvent", "read_events", "subscribe"),
    "trace._otel": ("OtlpJsonFileExporter",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "EVENTS",
    "STRICT",
    "Agent",
    "Answer",
    "AnthropicModel",
    "ContextNotFoundError",
    "FaultyModel",
    "Frame",
    "Memory",
    "Message",
    "Model",
    "OpenAIModel",
    "OtlpJsonFileExporter",
    "ReplayPolicy",
    "ReplaySession",
    "ReplayStop",
    "Reply",
    "Request",
    "RestoreError",
    "Run",
    "RuntimeFault",
    "ScriptedModel",
    "Snapshot",
    "SnapshotDisabledError",
    "Tool",
    "TraceEvent",
    "Usage",
    "agent",
    "call",
    "dump_snapshot",
    "is_snapshot_disabled_error",
    "memory",
    "new_id",
    "now",
    "prompt",
    "random",
    "read_events",
    "reborn",
    "record_tool_usage",
    "resource",
    "restore_snapshot",
    "resume",
    "run_sync",
    "run_with",
    "say",
    "snapshot_from_json",
    "snapshot_to_json",
    "subscribe",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'runtime' has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
