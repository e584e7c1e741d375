"""What producers outside the zoo write, replayed by the agent rebuilt from one such trace."""

from __future__ import annotations

import pytest

from debugger.conventions import call_of
from debugger.replay.reconstruct.build import rebuild
from debugger.replay.recording import Recording
from tests.debugger.other_producers import MODEL_CALLS
from tests.debugger.producers import LLM
from tests.replay.test_rebuilt import play

CALLS = {
    **{name: call_of(span, logs) for name, (_, span, logs) in LLM.items()},
    **{f"{name} (other)": call_of(span) for name, (_, span, _) in MODEL_CALLS.items()},
}


@pytest.mark.parametrize("producer", CALLS)
def test_every_producer_replays_without_a_miss(producer):
    call = CALLS[producer]
    rebuilt = rebuild(Recording(call.trace_id, [call], []))
    played = play(rebuilt)
    assert (set(played.statuses), played.output) == ({"hit"}, "Rain.")
    assert call.request().content_hash in played.requests
    assert rebuilt.end.output == "Rain."
