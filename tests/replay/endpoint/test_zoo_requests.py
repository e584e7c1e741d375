"""Every recorded model call of the zoo, asked again as an SDK would word it, in each of the three protocols.

The bodies are made by the models' own translations, which know nothing of how a producer wrote the same conversation
down. Nothing may be missed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from debugger.replay.endpoint import chat, messages, responses
from debugger.replay.endpoint.door import Door
from debugger.replay.endpoint.speaking import Fault
from debugger.replay.endpoint.trail import Trail
from debugger.replay.recording import Recording
from debugger.store import Store
from runtime.errors import ModelRequestError
from runtime.journal import MISS_TYPE
from runtime.messages import Request
from runtime.models import _anthropic_messages, _openai_chat, _openai_responses
from tests.support.repo import ROOT

from .doors import tape_for

ZOO = sorted((ROOT / "tests" / "data" / "zoo").glob("*.otlp.jsonl*"))


def bodies(protocol: str, request: Request):
    bare = Request(messages=request.messages, tools=request.tools, model=request.model)
    if protocol == "chat":
        return chat.SPEAKER, _openai_chat.params_of(bare, request.model or "", "openai", "max_tokens")
    if protocol == "responses":
        return responses.SPEAKER, _openai_responses.params_of(bare, request.model or "", "openai")
    return messages.SPEAKER, _anthropic_messages.params_of(bare, request.model or "", "anthropic")


def recordings(path: Path) -> list[Recording]:
    logs = path.with_name(path.name.replace(".otlp.", ".logs."))
    with Store.memory() as store:
        store.load([str(path), *([str(logs)] if logs.exists() else [])])
        return [Recording(row.trace_id, store.calls(row.trace_id), [path]) for row in store.traces()]


def test_the_zoo_is_there():
    assert len(ZOO) > 5


@pytest.mark.parametrize("protocol", ["chat", "responses", "messages"])
@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name.partition(".")[0])
def test_each_recorded_request_is_answered(path, protocol):
    asked = 0
    for recording in recordings(path):
        turns = [c for c in recording.calls if c.kind == "llm" and c.input_messages and not c.aborted and not c.lost]
        if protocol == "messages":
            # Anthropic's protocol has one system text, at the front.
            turns = [c for c in turns if all(m.role != "system" for m in (c.input_messages or ())[1:])]
        door = Door(Trail(None, name="t", input={}), tape_for(recording))
        for turn in sorted(turns, key=lambda call: call.start_unix_nano or 0):
            if turn.output_messages is None and turn.error is None:
                continue
            try:
                speaker, body = bodies(protocol, turn.request())
            except ModelRequestError:
                continue  # a part that the protocol has no form for
            found = door.ask(speaker, body)
            assert not (isinstance(found, Fault) and found.type == MISS_TYPE), (turn.span_id, found)
            asked += 1
    assert asked
