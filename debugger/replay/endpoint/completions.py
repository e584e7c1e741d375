"""Legacy completions as a server speaks them: a prompt of plain text, and text that goes on from it.

Source: the API reference of OpenAI, "Completions (legacy)".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime.messages import text_of
from runtime.models.wire import COMPLETIONS

from .chat import fault, usage_as_sent
from .speaking import PIECE, Answer, Event, Finish, Speaker

_FINISH: Final[dict[Finish, str]] = {"stop": "stop", "length": "length", "tool": "stop", "filter": "content_filter"}


def whole(answer: Answer) -> dict[str, Any]:
    """The answer as one object."""
    return _object(answer, text_of([answer.message]), answer.own_word(_FINISH)) | {"usage": usage_as_sent(answer.usage)}


def events(answer: Answer, body: Mapping[str, Any]) -> Iterator[Event]:
    """The answer as chunks."""
    text = text_of([answer.message])
    for at in range(0, len(text), PIECE):
        yield None, _object(answer, text[at : at + PIECE], None)
    yield None, _object(answer, "", answer.own_word(_FINISH))


def _object(answer: Answer, text: str, finish: str | None) -> dict[str, Any]:
    return {
        "id": f"cmpl-{answer.id}",
        "object": "text_completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": finish}],
    }


SPEAKER: Final = Speaker(COMPLETIONS, whole, events, fault, "data: [DONE]\n\n")
