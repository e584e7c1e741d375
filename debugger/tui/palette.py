"""The command palette: everything that any key of the screen does, found by its name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from functools import partial

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode

from .keymap import TITLES, display, group_of
from .screens.base import PaneScreen, own_bindings

_MOVING = ("rows.", "filter.", "app.palette")
"""Keys that only move or type are no commands."""


class KeyCommands(Provider):
    """Offers the bindings of the screen and of all its panes."""

    def _commands(self) -> Iterable[tuple[DOMNode, Binding]]:
        screen = self.screen
        if not isinstance(screen, PaneScreen):
            return
        seen = set()
        for node in screen.help_nodes():
            if not isinstance(node, DOMNode):
                continue
            for binding in own_bindings(node):
                if binding.id not in seen and not (binding.id or "").startswith(_MOVING):
                    seen.add(binding.id)
                    yield node, binding

    async def discover(self) -> Hits:
        """All commands, before anything is typed."""
        for node, binding in self._commands():
            yield DiscoveryHit(_label(binding), partial(self._run, node, binding), help=str(binding.tooltip))

    async def search(self, query: str) -> AsyncIterator[Hit]:
        """The commands whose name or sentence fits."""
        matcher = self.matcher(query)
        for node, binding in self._commands():
            label = _label(binding)
            score = max(matcher.match(label), matcher.match(str(binding.tooltip)) * 0.9)
            if score > 0:
                yield Hit(score, matcher.highlight(label), partial(self._run, node, binding), help=str(binding.tooltip))

    async def _run(self, node: DOMNode, binding: Binding) -> None:
        await self.app.run_action(binding.action, default_namespace=node)


def _label(binding: Binding) -> str:
    group = group_of(binding)
    where = TITLES[group] if group is not None else ""
    return f"{binding.description}  ({display(binding.key)})  {where}"
