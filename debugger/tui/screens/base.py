"""What all full screens share: a header, a key line that follows the focus, panes that Tab goes through, help."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import TextArea

from ...analysis.problem import problem_of
from ...analysis.text import one_line, plural
from ...errors import UnwritableError
from ...whole_file import whole_file
from ..keymap import FIRST, bindings, remapped
from ..latest import AskingScreen
from ..widgets.drawn import Drawable, HasAscii, OneLine, Run, key_for
from ..widgets.filter_line import FilterField, FilterLine
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView

ALWAYS: Sequence[Binding] = [b for b in bindings("app") if isinstance(b, Binding) and b.id in ("app.help", "app.quit")]


def own_bindings(node: object) -> list[Binding]:
    """The bindings that a node's class declares, its own before inherited ones, as far as it inherits them."""
    out: list[Binding] = []
    app = node if isinstance(node, HasAscii) else node.app if isinstance(node, DOMNode) and node.is_attached else None
    keys = app.keys if isinstance(app, HasAscii) else {}
    for kind in type(node).__mro__:
        for binding in kind.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id and all(binding.id != known.id for known in out):
                out.append(remapped(binding, keys))
        if not kind.__dict__.get("_inherit_bindings", True):
            break
    return out


def _typing_keys(always: Sequence[Binding]) -> list[Binding]:
    """The same where letters and signs are typed: of each its first key that is none."""
    return [
        replace(each, key=next((key for key in each.key.split(",") if _UNTYPED.match(key)), each.key))
        for each in always
    ]


_UNTYPED = re.compile(r"f\d|.+\+")


class PaneScreen(AskingScreen, inherit_bindings=False):
    """A full screen with panes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("screen")
    AUTO_FOCUS = ""

    _finds_in: LineView | None = None
    """The text that is searched."""

    is_reading = False
    """The input is still being read here."""

    @property
    def is_current(self) -> bool:
        """Whether it can be seen: it is on top, or only dialogs lie above it.

        Textual counts the screen right under the top one as seen, whatever covers it. Each change there, also one made
        by looking for news, would then draw all of the top screen again, with every later key.
        """
        if not super().is_current:
            return False
        stack = self.app.screen_stack
        return self not in stack or not any(isinstance(above, PaneScreen) for above in stack[stack.index(self) + 1 :])

    def header(self) -> Iterable[Drawable]:
        """What the header says."""
        return (Run(" Retrospan", "strong"),)

    def header_right(self) -> Iterable[Drawable]:
        """What stands at the header's right edge."""
        return ()

    def panes(self) -> Sequence[Widget]:
        """The panes that Tab goes through, in order."""
        return [widget for widget in self.query("*") if widget.can_focus and widget.display]

    def help_nodes(self) -> Sequence[object]:
        """Whose keys the help explains: the screen's, its panes', the app's."""
        return [self, *self.panes(), self.app]

    def draw_header(self) -> None:
        """Write the header again."""
        for header in self.query("#header").results(OneLine):
            header.pieces = tuple(self.header())
            header.right = tuple(self.header_right())

    def offer_keys(self) -> None:
        """Write the key line again, for the pane that has the focus."""
        focused = self.focused
        taken: set[str] = set()
        nodes: Sequence[object] = focused.ancestors_with_self if focused is not None else [self]
        if isinstance(focused, FilterField):
            nodes = [focused]  # Every other key is a letter of what is typed.
            taken = set() if focused.completes else {"tab"}
        found: list[Binding] = []
        for binding in (b for node in nodes if node is not self.app for b in own_bindings(node)):
            offered = self.offered(binding)
            # A key that a pane takes for itself does not reach the screen, so it is listed once.
            if offered is not None and taken.isdisjoint(keys := binding.key.split(",")):
                found.append(offered)
                taken.update(keys)
        found.sort(key=lambda binding: FIRST.index(binding.id) if binding.id in FIRST else len(FIRST))
        if len(self.panes()) < 2:
            found = [binding for binding in found if binding.id != "screen.next"]
        for line in self.query(KeyLine):
            line.offer(found, _typing_keys(ALWAYS) if isinstance(focused, FilterField | TextArea) else ALWAYS)

    def offered(self, binding: Binding) -> Binding | None:
        """The binding as the key line shows it now; None where it does not."""
        return binding if binding.show else None

    def on_mount(self) -> None:
        """Draw what does not depend on data. Textual calls this itself, after the screen's own handler of the name."""
        self.draw_header()
        self.offer_keys()

    def when_laid_out(self, draw: Callable[[], None]) -> None:
        """Draw what depends on sizes once these are known; not at all where the screen has gone by then."""
        self.call_after_refresh(lambda: draw() if self.is_attached and self in self.app.screen_stack else None)

    def on_descendant_focus(self) -> None:
        """Other pane, other keys."""
        self.offer_keys()

    def key(self, id_: str) -> str:
        """How a key is written, whatever the settings made of it: sentences that name one ask here."""
        return key_for(self, id_)

    def say(self, text: str, *, warning: bool = False) -> None:
        """A short notice. The text may come from a trace: it is made visible and never read as markup."""
        self.notify(one_line(text), severity="warning" if warning else "information", markup=False)

    def say_fault(self, _: object, error: Exception) -> None:
        """Say why a question was not answered: for a ``Latest`` whose answer has no place on the screen."""
        self.say(problem_of(error, "").sentence, warning=True)

    # Texts: every screen that shows one can look for something in it and give it away.

    async def on_line_view_find_wanted(self, event: LineView.FindWanted) -> None:
        """Open the line to type into."""
        self._finds_in = event.view
        line = next(iter(self.query("#find").results(FilterLine)), None)
        if line is None:
            line = FilterLine("find", id="find")
            await self.mount(line, before="#keys")
        line.add_class("-open")
        line.focus()

    @on(FilterLine.Changed, "#find")
    def _find_typed(self, event: FilterLine.Changed) -> None:
        if self._finds_in is not None:
            self._finds_in.find(event.text)

    @on(FilterLine.Left, "#find")
    def _find_left(self, event: FilterLine.Left) -> None:
        event.line.set_class(bool(event.line.text), "-open")
        if self._finds_in is not None:
            self.focus_pane(self._finds_in)

    def on_line_view_found(self, event: LineView.Found) -> None:
        """Say which match it is; the line closes when nothing is looked for."""
        for line in self.query("#find").results(FilterLine):
            line.right = (Run(event.view.match_text + " ", "warning"),)
            if not event.view.needle and not line.is_typed_into:
                line.text = ""
                line.remove_class("-open")

    def on_line_view_taken(self, event: LineView.Taken) -> None:
        """Copy a text, through the terminal, or write it to a file."""
        if event.to_file:
            self.write_text(event.what, event.text)
        else:
            self.app.copy_to_clipboard(event.text)
            self.say(f"Copied {event.what}: {plural(len(event.text), 'character')}.")

    def write_text(self, title: str, text: str, suffix: str = ".txt") -> None:
        """Write a text to a new file in the present folder."""
        path = new_file(Path(), title or "page", suffix)
        try:
            with whole_file(path) as unfinished:
                unfinished.write_text(text + "\n", encoding="utf-8")
        except UnwritableError as error:
            self.say(f"{path.name} could not be written: {error.why}", warning=True)
        else:
            self.say(f"Written to {path.absolute()}")

    def action_next_pane(self) -> None:
        """Focus the next pane."""
        self._step(1)

    def action_previous_pane(self) -> None:
        """Focus the previous pane."""
        self._step(-1)

    def _step(self, by: int) -> None:
        panes = self.panes()
        if not panes:
            return
        at = panes.index(self.focused) if self.focused in panes else -1 if by > 0 else 0
        self.focus_pane(panes[(at + by) % len(panes)])

    def focus_pane(self, pane: Widget) -> None:
        """Go to a pane."""
        pane.focus()


def new_file(folder: Path, title: str, suffix: str) -> Path:
    """A file of a folder that is not there yet, named after a title that may come from a trace."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", title)[:60].strip("-.") or "page"
    path = folder / f"{name}{suffix}"
    number = 2
    while path.exists():
        path = folder / f"{name}-{number}{suffix}"
        number += 1
    return path
