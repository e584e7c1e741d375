"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from debugger.errors import UnwritableError
from debugger.whole_file import whole_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path, link = tmp_path / ("n" * 250), tmp_path / "link"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with whole_file(link) as unfinished:
        unfinished.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["link", path.name]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def write(fault: BaseException) -> None:
        with whole_file(path) as unfinished:
            unfinished.write_text("half")
            raise fault

    with pytest.raises(UnwritableError, match=r"file: cannot be written \(no space left on device\)"):
        write(OSError(errno.ENOSPC, "No space left on device"))
    for fault in (KeyboardInterrupt(), BrokenPipeError(), FileNotFoundError(errno.ENOENT, "not there", "another")):
        with pytest.raises(type(fault)):
            write(fault)
    with whole_file(path) as unfinished:
        unfinished.unlink()
    assert (names(tmp_path), path.read_text()) == (["file"], "before")


def test_what_is_no_file_is_written_to_at_once(tmp_path: Path) -> None:
    with whole_file(Path(os.devnull)) as path:
        assert path == Path(os.devnull)
    with pytest.raises(UnwritableError), whole_file(tmp_path) as path:
        path.write_text("x")
    with pytest.raises(UnwritableError), whole_file(tmp_path / "none" / "file"):
        pytest.fail("there is no folder to write to")
