"""No two loads of a library have the same number, however close they come."""

from __future__ import annotations

from debugger.store.library import Library
from debugger.store.library._place import Place
from debugger.store.library._work import ID_BITS, Work


def test_a_number_that_another_load_had_in_the_meantime_is_not_taken_again(tmp_path):
    with Library.open(tmp_path / "library"):
        place = Place(tmp_path / "library")
    asked = []

    def last_file_id() -> int:
        asked.append(len(asked))
        if len(asked) == 1:
            # The other load publishes and clears its folder after the numbers were looked at.
            (place.segments / "00000001.duckdb").touch()
        # A third one had nothing but a file without spans, so that it has left no segment.
        return 3 << ID_BITS if len(asked) > 3 else 0

    work = Work.begin(place, last_file_id)
    try:
        assert work.number == 4
        assert [path.name for path in place.segments.glob("work-*")] == ["work-00000004"]
    finally:
        work.discard()
