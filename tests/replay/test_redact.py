"""Redaction: what is found, what stays, and that a redacted recording still answers."""

from __future__ import annotations

import base64
import json

import openai
import pytest

from debugger.errors import ReplayError
from debugger.importers import LogRecord
from debugger.replay.export import export_trace, redacted
from debugger.replay.redact import RULES, Redaction
from runtime.trace import Span, SpanEvent, SpanLink
from tests.replay.endpoint.doors import record, recording_of, replaying
from tests.runtime.models.servers import KEY, Says

ALL = Redaction.of(["all"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-proj-abcdefghij0123456789 here", "key [redacted:secret] here"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:secret]"),
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: [redacted:secret]"),
        ("mail ada@example.org, please", "mail [redacted:email], please"),
        ("card 4111 1111 1111 1111 ok", "card [redacted:card] ok"),
        ("no card 4111 1111 1111 1112 ok", "no card 4111 1111 1111 1112 ok"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [redacted:iban]"),
        ("call +49 30 1234567", "call [redacted:phone]"),
        ("order 20251130 of 12 items, 3.14159265358979", "order 20251130 of 12 items, 3.14159265358979"),
        ("sk-learn and tasks", "sk-learn and tasks"),
    ],
)
def test_what_is_found(text, shown):
    assert ALL.text(text) == shown
    assert ALL.text(shown) == shown, "twice changes nothing"


def test_what_stands_under_the_name_of_a_secret_goes_as_a_whole():
    given = {"user": "ada", "password": "x", "API-Key": "short", "token_count": "7", "nested": [{"db_secret": "y"}]}
    assert ALL.json(given) == {
        "user": "ada",
        "password": "[redacted:secret]",
        "API-Key": "[redacted:secret]",
        "token_count": "7",
        "nested": [{"db_secret": "[redacted:secret]"}],
    }


def test_rules_are_named_or_patterns():
    assert Redaction.of(["all"]).rules == RULES
    assert Redaction.of(["/ord-\\d+/"]).text("see ord-12") == "see [redacted]"
    for word in ("", "everything", "/(/"):
        with pytest.raises(ReplayError):
            Redaction.of([word])


def test_long_texts_take_no_time_to_speak_of():
    for text in (
        "1 " * 200_000,
        "a@" * 200_000,
        "eyJ" + "a" * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 5000,
        "+1" * 200_000,
    ):
        ALL.text(text)


def test_an_exported_span_keeps_what_it_is_matched_by():
    attributes = {
        "retrospan.content_hash": "sha256.1:" + "4111111111111111" * 4,
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"I am ada@example.org"}]}]',
        "password": "x",
        "n": 3,
    }
    span = Span(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_span_id=None,
        name="s",
        start_unix_nano=1,
        end_unix_nano=2,
        attributes=attributes,
    )
    found = redacted(span, ALL).attributes
    assert found["retrospan.content_hash"] == attributes["retrospan.content_hash"]
    assert found["gen_ai.input.messages"].endswith('"content":"I am [redacted:email]"}]}]')
    assert (found["password"], found["n"]) == ("[redacted:secret]", 3)


def program(endpoint):
    said = [{"role": "user", "content": "I am ada@example.org, who are you?"}]
    out = []
    with openai.OpenAI(base_url=f"{endpoint.url}/v1", api_key=KEY) as client:
        for _ in range(2):
            answer = client.chat.completions.create(model="m", messages=said).choices[0].message.content
            out.append(answer)
            said += [{"role": "assistant", "content": answer}, {"role": "user", "content": "And?"}]
    return out


def test_a_redacted_recording_still_answers(tmp_path):
    path = tmp_path / "t.otlp.jsonl"
    script = [Says("I am bob@example.org."), Says("That is all.")]
    assert record(path, script, program, Redaction.of(["email"])) == ["I am bob@example.org.", "That is all."]
    assert "example.org" not in path.read_text("utf-8")
    assert KEY not in path.read_text("utf-8")
    recording = recording_of(path)
    with replaying(recording, left_out=Redaction.of(["email"]).request) as endpoint:
        # The answer comes back with the next request, redacted as it is.
        assert program(endpoint) == ["I am [redacted:email].", "That is all."]


SECRET = "hunter2-Zq9"
NESTED = json.dumps({"arguments": json.dumps({"login": {"apiKey": SECRET, "user": "ada"}})})


@pytest.mark.parametrize(
    "text",
    [
        f"https://ada:{SECRET}@db.example.org/x?y=1",
        f"postgresql://root:{SECRET}@localhost/db",
        f"GET /v1?api_key={SECRET}&page=2",
        f"deploy --password {SECRET} --dry-run",
        f"deploy --db-password={SECRET} now",
        f"DB_PASSWORD={SECRET} ./run.sh",
        f"Authorization: Basic {SECRET}",
        f'said {{"client_secret": "{SECRET}"}} there',
        NESTED,
        "see " + base64.b64encode(f"aws --password {SECRET} and more".encode()).decode(),
        "see " + base64.urlsafe_b64encode(b"mail ada@example.org, and ?>>>").decode().rstrip("="),
    ],
)
def test_secrets_in_disguise(text):
    shown = ALL.text(text) if text is not NESTED else ALL.json(text)
    assert SECRET not in shown
    assert base64.b64encode(SECRET.encode())[:8].decode() not in shown
    assert "[redacted:" in shown
    assert (ALL.text(shown) if text is not NESTED else ALL.json(shown)) == shown, "twice changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "The password: please reset it, and keep the secret to yourself.",
        "basic authorization is a scheme; api_key=None",
        "http://localhost:8080/a@b",
        base64.b64encode(bytes(range(200))).decode(),
        base64.b64encode(b"nothing of interest in this line").decode(),
        "a_very_long_identifier_of_some_python_module_indeed",
    ],
)
def test_what_only_looks_like_a_secret_stays(text):
    assert ALL.text(text.replace("api_key=None", "")) == text.replace("api_key=None", "")


def test_nothing_of_a_span_that_is_exported_keeps_a_secret(tmp_path):
    key = "sk-proj-abcdefghij0123456789"
    span = Span(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_span_id=None,
        name=f"call {key}",
        start_unix_nano=1,
        end_unix_nano=2,
        status_message=f"refused {key}",
        attributes={"gen_ai.tool.call.arguments": NESTED, f"note {key}": 1, "db.password": 1234, "cookies": [key]},
        events=(SpanEvent(name=f"said {key}", time_unix_nano=1, attributes={"exception.message": key}),),
        links=(SpanLink(trace_id="c" * 32, span_id="d" * 16, attributes={"why": key}),),
        resource={"process.command_line": f"run --api-key {SECRET}", "process.command_args": ["run", key]},
        scope_name=key,
        extra={"traceState": f"v={key}"},
    )
    record = LogRecord(
        time_unix_nano=1,
        event_name=f"log {key}",
        body={"content": NESTED, "text": key},
        attributes={"Set-Cookie": SECRET},
    )
    export_trace(tmp_path / "out.jsonl", [span], {"b" * 16: [record]}, ALL)
    written = (tmp_path / "out.jsonl").read_text("utf-8")
    assert key not in written
    assert SECRET not in written
    assert "1234" not in written.replace("0123456789", "")
    assert written.count("[redacted:secret]") >= 12
