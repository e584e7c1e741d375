"""Writing a trace as OTLP JSON, its conversation as Markdown, or a snapshot as JSON to a file that the user names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from runtime.messages import Call
from runtime.snapshot import Snapshot, snapshot_to_json

from ..analysis.markdown import conversation_markdown
from ..errors import DebuggerError
from ..replay.export import export_trace
from ..replay.redact import Redaction
from ..store import Store
from ..whole_file import whole_file

What: TypeAlias = Literal["trace", "conversation", "snapshot"]

SUFFIXES: Final[dict[What, str]] = {"trace": ".otlp.jsonl", "conversation": ".md", "snapshot": ".snapshot.json"}

_NOT_REDACTED: Final = frozenset(
    ("callId", "agentId", "processId", "timestamp", "contentHash", "traceId", "spanId", "version", "provenance")
)
"""Members of a snapshot that restore needs as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportJob:
    """What is written, and where."""

    what: What
    path: Path
    trace_id: str
    title: str
    redaction: tuple[str, ...] = ()
    """Rules of redaction, or ``all``."""
    position: int | None = None
    """Of the snapshot's event; None takes the last one."""
    overwrites: bool = False


class FileExistsAlreadyError(DebuggerError):
    """The file is there, and nobody has said that it may be written over."""


def write_export(job: ExportJob, store: Store, snapshot: Callable[[], Snapshot]) -> Path:
    """Write the file: all of it, or nothing.

    Args:
        job: what is wanted.
        store: where the trace lies.
        snapshot: makes the snapshot, where one is wanted.

    Raises: FileExistsAlreadyError; ReplayError: a rule of redaction is none; UnwritableError.
    """
    redaction = Redaction.of(job.redaction)
    if job.path.exists() and not job.overwrites:
        raise FileExistsAlreadyError(f"{job.path.name} is there already", hint="write once more to replace it")
    if job.what == "trace":
        export_trace(job.path, store.whole_spans(job.trace_id), store.logs(job.trace_id), redaction)
        return job.path
    if job.what == "conversation":
        calls = [_redacted_call(call, redaction) for call in store.calls(job.trace_id)]
        text = redaction.text(conversation_markdown(calls, job.title))
    else:
        text = json.dumps(_redacted(snapshot_to_json(snapshot()), redaction), ensure_ascii=True, indent=2) + "\n"
    with whole_file(job.path) as path:
        path.write_text(text, "utf-8", "replace")
    return job.path


def _redacted_call(call: Call, redaction: Redaction) -> Call:
    if not redaction.rules:
        return call
    return replace(
        call,
        input_messages=None if call.input_messages is None else tuple(map(redaction.message, call.input_messages)),
        output_messages=None if call.output_messages is None else tuple(map(redaction.message, call.output_messages)),
        arguments=redaction.json(call.arguments),
        result=redaction.json(call.result),
    )


def _redacted(value: Any, redaction: Redaction) -> Any:
    if not redaction.rules:
        return value
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key in _NOT_REDACTED}
        rest = redaction.json({key: item for key, item in value.items() if key not in ("children", "root", *kept)})
        assert isinstance(rest, dict)
        below = {key: _redacted(value[key], redaction) for key in ("children", "root") if key in value}
        made = {**rest, **below, **kept}
        return {key: made[key] for key in value}
    return [_redacted(item, redaction) for item in value] if isinstance(value, list) else redaction.json(value)
