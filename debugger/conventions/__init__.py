"""Conventions: one module per family of attribute names, from spans to calls.

A convention is a module with the members of ``Convention`` or of ``Family``; adding one is adding a file and a line in
a table below. A foreign name is translated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from runtime.messages import Call, Known
from runtime.trace import Span

from ..importers import LogRecord
from . import (
    agentops,
    agentscope,
    braintrust,
    claude_code,
    gemini_cli,
    genai,
    genkit,
    google_adk,
    haystack,
    laminar,
    langfuse,
    langsmith,
    langwatch,
    litellm,
    logfire,
    mastra,
    mlflow,
    openinference,
    openlit,
    openllmetry,
    promptflow,
    pydantic_ai,
    rejelly,
    retrospan,
    spring_ai,
    strands,
    vercel_ai,
)
from ._base import Convention, Family, Named
from ._draft import Draft
from ._facts import Facts
from ._item_ids import with_call_ids
from ._join import join
from ._plain import plain_logs, plain_span
from ._twins import FILLED, Narrow, Settled, merged, settle
from ._view import Promoted, ScalarReader, View, text

WHOLE: Final[tuple[Convention, ...]] = (retrospan, rejelly)
"""In the order in which they are asked; the first that recognises a span reads all of it."""

FAMILIES: Final[tuple[Family, ...]] = (
    genai,
    google_adk,
    strands,
    vercel_ai,
    pydantic_ai,
    mastra,
    genkit,
    haystack,
    spring_ai,
    claude_code,
    gemini_cli,
    agentscope,
    openinference,
    openllmetry,
    agentops,
    promptflow,
    mlflow,
    langfuse,
    logfire,
    langsmith,
    langwatch,
    laminar,
    braintrust,
    litellm,
    openlit,
)
"""All that recognise a span read it, in this order: the first one to know a thing wins.

The newest common names first, then frameworks, then instrumentations of several frameworks, then observability
products. A call's ``convention`` is the first family beside ``genai``: common names say little about the producer.
"""

CONVENTIONS: Final[tuple[Named, ...]] = (*WHOLE, *FAMILIES)

PROMOTED_KEYS: Final = frozenset().union(*(convention.keys for convention in CONVENTIONS)) | {"error.type"}
"""All attributes that any convention looks at while a span is loaded."""

KEYS_OF_SCOPES: Final = {
    scope: PROMOTED_KEYS | keys
    for table in (gemini_cli.SCOPE_KEYS, agentscope.SCOPE_KEYS, openllmetry.SCOPE_KEYS, promptflow.SCOPE_KEYS)
    for scope, keys in table.items()
}
"""The same for scopes whose spans say in their content alone that a call failed: for the others it is not read."""

VERSION: Final = ",".join(f"{convention.name}:{convention.version}" for convention in CONVENTIONS) + ",twins:5"
"""Changes when any convention would read a span in another way."""

_OTHERS: Final = FAMILIES[1:]
_MARKS: Final = frozenset().union(*(family.marks for family in _OTHERS))
_SCOPES: Final = frozenset().union(*(family.scopes for family in _OTHERS))


def _whole(view: View) -> Convention | None:
    for convention in WHOLE:  # a plain loop: this runs once per span of a load
        if convention.recognises(view):
            return convention
    return None


def _speaks_others(view: View) -> bool:
    """Most spans of a load speak the common names only: one look tells that no other family need be asked."""
    return not _MARKS.isdisjoint(view.attributes) or view.scope_name in _SCOPES


def _read(view: View) -> tuple[Facts, list[Family]]:
    """The narrow facts of a foreign span, and the families that it speaks."""
    facts = Facts(text(view.attributes.get("error.type")))
    families: list[Family] = []
    if _speaks_others(view):
        families = [family for family in _OTHERS if family.recognises(view)]
    if families:
        facts.family = families[0].name
        families.insert(0, genai)  # common names may stand beside any other
    elif genai.recognises(view):
        facts.family = genai.name
        families.append(genai)
    for family in families:
        family.narrow(view, facts)
    genai.settle_kind(view, facts)
    return facts, families


def promote(view: View) -> Promoted:
    """The narrow facts of a span, for the store's columns."""
    convention = _whole(view)
    if convention is not None:
        return convention.promote(view)
    return _read(view)[0].promoted() if _speaks_others(view) else genai.promoted(view)


def call_of(span: Span, logs: Sequence[LogRecord] = (), known: Known | None = None) -> Call:
    """The call that a span is, with its log records; kind ``other`` and no convention where none recognises it.

    What needs a look at other spans is not in it: see ``calls_of``.

    Args: known: messages that were read before in the same trace.
    """
    known = known or Known()
    view = View.of(span)
    convention = _whole(view)
    if convention is not None:
        return convention.call(span, known)
    facts, families = _read(view)
    draft = Draft(plain_span(span), plain_logs(logs), facts, known)
    for family in families:
        family.fill(draft)
    return draft.call()


def calls_of(spans: Iterable[Span], logs: Mapping[str, Sequence[LogRecord]]) -> list[Call]:
    """The calls of the spans of one trace, in their order, with what only a look at all of them tells.

    Args:
        spans: each is looked at once, so that they need not be in memory together.
        logs: log records by span id.
    """
    known = Known()
    calls: list[Call] = []
    scopes: list[str] = []
    for span in spans:
        calls.append(call_of(span, logs.get(span.span_id, ()), known))
        scopes.append(span.scope_name)
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
    "ScalarReader",
    "Settled",
    "View",
    "call_of",
    "calls_of",
    "promote",
    "settle",
]
