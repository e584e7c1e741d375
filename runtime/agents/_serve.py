"""The innermost place of model turns and tool calls: answered from the recording, or done for real."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ReplayStop
from ..journal import MISS_TYPE, Abort, Hit, ReplaySession, Supplied
from ..messages import ErrorInfo, Json, Outcome, Usage
from ._context import Context
from ._revive import revive, type_name_of

LIVE = "live"

Live = Callable[[], Awaitable[tuple[Any, Json, Usage, tuple[str, ...]]]]
"""Does the call: the live object, its JSON, what it cost, and what the JSON had to leave out."""


@dataclass(frozen=True, slots=True)
class Served:
    """The outcome of a call and who gave it."""

    outcome: Outcome
    by: str
    """``journal``, ``reused``, ``live``, or ``none`` where the replay stopped."""
    origin_span_id: str | None
    value: Any
    """What the caller gets: the live object, or the recorded one revived."""
    error: BaseException | None = None

    def result(self) -> Any:
        """The value, or raises what the call raised."""
        if self.error is not None:
            raise self.error
        return self.value


async def serve(
    context: Context,
    call_id: str,
    span_id: str,
    ask: Callable[[], Hit | Abort | None],
    live: Live,
    revive_value: Callable[[Json], Any],
) -> Served:
    """Answer from the recording or for real.

    What is raised comes back as a value, so that the end event is never missed.
    """
    run = context.run
    started = time.time_ns()

    def outcome(**fields: Any) -> Outcome:
        spent = time.time_ns() - started
        return Outcome(
            trace_id=run.trace_id, span_id=span_id, start_unix_nano=started, duration_ns=max(0, spent), **fields
        )

    try:
        hit = ask()
    except ReplayStop as stop:
        return Served(outcome(status="aborted", error=_missed(run.session, call_id)), "none", None, None, stop)
    if isinstance(hit, Abort):
        why = await _abort(context, call_id, hit)
        if isinstance(why, ReplayStop):
            return Served(outcome(status="aborted", error=_missed(run.session, call_id)), "none", None, None, why)
        again = outcome(status="aborted", error=type_name_of(why))
        return Served(again, "journal", hit.outcome.span_id, None, why)
    if hit is not None:
        recorded = hit.outcome
        by = "supplied" if hit.supplied else "reused" if hit.reused else "journal"
        given = replace(
            recorded,
            trace_id=run.trace_id,
            span_id=span_id,
            start_unix_nano=started,
            duration_ns=max(0, time.time_ns() - started),
        )
        if recorded.status == "error":
            error = recorded.error or ErrorInfo("error", "")
            return Served(given, by, recorded.span_id, None, revive(error))
        return Served(given, by, recorded.span_id, revive_value(recorded.output))
    try:
        said = await run.session.supplied(call_id) if run.session else None
        if said is not None:
            return _supplied(run.session, call_id, said, outcome, revive_value)
    except ReplayStop as stop:
        return Served(outcome(status="aborted", error=_missed(run.session, call_id)), "none", None, None, stop)
    try:
        value, output, usage, lost = await live()
    except BaseException as error:  # noqa: BLE001 - the border of foreign code: recorded, then raised by the caller
        failed = isinstance(error, Exception)
        if run.session:
            run.session.settle(call_id, failed=True)
        ended = outcome(status="error" if failed else "aborted", error=type_name_of(error))
        return Served(ended, LIVE, None, None, error)
    if run.session:
        run.session.settle(call_id, failed=False)
    ended = outcome(status="ok", output=output, usage=usage, lost="; ".join(lost) or None)
    return Served(ended, LIVE, None, value)


def _missed(session: ReplaySession | None, call_id: str) -> ErrorInfo | None:
    """What the span of the call at which the replay diverged says; None for the calls that it only stopped."""
    at = session.divergence if session else None
    if at is None or at.call_id != call_id:
        return None
    return ErrorInfo(MISS_TYPE, f"this request was not in the recording, so the replay stopped here: {at.reason}")


def _supplied(
    session: ReplaySession | None,
    call_id: str,
    said: Supplied,
    outcome: Callable[..., Outcome],
    revive_value: Callable[[Json], Any],
) -> Served:
    """What the user said, as the outcome of the call."""
    if session is not None:
        session.settle(call_id, failed=said.kind == "error", supplied=True)
    if said.kind == "error":
        error = said.error or ErrorInfo("Error", "")
        return Served(outcome(status="error", error=error), "supplied", None, None, revive(error))
    return Served(outcome(status="ok", output=said.value), "supplied", None, revive_value(said.value))


async def _abort(context: Context, call_id: str, abort: Abort) -> BaseException:
    """Wait as the recorded call did, until it is cancelled as that was; what it then raises, or the replay's end."""
    session = context.run.session
    assert session is not None
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    session.when_stopped(call_id, lambda: loop.call_soon_threadsafe(ended.set))
    try:
        async with asyncio.timeout(abort.patience_s):
            await ended.wait()
    except TimeoutError:
        return session.not_aborted(call_id)
    except BaseException as error:  # noqa: BLE001 - the cancellation: recorded, then raised by the caller
        session.aborted(call_id)
        return error
    return session.not_aborted(call_id)
