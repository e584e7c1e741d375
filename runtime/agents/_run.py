"""Runs: one execution from ``run_with`` to its result, with its frame ``root``, its events and its replay session."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import os
import secrets
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..errors import AgentError, ReplayStop, RuntimeFault
from ..journal import Journal, ReplayPolicy, ReplaySession
from ..messages import Json, JsonObject, Outcome, canonical_json, json_safe
from ..models import Model
from ..snapshot import Frame, Snapshot
from ..tools import ApprovalHook, Middleware, current_host
from ..trace import Emitter, RunEnd, RunStart, Subscriber, TraceEvent, TraceFileWriter
from ._agent import Agent
from ._context import Context, current, current_span
from ._revive import outcome_of
from ._tool_calls import ToolCaller

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from ..trace._otel import OtelBridge

logger = logging.getLogger(__name__)

R = TypeVar("R")

MemoryFrom = Literal["snapshot", "start"]
"""Which memory of a snapshot frame its agent begins with: the one at the cut (as in the seed), or the one it started
with (for replays, where the handler writes the rest again)."""


def environment() -> str:
    """``RETROSPAN_ENV`` in lower case: ``development``, ``test``, ``production``, or empty when unset."""
    return os.environ.get("RETROSPAN_ENV", "").lower()


class Run:
    """One execution, made by ``run_with``.

    Make it yourself to subscribe before the start or to read its events after the end.

    Args:
        snapshot: answers calls from its journals, and gives frames their memory.
        session: the replay session to use; by default one over the snapshot, with ``policy``.
        policy: what happens on a miss; the default does the call for real, as the seed.
        memory_from: see ``MemoryFrom``.
        enable_snapshot: record journals, so that ``dump_snapshot`` works; by default on in development and test
            (``RETROSPAN_ENV``).
        trace_file: write the run there as OTLP/JSON lines while it runs.
        tracer_provider: OpenTelemetry provider for the run's spans; by default the global one.
        models: models by key, for agents that name theirs.
        tool_middleware: around every tool of the run, outside the tool's own; see ``runtime.tools.Middleware``.
        approve: asked before each call of a tool with ``needs_approval``; its answers are recorded and replayed.
        name: the run's name, by default that of the function.
        service: ``service.name`` of the trace file.
        origin: for a replay, ``{"trace_id", "span_id", "anchor"}`` of what it replays.

    Raises:
        RuntimeFault: a snapshot was given in production without ``enable_snapshot=True``.
        ValueError: ``memory_from`` is neither of its two words.
    """

    def __init__(
        self,
        *,
        snapshot: Snapshot | None = None,
        session: ReplaySession | None = None,
        policy: ReplayPolicy | None = None,
        memory_from: MemoryFrom = "snapshot",
        enable_snapshot: bool | None = None,
        trace_file: str | Path | None = None,
        tracer_provider: TracerProvider | None = None,
        models: Mapping[str, Model] | None = None,
        tool_middleware: Sequence[Middleware] = (),
        approve: ApprovalHook | None = None,
        name: str | None = None,
        service: str | None = None,
        origin: JsonObject | None = None,
    ) -> None:
        if snapshot is not None and environment() == "production" and enable_snapshot is not True:
            raise RuntimeFault("a snapshot in production needs enable_snapshot=True, so that it is no accident")
        if memory_from not in ("snapshot", "start"):
            raise ValueError(f"memory_from must be 'snapshot' or 'start', not {memory_from!r}")
        default = environment() in ("development", "test")
        self.enable_snapshot = default if enable_snapshot is None else enable_snapshot
        self.is_debug = environment() in ("development", "test")
        self.warned: set[str] = set()
        """Agents whose racing calls have been warned of."""
        self.run_id = uuid.uuid4().hex
        self.trace_id = secrets.token_hex(16)
        self.name = name
        self.root = Context(run=self, call_id="root", agent_id="")
        self.session = session
        if session is None and snapshot is not None:
            self.session = ReplaySession(journals_of(_own(snapshot)), policy=policy)
        self._snapshot = _own(snapshot) if snapshot else None
        self._memory_from: MemoryFrom = memory_from
        self._models = dict(models or {})
        self.tool_middleware = tuple(tool_middleware)
        self.approve = approve
        self._trace_file = trace_file
        self._service = service
        self._tracer_provider = tracer_provider
        self._origin = origin
        self._bridge: OtelBridge | None = None
        self._emitter = Emitter(self.run_id)
        self.lock = self._emitter.lock
        """Held while an event is placed and told; blocking tools reach the run from threads of their own."""
        self._ticks = 0
        self._used = False

    @property
    def events(self) -> list[TraceEvent]:
        """The timeline so far, in order. Collected also with snapshots off."""
        return list(self._emitter.events)

    def subscribe(self, event_type: str, subscriber: Subscriber) -> Callable[[], None]:
        """Call the subscriber for each event of this run; see ``runtime.trace.subscribe``."""
        return self._emitter.subscribe(event_type, subscriber)

    def model(self, key: str) -> Model:
        """The model registered under the key. Raises AgentError where there is none."""
        try:
            return self._models[key]
        except KeyError:
            known = ", ".join(map(repr, self._models)) or "none"
            raise AgentError(f"no model {key!r} in this run; registered are: {known}") from None

    async def execute(self, fn: Callable[..., Awaitable[R]], input: JsonObject | None = None) -> R:
        """Run the function with the input as keyword arguments; its result.

        Raises: what the function raised; ReplayStop where a strict replay ended before its end.
        """
        if self._used:
            raise RuntimeFault("this Run was executed before; make a new one for each execution")
        if current.get() is not None:
            raise RuntimeFault("run_with inside a run: call the agent instead")
        self._used = True
        given = dict(input or {})
        writer = self._open_subscribers()
        entry, digest = entry_point_of(fn)
        self.root.input = json_safe(given)[0]
        self.root.memory = self.memory_for("root")
        self.root.memory_start = dict(self.root.memory)
        self.root.span_id = self.start(
            RunStart,
            "",
            name=self.name or name_of(fn),
            input=self.root.input,
            memory=dict(self.root.memory_start) or None,
            entry_point=entry,
            entry_digest=digest,
            origin=self._origin,
        )
        self.root.task = asyncio.current_task()
        tokens = current.set(self.root), current_span.set(self.root.span_id), current_host.set(ToolCaller())
        outcome = Outcome(status="aborted")
        try:
            try:
                result = await fn(**given)
            finally:
                if self.root.teardown is not None:
                    await self.root.teardown.aclose()
            if (stop := self._stop()) is not None:
                raise stop
            output, lost = json_safe(result)
            self.root.status, self.root.output = "completed", output
            outcome = Outcome(status="ok", output=output, lost="; ".join(lost) or None)
            return result
        except BaseException as error:
            stop = self._stop() if not isinstance(error, ReplayStop) else None
            outcome = outcome_of(stop or error)
            self.root.status, self.root.error = "failed", outcome.error
            if stop is None:
                raise
            raise stop from error
        finally:
            current.reset(tokens[0])
            current_span.reset(tokens[1])
            current_host.reset(tokens[2])
            self.end(RunEnd, self.root.span_id, outcome=outcome, replay_ended=self._replay_ended(outcome))
            if writer is not None:
                _close(writer)

    def _stop(self) -> ReplayStop | None:
        """A replay that has ended says so to its caller, also where the agent caught the stop or wrapped it."""
        return self.session.stop() if self.session is not None and self.session.stopped else None

    def _replay_ended(self, outcome: Outcome) -> str | None:
        if self.session is None:
            return None
        return self.session.stopped or {"ok": "done", "error": "failed", "aborted": "cancelled"}[outcome.status]

    # What contexts and calls need -------------------------------------------------------------------------

    def memory_for(self, call_id: str) -> dict[str, Json]:
        """The memory that the frame begins with: from the snapshot where it holds the frame, else empty."""
        frame = self.recorded_frame(call_id)
        if frame is None:
            return {}
        return dict(frame.memory if self._memory_from == "snapshot" else frame.memory_start or {})

    def recorded_frame(self, call_id: str) -> Frame | None:
        """The frame as the snapshot has it; None without one."""
        return self._snapshot.frames.get(call_id) if self._snapshot else None

    def completed_frame(self, frame: Context) -> Frame | None:
        """The recorded frame of a sub-agent that need not run again: the policy says so, it completed, same input."""
        recorded = self.recorded_frame(frame.call_id)
        if self.session is None or not self.session.policy.skip_completed or recorded is None:
            return None
        if recorded.status != "completed" or canonical_json(recorded.input) != canonical_json(frame.input):
            return None
        # Objects that are no JSON all look the same, and an output that was not recorded whole is none.
        if "input" in frame.lost or recorded.fidelity_level == "missing":
            return None
        self.session.skip(frame.agent_id, frame.call_id)
        return recorded

    def tick(self) -> int:
        """The next place among the starts and ends of frames."""
        self._ticks += 1
        return self._ticks

    def start(self, kind: type[TraceEvent], parent_span_id: str, **fields: Any) -> str:
        """Open a span; its id. OpenTelemetry gives the ids where it records."""
        with self.lock:
            time, seq = self._emitter.stamp()
            event = kind(
                time_unix_nano=time,
                seq=seq,
                run_id=self.run_id,
                trace_id=self.trace_id,
                span_id=secrets.token_hex(8),
                parent_span_id=parent_span_id or None,
                **fields,
            )
            ids = self._begin_otel(event)
            if ids:
                self.trace_id = ids[0]
                event = replace(event, trace_id=ids[0], span_id=ids[1])
            self._parents[event.span_id] = event.parent_span_id
            self._emitter.emit(event)
            return event.span_id

    def point(
        self, span_id: str, kind: type[TraceEvent], *, first: Callable[[int], None] | None = None, **fields: Any
    ) -> None:
        """Emit a point inside an open span.

        Args:
            span_id: the span.
            kind: the event's type.
            first: called with the event's time before anyone is told, to bring the state up to the event.
            fields: of the event.
        """
        self._emit(span_id, self._parents.get(span_id), kind, fields, first)

    def end(self, kind: type[TraceEvent], span_id: str, **fields: Any) -> None:
        """Close a span."""
        self._emit(span_id, self._parents.pop(span_id, None), kind, fields)

    def _emit(
        self,
        span_id: str,
        parent: str | None,
        kind: type[TraceEvent],
        fields: dict[str, Any],
        first: Callable[[int], None] | None = None,
    ) -> None:
        with self.lock:
            time, seq = self._emitter.stamp()
            if first is not None:
                first(time)
            event = kind(
                time_unix_nano=time,
                seq=seq,
                run_id=self.run_id,
                trace_id=self.trace_id,
                span_id=span_id,
                parent_span_id=parent,
                **fields,
            )
            self._emitter.emit(event)

    def _open_subscribers(self) -> TraceFileWriter | None:
        self._parents: dict[str, str | None] = {}
        try:
            from ..trace._otel import OtelBridge

            self._bridge = OtelBridge(self._tracer_provider)
            self._emitter.subscribe("*", self._bridge)
        except Exception:
            logger.exception("OpenTelemetry is not available; the run goes on without it")
        if self._trace_file is None:
            return None
        writer = TraceFileWriter(self._trace_file, resource=resource_of(self._service or self.name or "agent"))
        self._emitter.subscribe("*", writer)
        return writer

    def _begin_otel(self, event: TraceEvent) -> tuple[str, str] | None:
        if self._bridge is None:
            return None
        try:
            return self._bridge.begin(event)
        except Exception:
            logger.exception("OpenTelemetry failed to start a span; the run goes on without it")
            self._bridge = None
            return None


def _close(writer: TraceFileWriter) -> None:
    try:
        writer.close()
    except Exception:
        # The run is over and its result counts; the file still holds every event, only not compacted.
        logger.exception("the trace file %s could not be closed cleanly", writer.path)


async def run_with(fn: Callable[..., Awaitable[R]], *, input: JsonObject | None = None, **options: Any) -> R:
    """Run an agent, or any async function that calls agents.

    With a snapshot, calls that it holds are answered from it and the rest is done for real, as in the seed.

    Args:
        fn: an agent or async function; where it is found by name in its file, a replay can find it again.
        input: keyword arguments, JSON.
        options: as of ``Run``.

    Returns: the function's result.
    Raises: what the function raised.
    Source: the seed document on snapshots, ``runWith``.
    """
    return await Run(**options).execute(fn, input)


def run_sync(fn: Callable[..., Awaitable[R]], *, input: JsonObject | None = None, **options: Any) -> R:
    """As ``run_with``, for scripts without an event loop."""
    return asyncio.run(run_with(fn, input=input, **options))


def _own(snapshot: Snapshot) -> Snapshot:
    """A copy that stays as it is while the run goes on, whatever becomes of the one that was given."""
    frames = {call_id: frame.copy() for call_id, frame in snapshot.frames.items()}
    for frame in frames.values():
        frame.journal = frame.journal.copy()
    return replace(snapshot, frames=frames)


def journals_of(snapshot: Snapshot) -> dict[str, Journal]:
    """The journals of all frames by call id, as a replay session takes them."""
    return {call_id: frame.journal for call_id, frame in snapshot.frames.items()}


def name_of(fn: Callable[..., Any]) -> str:
    """The name of an agent or function, for the run."""
    return fn.id if isinstance(fn, Agent) else getattr(fn, "__name__", "run")


def entry_point_of(fn: Callable[..., Any]) -> tuple[str | None, str | None]:
    """``file.py:name`` under which the function is found again, and the SHA-256 of that file.

    (None, None) for what has no name at the top of its module: closures, lambdas, methods.
    """
    bare = fn.fn if isinstance(fn, Agent) else fn
    module = sys.modules.get(getattr(bare, "__module__", ""))
    if module is None:
        return None, None
    name = next((key for key, value in vars(module).items() if value is fn), None)
    file = inspect.getsourcefile(bare)
    if name is None or file is None:
        return None, None
    path = Path(file)
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None, None
    return f"{path.name}:{name}", digest


def resource_of(service: str) -> dict[str, Json]:
    """The resource attributes of a trace file."""
    return {"service.name": service, "telemetry.sdk.name": "retrospan", "telemetry.sdk.language": "python"}
