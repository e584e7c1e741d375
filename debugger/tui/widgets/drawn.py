"""The base of all widgets that draw: styles by name, strips from pieces, rows under a cursor."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ...analysis.document import Piece
from ...analysis.text import cut, width_of
from ..keymap import bindings, key_of

LOOKS = frozenset(
    f"look--{name}"
    for name in (
        "dim", "strong", "heading", "key", "string", "number", "error", "warning", "good", "removed", "added", "system",
        "user", "assistant", "tool", "agent", "llm", "retriever", "reasoning", "fold", "line", "bar", "cursor",
        "cursor-blurred", "mark", "match", "window", "playhead",
    )
)  # fmt: skip
"""The styles of ``analysis.document`` and a few of the screen's own, as component classes of the app.

They look the same everywhere, and Textual works out the component classes of a node anew with each mount, focus and
screen: on each widget they cost more than all else that opening a screen does.
"""

_TO_ASCII = str.maketrans(
    {
        **dict(zip("●◆▲■○·✗✓◌↺»✎▣↳≈", "*#^=o.x+o%>~@>~", strict=True)),
        **dict(zip("▁▂▃▄▅▆▇▕┄░◂┃⚑◀", "__.-~=%|-:<|!<", strict=True)),
        **dict(zip("▾▸▴▌│├└─┬┊⏎…↑↓←→", "v>^|||`-+:~~^v<>", strict=True)),
        **dict(zip("▏▎▍▌▋▊▉█▐▒▶≥⇧⌫", "||||====|~>>^<", strict=True)),
    }
)


@dataclass(frozen=True, slots=True)
class Run:
    """Text in a style of the screen, which knows more styles than a document does."""

    text: str
    style: str = ""


Drawable = Piece | Run


class Look:
    """Mixed into widgets that draw by line: named styles and strips."""

    def style(self: Widget, name: str) -> Style:  # type: ignore[misc]
        """The look of a style name in the present theme; null for the plain style."""
        kept: dict[str, Style] = self.__dict__.setdefault("_look_styles", {"": Style.null()})
        if name not in kept:
            kept[name] = self.app.get_component_styles(f"look--{name}").partial_rich_style
        return kept[name]

    def base(self: Widget, fill: str = "") -> Style:  # type: ignore[misc]
        """The widget's own colours, under a named style. Kept, as working them out costs more than drawing a line."""
        kept: dict[str, Style] = self.__dict__.setdefault("_base_styles", {})
        if fill not in kept:
            kept[fill] = self.rich_style + Look.style(self, fill) if fill else self.rich_style
        return kept[fill]

    def strip(self: Widget, pieces: Iterable[Drawable], width: int, fill: str = "") -> Strip:  # type: ignore[misc]
        """Exactly ``width`` cells of the pieces, cut with an ellipsis or padded, on the widget's own colours.

        Neighbours that look alike become one segment: each one costs at every step of its way to the terminal.
        """
        plain = self.app.ascii_only if isinstance(self.app, HasAscii) else False
        looks: dict[str, Style] = self.__dict__.setdefault("_looks_on", {}).setdefault(fill, {})
        segments: list[Segment] = []
        room, held, name = width, "", ""
        for piece in pieces:
            text = piece.text
            if not text:
                continue
            size = width_of(text)
            if size > room:
                text = cut(text, room)
                size = width_of(text)
            room -= size
            if piece.style == name:
                held += text
            else:
                if held:
                    segments.append(Segment(held, looks.get(name) or Look._look_on(self, name, fill)))
                held, name = text, piece.style
            if room <= 0:
                break
        if room > 0 and not name:
            held, room = held + " " * room, 0
        if held:
            segments.append(Segment(held, looks.get(name) or Look._look_on(self, name, fill)))
        if room > 0:
            segments.append(Segment(" " * room, looks.get("") or Look._look_on(self, "", fill)))
        if plain:
            segments = [Segment(segment.text.translate(_TO_ASCII), segment.style) for segment in segments]
        return Strip(segments, width)

    def _look_on(self: Widget, name: str, fill: str) -> Style:  # type: ignore[misc]
        """A named style on the widget's own colours. Kept for ``strip``."""
        looks: dict[str, Style] = self.__dict__["_looks_on"][fill]
        looks[name] = Look.base(self, fill) + Look.style(self, name)
        return looks[name]


def forget_styles(widget: Widget) -> None:
    """The theme or a pseudo class changed: work out the widget's styles anew."""
    widget.__dict__.pop("_base_styles", None)
    widget.__dict__.pop("_look_styles", None)
    widget.__dict__.pop("_looks_on", None)


class HasAscii:
    """An app that may be told to draw with ASCII signs only."""

    ascii_only: bool = False
    keys: Mapping[str, str] = MappingProxyType({})
    """Keys that the settings give, by the id of a binding."""


def key_for(node: DOMNode, id_: str) -> str:
    """How the key of a binding is written here, whatever the settings made of it."""
    return key_of(id_, node.app.keys if isinstance(node.app, HasAscii) else {})


class OneLine(Look, Widget, can_focus=False):
    """One line of pieces: header, key line, tab line, ruler."""

    DEFAULT_CSS = "OneLine { height: 1; }"

    pieces: reactive[tuple[Drawable, ...]] = reactive[tuple[Drawable, ...]](())
    """From the left."""
    right: reactive[tuple[Drawable, ...]] = reactive[tuple[Drawable, ...]](())
    """Kept at the right edge; it goes first where both do not fit."""

    def notify_style_update(self) -> None:
        """The theme or a pseudo class changed."""
        super().notify_style_update()
        forget_styles(self)

    def render_line(self, y: int) -> Strip:
        """The line; cost: O(pieces)."""
        width = self.size.width
        if y:
            return Strip.blank(width, self.base())
        tail = sum(width_of(piece.text) for piece in self.right)
        head = sum(width_of(piece.text) for piece in self.pieces)
        if not self.right or tail > width // 2 or head + tail + 1 > width + max(head - 24, 0):
            return self.strip(self.pieces, width)
        left = self.strip(self.pieces, width - tail - 1)
        return Strip.join([left, self.strip((Run(" "), *self.right), tail + 1)])


class Drawn(Look, ScrollView, can_focus=True, inherit_bindings=False):
    """Rows under a cursor, drawn by line from whatever the subclass holds.

    A key that moves the cursor draws two rows, one that scrolls draws the page; strips are kept, so most of those are
    found and not made. The number of rows costs nothing.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("rows")
    DEFAULT_CSS = "Drawn { overflow-x: hidden; overflow-y: auto; }"

    keys_say_all: ClassVar[bool] = False
    """``row_key`` says all that a row is made of: a strip then serves wherever and whenever its key comes again."""

    cursor: reactive[int] = reactive(0, repaint=False)
    """The row under the cursor; 0 where there are no rows."""
    row_total: reactive[int] = reactive(0, repaint=False)
    """How many rows there are."""

    class Moved(Message):
        """The cursor came to another row. Handler: ``on_drawn_moved``."""

        def __init__(self, control: Drawn, row: int) -> None:
            super().__init__()
            self.drawn = control
            self.row = row

        @property
        def control(self) -> Drawn:
            """The widget."""
            return self.drawn

    class Opened(Moved):
        """A row was clicked twice. Handler: ``on_drawn_opened``."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._strips: LRUCache[Hashable, Strip] = LRUCache(512)
        self.lines_painted = 0
        """Lines that were asked for, since the widget was made: tests count them."""
        self.rows_made = 0
        """Lines that were really made, as no strip was kept for them."""

    # What a subclass gives.

    def row_pieces(self, row: int, width: int) -> Sequence[Drawable]:
        """The row as pieces. Called for rows on the screen only; a subclass that has rows gives them here."""
        return ()

    def row_key(self, row: int) -> Hashable:
        """What, beside row, width and cursor, decides how the row looks."""
        return None

    def empty_pieces(self, y: int) -> Sequence[Drawable]:
        """What a line says when there are no rows."""
        return ()

    # Rows.

    def redraw(self, total: int, cursor: int | None = None, changed: Sequence[int] | None = None) -> None:
        """The rows have changed: forget strips that may be stale, keep the cursor inside, draw the page.

        Args:
            total: how many rows there are now.
            cursor: the new place of the cursor; None keeps it.
            changed: the only rows on the screen that look otherwise than before, where that is known.
        """
        before = self.cursor
        if not self.keys_say_all:
            self._strips.clear()
        self.row_total = total
        self._measure()
        wanted = self.cursor if cursor is None else cursor
        self.set_reactive(Drawn.cursor, min(max(wanted, 0), max(total - 1, 0)))
        self.show_cursor()
        if changed is None:
            self.refresh()
        else:
            self.redraw_rows(*changed, before, self.cursor)

    def _measure(self) -> None:
        """Tell Textual how much there is to scroll.

        A change of this size that Textual sees lays the whole screen out again, so while all rows fit it stays that of
        the pane, and while they do not, only the bar is told.
        """
        size, height = self.size, self.styles.height
        total = self.row_total if height is not None and height.is_auto else max(self.row_total, size.height)
        before, now = self.virtual_size, Size(size.width, total)
        if now == before:
            return
        if not (self.show_vertical_scrollbar and min(before.height, total) > size.height and before.width == now.width):
            self.virtual_size = now
            return
        # The bar was there and stays: what it shows changes, and nothing its place.
        self.set_reactive(Drawn.virtual_size, now)
        self.vertical_scrollbar.window_virtual_size = total
        if self.scroll_offset.y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False)

    def redraw_rows(self, *rows: int) -> None:
        """These rows have changed: draw them, as far as they are on the screen, at one go."""
        width, height = self.size
        top = self.scroll_offset.y
        lines = {row - top for row in rows if 0 <= row - top < height}
        if lines:
            self.refresh(*[Region(0, y, width, 1) for y in sorted(lines)])

    def show_cursor(self) -> None:
        """Scroll, without animation, until the cursor's row is on the screen."""
        height = self.size.height
        if not height:
            return
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def validate_cursor(self, row: int) -> int:
        """Keep the cursor on a row."""
        return min(max(row, 0), max(self.row_total - 1, 0))

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw the two rows, scroll if need be, and tell the screen."""
        self.redraw_rows(old, new)
        self.show_cursor()
        self.post_message(self.Moved(self, new))

    def notify_style_update(self) -> None:
        """The theme or a pseudo class changed: all strips are stale."""
        super().notify_style_update()
        self._strips.clear()
        forget_styles(self)

    def render_line(self, y: int) -> Strip:
        """A line of the screen; cost: one look-up for a row that is kept, else one row made."""
        self.lines_painted += 1
        width = self.scrollable_content_region.width  # What lies behind the bar is no part of a row.
        row = self.scroll_offset.y + y
        if row >= self.row_total:
            said = () if self.row_total else self.empty_pieces(y)
            return self.strip(said, width) if said else Strip.blank(width, self.base())
        at_cursor = row == self.cursor
        key = (0 if self.keys_say_all else row, width, at_cursor, at_cursor and self.has_focus, self.row_key(row))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._make(row, width, at_cursor)
        return strip

    def _make(self, row: int, width: int, at_cursor: bool) -> Strip:
        self.rows_made += 1
        if not at_cursor:
            return self.strip((Run(" "), *self.row_pieces(row, width - 1)), width)
        fill = "cursor" if self.has_focus else "cursor-blurred"
        return self.strip(
            (Run("▌", "mark" if self.has_focus else "dim"), *self.row_pieces(row, width - 1)), width, fill
        )

    # Events and actions.

    def on_resize(self, event: events.Resize) -> None:
        """Rows are as wide as the widget."""
        self._measure()
        self._strips.clear()
        self.call_after_refresh(self.show_cursor)

    def on_focus(self) -> None:
        """The cursor's row shows which pane takes the keys."""
        self.redraw_rows(self.cursor)

    def on_blur(self) -> None:
        """See ``on_focus``."""
        self.redraw_rows(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a second one opens."""
        row = self.scroll_offset.y + event.y
        if row >= self.row_total:
            return
        self.cursor = row
        if event.chain == 2:
            self.post_message(self.Opened(self, row))

    def _turn(self, pages: int) -> None:
        """Scroll by a page, one row of which stays, and take the cursor along."""
        height = max(self.size.height, 1)
        by = pages * max(height - 1, 1)
        top = min(max(self.scroll_offset.y + by, 0), max(self.row_total - height, 0))
        # At once: the cursor's own scrolling asks where the page is.
        self.scroll_to(y=top, animate=False, immediate=True)
        self.cursor = min(max(self.cursor + by, top), top + height - 1)

    def action_cursor_up(self) -> None:
        """One row up."""
        self.cursor -= 1

    def action_cursor_down(self) -> None:
        """One row down."""
        self.cursor += 1

    def action_page_up(self) -> None:
        """One page up."""
        self._turn(-1)

    def action_page_down(self) -> None:
        """One page down."""
        self._turn(1)

    def action_first(self) -> None:
        """To the first row."""
        self.cursor = 0

    def action_last(self) -> None:
        """To the last row."""
        self.cursor = self.row_total - 1
