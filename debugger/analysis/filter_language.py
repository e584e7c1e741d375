"""The filter language: ``kind:llm tokens>5000 (error:true or "rate limit") not model:gpt*``.

Words beside each other must all hold; ``and``, ``or``, ``not`` and brackets join them. ``key:value`` compares a field,
for numbers, times and money also with ``>``, ``>=``, ``<``, ``<=`` and ``=``. A bare word or a quoted text is looked
for in the names and, where the fields say so, in everything that was recorded. Which keys there are is the affair of
``filter_fields``; here is only the grammar, and where in the text a mistake is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from .text import one_line

Found: TypeAlias = Mapping[str, Container[Any]]
"""For each text that was searched in the bodies: the keys of the rows that hold it; for each condition: their ids."""

Test: TypeAlias = Callable[[Any, Found], bool]
"""Whether a row passes."""

Operator: TypeAlias = Literal[":", "=", "!=", ">", ">=", "<", "<="]


class FilterError(Exception):
    """The text is no filter. ``start`` and ``end`` are the characters that are wrong."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


class Condition(str):
    """A condition in SQL, with the place in the filter at which it begins."""

    start: int

    def __new__(cls, text: str, start: int) -> Self:
        """A condition."""
        made = super().__new__(cls, text)
        made.start = start
        return made

    @property
    def key(self) -> str:
        """Names it in ``Found``, where texts are as well."""
        return f"sql:{self}"

    def mistake(self, reason: str, line: int | None, column: int | None) -> FilterError:
        """What is wrong with it, at its place in the filter where one is known."""
        if line != 1 or column is None or column > len(self):
            return FilterError(reason, self.start, self.start + len(self))
        return FilterError(reason, self.start + column - 1, self.start + len(self))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text of a filter."""

    kind: Literal["term", "quoted", "open", "close", "end"]
    text: str
    """The word; of a quoted text what stands between the quotes."""
    start: int
    end: int
    key: str = ""
    operator: str = ""
    """Empty where the word is no ``key:value``."""
    value: str = ""
    value_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A filter that was understood."""

    text: str
    test: Test = field(repr=False)
    texts: tuple[str, ...] = ()
    """What has to be looked for in the bodies before ``test`` can be asked, in lower case."""
    conditions: tuple[Condition, ...] = ()
    """What has to be asked in SQL before that."""

    @property
    def is_empty(self) -> bool:
        """True where everything passes."""
        return not self.text.strip()


MakeTest: TypeAlias = Callable[[Token], tuple[Test, Sequence[str]]]
"""Makes the test of one ``key:value`` or of one text, and says which texts it needs from the bodies, and
which conditions. Raises FilterError."""

_WORD = re.compile(r'(?P<key>[A-Za-z_]+)(?P<operator>!=|>=|<=|[:=><])(?P<value>"[^"]*"?|[^\s()"]*)')
_BARE = re.compile(r'[^\s()"]+')
_JOINING = ("and", "or", "not")
_DEEPEST = 50
"""Brackets and ``not`` within each other; nobody types more, and each level is a call."""


def tokens(text: str) -> list[Token]:
    """The text in pieces, the last one marking its end.

    Raises:
        FilterError: a quote is not closed.
    """
    out: list[Token] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
        elif char in "()":
            out.append(Token("open" if char == "(" else "close", char, at, at + 1))
            at += 1
        elif char == '"':
            close = _closing(text, at)
            out.append(Token("quoted", text[at + 1 : close], at, close + 1))
            at = close + 1
        else:
            out.append(_word(text, at))
            at = out[-1].end
    out.append(Token("end", "", len(text), len(text)))
    return out


def _closing(text: str, at: int) -> int:
    close = text.find('"', at + 1)
    if close < 0:
        raise FilterError('the quote " is not closed', at, len(text))
    return close


def _word(text: str, at: int) -> Token:
    match = _WORD.match(text, at)
    if match is None:
        match = _BARE.match(text, at)
        assert match is not None
        return Token("term", match.group(), at, match.end())
    value = match["value"]
    value_at = match.start("value")
    if value.startswith('"'):
        _closing(text, value_at)
        value = value[1:-1]
    return Token("term", match.group(), at, match.end(), match["key"].lower(), match["operator"], value, value_at)


def parse_filter(text: str, make: MakeTest) -> Filter:
    """Understand a text.

    Args:
        text: what the user typed; an empty one lets everything pass.
        make: makes the test of a word.

    Raises:
        FilterError: where and why it is not understood.
    """
    reader = _Reader(tokens(text), make)
    if reader.now.kind == "end":
        return Filter(text=text, test=lambda row, found: True)
    test = reader.whole()
    conditions = tuple(dict.fromkeys(each for each in reader.texts if isinstance(each, Condition)))
    texts = tuple(dict.fromkeys(each for each in reader.texts if not isinstance(each, Condition)))
    return Filter(text=text, test=test, texts=texts, conditions=conditions)


class _Reader:
    """Reads tokens from left to right; ``or`` binds weaker than words beside each other, ``not`` strongest."""

    def __init__(self, found: Sequence[Token], make: MakeTest) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0
        self._make = make
        self.texts: list[str] = []

    @property
    def now(self) -> Token:
        return self._tokens[self._at]

    def _is(self, word: str) -> bool:
        return self.now.kind == "term" and not self.now.operator and self.now.text.lower() == word

    def _step(self) -> Token:
        token = self.now
        self._at += 1
        return token

    def whole(self) -> Test:
        test = self.either()
        if self.now.kind != "end":
            raise FilterError("this bracket closes nothing", self.now.start, self.now.end)
        return test

    def either(self) -> Test:
        tests = [self._all()]
        while self._is("or"):
            self._step()
            tests.append(self._all())
        if len(tests) == 1:
            return tests[0]
        return lambda row, found: any(test(row, found) for test in tests)

    def _all(self) -> Test:
        tests = [self._one()]
        while self.now.kind not in ("end", "close") and not self._is("or"):
            if self._is("and"):
                self._step()
            tests.append(self._one())
        if len(tests) == 1:
            return tests[0]
        return lambda row, found: all(test(row, found) for test in tests)

    def _one(self) -> Test:
        token = self._step()
        if token.kind == "end":
            raise FilterError("something is missing at the end", max(token.start - 1, 0), token.end)
        if token.kind == "close":
            raise FilterError("something is missing before this bracket", token.start, token.end)
        if token.kind == "open" or (not token.operator and token.kind == "term" and token.text.lower() in _JOINING):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise FilterError("too many brackets within each other", token.start, token.end)
            test = self._nested(token)
            self._depth -= 1
            return test
        return self._single(token)

    def _nested(self, token: Token) -> Test:
        if token.kind == "open":
            inner = self.either()
            if self.now.kind != "close":
                raise FilterError("this bracket is not closed", token.start, token.end)
            self._step()
            return inner
        if token.text.lower() != "not":
            said = f"something is missing before {token.text!r}; quote the word to search for it"
            raise FilterError(said, token.start, token.end)
        denied = self._one()
        return lambda row, found: not denied(row, found)

    def _single(self, token: Token) -> Test:
        test, texts = self._make(token)
        self.texts.extend(texts)
        return test


@dataclass(frozen=True, slots=True)
class Completion:
    """How a text can go on."""

    start: int
    """From here on the text would be replaced."""
    candidates: tuple[str, ...]
    """Full words to put there, the likeliest first."""
    hint: str = ""
    """What the key means, or what it takes."""

    def apply(self, text: str, choice: int = 0) -> str:
        """The text with one of the candidates."""
        return text[: self.start] + self.candidates[choice] if self.candidates else text


def last_word(text: str) -> Token | None:
    """The word that is being typed at the end of the text; None where a new one would begin, or within a quote."""
    if not text or text[-1].isspace() or text[-1] in "()":
        return None
    try:
        found = tokens(text)
    except FilterError as fault:
        # A value whose quote is still open can be completed all the same.
        match = _WORD.fullmatch(text, max(text.rfind(" ", 0, fault.start), text.rfind("(", 0, fault.start)) + 1)
        if match is None:
            return None
        value = match["value"].removeprefix('"')
        return Token("term", match.group(), match.start(), match.end(), match["key"].lower(), match["operator"], value,
                     match.start("value"))  # fmt: skip
    token = found[-2]
    return token if token.kind == "term" else None


def quoted(value: str) -> str:
    """A value as it has to be written: in quotes where it would not be one word."""
    shown = one_line(value, "").replace('"', "")
    return shown if _BARE.fullmatch(shown) else f'"{shown}"'
