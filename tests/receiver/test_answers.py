"""What the receiver answers, over a real connection, and what it keeps."""

from __future__ import annotations

import asyncio
import errno
import gzip
import http.client
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from debugger.receiver import coming, grpc_server
from debugger.receiver import http as http_module
from debugger.receiver.check import MOST_MEMBERS, inflate
from debugger.receiver.guard import Guard
from debugger.receiver.intake import Intake
from debugger.receiver.otlp import Refused

from .kit import JSON, PROTOBUF, WAIT_S, Memory, json_request, request, server, span

Answer = tuple[int, dict[str, str], bytes]
LIMIT = 1 << 16


class Door:
    def __init__(self) -> None:
        self.sink = Memory()
        self.intake = Intake(self.sink, lambda: None, max_body=LIMIT, in_flight=4 * LIMIT)
        self.port = 0

    def ask(self, path: str, body: bytes = b"", method: str = "POST", **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        found = (answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        connection.close()
        return found

    def raw(self, *pieces: bytes, shut: bool = False) -> bytes:
        """Send bytes as they are; all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as connection:
            for piece in pieces:
                connection.sendall(piece)
            if shut:
                connection.shutdown(socket.SHUT_WR)
            out = b""
            while block := connection.recv(1 << 16):
                out += block
            return out


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    with server(made.intake) as made.port:
        yield made


def post(length: int | str, *more: str, path: str = "/v1/traces") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/x-protobuf"]
    return "\r\n".join([*lines, f"content-length: {length}", *more, "", ""]).encode()


def test_a_thread_that_unpacks_for_a_request_that_is_gone_stops_and_takes_no_room() -> None:
    intake = Intake(Memory(), lambda: None, in_flight=100)
    with intake.lease() as lease:
        lease.grow(60)
    with pytest.raises(Refused, match="gone"):
        inflate(gzip.compress(b"x" * 50), 1000, lease.grow)
    with intake.lease() as other:
        other.grow(100)


def test_protobuf_is_kept_as_it_came(door: Door) -> None:
    body = request(span(1), span(2))
    status, headers, said = door.ask("/v1/traces", body, **PROTOBUF)
    assert (status, headers["content-type"], said) == (200, "application/x-protobuf", b"")
    assert door.sink.kept == [("protobuf", len(body).to_bytes(4, "big") + body)]
    assert door.intake.counts.spans == 2


def test_json_becomes_one_line(door: Door) -> None:
    status, headers, said = door.ask(
        "/v1/traces", json_request("a", "b"), content_type="application/json; charset=utf-8"
    )
    assert (status, headers["content-type"], json.loads(said)) == (200, "application/json", {})
    [(encoding, data)] = door.sink.kept
    assert (encoding, data.count(b"\n"), data[-1:]) == ("json", 1, b"\n")
    assert json.loads(data) == json.loads(json_request("a", "b"))


def test_gzip_of_several_members(door: Door) -> None:
    body = request(span(1))
    packed = gzip.compress(body[:9]) + gzip.compress(body[9:])
    assert door.ask("/v1/traces", packed, content_encoding="gzip", **PROTOBUF)[0] == 200
    assert door.sink.kept[0][1][4:] == body


def test_gzip_of_too_many_members_is_refused(door: Door) -> None:
    body, empty = gzip.compress(request(span(1)), mtime=0), gzip.compress(b"", mtime=0)
    for members, status in ((MOST_MEMBERS, 200), (MOST_MEMBERS + 1, 400)):
        packed = empty * (members - 1) + body
        assert door.ask("/v1/traces", packed, content_encoding="gzip", **PROTOBUF)[0] == status
    assert len(door.sink.kept) == 1


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
def test_partial_success(door: Door, content_type: dict[str, str]) -> None:
    bad = span(2)
    bad.span_id = b"short"
    if content_type is PROTOBUF:
        status, _, said = door.ask("/v1/traces", request(span(1), bad), **PROTOBUF)
        told = ExportTraceServiceResponse.FromString(said).partial_success
        rejected, message = told.rejected_spans, told.error_message
    else:
        body = json.loads(json_request("good", "bad"))
        del body["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["spanId"]
        status, _, said = door.ask("/v1/traces", json.dumps(body).encode(), **JSON)
        partial = json.loads(said)["partialSuccess"]
        rejected, message = int(partial["rejectedSpans"]), partial["errorMessage"]
    assert (status, rejected) == (200, 1)
    assert message.startswith("1 of 2 records cannot be read")
    assert len(door.sink.kept) == 1


def test_metrics_are_rejected_point_by_point(door: Door) -> None:
    made = ExportMetricsServiceRequest()
    metric = made.resource_metrics.add().scope_metrics.add().metrics.add()
    metric.gauge.data_points.add().as_int = 1
    metric.gauge.data_points.add().as_int = 2
    status, _, said = door.ask("/v1/metrics", made.SerializeToString(), **PROTOBUF)
    told = ExportMetricsServiceResponse.FromString(said).partial_success
    assert (status, told.rejected_data_points, "not kept" in told.error_message) == (200, 2, True)
    body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"sum": {"dataPoints": [{}, {}, {}]}}]}]}]}
    said = door.ask("/v1/metrics", json.dumps(body).encode(), **JSON)[2]
    assert json.loads(said)["partialSuccess"]["rejectedDataPoints"] == "3"
    assert door.sink.kept == []


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_an_empty_request_is_a_success_and_keeps_nothing(door: Door, body: bytes) -> None:
    assert door.ask("/v1/traces", body, **(JSON if body else PROTOBUF))[0] == 200
    assert door.sink.kept == []


@pytest.mark.parametrize(
    ("status", "path", "method", "body", "headers"),
    [
        (400, "/v1/traces", "POST", b"{ no json", JSON),
        (400, "/v1/traces", "POST", b'{"a": 1}', JSON),
        (400, "/v1/traces", "POST", request(span(1))[:-3], PROTOBUF),
        (400, "/v1/traces", "POST", b"{}", PROTOBUF),
        (400, "/v1/metrics", "POST", b"\xff", PROTOBUF),
        (400, "/v1/metrics", "POST", b"[]", JSON),
        (400, "/v1/traces", "POST", b"no gzip", PROTOBUF | {"content-encoding": "gzip"}),
        (400, "/v1/traces", "POST", gzip.compress(b"cut", mtime=0)[:-4], PROTOBUF | {"content-encoding": "gzip"}),
        (404, "/v1/profiles", "POST", b"", PROTOBUF),
        (404, "/", "GET", b"", {}),
        (405, "/v1/traces", "GET", b"", {}),
        (405, "/v1/traces", "HEAD", b"", {}),
        (405, "/v1/traces", "PUT", b"", JSON),
        (415, "/v1/traces", "POST", b"{}", {"content-type": "text/plain"}),
        (415, "/v1/traces", "POST", b"{}", {}),
        (415, "/v1/traces", "POST", b"{}", JSON | {"content-encoding": "br"}),
        (413, "/v1/traces", "POST", bytes(LIMIT + 1), PROTOBUF),
        (413, "/v1/traces", "POST", gzip.compress(bytes(1 << 24), mtime=0), PROTOBUF | {"content-encoding": "gzip"}),
        (403, "/v1/traces", "POST", b"{}", JSON | {"host": "rebound.example"}),
        (403, "/v1/traces", "POST", b"{}", JSON | {"origin": "https://evil.example"}),
        (403, "/v1/traces", "POST", b"{}", JSON | {"origin": "null"}),
        (403, "/v1/traces", "OPTIONS", b"", {"origin": "https://evil.example"}),
    ],
)
def test_refusals(door: Door, status: int, path: str, method: str, body: bytes, headers: dict[str, str]) -> None:
    said = door.ask(path, body, method, **headers)
    assert said[0] == status
    assert "access-control-allow-origin" not in said[1]
    assert door.sink.kept == []
    if method != "HEAD":
        text = said[2] if headers.get("content-type") == "application/x-protobuf" else json.loads(said[2])["message"]
        assert len(text) > 10
    if status == 405:
        assert said[1]["allow"] == "POST, OPTIONS"


def test_a_page_of_this_machine_may_send(door: Door) -> None:
    origin = "http://localhost:3000"
    asked = {"access_control_request_headers": "content-type,x-tenant, bad(name"}
    status, headers, body = door.ask("/v1/traces", b"", "OPTIONS", origin=origin, **asked)
    assert (status, body) == (204, b"")
    assert headers["access-control-allow-origin"] == origin
    assert headers["access-control-allow-headers"] == "content-type, x-tenant"
    status, headers, _ = door.ask("/v1/traces", json_request("page"), origin=origin, **JSON)
    assert (status, headers["access-control-allow-origin"]) == (200, origin)


@pytest.mark.parametrize("host", ["localhost:4318", "127.0.0.1", "[::1]:4318", "10.1.2.3:4318", "host.docker.internal"])
def test_names_that_nobody_can_register_pass(door: Door, host: str) -> None:
    assert door.ask("/v1/traces", json_request("x"), host=host, **JSON)[0] == 200


def test_a_token_is_needed_where_one_is_set() -> None:
    intake = Intake(Memory(), lambda: None)
    door = Door()
    with server(intake, Guard(token="a secret of some length")) as door.port:
        for given in (None, "Bearer wrong", "Basic a secret of some length", "Bearer \xff"):
            headers = JSON if given is None else JSON | {"authorization": given}
            status, told, _ = door.ask("/v1/traces", json_request("x"), **headers)
            assert (status, told["www-authenticate"]) == (401, "Bearer")
        headers = JSON | {"authorization": "bearer a secret of some length", "host": "any.example"}
        assert door.ask("/v1/traces", json_request("x"), **headers)[0] == 200


def test_a_full_disk_is_told_and_tried_again(door: Door) -> None:
    door.sink.fault = OSError(errno.ENOSPC, "No space left on device")
    status, headers, said = door.ask("/v1/traces", json_request("x"), **JSON)
    assert (status, headers["retry-after"]) == (503, "5")
    assert json.loads(said) == {"code": 14, "message": "the spool cannot be written: no space left on device"}
    assert door.intake.counts.problem
    door.sink.fault = None
    assert door.ask("/v1/traces", json_request("x"), **JSON)[0] == 200
    assert door.intake.counts.problem == ""


def test_beyond_the_budget_senders_are_told_to_come_again(door: Door) -> None:
    big = json_request("x" * (LIMIT - 500))
    door.sink.held = []
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(door.ask("/v1/traces", big, **JSON)[0])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    until = threading.Event()
    while len(door.sink.held) < 4:
        until.wait(0.01)
    status, headers, _ = door.ask("/v1/traces", big, **JSON)
    assert (status, headers["retry-after"]) == (503, "1")
    for done in door.sink.held:
        done.set_result(None)
    door.sink.held = None
    for thread in threads:
        thread.join(WAIT_S)
    assert answers == [200] * 4
    assert door.ask("/v1/traces", big, **JSON)[0] == 200


class TestBrokenSenders:
    def test_half_a_body(self, door: Door) -> None:
        body = request(span(1))
        assert door.raw(post(len(body) + 5), body, shut=True) == b""
        assert door.sink.kept == []
        assert door.ask("/v1/traces", body, **PROTOBUF)[0] == 200

    def test_a_body_that_stops_coming(self, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(http_module, "SILENCE_S", 0.05)
        assert b" 408 " in door.raw(post(100), b"abc")

    def test_slow_senders_keep_nobody_out(self, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
        """The one that has been slow for longest makes room, once it had its time."""
        monkeypatch.setattr(http_module, "MAX_REQUESTS", 2)
        monkeypatch.setattr(coming, "PATIENCE_S", WAIT_S)
        body = request(span(1))
        with ExitStack() as ending:
            slow = []
            for _ in range(2):
                address = ("127.0.0.1", door.port)
                slow.append(ending.enter_context(socket.create_connection(address, timeout=WAIT_S)))
                slow[-1].sendall(post(100, "expect: 100-continue"))
                assert slow[-1].recv(100).startswith(b"HTTP/1.1 100")
            assert door.ask("/v1/traces", body, **PROTOBUF)[0] == 503
            monkeypatch.setattr(coming, "PATIENCE_S", 0)
            assert door.ask("/v1/traces", body, **PROTOBUF)[0] == 200
            assert slow[0].recv(100).startswith(b"HTTP/1.1 408")
            slow[1].setblocking(False)
            with pytest.raises(BlockingIOError):
                slow[1].recv(100)

    def test_more_than_was_said(self, door: Door) -> None:
        body = request(span(1))
        said = door.raw(post(len(body)), body + b"what is this\r\n\r\n")
        assert b" 400 " in said
        assert door.ask("/v1/traces", body, **PROTOBUF)[0] == 200

    def test_requests_without_waiting_for_answers(self, door: Door) -> None:
        body = request(span(1))
        one = post(len(body)) + body
        said = door.raw(one, one, post(len(body), "connection: close") + body)
        assert said.count(b" 200 OK") == 3
        assert len(door.sink.kept) == 3

    def test_chunks(self, door: Door) -> None:
        body = request(span(1))
        head = post("0").replace(b"content-length: 0", b"transfer-encoding: chunked\r\nconnection: close")
        pieces = b"".join(b"%x\r\n%b\r\n" % (1, body[i : i + 1]) for i in range(len(body)))
        assert b" 200 OK" in door.raw(head, pieces, b"0\r\n\r\n")
        assert door.sink.kept[0][1][4:] == body

    @pytest.mark.parametrize("start", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
    def test_no_http(self, door: Door, start: bytes) -> None:
        assert door.raw(start, shut=True).startswith((b"HTTP/1.1 4", b""))
        assert door.ask("/v1/traces", b"{}", **JSON)[0] == 200

    def test_headers_without_end(self, door: Door) -> None:
        with pytest.raises(ConnectionError):  # noqa: PT012 (which call notices it, is the system's choice)
            door.raw(b"POST /v1/traces HTTP/1.1\r\n", *[b"x: " + b"y" * 4000 + b"\r\n"] * 300)
            raise ConnectionError  # closed without a reset
        assert door.ask("/v1/traces", b"{}", **JSON)[0] == 200

    def test_headers_that_never_come(self, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("debugger.receiver.http_server._HEAD_S", 0.05)
        for start in (b"", b"POST /v1/tra"):
            try:
                assert door.raw(start) == b""
            except ConnectionResetError:
                continue

    def test_expect_continue_of_too_much(self, door: Door) -> None:
        assert door.raw(post(LIMIT + 1, "expect: 100-continue", "connection: close")).startswith(b"HTTP/1.1 413")


class Call:
    """What gRPC tells a handler of its call."""

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def set_trailing_metadata(self, _: object) -> None:
        return

    async def abort(self, _: object, message: str) -> None:
        raise RuntimeError(message)


def test_slow_calls_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_server, "AT_ONCE", 1)
    monkeypatch.setattr(coming, "PATIENCE_S", WAIT_S)
    sink = Memory()

    async def never() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async def whole() -> AsyncIterator[bytes]:
        yield request(span(1))

    async def scene() -> None:
        export = grpc_server.GrpcServer(Intake(sink, lambda: None), Guard())._export("traces")
        slow = asyncio.ensure_future(export(never(), Call()))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="too many calls"):
            await export(whole(), Call())
        monkeypatch.setattr(coming, "PATIENCE_S", 0)
        assert await export(whole(), Call()) == b""
        with pytest.raises(RuntimeError, match="did not come to its end in time"):
            await slow

    asyncio.run(scene())
    assert len(sink.kept) == 1
