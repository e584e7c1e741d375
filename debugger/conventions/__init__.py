"""Conventions: one module per family of attribute names, from spans to calls.

A convention is a module with the members of ``Convention`` or of ``Family``; adding one is adding a file and a line in
``_table``. A foreign name is translated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from runtime.messages import Call, Known
from runtime.trace import Span

from ..importers import LogRecord
from ._base import Convention, Family, Named
from ._draft import Draft
from ._item_ids import with_call_ids
from ._join import join
from ._lone import lone_twins
from ._plain import plain_logs, plain_span
from ._promoter import Promoter
from ._table import CONVENTIONS, FAMILIES, KEYS_OF_SCOPES, PROMOTED_KEYS, WHOLE, promote, read_facts, whole_of
from ._twins import FILLED, Narrow, Settled, merged, settle
from ._view import Promoted, ScalarReader, View

VERSION: Final = ",".join(f"{convention.name}:{convention.version}" for convention in CONVENTIONS) + ",twins:6"
"""Changes when any convention would read a span in another way."""


def call_of(span: Span, logs: Sequence[LogRecord] = (), known: Known | None = None) -> Call:
    """The call that a span is, with its log records; kind ``other`` and no convention where none recognises it.

    What needs a look at other spans is not in it: see ``calls_of``.

    Args: known: messages that were read before in the same trace.
    """
    known = known or Known()
    view = View.of(span)
    convention = whole_of(view)
    if convention is not None:
        return convention.call(span, known)
    facts, families = read_facts(view)
    draft = Draft(plain_span(span), plain_logs(logs), facts, known)
    for family in families:
        family.fill(draft)
    return draft.call()


def calls_of(
    spans: Iterable[Span],
    logs: Mapping[str, Sequence[LogRecord]],
    order: Callable[[], Sequence[int]] | None = None,
) -> list[Call]:
    """The calls of the spans of one trace, in their order, with what only a look at all of them tells.

    Args:
        spans: each is looked at once, so that they need not be in memory together.
        logs: log records by span id.
        order: asked after the last span where they do not come in their order: the place of the first one, and so on.
    """
    known = Known()
    calls: list[Call] = []
    scopes: list[str] = []
    for span in spans:
        calls.append(call_of(span, logs.get(span.span_id, ()), known))
        scopes.append(span.scope_name)
    if order is not None:
        places = order()
        calls, scopes = [calls[i] for i in places], [scopes[i] for i in places]
    return join(with_call_ids(merged(calls, scopes)))


__all__ = [
    "CONVENTIONS",
    "FAMILIES",
    "FILLED",
    "KEYS_OF_SCOPES",
    "PROMOTED_KEYS",
    "VERSION",
    "WHOLE",
    "Convention",
    "Family",
    "Named",
    "Narrow",
    "Promoted",
    "Promoter",
    "ScalarReader",
    "Settled",
    "View",
    "call_of",
    "calls_of",
    "lone_twins",
    "promote",
    "settle",
]
