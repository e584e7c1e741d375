"""Legacy completions of OpenAI: a prompt of plain text, and text that goes on from it. Read only, for the endpoint.

Source: the API reference of OpenAI, "Completions (legacy)".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import ModelAnswerError
from ..messages import Message, TextPart
from ._openai_usage import usage_of
from ._protocol import Delta, Reply, TextDelta
from ._wire import incomplete, items

_PROVIDER: Final = "openai"


def reply_of(answer: Mapping[str, Any]) -> Reply:
    """The reply in an answer; of several choices the first.

    Raises: ModelAnswerError: there is no text in it.
    """
    choice = next(iter(items(answer.get("choices"))), None)
    text = choice.get("text") if choice is not None else None
    if choice is None or not isinstance(text, str):
        raise ModelAnswerError("the answer holds no text", provider=_PROVIDER, type="malformed")
    finish = choice.get("finish_reason")
    return Reply(
        message=Message("assistant", (TextPart(text),), finish_reason=finish if isinstance(finish, str) else None),
        usage=usage_of(answer.get("usage"), None, sent="prompt", got="completion"),
    )


class CompletionStream:
    """The chunks of one stream put together."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._finish: str | None = None
        self._usage: Any = None

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas in one chunk; has to be used up."""
        self._usage = event.get("usage") or self._usage
        for choice in items(event.get("choices"))[:1]:
            if isinstance(choice.get("finish_reason"), str):
                self._finish = choice["finish_reason"]
            if isinstance(text := choice.get("text"), str) and text:
                self._texts.append(text)
                yield TextDelta(text)

    def whole(self) -> Mapping[str, Any]:
        """The answer put together. Raises ModelTransportError: the stream ended before the answer did."""
        if self._finish is None:
            raise incomplete(_PROVIDER)
        choice = {"text": "".join(self._texts), "finish_reason": self._finish}
        return {"choices": [choice], "usage": self._usage}
