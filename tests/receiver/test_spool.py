"""The spool: one fsync for many, whole requests after any death, no file of a living receiver touched."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from debugger.receiver import spool as spool_module
from debugger.receiver.spool import Adopted, Spool, adopt

from .kit import WAIT_S


def names(folder: Path) -> list[str]:
    return sorted(path.name.partition(".")[2] for path in folder.iterdir())


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def test_what_is_put_is_there_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in range(3):
        spool.put("protobuf", frame(b"%d" % number)).result(WAIT_S)
    spool.put("json", b"{}\n").result(WAIT_S)
    assert names(tmp_path) == ["otlp.jsonl.open", "otlp.pb.open"]
    assert spool.close_files().result(WAIT_S) == 2
    assert names(tmp_path) == ["otlp.jsonl", "otlp.pb"]
    assert next(tmp_path.glob("*.pb")).read_bytes() == frame(b"0") + frame(b"1") + frame(b"2")
    spool.put("json", b"[]\n").result(WAIT_S)
    spool.stop()
    assert names(tmp_path) == ["otlp.jsonl", "otlp.jsonl", "otlp.pb"]


def test_requests_that_wait_share_an_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = os.fsync
    monkeypatch.setattr(spool_module.os, "fsync", lambda fd: (calls.append(fd), real(fd))[1])
    spool = Spool(tmp_path)
    # The thread is held while the queue fills, as a slow disk would hold it.
    with pytest.MonkeyPatch.context() as patch:
        import threading

        go = threading.Event()
        patch.setattr(spool_module, "_write_all", lambda fd, pieces: (go.wait(WAIT_S), os.writev(fd, pieces)))
        first = spool.put("json", b"0\n")
        waiting = [spool.put("json", b"%d\n" % number) for number in range(1, 1200)]
        go.set()
        for done in (first, *waiting):
            done.result(WAIT_S)
    spool.stop()
    assert len(calls) < 10
    assert next(tmp_path.glob("*.jsonl")).read_bytes().split() == [b"%d" % number for number in range(1200)]


def test_a_write_that_fails_leaves_what_was_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path)
    spool.put("protobuf", frame(b"good")).result(WAIT_S)

    def half(fd: int, pieces: list[bytes]) -> None:
        os.write(fd, pieces[0][:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool_module, "_write_all", half)
        with pytest.raises(OSError, match="No space"):
            spool.put("protobuf", frame(b"lost")).result(WAIT_S)
    spool.put("protobuf", frame(b"later")).result(WAIT_S)
    spool.stop()
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == sorted([frame(b"good"), frame(b"later")])


def test_files_of_the_living_are_left_alone(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put("json", b"{}\n").result(WAIT_S)
    assert adopt(tmp_path) == Adopted(0, 0)
    assert names(tmp_path) == ["otlp.jsonl.open"]
    spool.stop()


@pytest.mark.parametrize(
    ("name", "whole", "torn"),
    [
        ("1-1.otlp.pb.open", frame(b"one") + frame(b"two"), frame(b"three")),
        ("1-1.otlp.jsonl.open", b'{"a": 1}\n{"b": 2}\n', b'{"c": 3}\n'),
    ],
)
def test_the_dead_leave_whole_requests_whatever_byte_they_came_to(
    tmp_path: Path, name: str, whole: bytes, torn: bytes
) -> None:
    for length in range(len(torn)):
        (tmp_path / name).write_bytes(whole + torn[:length])
        assert adopt(tmp_path) == Adopted(1, length)
        closed = tmp_path / name.removesuffix(".open")
        assert closed.read_bytes() == whole
        closed.unlink()


def test_zeros_after_a_loss_of_power_and_empty_files_go(tmp_path: Path) -> None:
    (tmp_path / "1-1.otlp.pb.open").write_bytes(frame(b"one") + bytes(4096))
    (tmp_path / "2-1.otlp.pb.open").touch()
    assert adopt(tmp_path) == Adopted(2, 4096)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [frame(b"one")]
