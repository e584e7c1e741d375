"""The narrow facts of many spans: what repeats from span to span is worked out once.

Spans of one kind have the same attributes, and the same texts in most of them; only their counts differ. So what texts
say is remembered for each set of keys, and counts are read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

import msgspec

from . import genai
from ._facts import first, first_whole, nano_usd
from ._table import KEYS_OF_SCOPES, OTHER_SCOPES, PROMOTED_KEYS, promote, speaks_only_common
from ._view import Promoted, Scalar, ScalarReader, View

_SHAPES: Final = 2_000
_KNOWN: Final = 2_000
_LONG: Final = 1_000
"""Characters. What is longer is not remembered, so that no input can fill the memory."""
_TEXTS: Final = Promoted._fields.index("input_tokens")
"""The facts before this one come from texts."""


class _Shape:
    """A set of keys in their order, and what the texts behind them have said so far."""

    __slots__ = ("cost", "has_counts", "input_tokens", "known", "only_common", "output_tokens", "text_keys", "texts")

    def __init__(self, keys: tuple[str, ...]) -> None:
        def among(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if name in keys)

        self.only_common = speaks_only_common(keys, "")
        self.input_tokens = among(genai.NAMES.input_tokens)
        self.output_tokens = among(genai.NAMES.output_tokens)
        self.cost = among(genai.NAMES.cost_usd)
        self.has_counts = bool(self.input_tokens or self.output_tokens or self.cost)
        self.text_keys = among(tuple(genai.TEXT_KEYS))
        self.texts: Callable[[Mapping[str, Any]], Any] = (
            itemgetter(*self.text_keys) if self.text_keys else lambda _: None
        )
        self.known: dict[Any, Promoted] = {}
        """By what ``texts`` gives, and whether tokens were counted where they can be."""

    def learn(self, said: Any, values: Mapping[str, Any]) -> Promoted:
        """The facts of a span that says something new."""
        facts = genai.promoted(values)
        if sum(len(value) for key in self.text_keys if isinstance(value := values[key], str)) <= _LONG:
            if len(self.known) >= _KNOWN:
                self.known.clear()
            self.known[said] = facts
        return facts


class Promoter:
    """Gives the narrow facts of one span after the other. For one thread."""

    def __init__(self) -> None:
        self._scalars = ScalarReader(PROMOTED_KEYS)
        self._of_scopes = {scope: ScalarReader(keys) for scope, keys in KEYS_OF_SCOPES.items()}
        self._shapes: dict[tuple[str, ...], _Shape] = {}

    def of_text(self, attributes: str, scope_name: str, status_code: int, name: str) -> Promoted | None:
        """The facts of a span with these attributes as text; None where they are no list of keys and values."""
        try:
            values = self._of_scopes.get(scope_name, self._scalars).read(attributes)
        except (msgspec.DecodeError, RecursionError):
            return None
        return self.of_values(values, scope_name, status_code, name)

    def of_values(self, values: Mapping[str, Scalar], scope_name: str, status_code: int, name: str) -> Promoted:
        """The facts of a span with these attributes; the same as ``promote`` gives."""
        keys = tuple(values)
        shape = self._shapes.get(keys) or self._new_shape(keys)
        if not shape.only_common or scope_name in OTHER_SCOPES:
            return promote(View(values, scope_name, status_code, name))
        if not shape.has_counts:
            said = shape.texts(values)
            return shape.known.get(said) or shape.learn(said, values)
        given = first_whole(values, shape.input_tokens)
        made = first_whole(values, shape.output_tokens)
        cost = first(values, shape.cost, nano_usd) if shape.cost else None
        said = given is None and made is None, shape.texts(values)
        facts = shape.known.get(said) or shape.learn(said, values)
        if facts.convention is None:  # counts alone say nothing
            return facts
        # Made as the tuple that it is, in half the time; the facts behind are those of our own spans.
        return tuple.__new__(Promoted, (*facts[:_TEXTS], given, made, cost, None, None, None))

    def _new_shape(self, keys: tuple[str, ...]) -> _Shape:
        shape = _Shape(keys)
        if sum(map(len, keys)) <= _LONG:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            self._shapes[keys] = shape
        return shape
