"""Our own spans. Their meaning is defined in ``runtime.trace``; this only says so to the table."""

from __future__ import annotations

from typing import Final

from runtime.messages import SERVED_FREE, Call, CallKind, Known
from runtime.trace import Span, call_of_span

from ._view import Promoted, View, text, whole

name: Final = "retrospan"
version: Final = 2

_FORMAT, _KIND = "retrospan.format", "retrospan.kind"
_FORMAT_VERSION: Final = 1
_KINDS: Final[dict[str, CallKind]] = {"run": "chain", "agent": "agent", "model_turn": "llm", "tool": "tool"}

marks: Final = frozenset((_FORMAT,))
keys: Final = frozenset(
    (
        _FORMAT,
        _KIND,
        "error.type",
        "gen_ai.agent.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.tool.name",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "retrospan.cost_nano_usd",
        "retrospan.run_id",
        "retrospan.served_by",
        "retrospan.seq.start",
        "retrospan.origin.trace_id",
    )
)


def recognises(view: View) -> bool:
    """The same test as ``runtime.trace.is_own_span``, over the attributes that are at hand."""
    get = view.attributes.get
    format_version = get(_FORMAT)
    return type(format_version) is int and 1 <= format_version <= _FORMAT_VERSION and get(_KIND) in _KINDS


def promote(view: View) -> Promoted:
    """The narrow facts of one of our spans."""
    get = view.attributes.get
    error_type = text(get("error.type"))
    if error_type is None and (view.status_code == 2 or "error.type" in view.attributes):
        error_type = "error"
    cost = whole(get("retrospan.cost_nano_usd"))
    if cost is not None and get("retrospan.served_by") in SERVED_FREE:
        cost = 0  # Sums are over what was spent: a replayed answer was paid for in its recording.
    return Promoted(
        kind=_KINDS[get(_KIND, "")],
        convention=name,
        error_type=error_type,
        agent_name=text(get("gen_ai.agent.name")),
        provider=text(get("gen_ai.provider.name")),
        model=text(get("gen_ai.request.model")),
        tool_name=text(get("gen_ai.tool.name")),
        input_tokens=whole(get("gen_ai.usage.input_tokens")),
        output_tokens=whole(get("gen_ai.usage.output_tokens")),
        cost_nano_usd=cost,
        run_id=text(get("retrospan.run_id")),
        start_seq=whole(get("retrospan.seq.start")),
        origin_trace_id=text(get("retrospan.origin.trace_id")),
    )


def call(span: Span, known: Known) -> Call:
    """The call, read by the runtime itself."""
    return call_of_span(span, known)
