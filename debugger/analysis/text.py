"""Text for the screen: trace text made harmless, measured in cells, and numbers made short.

Trace text is hostile. Whatever reaches a screen goes through ``visible`` or ``one_line`` first: control characters,
bidirectional overrides and zero-width characters come out as visible stand-ins, so that nothing is obeyed, hidden or
shifts a column. Nothing here parses markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from rich.cells import cell_len, set_cell_size, split_graphemes

NO_NAME = "(no name)"
"""Shown in place of an empty name."""

ELLIPSIS = "…"

ONE_LINE_LIMIT = 2000
"""Characters of a text that a one-line place looks at; no screen is wider, and a name may be megabytes long."""

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_PLAINER = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff"
_HOSTILE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff" + _PLAINER + _INVISIBLE + "]")
_PICTURE = re.compile("[\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff\u2190-\u21ff]")
_JOINED = re.compile("[\u0620-\u06d3\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17d3\u1820-\u18aa]")
"""Arabic, the scripts of India, Burmese, Khmer, Mongolian."""
_HOSTILE_OR_PAIR = re.compile("\r\n|" + _HOSTILE.pattern)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_BREAK = re.compile("\r\n|[\n\u0085\u2028\u2029]")
_BREAKS = frozenset(("\r\n", "\n", "\u0085", "\u2028", "\u2029"))


def _stand_in(match: re.Match[str]) -> str:
    char = match.group()
    if char in _BREAKS:
        return "⏎"
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code in (0xFE0E, 0xFE0F):
        # They only choose between the text and the emoji picture, and terminals disagree on the width that follows.
        return ""
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if code in (0x200C, 0x200D) and _is_spelling(match):
        # Terminals disagree on the width of joined pictures; the letters can be read without.
        return ""
    if 0x1F3FB <= code <= 0x1F3FF:
        # A skin tone takes cells of its own in some terminals, and none in others.
        return "" if _PICTURE.match(match.string[match.start() - 1 : match.start()]) else match.group()
    return f"<U+{code:04X}>"


def _is_spelling(match: re.Match[str]) -> bool:
    """Whether a joiner stands where texts really have one: between pictures, or in a script that is written joined.

    Anywhere else it hides something, and is shown.
    """
    text, at = match.string, match.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return any(before and after and pattern.match(before) and pattern.match(after) for pattern in (_PICTURE, _JOINED))


def visible(text: str) -> str:
    """The text as one line in which every hostile character is a visible stand-in (``␛``, ``⏎``, ``<U+202E>``).

    Cost: one scan; a clean text comes back as the same object.
    """
    if _HOSTILE.search(text) is None:
        return text
    return _HOSTILE_OR_PAIR.sub(_stand_in, text)


def with_escapes(text: str) -> str:
    """The text as it was recorded, for the clipboard and for files: control characters as escapes of JSON.

    Line breaks and tabs stay; lone surrogates, which no encoding has, become escapes too.
    """
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(lambda match: json.dumps(match.group())[1:-1], text)


def one_line(text: str | None, empty: str = NO_NAME) -> str:
    """A name or short text for one row: visible, without outer white space, cut at ``ONE_LINE_LIMIT`` characters."""
    shown = visible(text[:ONE_LINE_LIMIT] if text else "").strip()
    return shown or empty


def lines_of(text: str) -> list[str]:
    """The lines of a longer text, each made visible; tabs become four spaces, line breaks of every kind break."""
    return [visible(line.replace("\t", "    ")) for line in broken(text)]


def broken(text: str) -> list[str]:
    """The lines of a longer text as they are."""
    return _LINE_BREAK.split(text)


def width_of(text: str) -> int:
    """Cells that the text takes on the screen."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """At most ``width`` cells of the text, with an ellipsis where something is missing.

    A wide character is never cut in half: where only one of its two cells would fit, it is left out.
    """
    if width <= 0:
        return ""
    if width_of(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + ELLIPSIS
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def cut_left(text: str, width: int) -> str:
    """At most ``width`` cells of the text's end, with an ellipsis where something is missing: of a path, the file."""
    if width_of(text) <= width:
        return text
    at = max(len(text) - width + 1, 0)
    while at < len(text) and width_of(text[at:]) > width - 1:
        at += 1
    return cut(ELLIPSIS + text[at:], width)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Exactly ``width`` cells: cut where longer, padded with spaces where shorter."""
    shown = cut(text, width)
    pad = " " * (max(width, 0) - width_of(shown))
    return pad + shown if right else shown + pad


def wrap_at(text: str, width: int, hang: int = 0) -> list[tuple[int, int]]:
    """Where a line breaks when it may be ``width`` cells wide: ``(start, end)`` of each row, covering all the text.

    Rows after the first are ``hang`` cells narrower.

    Breaks after a space where one is in the last half of the row, else between characters. Never empty.
    """
    width = max(width, 2)
    if len(text) <= width and (text.isascii() or cell_len(text) <= width):
        return [(0, len(text))]
    if not text.isascii():
        return _wrap_wide(text, width, hang)
    rows = []
    start, size = 0, len(text)
    while size - start > width:
        space = text.rfind(" ", start + width // 2, start + width + 1)
        end = space + 1 if space >= 0 else start + width
        rows.append((start, end))
        if not start:
            width = max(width - hang, 2)
        start = end
    if start < size:
        rows.append((start, size))
    return rows


def _wrap_wide(text: str, width: int, hang: int) -> list[tuple[int, int]]:
    """``wrap_at`` by cells instead of characters: a wide character or a joined one is never divided."""
    spans, _ = split_graphemes(text)
    rows: list[tuple[int, int]] = []
    at, total = 0, len(spans)
    while at < total:
        used, end, space = 0, at, -1
        while end < total and (used + spans[end][2] <= width or end == at):
            used += spans[end][2]
            end += 1
            if used > width // 2 and text[spans[end - 1][0]] == " ":
                space = end
        if end < total and space > at:
            end = space
        rows.append((spans[at][0], spans[end - 1][1]))
        at = end
        if len(rows) == 1:
            width = max(width - hang, 2)
    return rows or [(0, len(text))]


def duration(ns: int | None) -> str:
    """A length of time, short: ``412 ms``, ``4.21 s``, ``3 m 05 s``; ``-`` for None, a minus sign where negative."""
    if ns is None:
        return "-"
    if ns < 0:
        return "-" + duration(-ns)
    if ns < 1_000:
        return f"{ns} ns"
    if ns < 1_000_000:
        return f"{_short(ns, 1_000)} µs"
    if ns < 1_000_000_000:
        return f"{_short(ns, 1_000_000)} ms"
    if ns < 60 * 1_000_000_000:
        return f"{ns / 1_000_000_000:.2f} s"
    seconds = ns // 1_000_000_000
    if seconds < 3600:
        return f"{seconds // 60} m {seconds % 60:02} s"
    if seconds < 48 * 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02} m"
    return f"{seconds // 86400} d {seconds % 86400 // 3600:02} h"


def _short(value: int, unit: int) -> str:
    whole = value / unit
    return f"{whole:.0f}" if whole >= 10 or value % unit == 0 else f"{whole:.1f}"


def count(number: int | None) -> str:
    """A count, short: ``940``, ``2.1k``, ``31M``; ``-`` for None."""
    if number is None:
        return "-"
    for unit, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{_short(number, unit)}{letter}"
    return str(number)


def plural(number: int, noun: str, many: str | None = None) -> str:
    """``1 span``, ``2 spans``, ``1,204 spans``."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def cost(nano_usd: int | None) -> str:
    """Money from billionths of a dollar: ``$0.0042``, ``$12.30``; ``-`` for None."""
    if nano_usd is None:
        return "-"
    sign = "-" if nano_usd < 0 else ""
    dollars = abs(nano_usd) / 1_000_000_000
    if dollars >= 1 or nano_usd == 0:
        return f"{sign}${dollars:,.2f}"
    if dollars >= 0.01:
        return f"{sign}${dollars:.3f}"
    return f"{sign}${dollars:.4f}" if dollars >= 0.0001 else f"{sign}<$0.0001"


def sparkline(values: Sequence[int]) -> str:
    """Numbers as a row of bars, the largest one full, each at least the smallest bar."""
    most = max(values, default=0)
    return "".join("▁▂▃▄▅▆▇█"[max(value, 0) * 7 // most if most > 0 else 0] for value in values)


def size(count_bytes: int | None) -> str:
    """A number of bytes: ``812 B``, ``14 KB``, ``3.1 MB``."""
    if count_bytes is None:
        return "size unknown"
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if count_bytes >= unit:
            return f"{_short(count_bytes, unit)} {name}"
    return f"{count_bytes} B"


def _moment(unix_nano: int, zone: tzinfo | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(unix_nano // 1_000_000_000, UTC).astimezone(zone)
    except (OverflowError, ValueError, OSError):
        # A producer's nonsense time, centuries away: no calendar shows it.
        return None


def this_year(zone: tzinfo | None = None) -> int:
    """The year that needs not be said."""
    return datetime.now(UTC).astimezone(zone).year


def clock(unix_nano: int | None, zone: tzinfo | None = None, *, with_year: bool = False) -> str:
    """Date and time of day in the given zone, by default the local one: ``29 Nov 14:02:11``.

    The year takes the place of the seconds where it is another one than now, or is always wanted:
    ``29 Nov 2025 14:02``.
    """
    moment = None if unix_nano is None else _moment(unix_nano, zone)
    if moment is None:
        return "no time"
    if with_year or moment.year != this_year(zone):
        return f"{moment.day:2} {moment:%b %Y %H:%M}"
    return f"{moment.day:2} {moment:%b %H:%M:%S}"


def clock_exact(unix_nano: int | None, zone: tzinfo | None = None) -> str:
    """The moment to the nanosecond, with its zone, for a detail line."""
    moment = None if unix_nano is None else _moment(unix_nano, zone)
    if moment is None or unix_nano is None:
        return "no time recorded" if unix_nano is None else f"{unix_nano} ns (no date)"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{unix_nano % 1_000_000_000:09} {moment:%Z}"
