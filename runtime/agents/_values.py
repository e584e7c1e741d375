"""Time, random numbers and ids, taken from the runtime so that a replay gives the same ones."""

from __future__ import annotations

import random as _random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from ..messages import Json, Outcome, ValueRequest
from ..trace import ValueTaken
from ._context import current_context


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
    run = context.run
    request = ValueRequest(name=name)
    call_id = f"{context.call_id}/value:{name}:{context.counters.get(f'value:{name}', 0)}"
    context.counters[f"value:{name}"] = context.counters.get(f"value:{name}", 0) + 1
    hit = run.session.answer(context.call_id, "value", name, call_id, request) if run.session else None
    value = hit.outcome.output if hit else make()
    time = run.point(context.span_id, ValueTaken, name=name, content_hash=request.content_hash, value=value)
    if run.enable_snapshot:
        outcome = Outcome(status="ok", output=value, start_unix_nano=time)
        context.journal.record("value", request.content_hash, outcome)
    return value
