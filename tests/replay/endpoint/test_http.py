"""The endpoint as plain HTTP sees it: strangers, odd bodies, slow clients."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from debugger.errors import ReplayError
from debugger.replay.endpoint import bodies
from debugger.replay.endpoint.upstream import Upstream
from debugger.replay.recording import Recording
from runtime.messages import ErrorInfo, Usage
from tests.runtime.models.servers import Raw, Says, serving, whole

from .doors import record, replaying, statuses
from .recorded import recorded_chat, says, turn, user


@pytest.fixture
def endpoint():
    with replaying(Recording("a" * 32, recorded_chat(), [])) as running:
        yield running


def post(endpoint, path, body, headers=None, token=None):
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=300)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", f"/{token or endpoint.token}{path}", data, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
PACKED = gzip.compress(json.dumps(ASKED).encode(), mtime=0)


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
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=300)
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
    headers = {"Content-Length": str(bodies.MOST_BYTES + 1)}
    status, answer, found = post(endpoint, "/v1/chat/completions", b"", headers)
    assert (status, found["Connection"]) == (413, "close")
    assert b"larger than" in answer


def test_a_body_in_chunks_is_read(endpoint):
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=300)
    data = json.dumps(ASKED).encode()
    path = f"/{endpoint.token}/v1/chat/completions"
    connection.request(
        "POST", path, iter([data[:9], data[9:]]), encode_chunked=True, headers={"Transfer-Encoding": "chunked"}
    )
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize(
    ("packing", "body", "status"),
    [
        ("gzip", PACKED, 200),
        ("gzip", PACKED[:-9], 400),
        ("br", b"x", 415),
    ],
    ids=["whole", "cut off", "unknown"],
)
def test_a_packed_body_is_unpacked_or_refused(endpoint, packing, body, status):
    found, answer, _ = post(endpoint, "/v1/chat/completions", body, {"Content-Encoding": packing})
    assert found == status, answer


def test_what_unpacks_to_too_much_is_refused():
    with pytest.raises(bodies.BodyError) as refused:
        bodies.unpacked(gzip.compress(bytes(2000)), "gzip", 1000)
    assert refused.value.status == 413


@pytest.mark.parametrize(
    ("method", "path"), [("HEAD", ""), ("HEAD", "/v1/models"), ("OPTIONS", "/v1/chat/completions")]
)
def test_that_it_is_there_is_told_without_a_body(endpoint, method, path):
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=300)
    for token, status in ((endpoint.token, 200), ("x", 404)):
        connection.request(method, f"/{token}{path or '/'}")
        answer = connection.getresponse()
        assert answer.status == status
        assert not {key.lower() for key, _ in answer.getheaders()} & {"access-control-allow-origin"}
        answer.read()
        connection.close()


def test_legacy_completions_are_answered_by_plain_text():
    with replaying(Recording("a" * 32, [turn(1, (user("Once upon"),), says(" a time"))], [])) as running:
        asked = {"model": "m", "prompt": ["Once upon"], "max_tokens": 9}
        status, body, _ = post(running, "/v1/completions", asked | {"stream": True})
        assert status == 200
        first = json.loads(body.decode().partition("\n\n")[0].removeprefix("data: "))
        assert first["choices"][0]["text"] == " a time"
        assert post(running, "/v1/completions", asked | {"prompt": ["a", "b"]})[0] == 400


def test_tokens_are_counted_where_the_recording_tells_them():
    calls = [turn(1, (user("hi"),), says("hello"), usage=Usage(input_tokens=11))]
    with replaying(Recording("a" * 32, calls, [])) as running:
        path = "/v1/messages/count_tokens"
        assert json.loads(post(running, path, ASKED)[1]) == {"input_tokens": 11}
        status, body, _ = post(running, path, ASKED | {"messages": [{"role": "user", "content": "else"}]})
        assert (status, "no such request" in body.decode()) == (404, True)
        assert post(running, "/v1/messages", ASKED)[0] == 200, "counting uses up no answer"


def test_a_response_goes_on_from_the_one_that_it_names():
    calls = [
        turn(1, (user("hi"),), says("hello")),
        turn(2, (user("hi"), says("hello"), user("more")), says("that is all")),
    ]
    with replaying(Recording("a" * 32, calls, [])) as running:
        first = json.loads(post(running, "/v1/responses", {"model": "m", "input": "hi"})[1])
        asked = {"model": "m", "input": "more", "previous_response_id": first["id"]}
        second = json.loads(post(running, "/v1/responses", asked)[1])
        assert second["output"][0]["content"][0]["text"] == "that is all"


def test_a_refusal_tells_what_its_provider_told():
    words = "Error code: 429, retry-after 20 - {'error': {'message': 'slow down'}}"
    failed = turn(1, (user("hi"),), says(""), output_messages=None, error=ErrorInfo("429", words))
    with replaying(Recording("a" * 32, [failed], [])) as running:
        status, body, headers = post(running, "/v1/chat/completions", ASKED)
        assert (status, headers["retry-after"], headers["retry-after-ms"]) == (429, "20", "1")
        assert json.loads(body)["error"]["message"] == "slow down"


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


def test_a_login_in_an_address_becomes_a_header(monkeypatch):
    with serving(Says("hello")) as real:
        address = real.url.replace("http://", "http://me%40home:p%3Aw@")
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        headers = {"Authorization": "Bearer key", "Content-Type": "application/json"}
        answer = Upstream.of_environment().ask(
            "openai", "/chat/completions", "POST", headers, json.dumps(ASKED).encode()
        )
        with answer.body:
            assert answer.status == 200
    assert real.seen[0].headers["authorization"] == "Basic " + base64.b64encode(b"me@home:p:w").decode()


@pytest.mark.parametrize("address", ["me:secret@host/v1", "http://me:secret/x@host/v1", "ftp://me:secret@host"])
def test_an_address_that_is_none_is_refused_without_its_password(address):
    with pytest.raises(ReplayError) as fault:
        Upstream({"openai": address})
    assert "secret" not in str(fault.value)


@pytest.mark.parametrize(
    ("headers", "query", "secrets"),
    [
        ({"Authorization": "Bearer k3y-of-the-user"}, "", ["k3y-of-the-user"]),
        ({"x-api-key": "k3y-of-the-user"}, "", ["k3y-of-the-user"]),
        ({"Api-Key": 'k3y"of"the\\user'}, "", ['k3y"of"the\\user']),
        ({"X-Goog-Api-Key": "k3y-of-the-user"}, "", ["k3y-of-the-user"]),
        ({}, "?key=k3y%2Dof&alt=sse", ["k3y%2Dof", "k3y-of"]),
        ({"Authorization": "Basic bWU6cGFzc3cwcmQh"}, "", ["bWU6cGFzc3cwcmQh", "passw0rd!"]),
    ],
)
def test_a_key_that_the_server_repeats_is_passed_on_and_not_written(tmp_path, headers, query, secrets):
    said = f"Wrong key: {' '.join(secrets)}."
    told = Raw(200, json.dumps(whole("/chat/completions", Says(said))))
    script = [Raw(401, json.dumps({"error": {"message": said, "type": "auth"}})), told]
    path, seen = tmp_path / "t.otlp.jsonl", []

    def program(endpoint):
        for _ in script:
            status, body, _ = post(endpoint, f"/v1/chat/completions{query}", ASKED, headers)
            told = json.loads(body)
            text = told["error"]["message"] if "error" in told else told["choices"][0]["message"]["content"]
            seen.append((status, text == said, endpoint.door.last_error))
        post(
            endpoint,
            f"/v1/chat/completions{query}",
            {"model": "m", "messages": [{"role": "user", "content": said}]},
            headers,
        )

    record(path, [*script, told], program)
    assert [each[:2] for each in seen] == [(401, True), (200, True)]
    written = path.read_text("utf-8") + seen[0][2].message
    assert written.count("Wrong key: [redacted:secret]") >= 4
    assert not [secret for secret in secrets if secret in written or json.dumps(secret)[1:-1] in written]
