"""What a convention is, and what a family of conventions is."""

from __future__ import annotations

from typing import Protocol

from runtime.messages import Call, Known
from runtime.trace import Span

from ._draft import Draft
from ._facts import Facts
from ._view import Promoted, View


class Named(Protocol):
    """What every module here offers."""

    name: str
    version: int
    """Goes up when the same span would give another call; calls are cached by it."""
    keys: frozenset[str]
    """The attributes that are asked for while a span is loaded."""

    def recognises(self, view: View) -> bool:
        """Whether the span speaks this convention."""


class Convention(Named, Protocol):
    """A convention whose spans say everything in its own words: it alone reads them."""

    marks: frozenset[str]
    """Attributes of which each of its spans has at least one."""

    def promote(self, view: View) -> Promoted:
        """The narrow facts, cheaply; they agree with ``call``."""

    def call(self, span: Span, known: Known) -> Call:
        """The whole call. Never raises, never guesses: what is not recorded is None.

        Args: known: messages that were read before in the same trace.
        """


class Family(Named, Protocol):
    """A family of attribute names that may stand beside others on one span: each fills what is still missing."""

    marks: frozenset[str]
    """Attributes of which each span of the family has at least one, unless its scope tells it."""
    scopes: frozenset[str]
    """Names of instrumentation scopes that are the family's own."""

    def narrow(self, view: View, facts: Facts) -> None:
        """Fill in the narrow facts."""

    def fill(self, draft: Draft) -> None:
        """Fill in the rest of the call. Never raises, never guesses."""
