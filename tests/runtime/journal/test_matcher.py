"""The one matcher and the session around it."""

from __future__ import annotations

import dataclasses

import pytest

from runtime.errors import ReplayStop
from runtime.journal import STRICT, Hit, Journal, Matcher, Miss, ReplayPolicy, ReplaySession, differences_between
from runtime.messages import (
    ErrorInfo,
    Message,
    Outcome,
    Request,
    TextPart,
    ToolDefinition,
    ToolRequest,
    Usage,
    ValueRequest,
)

TOOL = ToolDefinition("search", "Search.", {"type": "object"})
FIND = ToolDefinition("search", "Find.", {"type": "object"})


def ask(text="hi", *, system="Be good.", tools=(TOOL,), **fields):
    messages = (Message("system", (TextPart(system),)), Message("user", (TextPart(text),)))
    return Request(messages=messages, tools=tools, **{"model": "m", "provider": "p", **fields})


def outcome(output, start=0, *, status="ok", span=None, **fields):
    error = ErrorInfo("ValueError", str(output)) if status == "error" else None
    return Outcome(
        status=status,
        output=output,
        error=error,
        span_id=span or f"s{start}",
        start_unix_nano=start,
        duration_ns=1,
        **fields,
    )


def journal(*entries):
    made = Journal()
    for kind, request, *outcomes in entries:
        for each in outcomes:
            made.record(kind, request.content_hash, each, None if isinstance(request, ValueRequest) else request)
    return made


POLL = ToolRequest(name="poll", arguments={"id": 5})


def test_the_nth_use_gets_the_nth_outcome_by_start_not_by_end():
    matcher = Matcher({"f": journal(("tool", POLL, outcome(3, 30), outcome(1, 10), outcome(2, 20)))})
    assert [matcher.match("f", "tool", POLL).outcome.output for _ in range(3)] == [1, 2, 3]
    miss = matcher.match("f", "tool", POLL)
    assert isinstance(miss, Miss)
    assert miss.reason == "the recording has 3 answers, asked a 4th time"
    assert (miss.differences[0].recorded, miss.differences[0].actual) == (3, 4)


def test_in_the_seeds_way_the_last_outcome_is_given_again_and_marked():
    matcher = Matcher({"f": journal(("tool", POLL, outcome(1, 10), outcome(2, 20)))})
    hits = [matcher.match("f", "tool", POLL, reuse=True) for _ in range(3)]
    assert [(h.outcome.output, h.reused) for h in hits] == [(1, False), (2, False), (2, True)]


def test_where_the_recording_asked_something_else_that_is_what_differs():
    mug, tea = (ToolRequest(name="price", arguments={"item": item}) for item in ("mug", "tea"))
    matcher = Matcher({"f": journal(("tool", mug, outcome(4, 10)), ("tool", tea, outcome(2, 20)))})
    assert matcher.match("f", "tool", mug).outcome.output == 4
    miss = matcher.match("f", "tool", mug)
    assert miss.reason == (
        "the recording has 1 answer, asked a 2nd time; the recorded call here differs in arguments.item"
    )
    assert [(d.path, d.recorded, d.actual) for d in miss.differences] == [
        ("arguments.item", "tea", "mug"),
        ("uses", 1, 2),
    ]
    assert miss.nearest.span_id == "s20"


def test_aborts_never_answer_and_lost_outcomes_say_why():
    matcher = Matcher(
        {"f": journal(("tool", POLL, outcome(0, 1, status="aborted"), outcome(1, 2), outcome(2, 3, lost="cut off")))}
    )
    assert matcher.match("f", "tool", POLL).outcome.output == 1
    assert matcher.match("f", "tool", POLL).reason == "the recorded answer cannot be used: cut off"


def test_a_call_that_was_only_ever_aborted_is_a_miss_also_with_reuse():
    matcher = Matcher({"f": journal(("tool", POLL, outcome(0, 1, status="aborted")))})
    assert "never answered" in matcher.match("f", "tool", POLL, reuse=True).reason


def test_cursors_are_of_the_scope_and_of_the_matcher():
    recording = {"a": journal(("tool", POLL, outcome(1, 1))), "b": journal(("tool", POLL, outcome(2, 2)))}
    matcher = Matcher(recording)
    assert matcher.match("a", "tool", POLL).outcome.output == 1
    assert matcher.match("b", "tool", POLL).outcome.output == 2
    assert Matcher(recording).match("a", "tool", POLL).outcome.output == 1
    assert "no such frame" in matcher.match("c", "tool", POLL).reason


@pytest.mark.parametrize(
    ("recorded", "asked", "part", "path"),
    [
        (ask(), ask(system="Be bad."), "message", "messages[0].parts[0].content"),
        (ask(), ask("bye"), "message", "messages[1].parts[0].content"),
        (ask(), ask(tools=()), "tool", "tools[search]"),
        (
            ask(),
            ask(tools=(ToolDefinition("search", "Find.", {"type": "object"}),)),
            "tool",
            "tools[search].description",
        ),
        (ask(), ask(model="m2"), "model", "model"),
        (ask(), ask(provider="p2"), "provider", "provider"),
        (ask(), ask(output_schema={"type": "object"}), "schema", "schema"),
        (ask(output_schema={"a": {"b": 1}}), ask(output_schema={"a": {"b": 2}}), "schema", "schema.a.b"),
    ],
)
def test_a_miss_names_the_part_and_the_path(recorded, asked, part, path):
    miss = Matcher({"f": journal(("prompt", recorded, outcome("x", 1)))}).match("f", "prompt", asked)
    assert isinstance(miss, Miss)
    assert (miss.differences[0].part, miss.differences[0].path) == (part, path)
    assert path in miss.reason
    assert miss.nearest.span_id == "s1"


def test_the_nearest_request_is_the_one_that_shares_most_messages():
    long = ask("a long question")
    recording = journal(("prompt", ask("other", system="Else."), outcome(1, 1)), ("prompt", long, outcome(2, 2)))
    miss = Matcher({"f": recording}).match("f", "prompt", ask("a long question?"))
    assert miss.nearest.span_id == "s2"


def test_tool_arguments_differ_down_to_the_key():
    recorded = ToolRequest(name="book", arguments={"day": "2026-05-04", "who": {"name": "Ada"}})
    asked = ToolRequest(name="book", arguments={"day": "2026-05-04", "who": {"name": "Bob"}})
    miss = Matcher({"f": journal(("tool", recorded, outcome(1, 1)))}).match("f", "tool", asked)
    assert [(d.path, d.recorded, d.actual) for d in miss.differences] == [("arguments.who.name", "Ada", "Bob")]
    other = Matcher({"f": journal(("tool", recorded, outcome(1, 1)))}).match("f", "tool", POLL)
    assert other.reason == "the recording never calls tool 'poll' here"


def test_parameters_are_reported_but_make_no_miss():
    recorded, asked = ask(parameters={"temperature": 0.1}), ask(parameters={"temperature": 0.9})
    assert isinstance(Matcher({"f": journal(("prompt", recorded, outcome(1, 1)))}).match("f", "prompt", asked), Hit)
    assert [(d.part, d.path) for d in differences_between(recorded, asked)] == [
        ("parameters", "parameters.temperature")
    ]


@pytest.mark.parametrize(
    "lacking",
    [
        {"tools": None},
        {"provider": None},
        {"model": None},
        {"model": None, "provider": None},
        {"tools": None, "provider": None, "output_schema": None},
    ],
)
def test_a_part_that_the_recording_lacks_is_no_difference_but_inferred(lacking):
    recorded = dataclasses.replace(ask(), **lacking)
    hit = Matcher({"f": journal(("prompt", recorded, outcome(1, 1)))}).match("f", "prompt", ask())
    assert isinstance(hit, Hit)
    assert hit.inferred
    assert isinstance(
        Matcher({"f": journal(("prompt", recorded, outcome(1, 1)))}).match("f", "prompt", ask("bye")), Miss
    )


@pytest.mark.parametrize("named", [ask(), ask(tools=None)])
def test_what_names_the_model_answers_before_what_lacks_it(named):
    failed = ("prompt", ask(model=None), outcome("no answer", 1, status="error"))
    matcher = Matcher({"f": journal(failed, ("prompt", named, outcome("said", 2)))})
    assert matcher.peek("f", "prompt", ask()).output == "said"
    hit = matcher.match("f", "prompt", ask())
    assert (hit.outcome.output, hit.inferred) == ("said", named.tools is None)
    assert matcher.unused("f")[0].span_id == "s1"
    other = matcher.match("f", "prompt", ask(model="m2"))
    assert (other.outcome.span_id, other.inferred) == ("s1", True)


def test_those_that_lack_the_model_answer_in_the_order_of_their_start():
    late, early = (outcome(n, n) for n in (2, 1))
    made = journal(("prompt", ask(model=None), late), ("prompt", ask(model=None, provider=None), early))
    matcher = Matcher({"f": made})
    assert [matcher.match("f", "prompt", ask()).outcome.output for _ in range(2)] == [1, 2]


def test_another_model_is_a_miss_also_where_the_provider_is_not_recorded():
    recorded = ask(provider=None)
    miss = Matcher({"f": journal(("prompt", recorded, outcome("x", 1)))}).match("f", "prompt", ask(model="m2"))
    assert isinstance(miss, Miss)
    assert [(d.part, d.recorded, d.actual) for d in miss.differences] == [("model", "m", "m2")]


def test_a_foreign_hash_stays_the_key_and_its_request_still_matches():
    made = Journal()
    made.record("prompt", "a32159654ee48", outcome("x", 1), ask())
    hit = Matcher({"f": made}).match("f", "prompt", ask())
    assert isinstance(hit, Hit)
    assert hit.content_hash == "a32159654ee48"


def session(recording, **options):
    return ReplaySession({"f": recording}, **options)


def test_strict_stops_at_the_first_request_that_is_not_recorded_and_stays_stopped():
    replay = session(journal(("prompt", ask(), outcome("x", 1))), policy=STRICT)
    assert replay.answer("f", "prompt", "m", "c0", ask()).outcome.output == "x"
    with pytest.raises(ReplayStop):
        replay.answer("f", "prompt", "m", "c1", ask("bye"))
    with pytest.raises(ReplayStop):
        replay.answer("f", "prompt", "m", "c2", ask())
    assert replay.stopped == "diverged"
    assert [(r.call_id, r.status) for r in replay.rows] == [("c0", "hit"), ("c1", "missed")]
    assert replay.divergence.call_id == "c1"
    assert replay.divergence.differences[0].path == "messages[1].parts[0].content"


def test_models_and_tools_have_their_own_mode():
    replay = session(Journal(), policy=ReplayPolicy(models="live", tools="strict", reuse_exhausted=False))
    assert replay.answer("f", "prompt", "m", "c0", ask()) is None
    replay.settle("c0", failed=False)
    with pytest.raises(ReplayStop):
        replay.answer("f", "tool", "poll", "c1", POLL)
    assert [r.status for r in replay.rows] == ["live", "missed"]


def test_a_live_call_that_fails_is_an_error_in_the_report():
    seen = []
    replay = session(Journal(), on_row=lambda row: seen.append(row.status))
    replay.answer("f", "tool", "poll", "c0", POLL)
    replay.settle("c0", failed=True)
    assert seen == ["running", "error"]


def test_recorded_failures_replay_unless_they_are_to_be_retried():
    recording = journal(("tool", POLL, outcome("no", 1, status="error"), outcome("yes", 2)))
    plain = session(recording)
    assert plain.answer("f", "tool", "poll", "c0", POLL).outcome.status == "error"
    retried = session(recording, policy=ReplayPolicy(retry_errors=True))
    assert retried.answer("f", "tool", "poll", "c0", POLL) is None
    assert retried.answer("f", "tool", "poll", "c1", POLL).outcome.output == "yes"


def cut_session(policy=STRICT):
    first, second, third = ask("1"), ask("2"), ask("3")
    recording = journal(*(("prompt", r, outcome(t, 10 * t)) for t, r in enumerate((first, second, third), 1)))
    cut = journal(("prompt", first, outcome(1, 10)))
    return session(recording, cut=[cut], policy=policy), (first, second, third)


def test_coming_to_the_cut_is_no_divergence():
    replay, (first, second, _) = cut_session()
    replay.answer("f", "prompt", "m", "c0", first)
    with pytest.raises(ReplayStop):
        replay.answer("f", "prompt", "m", "c1", second)
    assert replay.stopped == "past_cut"
    assert replay.divergence is None
    assert [r.status for r in replay.rows] == ["hit"]


def test_leaving_out_a_recorded_call_at_the_cut_is_a_divergence():
    replay, (first, _, third) = cut_session()
    replay.answer("f", "prompt", "m", "c0", first)
    with pytest.raises(ReplayStop):
        replay.answer("f", "prompt", "m", "c1", third)
    assert replay.stopped == "diverged"
    assert replay.divergence.reason == "the recording makes 1 other call before this one"


def test_a_recording_that_stops_in_the_middle_is_come_to_its_end_not_diverged():
    recording = journal(("prompt", ask("1"), outcome(1, 10)), ("prompt", ask("2"), outcome(2, 20)))
    replay = session(recording, policy=STRICT, open_ended=True)
    replay.answer("f", "prompt", "m", "c0", ask("1"))
    replay.answer("f", "prompt", "m", "c1", ask("2"))
    with pytest.raises(ReplayStop):
        replay.answer("f", "prompt", "m", "c2", ask("3"))
    assert (replay.stopped, replay.divergence) == ("past_cut", None)
    early = session(recording, policy=STRICT, open_ended=True)
    with pytest.raises(ReplayStop):
        early.answer("f", "prompt", "m", "c0", ask("3"))
    assert early.stopped == "diverged"


def test_in_live_mode_a_replay_goes_on_for_real_past_the_cut():
    replay, (first, second, _) = cut_session(ReplayPolicy(models="live", tools="strict", reuse_exhausted=False))
    assert replay.answer("f", "prompt", "m", "c0", first) is not None
    assert replay.answer("f", "prompt", "m", "c1", second) is None


def test_values_are_answered_in_order_and_missing_ones_diverge():
    request = ValueRequest(name="now")
    replay = session(journal(("value", request, outcome("t1", 1), outcome("t2", 2))), policy=STRICT)
    assert [replay.answer("f", "value", "now", f"c{i}", request).outcome.output for i in range(2)] == ["t1", "t2"]
    with pytest.raises(ReplayStop):
        replay.answer("f", "value", "now", "c2", request)


def test_what_was_answered_tells_the_savings():
    recording = journal(("prompt", ask(), outcome("x", 1, usage=Usage(cost_nano_usd=50))))
    replay = session(recording)
    replay.answer("f", "prompt", "m", "c0", ask())
    assert [o.usage.cost_nano_usd for o in replay.answered] == [50]
