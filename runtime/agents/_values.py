"""Time, random numbers and ids, taken from the runtime so that a replay gives the same ones."""

from __future__ import annotations

import random as _random
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from ..journal import Hit
from ..messages import Json, Outcome, ValueRequest
from ..trace import ValueTaken
from ._context import Context, current_context


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
    call_id = f"{context.call_id}/value:{name}:{context.counters.get(f'value:{name}', 0)}"
    context.counters[f"value:{name}"] = context.counters.get(f"value:{name}", 0) + 1
    session = context.run.session
    return session.answer(context.call_id, "value", name, call_id, request) if session else None, request


def _keep(context: Context, request: ValueRequest, value: Json) -> Json:
    run = context.run
    time = run.point(context.span_id, ValueTaken, name=request.name, content_hash=request.content_hash, value=value)
    if run.enable_snapshot:
        outcome = Outcome(
            status="ok", output=value, trace_id=run.trace_id, span_id=context.span_id, start_unix_nano=time
        )
        context.journal.record("value", request.content_hash, outcome)
    return value
