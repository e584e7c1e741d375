"""The endpoint as plain HTTP sees it: strangers, odd bodies, slow clients."""

from __future__ import annotations

import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from debugger.replay.endpoint import server
from debugger.replay.recording import Recording

from .doors import replaying, statuses
from .recorded import recorded_chat


@pytest.fixture
def endpoint():
    with replaying(Recording("a" * 32, recorded_chat(), [])) as running:
        yield running


def post(endpoint, path, body, headers=None, token=None):
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", f"/{token or endpoint.token}{path}", data, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions", "/openai/v1/chat/completions"])
def test_the_version_may_be_left_out(endpoint, path):
    status, body, _ = post(endpoint, path, ASKED)
    assert status == 200
    assert json.loads(body)["choices"][0]["message"]["content"] == "hello"


def test_a_stream_is_server_sent_events(endpoint):
    status, body, headers = post(endpoint, "/v1/chat/completions", ASKED | {"stream": True})
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    *lines, last, _ = body.decode().split("\n\n")
    assert last == "data: [DONE]"
    pieces = [json.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("content") or "" for line in lines]
    assert "".join(pieces) == "hello"


@pytest.mark.parametrize("token", ["wrong", "", "x" * 5000, "%2e%2e"])
def test_strangers_are_told_nothing(endpoint, token):
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
    connection.request("POST", f"/{token}/v1/chat/completions", json.dumps(ASKED))
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (404, b"{}")
    connection.close()
    assert statuses(endpoint) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"model": "m"}', b'{"model": "m", "messages": null}'],
)
def test_what_is_no_request_is_a_clear_error(endpoint, body):
    status, answer, _ = post(endpoint, "/v1/chat/completions", body)
    assert status == 400
    assert json.loads(answer)["error"]["message"].startswith("retrospan: the body ")
    assert statuses(endpoint) == []


@pytest.mark.parametrize(
    "messages",
    ["text", [1, None, []], [{"role": 5, "content": {"a": 1}}], [{}], [{"role": "tool"}], [{"tool_calls": [{}, 3]}]],
)
def test_odd_messages_are_a_miss_not_a_crash(endpoint, messages):
    status, answer, _ = post(endpoint, "/v1/chat/completions", {"model": ["m"], "messages": messages})
    assert status == 400
    assert json.loads(answer)["error"]["type"] == "retrospan_no_recorded_answer"


def test_a_body_that_is_too_large_is_refused_unread(endpoint):
    headers = {"Content-Length": str(server.MOST_BYTES + 1)}
    status, answer, found = post(endpoint, "/v1/chat/completions", b"", headers)
    assert (status, found["Connection"]) == (413, "close")
    assert b"larger than" in answer


def test_a_body_in_chunks_is_read(endpoint):
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
    data = json.dumps(ASKED).encode()
    path = f"/{endpoint.token}/v1/chat/completions"
    connection.request(
        "POST", path, iter([data[:9], data[9:]]), encode_chunked=True, headers={"Transfer-Encoding": "chunked"}
    )
    assert connection.getresponse().status == 200
    connection.close()


def test_a_slow_client_holds_up_nobody(endpoint):
    where = urlsplit(endpoint.url)
    with socket.create_connection(("127.0.0.1", endpoint.port)) as slow:
        slow.sendall(f"POST {where.path}/v1/chat/completions HTTP/1.1\r\nContent-Length: 900\r\n\r\n{{".encode())
        assert post(endpoint, "/v1/chat/completions", ASKED)[0] == 200
    assert statuses(endpoint) == ["hit"]


def test_what_no_recording_can_answer_is_said(endpoint):
    status, answer, headers = post(endpoint, "/v1/embeddings", {"input": "x"})
    assert (status, headers["x-should-retry"]) == (404, "false")
    assert "no recording can answer POST /v1/embeddings" in json.loads(answer)["error"]["message"]
    assert endpoint.door.unread == ["/v1/embeddings"]


def test_adapters_are_answered_in_json_and_refused_politely(endpoint):
    status, answer, _ = post(endpoint, "/adapter/tool", {"name": "look", "arguments": {"at": "sky"}})
    assert status == 200
    assert json.loads(answer) == {"do": "give", "value": {"is": "blue"}, "text": '{"is":"blue"}', "error": None}
    assert post(endpoint, "/adapter/tool", {"arguments": 1})[0] == 400
    assert post(endpoint, "/adapter/tool", [])[0] == 400
