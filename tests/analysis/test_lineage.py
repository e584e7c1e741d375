"""Where a phrase came from: made-up traces whose every step is known."""

from __future__ import annotations

import pytest

from debugger.analysis.conversation import conversation, document_of, is_given
from debugger.analysis.lineage import Lineage, lineage_of
from debugger.analysis.lineage_view import lineage_view
from debugger.analysis.phrase import Phrase, Words
from debugger.analysis.places import places_of
from debugger.errors import QueryCancelledError
from runtime.messages import Call, ErrorInfo, Message, TextPart, ToolCallPart, ToolCallResponsePart

USER = Message(role="user", parts=(TextPart("Is it warm in Lyon? I have 1234.5 euros."),))
ASKS = Message(role="assistant", parts=(ToolCallPart("c1", "weather", {"city": "Lyon"}),))
TOLD = Message(role="tool", parts=(ToolCallResponsePart("c1", {"sky": "azure and still", "temp_c": 18}),))
SAYS = Message(role="assistant", parts=(TextPart("Azure and  still, 18 °C; you have 1,234.50 €. Pack a zither."),))


def call(span: str, parent: str | None, kind: str, at: int, end: int, **more: object) -> Call:
    values = {"trace_id": "a", "span_id": span, "parent_span_id": parent, "kind": kind, "name": span}
    return Call(**values, start_unix_nano=at, end_unix_nano=end, **more)  # type: ignore[arg-type]


TRACE = [
    call("agent", None, "agent", 1, 90, input="Is it warm in Lyon? I have 1234.5 euros.",
         result="done", has_result=True),
    call("first", "agent", "llm", 2, 10, input_messages=(USER,), output_messages=(ASKS,)),
    call("weather", "agent", "tool", 11, 20, tool_name="weather", tool_call_id="c1", arguments={"city": "Lyon"},
         result={"sky": "azure and still", "temp_c": 18}, has_result=True),
    call("other", "weather", "llm", 12, 15, input_messages=(Message(role="system", parts=(TextPart("Be a weather"),)),),
         output_messages=(Message(role="assistant", parts=(TextPart("zither azure and still"),)),)),
    call("second", "agent", "llm", 21, 30, input_messages=(USER, ASKS, TOLD), output_messages=(SAYS,)),
]  # fmt: skip
PLACES = places_of(TRACE)


def trail(phrase: str, span: str | None = "second") -> list[tuple[str, str, str]]:
    return [(step.span_id, step.place.kind, step.link) for step in lineage_of(PLACES, phrase, span).steps]


def test_an_answer_leads_over_the_tool_and_the_agent_inside_it_to_where_the_text_was_made():
    assert trail("azure and still") == [
        ("second", "answer", "start"),
        ("weather", "result", "given"),
        ("other", "answer", "inside"),
    ]
    assert lineage_of(PLACES, "azure and still", "second").end == "model"


def test_a_phrase_goes_back_over_arguments_and_requests_to_the_user():
    assert trail("Lyon", "weather") == [
        ("weather", "arguments", "start"),
        ("first", "request", "asked"),
        ("first", "message", "given"),
        ("agent", "input", "around"),
    ]


def test_what_was_pointed_at_in_the_input_begins_there():
    steps = lineage_of(PLACES, "azure and still", "second", is_given=True).steps
    assert [(step.span_id, step.place.kind) for step in steps[:2]] == [("second", "message"), ("weather", "result")]
    keys = [block.key for block in document_of(conversation(TRACE[4])).blocks if not block.key.startswith("#")]
    assert [(key, is_given(key)) for key in keys] == [("i0.0", True), ("i1.0", True), ("i2.0", True), ("o3.0", False)]
    assert [is_given(key) for key in ("t3.i0.1", "t3.a", "arguments", "t3.o0.0", "t3.r", "result", "#3", None)] == [
        *[True] * 3, *[False] * 5
    ]  # fmt: skip


def test_case_spacing_and_the_way_of_writing_numbers_do_not_matter():
    found = lineage_of(PLACES, "1,234.50", "second")
    assert [(step.span_id, step.found.level) for step in found.steps] == [
        ("second", "exact"),
        ("first", "normalised"),
        ("agent", "normalised"),
    ]
    assert found.end == "outside"


def test_what_the_model_was_not_given_it_wrote_itself():
    """The word stands earlier in the trace, but this model never saw it there."""
    found = lineage_of(PLACES, "Pack a zither", "second")
    assert (len(found.steps), found.end) == (1, "model")
    assert "Nowhere before: the model wrote it." in lineage_view(found, PLACES).document.text


def test_where_only_a_part_came_from_before_the_part_is_followed():
    found = lineage_of(PLACES, "azure and still, 18 °C; you have", "second")
    assert [(step.span_id, step.found.level) for step in found.steps][:2] == [
        ("second", "normalised"),
        ("weather", "part"),
    ]
    assert found.steps[1].excerpt[1] == "azure and still"


def test_a_phrase_that_stands_nowhere_and_an_empty_one():
    assert lineage_of(PLACES, "nothing of the kind", None) == Lineage("nothing of the kind", (), "absent")
    assert lineage_of(PLACES, "  ", "second").end == "absent"
    assert lineage_of(places_of([]), "x").end == "absent"


def test_without_a_span_it_begins_at_the_last_place():
    assert trail("Lyon", None)[0] == ("weather", "arguments", "start")


def test_it_can_be_cancelled():
    def stops(done: int) -> None:
        raise QueryCancelledError(str(done))

    with pytest.raises(QueryCancelledError):
        places_of(TRACE, stops)
    with pytest.raises(QueryCancelledError):
        lineage_of(PLACES, "Lyon", None, lambda: True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234.50", "1234.5"),
        ("1.234,50", "1234.5"),
        ("12'000", "12000"),
        ("3,5", "3.50"),
        ("Grüße  an\n\tALLE", "grüsse AN alle"),
        ('{"temp_c": 18}', "temp_c: 18"),
        ("18°C", "18 °C"),
        ("東京 タワー", "東京タワー"),
    ],
)
def test_the_same_words(one, other):
    assert Words.of(one).joined == Words.of(other).joined
    assert Phrase(one).may_hold(other)
    assert Phrase(one).find_words(Words.of(f"so: {other}!")) is not None


@pytest.mark.parametrize(("one", "other"), [("1.2.3", "123"), ("007", "7"), ("art", "part"), ("12", "128")])
def test_other_words(one, other):
    assert Phrase(one).find_words(Words.of(other)) is None


def test_a_common_part_has_to_mean_something():
    assert Phrase("the fee of the bank is large").longest_part(Words.of("one of the many")) is None
    assert Phrase("we found order 4711 for you").longest_part(Words.of("order: 4711")) is not None


def test_ids_that_are_used_again_by_another_agent_are_told_apart():
    asks = Message(role="assistant", parts=(ToolCallPart("c1", "weather", {"city": "Metz"}),))
    told = Message(role="tool", parts=(ToolCallResponsePart("c1", "azure again"),))
    says = Message(role="assistant", parts=(TextPart("It is azure again"),))
    more = [
        call("agent2", None, "agent", 100, 200),
        call("third", "agent2", "llm", 101, 110, input_messages=(USER,), output_messages=(asks,)),
        call("weather2", "agent2", "tool", 111, 120, tool_call_id="c1", arguments={}, result="azure again",
             has_result=True),
        call("fourth", "agent2", "llm", 121, 130, input_messages=(USER, asks, told), output_messages=(says,)),
    ]  # fmt: skip
    found = lineage_of(places_of([*TRACE, *more]), "azure again", "fourth")
    assert [step.span_id for step in found.steps] == ["fourth", "weather2"]
    assert found.end == "tool"


@pytest.mark.parametrize("phrase", ["ShutError", "ShutError: closed on Mondays", "desk.ShutError", "on Mondays"])
def test_the_class_of_an_error_comes_from_the_call_that_failed_like_its_message(phrase):
    told = Message(role="tool", parts=(ToolCallResponsePart("c1", "desk.ShutError: closed on Mondays"),))
    says = Message(role="assistant", parts=(TextPart("It failed with desk.ShutError: closed on Mondays"),))
    failed = [
        *TRACE[:2],
        call("weather", "agent", "tool", 11, 20, tool_name="weather", tool_call_id="c1", arguments={"city": "Lyon"},
             error=ErrorInfo("desk.ShutError", "closed on Mondays")),
        call("second", "agent", "llm", 21, 30, input_messages=(USER, ASKS, told), output_messages=(says,)),
    ]  # fmt: skip
    found = lineage_of(places_of(failed), phrase, "second")
    assert [(step.span_id, step.place.kind) for step in found.steps] == [("second", "answer"), ("weather", "error")]
    assert found.end == "tool"


def test_an_error_whose_class_was_not_recorded_holds_its_message_alone():
    bare = call("weather", None, "tool", 11, 20, error=ErrorInfo("error", "closed"))
    assert [place.text for place in places_of([bare]).places] == ["closed"]
