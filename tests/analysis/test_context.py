"""What a model call goes on from, wherever its framework puts it, and media in messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from debugger.analysis.context import carried_from, context_growth, continued, earlier_calls
from debugger.analysis.conversation import conversation, document_of
from debugger.analysis.media import media_of
from debugger.analysis.tree import build_forest
from runtime.messages import Call, Message, OtherPart, TextPart, ToolCallPart

from .test_tree import of, row


def said(role: str, text: str, name: str | None = None) -> Message:
    return Message(role, (TextPart(text),), name)


def call(*inputs: Message, output: Message | None = None, start: int = 0, end: int = 1) -> Call:
    return Call(span_id="s", trace_id="t", parent_span_id=None, kind="llm", name="chat", start_unix_nano=start,
                end_unix_nano=end, input_messages=inputs, output_messages=(output,) if output else ())  # fmt: skip


SYSTEM, USER, ANSWER, MORE = (
    said("system", "Be kind."),
    said("user", "Hi"),
    said("assistant", "Hello"),
    said("user", "On"),
)


def test_calls_in_steps_of_their_own_belong_to_their_agent():
    rows = [
        row(1, kind="agent"),
        row(2, of(1), 1, kind="chain"),
        row(3, of(2), 2, kind="llm", input_tokens=10),
        row(4, of(1), 3, kind="agent"),
        row(5, of(4), 4, kind="llm", input_tokens=5),
        row(6, of(1), 5, kind="chain"),
        row(7, of(6), 6, kind="llm", input_tokens=30),
    ]
    forest = build_forest(rows)
    assert earlier_calls(forest, 6) == (2,), "what the agent inside it asked is not its own"
    assert earlier_calls(forest, 4) == ()
    assert context_growth(forest, 6, earlier_calls(forest, 6)) == (10, 30)
    assert earlier_calls(build_forest([row(1, kind="llm"), row(2, start=1, kind="llm")]), 1) == (0,), (
        "outside of agents"
    )


def test_calls_inside_a_tool_are_not_those_of_the_agent_that_called_it():
    forest = build_forest([
        row(1, kind="agent"),
        row(2, of(1), 1, kind="llm"),
        row(3, of(1), 2, kind="tool"),
        row(4, of(3), 3, kind="agent"),  # Beside its calls, not around them.
        row(5, of(3), 4, kind="chain"),
        row(6, of(5), 5, kind="llm"),
        row(7, of(5), 6, kind="llm"),
        row(8, of(1), 7, kind="llm"),
    ])  # fmt: skip
    assert [earlier_calls(forest, at) for at in (5, 6, 7)] == [(), (5,), (1,)]


def test_an_answer_that_comes_back_with_a_name_is_carried_over():
    before = call(SYSTEM, USER, output=ANSWER)
    found = carried_from(call(SYSTEM, USER, replace(ANSWER, name="desk"), MORE), before)
    assert (found.is_new, found.gone) == ((False, False, False, True), ())


def test_messages_that_a_call_is_not_given_any_more_are_told():
    before = call(SYSTEM, USER, ANSWER, USER, output=said("assistant", "Well"))
    now = call(SYSTEM, said("user", "What was said so far"), USER)
    text = document_of(conversation(now, before)).text
    assert "2 messages carried over, 1 new (+)" in text
    assert "2 messages of the previous call not sent any more (-)\n  - assistant  Hello\n  - user  Hi" in text


def test_a_call_that_took_over_nothing_is_not_all_marked():
    view = conversation(call(MORE), call(SYSTEM, USER))
    assert [message.is_new for message in view.messages] == [None]
    assert "carried over" not in document_of(view).text
    assert "not sent" not in document_of(view).text


def test_parallel_calls_do_not_go_on_from_each_other():
    aside = call(SYSTEM, said("user", "the other branch"), start=5, end=30)
    before = call(SYSTEM, USER, output=ANSWER, start=0, end=10)
    now = call(SYSTEM, USER, ANSWER, MORE, start=20, end=40)
    assert continued(now, [aside, before]) is before
    other = call(SYSTEM, said("user", "another branch"), start=11, end=12)
    assert continued(now, [other, before]) is before, "of those before it the one it holds most of"
    assert continued(now, []) is None


PNG = "iVBORw0KGgoAAAAN"


@pytest.mark.parametrize(
    ("type_", "data", "shown"),
    [
        ("blob", {"mime_type": "image/png", "modality": "image", "content": PNG}, ("image/png", 12, None)),
        ("uri", {"modality": "image", "uri": "gs://b/a.png"}, ("image", None, "gs://b/a.png")),
        ("image_url", {"image_url": {"url": f"data:image/png;base64,{PNG}"}}, ("image/png", 12, None)),
        ("input_image", {"image_url": "https://x.test/a"}, ("image", None, "https://x.test/a")),
        ("image", {"source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}}, ("image/jpeg", 3, None)),
        ("image", {"image": {"image": {"url": "data:image/gif;base64,QUI="}}}, ("image/gif", 2, None)),
        ("None", {"inline_data": {"mime_type": "audio/wav", "data": "QQ=="}}, ("audio/wav", 1, None)),
        ("input_audio", {"input_audio": {"data": "QUJD", "format": "wav"}}, ("wav", 3, None)),
        ("file", {"file": {"filename": "a.pdf", "file_data": "data:text/x;base64,QUJD"}}, ("text/x", 3, "a.pdf")),
        ("file", {"weather": "clear"}, None),
        ("step", {"content": "text"}, None),
    ],
)
def test_media_are_told_by_kind_and_size(type_, data, shown):
    found = media_of(OtherPart(type_, data))
    assert (found and (found.mime_type, found.size_bytes, found.name)) == shown


def test_a_picture_stands_on_one_line():
    picture = OtherPart("blob", {"mime_type": "image/png", "content": PNG * 400})
    asked = Message("user", (picture, ToolCallPart("1", "look", {})))
    text = document_of(conversation(call(asked))).text
    assert "▣ image/png, 4.7 KB\n" in text
    assert PNG not in text
