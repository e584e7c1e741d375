"""Two texts as one, with what changed marked."""

from __future__ import annotations

import pytest

from debugger.analysis.word_diff import diff_lines, diff_text, word_diff


def marked(before: str, after: str) -> str:
    """The diff as it reads on the screen."""
    return "\n".join(line.text for line in diff_lines(before, after))


def test_word_diff_keeps_both_texts():
    before, after = "report failures honestly, and go", "never mention failures, and go on"
    changes = word_diff(before, after)
    assert "".join(text for change, text in changes if change != "added") == before
    assert "".join(text for change, text in changes if change != "removed") == after


def test_a_diff_of_long_texts_shows_the_change_and_not_the_rest():
    same = "word " * 5000
    text = "".join(line.text for line in diff_lines(f"{same}old{same}", f"{same}new{same}"))
    assert "[-" in text
    assert "{+" in text
    middle = "word " * 300
    text = "".join(line.text for line in diff_lines(f"{middle}old {middle}", f"{middle}new {middle}"))
    assert "[-old-]{+new+}" in text
    assert len(text) < 300


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("price 4.5 now", "price 9.0 now", "price [-4.5-]{+9.0+} now"),
        ("v 1.2.3", "v 1.3.3", "v [-1.2.3-]{+1.3.3+}"),
        ("x=1e-7", "x=1e-9", "x=[-1e-7-]{+1e-9+}"),
        ("room 12b.", "room 13b.", "room [-12b-]{+13b+}."),
        ("4. Next", "5. Next", "[-4-]{+5+}. Next"),
    ],
)
def test_a_changed_number_changes_as_a_whole(before, after, said):
    assert "".join(line.text for line in diff_lines(before, after)) == said


RULES = [f"{number}. The agent verifies statement {number} before it answers, and is polite." for number in range(60)]


def test_in_a_long_text_of_many_lines_only_words_are_marked():
    now = [*RULES[:7], RULES[7].replace("verifies statement", "checks claim"), *RULES[8:40], "A new rule.", *RULES[40:]]
    text = marked("\n".join(RULES * 3), "\n".join([*now, *RULES * 2]))
    assert "The agent [-verifies statement-]{+checks claim+} 7 before" in text
    assert "{+A new rule.+}\n40. The agent" in text
    assert text.count("[-") == 1
    assert text.count("{+") == 2
    assert "⋮ 138 lines the same" in text
    assert len(text.splitlines()) < 14


def test_a_line_that_came_or_went_leaves_no_mark_on_the_next():
    assert marked("one\ntwo\n", "one\nand\ntwo\n").splitlines() == ["one", "{+and+}", "two"]
    assert marked("one\nand\ntwo", "one\ntwo").splitlines() == ["one", "[-and-]", "two"]


def test_texts_with_next_to_nothing_in_common_are_not_mixed():
    assert marked("It will rain all day, so stay.", "Sorry, nothing was found.") == (
        "[-It will rain all day, so stay.-]{+Sorry, nothing was found.+}"
    )


def test_longer_json_is_compared_member_by_member():
    value = {"name": "Ada", "tags": [f"tag {n}" for n in range(30)], "limit": 3}
    text = marked(diff_text(value), diff_text({**value, "limit": 5}))
    assert '"limit": [-3-]{+5+}' in text
    assert len(text.splitlines()) < 12
    assert diff_text({"a": 1}) == '{"a": 1}'


def test_one_change_in_a_very_long_line_is_still_a_word():
    same = "word " * 5_000
    assert "[-old-]{+new+}" in marked(f"{same}old {same}", f"{same}new {same}")
