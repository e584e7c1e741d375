"""Time, random numbers and ids, taken from the runtime so that a replay gives the same ones."""

from __future__ import annotations

import random as _random
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from ..journal import Hit
from ..messages import Json, Outcome, ValueRequest
from ..trace import ValueTaken
from ._body import bodies
from ._context import Context, current_context, current_span

APPROVAL = "approval:"
"""How the name of a value begins that says whether a tool may be called."""


def now() -> datetime:
    """The time in UTC; in a replay, the recorded one."""
    return datetime.fromisoformat(_take("now", lambda: datetime.now(UTC).isoformat()))


def random() -> float:
    """A random number in [0, 1); in a replay, the recorded one."""
    return float(_take("random", _random.random))


def new_id() -> str:
    """A fresh id of 32 hex digits; in a replay, the recorded one."""
    return str(_take("new_id", lambda: uuid.uuid4().hex))


def _take(name: str, make: Callable[[], Json]) -> Json:
    context = current_context(f"{name}()")
    hit, request = _ask(context, name, None)
    return _keep(context, request, hit.outcome.output if hit else make())


async def take(context: Context, name: str, make: Callable[[], Awaitable[Json]], detail: Json) -> Json:
    """A value that the world decides, such as an approval; in a replay, the recorded one.

    Args:
        context: the frame that takes it.
        name: its kind.
        make: gets it for real.
        detail: what it is about; the same kind about something else is another value.
    """
    hit, request = _ask(context, name, detail)
    return _keep(context, request, hit.outcome.output if hit else await make())


def _ask(context: Context, name: str, detail: Json) -> tuple[Hit | None, ValueRequest]:
    request = ValueRequest(name=name, detail=detail)
    call_id = context.next_call_id("value", name)
    session = context.run.session
    if session is None:
        return None, request
    in_tool = bool(bodies.get()) or name.startswith(APPROVAL)
    return session.answer(context.call_id, "value", name, call_id, request, in_tool=in_tool), request


def _keep(context: Context, request: ValueRequest, value: Json) -> Json:
    keep_value(context, request, value, current_span.get() or context.span_id)
    return value


def keep_value(context: Context, request: ValueRequest, value: Json, span_id: str) -> None:
    """Record a value in the frame's journal and in the trace, as taken within the span."""
    run = context.run
    key = request.content_hash

    def record(time: int) -> None:
        if run.enable_snapshot:
            taken = Outcome(status="ok", output=value, trace_id=run.trace_id, span_id=span_id, start_unix_nano=time)
            context.journal.record("value", key, taken)

    run.point(span_id, ValueTaken, first=record, name=request.name, content_hash=key, value=value)
