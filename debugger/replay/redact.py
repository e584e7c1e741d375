"""Redaction: secrets and personal data are taken out of what is recorded or exported, never out of the matching key.

A rule replaces what it finds by ``[redacted:RULE]``, so that everybody sees that something was there. Content hashes
are made before. Since a replay gives redacted answers, which come back with the next request, requests are compared in
redacted form as well; redacting twice changes nothing.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from runtime.journal import AnyRequest
from runtime.messages import Json, Message, Request, ToolDefinition, message_from_json, message_to_json

from ..errors import ReplayError

_NAMES: Final = (
    r"(?:(?:pg)?password|passwd|mysql_pwd|passphrase|secret(?:[_-]?(?:access[_-]?)?key)?|credentials?|authorization"
    r"|(?:api|private|signing|encryption|account|access|master|subscription)[_-]?key|connection[_-]?string"
    r"|(?:access|auth|refresh|session|id|bearer|api|bot|csrf)[_-]?token|(?:set[_-])?cookie)"
)
_SECRET_NAMES: Final = re.compile(rf"(?i)^(?:.*[_.\s-])?{_NAMES}$")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
"""What may be base64."""
_PATTERNS: Final[dict[str, re.Pattern[str]]] = {
    "secret": re.compile(
        r"\b(?:sk|pk|rk)-(?:[A-Za-z]{2,12}-)*[A-Za-z0-9_-]{16,}"
        r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
        r"|\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}\b"
        r"|\bglpat-[A-Za-z0-9_-]{16,}|\bnpm_[A-Za-z0-9]{30,}\b|\bpypi-[A-Za-z0-9_-]{40,}|\bhf_[A-Za-z0-9]{20,}\b"
        r"|\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/]{16,}"
        r"|\b(?:gsk|lsv2_pt|lsv2_sk|dop_v1|r8)_[A-Za-z0-9_]{20,}|\b(?:xai|pplx|tvly)-[A-Za-z0-9-]{20,}"
        r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bya29\.[A-Za-z0-9_-]{20,}|\b\d{8,10}:AA[A-Za-z0-9_-]{32,}"
        r"|\bhttps://hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}"
        r"|\bxox[abprs]-[A-Za-z0-9-]{10,}\b"
        r"|\bAIza[0-9A-Za-z_-]{35}\b"
        r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
        r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/-]{16,}=*"
        r"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:[^-]|-(?!-)){1,8000}-----END [A-Z ]{0,20}PRIVATE KEY-----"
        # What follows takes only the value away, and leaves what says that it is one.
        r"|(?i:(?P<scheme>\bauthorization\W{1,6}(?:basic|token|digest)\s+))[^\s\"',;]{4,}"
        r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/@\"']{0,256}:)[^\s:/@\"'\[]{1,256}(?=@)"
        rf"|(?i:(?P<name>(?<![a-z0-9]){_NAMES}(?:=|[\\\"']{{1,4}}\s?[:=]\s?[\\\"']{{1,4}})))(?!\[redacted)[^\s\"'\\,;&]{{3,}}"
        # A line of a header or of settings, where nothing but a value follows the name.
        rf"|(?im:^(?P<line>[ \t]{{0,40}}(?:export )?(?:[a-z0-9]{{1,20}}[_-]){{0,4}}{_NAMES}[ \t]?[:=][ \t]{{1,8}}))"
        r"(?!\[redacted)[^\s\"']{3,}(?=[ \t]*(?:[\r\n]|\Z))"
        r"|(?im:^(?P<jar>[ \t]{0,40}(?:set-)?cookie:[ \t]{1,8}))(?!\[redacted)[^\s=]{1,256}=[^\n]{1,8000}"
        rf"|(?i:(?P<flag>(?<!\S)--?(?:[a-z0-9]{{1,20}}-){{0,3}}{_NAMES}[ ]))(?!-)(?!\[redacted)[^\s\"'\\,;&]{{3,}}"
    ),
    "email": re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b"),
    "card": re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])"),
    "iban": re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"),
    "phone": re.compile(r"(?<![\w+])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}(?!\w)"),
}
_URL_SAFE: Final = str.maketrans("-_", "+/")
_BINARY: Final = re.compile(r"[\x00-\x08\x0e-\x1f]")
RULES: Final = tuple(_PATTERNS)
"""The names of the built-in rules."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The chosen rules; none leaves everything as it is."""

    rules: tuple[str, ...] = ()
    """Names out of ``RULES``, or ``/pattern/`` for what the user wants gone beside them."""
    values: tuple[str, ...] = ()
    """Secrets that are known as they are, and go under any rules; the longest first."""

    @classmethod
    def of(cls, words: Sequence[str]) -> Redaction:
        """The rules of the command line; ``all`` is every built-in one.

        Raises: ReplayError: a word is no rule.
        """
        rules: list[str] = []
        for word in words:
            names = RULES if word == "all" else (word,)
            for name in names:
                if name not in _PATTERNS:
                    check_pattern(name, f"a rule ({', '.join(RULES)}, all, or /pattern/)")
                if name not in rules:
                    rules.append(name)
        return cls(tuple(rules))

    def text(self, text: str) -> str:
        """The text without what the rules find."""
        for value in self.values:
            text = text.replace(value, "[redacted:secret]")
        for rule in self.rules:
            text = self._plain(rule).sub(self._mark(rule), text)
        return _ENCODED.sub(self._encoded, text) if self.rules else text

    def _encoded(self, found: re.Match[str]) -> str:
        """Base64 of a text in which the rules find something goes as a whole."""
        inner = _decoded(found[0])
        hit = None if inner is None else next((rule for rule in self.rules if self._finds(rule, inner)), None)
        return found[0] if hit is None else _name(hit)

    def _finds(self, rule: str, text: str) -> bool:
        return Redaction._plain(rule).sub(self._mark(rule), text) != text

    @staticmethod
    def _plain(rule: str) -> re.Pattern[str]:
        return _PATTERNS.get(rule) or re.compile(rule[1:-1])

    @staticmethod
    def _mark(rule: str) -> Callable[[re.Match[str]], str]:
        def shown(found: re.Match[str]) -> str:
            if rule == "card" and not _is_card(found[0]):
                return found[0]
            told = next((part for part in found.groupdict().values() if part), "") if rule == "secret" else ""
            return told + _name(rule)

        return shown

    def json(self, value: Json) -> Json:
        """A copy of the value with every text redacted, and what stands under the name of a secret as a whole."""
        if not self.rules and not self.values:
            return value
        if isinstance(value, str):
            return self._inside(value)
        if isinstance(value, Mapping):
            secret = "secret" in self.rules
            if secret and _is_secret(value.get("name", value.get("key")), value.get("value")):
                # As headers and variables are often listed.
                return {**self.json({k: v for k, v in value.items() if k != "value"}), "value": "[redacted:secret]"}
            return {
                self.text(key) if isinstance(key, str) else key: "[redacted:secret]"
                if secret and _is_secret(key, item)
                else self.json(item)
                for key, item in value.items()
            }
        return self._items(value) if isinstance(value, list | tuple) else value

    def _items(self, items: Sequence[Json]) -> list[Json]:
        """The items of a list; what follows the flag of a secret on a command line goes, as does a header's value."""
        out: list[Json] = []
        hides = False
        for item in items:
            goes = hides and isinstance(item, str) and item != "" and not item.startswith("-")
            out.append("[redacted:secret]" if goes else self.json(item))
            is_name = isinstance(item, str) and (item.startswith("-") or len(items) == 2) and "=" not in item
            hides = "secret" in self.rules and is_name and _is_secret(item.lstrip("-"), "value")
        return out

    def _inside(self, text: str) -> str:
        """Text that is JSON is redacted inside, where names tell more, so that its form stays whole."""
        if text[:1] in ("{", "["):
            try:
                data = json.loads(text)
                found = self.json(data)
            except (ValueError, RecursionError):
                return self.text(text)
            return text if found == data else json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return self.text(text)

    def message(self, message: Message) -> Message:
        """The message with every text redacted."""
        return message_from_json(self.json(message_to_json(message))) if self.rules or self.values else message

    def request(self, request: AnyRequest) -> AnyRequest:
        """The request with every text redacted, in what its tools say of themselves too."""
        if not self.rules and not self.values:
            return request
        if isinstance(request, Request):
            tools = request.tools and tuple(
                ToolDefinition.from_json(self.json(each.to_json())) for each in request.tools
            )
            messages = tuple(map(self.message, request.messages))
            others = {"output_schema": self.json(request.output_schema), "parameters": self.json(request.parameters)}
            return replace(request, messages=messages, tools=tools, **others)
        return replace(request, arguments=self.json(request.arguments))

    def command(self, words: Sequence[str]) -> list[str]:
        """A command line, always without secrets: it is kept for people, and nothing is matched by it."""
        rules = self.rules if "secret" in self.rules else ("secret", *self.rules)
        return [str(word) for word in Redaction(rules).json(list(words))]


def _name(rule: str) -> str:
    return f"[redacted:{rule}]" if rule in _PATTERNS else "[redacted]"


def _is_secret(name: Any, value: Json) -> bool:
    """Whether the value stands under the name of a secret; what holds more than plain values is looked into."""
    if isinstance(value, list | tuple) and value:
        return all(not isinstance(each, list | tuple | Mapping) for each in value) and _is_secret(name, str(value))
    if not isinstance(value, str | int | float | bytes) or isinstance(value, bool) or value in ("", b""):
        return False
    return isinstance(name, str) and _SECRET_NAMES.match(_CAMEL.sub("_", name)) is not None


def _decoded(text: str) -> str | None:
    """The text that base64 holds; None where it is none."""
    bare = text.rstrip("=").translate(_URL_SAFE)
    try:
        found = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("utf-8")
    except ValueError:
        return None
    return found if found.isprintable() or not _BINARY.search(found) else None


def _is_card(text: str) -> bool:
    """Luhn's check, which nine of ten numbers of that length fail."""
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    doubled = [d if n % 2 == 0 else d * 2 - 9 * (d > 4) for n, d in enumerate(digits)]
    return sum(doubled) % 10 == 0


def check_pattern(word: str, what: str) -> re.Pattern[str]:
    """The pattern of ``/pattern/``.

    Raises: ReplayError: it is none; the message says what was wanted.
    """
    if len(word) < 3 or word[0] != "/" or word[-1] != "/":
        raise ReplayError(f"{word!r} is no {what.removeprefix('a ')}")
    try:
        return re.compile(word[1:-1])
    except re.error as fault:
        raise ReplayError(f"{word!r} is no regular expression ({fault})") from fault
