"""The tables of conventions, and which of them a span speaks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from . import (
    agentops,
    agentscope,
    braintrust,
    claude_code,
    future_agi,
    gemini_cli,
    genai,
    genkit,
    google_adk,
    haystack,
    honeyhive,
    laminar,
    langfuse,
    langsmith,
    langtrace,
    langwatch,
    litellm,
    logfire,
    mastra,
    mlflow,
    netra,
    openinference,
    openlit,
    openllmetry,
    promptflow,
    pydantic_ai,
    rejelly,
    respan,
    retrospan,
    spring_ai,
    strands,
    vercel_ai,
)
from ._base import Convention, Family, Named
from ._facts import Facts
from ._view import Promoted, View, text

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
    netra,
    respan,
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
    future_agi,
    langtrace,
    honeyhive,
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
    for module in (gemini_cli, agentscope, openllmetry, promptflow)
    for scope, keys in module.SCOPE_KEYS.items()
}
"""The same for scopes whose spans say in their content alone that a call failed: for the others it is not read."""

_OTHERS: Final = FAMILIES[1:]
_MARKS: Final = frozenset().union(*(w.marks for w in WHOLE), *(family.marks for family in _OTHERS))
OTHER_SCOPES: Final = frozenset().union(*(family.scopes for family in _OTHERS))
"""Scopes that belong to another family than the common names."""


def speaks_only_common(keys: Collection[str], scope_name: str) -> bool:
    """Whether a span speaks the common names at most, as most spans do: then no other convention need be asked."""
    return _MARKS.isdisjoint(keys) and scope_name not in OTHER_SCOPES


def whole_of(view: View) -> Convention | None:
    """The convention that alone reads the span, if there is one."""
    for convention in WHOLE:  # a plain loop: this runs for many spans of a load
        if convention.recognises(view):
            return convention
    return None


def read_facts(view: View) -> tuple[Facts, list[Family]]:
    """The narrow facts of a foreign span, and the families that it speaks."""
    facts = Facts(text(view.attributes.get("error.type")))
    families: list[Family] = []
    if not speaks_only_common(view.attributes, view.scope_name):
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
    if speaks_only_common(view.attributes, view.scope_name):
        return genai.promoted(view.attributes)
    convention = whole_of(view)
    return read_facts(view)[0].promoted() if convention is None else convention.promote(view)
