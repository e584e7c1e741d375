"""Inputs that were made to hurt, over every importer: they are survived in little time and memory, and named."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from debugger.importers import FORMATS, Follower, _source, format_of, iter_sources, key_values, load_text
from debugger.importers._lines import MAX_DEPTH
from debugger.store import LoadSummary, Store

from .formats import START, WRITERS, Made

ROOT, CHILD = "00f067aa0ba902b7", "00f067aa0ba902b8"
ONE = (Made(span_id=ROOT, name="root", attributes={"x": "y"}),)
TEXTS = [name for name in WRITERS if name not in ("otlp_proto", "otlp_delimited")]


def load(path: Path, data: bytes | None = None) -> tuple[LoadSummary, list[str]]:
    if data is not None:
        path.write_bytes(data)
    with Store.memory() as store:
        summary = store.load([path])
        for row in store.traces():
            assert store.calls(row.trace_id)
            assert store.events(row.trace_id)
    return summary, [issue.reason for issue in summary.issues]


@pytest.mark.parametrize("name", WRITERS)
def test_an_attribute_of_50_mb_comes_through_whole(name: str, request: pytest.FixtureRequest) -> None:
    every = request.config.getoption("hypothesis_profile", default=None) == "search"
    size = 50_000_000 if every or name in ("otlp_json", "otlp_proto") else 5_000_000
    data = WRITERS[name]((Made(span_id=ROOT, attributes={"big": "x" * size}),))
    form = format_of(data[: _source.HEAD_BYTES])
    assert form is not None, "recognised by its head alone"
    notes: list[Any] = []
    blocks = (data[at : at + (1 << 20)] for at in range(0, len(data), 1 << 20))
    (raw,) = (raw for batch in form.read(blocks, lambda *note: notes.append(note)) for raw in batch)
    assert notes == []
    assert len(key_values(load_text(raw.attributes))["big"]) == size


@pytest.mark.parametrize("name", [*TEXTS, "rejelly"])
@pytest.mark.parametrize("opening", [b"[", b"[\n", b'{"a":'])
def test_brackets_without_end_are_given_up_early(name: str, opening: bytes) -> None:
    begun = {
        "otlp_json": b'{"resourceSpans":',
        "otlp_pretty": b'{\n "resourceSpans":',
        "console": b'{\n"context": {"trace_id": "0x0"}, "x":',
        "jaeger": b'{"traceID": "1", "x":',
        "zipkin": b'[{"traceId": "1", "duration": 5, "x":',
        "rejelly": b'{"type": "agent:start", "timestamp": 1, "schemaVersion": 1, "x":',
    }[name]
    data = begun + opening * (3 * MAX_DEPTH)
    form = format_of(data)
    assert form is not None
    notes: list[tuple[int | None, str, bool]] = []
    assert sum(map(len, form.read([data], lambda *note: notes.append(note)))) == 0
    assert notes
    assert all(lost for _, _, lost in notes)
    if name != "rejelly":
        assert [reason for _, reason, _ in notes] == ["nested too deeply"]


@pytest.mark.parametrize("name", ["otlp_json", "console"])
def test_what_follows_such_brackets_is_read(name: str) -> None:
    data = b"{\n" + b'"a": [\n' * (2 * MAX_DEPTH) + WRITERS[name](ONE)
    form = next(form for form in FORMATS if form.sniff(WRITERS[name](ONE)))
    assert sum(map(len, form.read([data], lambda *_: None))) == 1


@pytest.mark.parametrize("name", WRITERS)
def test_a_value_nested_10_000_deep_is_named_or_cut(name: str, tmp_path: Path) -> None:
    nested: Any = "x"
    for _ in range(300):
        nested = [nested]
    made = Made(span_id=ROOT, attributes={"deep": nested, "near": "y"})
    data = WRITERS[name]((made,))
    if name == "console":  # the only one whose values are plain JSON
        data = data.replace(b'"x"', b"[" * 10_000 + b"]" * 10_000, 1)
    summary, reasons = load(tmp_path / "deep", data)
    assert summary.spans == 1 or "nested too deeply" in reasons


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "crlf"])
def test_text_files_of_windows(name: str, coding: str, tmp_path: Path) -> None:
    text = WRITERS[name]((Made(span_id=ROOT, name="Bœuf 𝄞"),)).decode()
    data = text.replace("\n", "\r\n").encode() if coding == "crlf" else text.encode(coding)
    summary, reasons = load(tmp_path / "x", data)
    assert (summary.spans, reasons) == (1, [])


def test_a_utf_16_file_cut_in_a_character(tmp_path: Path) -> None:
    summary, reasons = load(tmp_path / "x", WRITERS["otlp_json"](ONE).decode().encode("utf-16")[:-1])
    assert summary.spans == 1
    assert reasons == ["not JSON"]


@pytest.mark.parametrize("name", WRITERS)
def test_nul_and_half_characters_in_every_text(name: str, tmp_path: Path) -> None:
    data = WRITERS[name]((Made(span_id=ROOT, name="a\x00b", attributes={"k\x00": "v\x00"}),))
    if name in TEXTS:
        data = data.replace(rb"v\u0000", rb"v\ud800")
    summary, _ = load(tmp_path / "x", data)
    assert summary.spans == 1


# Packed ------------------------------------------------------------------------------------------------------


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstd.compress,
    "zip": lambda data: zipped(("a.jsonl", data)),
    "gzip in zip": lambda data: zipped(("a.jsonl", gzip.compress(data))),
}


@pytest.mark.parametrize("packer", PACKERS)
def test_packed_data_cut_at_every_byte(packer: str, tmp_path: Path) -> None:
    data = PACKERS[packer](WRITERS["otlp_json"](ONE))
    for length in range(1, len(data)):
        notes: list[tuple[str, str]] = []
        path = tmp_path / "x"
        path.write_bytes(data[:length])
        for source in iter_sources([path], lambda *note, to=notes: to.append(note)):
            got = b"".join(source.blocks)
            assert notes or format_of(got) is None, length


@pytest.mark.parametrize("packer", PACKERS)
def test_packed_data_with_any_byte_turned(packer: str, tmp_path: Path) -> None:
    data = PACKERS[packer](WRITERS["otlp_json"](ONE))
    path = tmp_path / "x"
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        for source in iter_sources([path], lambda *_: None):
            b"".join(source.blocks)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_bomb_is_not_unpacked(packer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "_BOMB_BYTES", 4 << 20)
    monkeypatch.setattr(_source, "_BOMB_RATIO", 100)
    data = PACKERS[packer](b'{"resourceSpans": "' + b"x" * (12 << 20))
    summary, reasons = load(tmp_path / "bomb", data)
    assert summary.spans == 0
    assert "unpacks to more than 100 times its size; not read on" in reasons


def test_archives_in_archives_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = WRITERS["otlp_json"](ONE)
    data = zipped(("inner.zip", zipped(("a", good))), ("twice.gz", gzip.compress(gzip.compress(good))), ("b", good))
    summary, reasons = load(tmp_path / "x.zip", data)
    assert summary.spans == 1
    assert reasons == ["a zip within a zip is not read", "looks like gzip data (passed over)"]


def test_a_locked_member_costs_only_itself(tmp_path: Path) -> None:
    data = bytearray(zipped(("locked", b"secret"), ("open", WRITERS["otlp_json"](ONE))))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    summary, reasons = load(tmp_path / "x.zip", bytes(data))
    assert summary.spans == 1
    assert len(reasons) == 1
    assert "encrypted" in reasons[0]


# Paths -------------------------------------------------------------------------------------------------------


def test_a_named_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    summary, reasons = load(pipe)
    assert summary.spans == 0
    assert reasons == ["a named pipe is not opened; give it to standard input, and - as the file"]
    (tmp_path / "good").write_bytes(WRITERS["otlp_json"](ONE))
    assert load(tmp_path)[0].spans == 1, "in a folder it is passed over"


def test_a_pipe_of_the_shell_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, WRITERS["otlp_json"](ONE))
    os.close(writer)
    try:
        assert load(Path(f"/dev/fd/{reader}"))[0].spans == 1
    finally:
        os.close(reader)


def test_a_device_is_refused() -> None:
    assert load(Path("/dev/zero"))[1] == ["no file but a socket or device"]


def test_links_that_go_round_end(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "up").symlink_to(folder)
    (folder / "self").symlink_to(folder / "self")
    (folder / "gone").symlink_to(tmp_path / "nowhere")
    (folder / "deep" / "one").write_bytes(WRITERS["otlp_json"](ONE))
    summary, reasons = load(folder)
    assert summary.spans == 1
    assert reasons == ["a link that leads nowhere"] * 2
    assert load(folder / "self")[1] == ["too many levels of symbolic links"]


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"x")

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refused)
    notes: list[tuple[str, str]] = []
    assert list(iter_sources([path], lambda *note: notes.append(note))) == []
    assert notes == [(str(path), "permission denied")]


def test_times_at_the_edges(tmp_path: Path) -> None:
    spans = (
        Made(span_id=ROOT, start=0, end=0),
        Made(span_id=CHILD, parent=ROOT, start=START, end=2**63 - 1000),
    )
    for name in ("otlp_json", "otlp_proto", "jaeger", "zipkin"):
        summary, _ = load(tmp_path / name, WRITERS[name](spans))
        assert summary.spans == 2


_EMPTY_MEMBERS = gzip.compress(b"", mtime=0) * _source.MOST_EMPTY + gzip.compress(b"\n", mtime=0)
_LONG_LINE = b'{"resourceSpans": "' + b"x" * 200_000 + b"\n"
_FRUITLESS = (_LONG_LINE, gzip.compress(_LONG_LINE, mtime=0), _EMPTY_MEMBERS * 5)


def test_what_brings_no_spans_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "BLOCK_BYTES", 4096)
    path = tmp_path / "a"
    asked: list[None] = []

    def cancelled() -> bool:
        asked.append(None)
        return len(asked) == 3

    with Store.memory() as store:
        loads: tuple[Callable[[], LoadSummary], ...] = (
            lambda: store.load([path], cancelled=cancelled),
            lambda: store.load_new(Follower([path]), cancelled=cancelled),
        )
        for plain in _FRUITLESS:
            for data in (plain, zipped(("a", plain))):
                for load_it in loads:
                    path.write_bytes(data)
                    asked.clear()
                    summary = load_it()
                    assert (summary.was_cancelled, len(asked), summary.issues) == (True, 3, ())


def test_files_that_are_no_traces_can_be_cancelled_and_are_told_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/one", "b/two"):
        Path(name).parent.mkdir()
        Path(name).write_text("{}")
    Path("many.zip").write_bytes(zipped(("c/one", b"{}"), ("d/two", b"{}"), ("e/three", b"{}")))
    for paths, most in ((["a", "b"], 1), (["many.zip"], 2)):
        asked = iter([False] * most)
        with Store.memory() as store:
            assert store.load(paths, cancelled=lambda asked=asked: next(asked, True)).was_cancelled
    with Store.memory() as store:
        (issue,) = store.load(["a", "b"]).issues
        assert (issue.path, "passed over: a/one (" in issue.reason) == (".", True)
        (issue,) = store.load(["many.zip"]).issues
        assert (issue.path, "passed over: c/one (" in issue.reason) == ("many.zip", True)
