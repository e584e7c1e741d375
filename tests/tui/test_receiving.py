"""The list's switch for receiving traces, and what it shows of a receiver."""

from __future__ import annotations

import asyncio
import http.client
from dataclasses import replace
from pathlib import Path

import pytest

from debugger.receiver.status import Status
from debugger.store import Library
from debugger.tui.store_session import StoreSession
from tests.receiver.kit import PROTOBUF, request, span
from tests.tui.driver import NARROW, WIDE, Desk, drive
from tests.tui.fake_session import FakeSession


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "160x50"])
def test_l_starts_and_stops_receiving(size: tuple[int, int]) -> None:
    async def scene(desk: Desk) -> None:
        assert "l receive" in desk.screen or size == NARROW
        await desk.press("l")
        await desk.until(lambda: "◉ receiving on HTTP :4318" in desk.screen)
        if size == WIDE:
            assert "1,234 spans" in desk.screen
            assert "l stop receiving" in desk.screen
        await desk.press("l")
        await desk.until(lambda: "receiving on" not in desk.screen)

    session = FakeSession()
    session.is_library = True
    drive(session, scene, size)
    assert session.asked.count("receive") == 2


def test_a_receiver_that_fails_says_why_and_its_text_is_no_markup() -> None:
    async def scene(desk: Desk) -> None:
        session.receiver_status = replace(STOPPED, problem="port 4318 of 127.0.0.1 is in use [bold]\x1b[31m")
        await desk.until(lambda: "not receiving" in desk.screen)
        assert "in use [bold]" in desk.screen
        assert "\x1b" not in desk.screen

    session = FakeSession()
    session.is_library = True
    drive(session, scene)


LONGEST_S = 300
"""Far beyond what starting two processes takes on a machine that does ten other things."""
STOPPED = Status(state="stopped", http=None, grpc=None, library="")


def test_over_files_there_is_no_switch() -> None:
    async def scene(desk: Desk) -> None:
        assert "receive" not in desk.screen
        await desk.press("l")
        assert "Traces are received into the library" in desk.screen

    drive(session := FakeSession(), scene)
    assert "receive" not in session.asked


def test_what_is_received_appears_by_itself_and_goes_on_in_the_open_trace(tmp_path: Path) -> None:
    def send(at: str | None, body: bytes) -> int:
        connection = http.client.HTTPConnection(str(at), timeout=LONGEST_S)
        connection.request("POST", "/v1/traces", body, PROTOBUF)
        status = connection.getresponse().status
        connection.close()
        return status

    async def until(desk: Desk, part: str) -> None:
        async with asyncio.timeout(LONGEST_S):
            while part not in desk.screen:
                await desk.pilot.pause(0.05)

    async def scene(desk: Desk) -> None:
        assert "The library is empty." in desk.screen
        await desk.pilot.press("l")
        await until(desk, "receiving on HTTP")
        status = session.receiver()
        assert status is not None
        unfinished = span(1)
        unfinished.end_time_unix_nano = 0
        assert await asyncio.to_thread(send, status.http, request(unfinished)) == 200
        await until(desk, "span 1")
        await desk.press("enter")
        assert "span 2" not in desk.screen
        later = span(2)
        later.parent_span_id = unfinished.span_id
        assert await asyncio.to_thread(send, status.http, request(span(1), later)) == 200
        await until(desk, "span 2")
        assert "span 1" in desk.cursor

    words = ("--http-port", "0", "--no-grpc")
    with StoreSession([], library=Library.open(tmp_path), listen_words=words) as session:
        drive(session, scene)
        assert len(session.traces()) == 1
