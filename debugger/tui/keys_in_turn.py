"""Keys one after the other: what is typed ahead goes to what the keys before it led to.

Textual hands a key to whatever has the focus when it arrives. Of ``/ref`` that arrives at once, as over a slow line,
from tmux or while the screen is busy, the letters would still go to the list: they would not be looked for but obeyed,
and a ``q`` among them would leave.
"""

from __future__ import annotations

from collections import deque

from textual import events, on
from textual.app import App
from textual.dom import DOMNode
from textual.message import Message


class KeysInTurn(App[None], inherit_bindings=False):
    """An app in which a key waits until the one before it has done its work."""

    class KeyDone(Message):
        """Follows a key on its way up from the focus, and so comes to the app when the key has been dealt with.

        Attributes:
            again: it has to follow once more: what a widget made of the key is a message that goes the same way.
        """

        def __init__(self, *, again: bool) -> None:
            super().__init__()
            self.again = again

    def __init__(self) -> None:
        super().__init__()
        self._typed_ahead: deque[events.Event] = deque()
        self._under_way: DOMNode | None = None
        """What the present key was handed to."""

    async def on_event(self, event: events.Event) -> None:
        """Hand on a key or pasted text if it is its turn."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed_ahead.append(event)
        # A screen that was left may have taken the follower of its last key with it.
        if self._under_way is None or not self._under_way.is_attached:
            await self._hand_on()

    async def _hand_on(self) -> None:
        self._under_way = None
        while self._typed_ahead and self._under_way is None:
            await super().on_event(self._typed_ahead.popleft())
            self._follow(again=True)

    def _follow(self, *, again: bool) -> bool:
        target = self.focused or self.screen
        posted = target.post_message(self.KeyDone(again=again))
        self._under_way = target if posted else None
        return posted

    @on(KeyDone)
    def _next_key(self, event: KeyDone) -> None:
        if not (event.again and self._follow(again=False)):
            # Behind what the key put into the app's queue: Textual moves the focus that way.
            self.call_later(self._hand_on)
