"""Questions answered in a worker thread, one at a time: ``Latest`` for what is looked up, ``EachInTurn`` for changes.

A fast cursor asks more often than answers come. While one question runs, later ones replace each other; when it is
done, the newest is asked, and an answer that is no longer wanted is dropped. What changes something must not be
replaced by what comes after it: of that each is done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from textual.message import Message
from textual.screen import Screen

Question = TypeVar("Question")
Found = TypeVar("Found")


class Answered(Message):
    """A worker is done. Delivered by ``AskingScreen``."""

    def __init__(self, deliver: Callable[[], None]) -> None:
        super().__init__()
        self.deliver = deliver


class AskingScreen(Screen[None]):
    """A screen whose workers report back through ``Answered``."""

    def on_answered(self, message: Answered) -> None:
        """Hand the answer to the one who asked, on the screen's own thread."""
        message.stop()
        message.deliver()


class Latest(Generic[Question, Found]):
    """Runs one kind of question for a screen.

    Args:
        screen: the screen that asks.
        name: names the worker.
        work: answers a question; blocks, runs in a thread, touches no widget.
        done: takes the answer to the newest question.
        failed: takes the error where there was one.
        so_far: takes what ``work`` tells of before it is done, by ``tell``.
    """

    def __init__(
        self,
        screen: AskingScreen,
        name: str,
        work: Callable[[Question], Found],
        done: Callable[[Question, Found], None],
        failed: Callable[[Question, Exception], None],
        so_far: Callable[[Question, Found], None] | None = None,
    ) -> None:
        self._screen = screen
        self._name = name
        self._work = work
        self._done = done
        self._failed = failed
        self._so_far = so_far
        self._generation = self._running = 0
        self._waiting: list[Question] = []
        self.is_running = False
        self.asked = 0
        """Questions that were really put to a worker: tests count them."""

    @property
    def is_waiting(self) -> bool:
        """True while a question waits for its turn."""
        return bool(self._waiting)

    @property
    def is_wanted(self) -> bool:
        """True while the answer that is worked on now is still wanted: long work asks that now and then."""
        return self._running == self._generation

    @property
    def is_awaited(self) -> bool:
        """True while an answer is on its way that is still wanted."""
        return self.is_waiting or (self.is_running and self.is_wanted)

    def ask(self, question: Question) -> None:
        """Want the answer to this question, and to no earlier one."""
        self._generation += 1
        self._waiting[:] = [question]
        if not self.is_running:
            self._start()

    def tell(self, question: Question, found: Found) -> None:
        """Hand on what is found so far. Called by ``work``, in its thread."""
        self._screen.post_message(Answered(partial(self._deliver_part, question, self._running, found)))

    def drop(self) -> None:
        """Want no answer any more."""
        self._generation += 1
        self._waiting.clear()

    def _start(self) -> None:
        question = self._waiting.pop(0)
        self.is_running = True
        self._running = self._generation
        self.asked += 1
        self._screen.run_worker(
            partial(self._run, question, self._generation),
            name=self._name,
            group=self._name,
            description=self._name,  # The question may be a whole trace: its repr would take longer than the answer.
            thread=True,
            exit_on_error=False,
        )

    def _run(self, question: Question, generation: int) -> None:
        deliver: Callable[[], None]
        try:
            found = self._work(question)
        except Exception as error:  # noqa: BLE001 - the worker border: whatever happened is shown, never swallowed
            deliver = partial(self._deliver_error, question, generation, error)
        else:
            deliver = partial(self._deliver, question, generation, found)
        self._screen.post_message(Answered(deliver))

    def _deliver(self, question: Question, generation: int, found: Found) -> None:
        self._next()
        if generation == self._generation:
            self._done(question, found)

    def _deliver_part(self, question: Question, generation: int, found: Found) -> None:
        if generation == self._generation and self._so_far is not None:
            self._so_far(question, found)

    def _deliver_error(self, question: Question, generation: int, error: Exception) -> None:
        self._next()
        if generation == self._generation:
            self._failed(question, error)

    def _next(self) -> None:
        self.is_running = False
        if self._waiting:
            self._start()


class EachInTurn(Latest[Question, Found]):
    """Runs one kind of change for a screen: a later one waits for those before it, and replaces none."""

    def ask(self, question: Question) -> None:
        """Have this done after all that was asked before, and hear how it came out."""
        self._waiting.append(question)
        if not self.is_running:
            self._start()
