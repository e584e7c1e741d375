"""Redaction: what is found, what stays, and that a redacted recording still answers."""

from __future__ import annotations

import base64
import json

import pytest

from debugger.errors import ReplayError
from debugger.importers import LogRecord
from debugger.replay.export import export_trace, redacted
from debugger.replay.redact import RULES, Redaction
from runtime.messages import Request, ToolDefinition
from runtime.trace import Span, SpanEvent, SpanLink
from tests.replay.endpoint.doors import record, recording_of, replaying
from tests.runtime.models.servers import KEY, Says
from tests.support.later import Later

openai = Later("openai")
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
        "1 " * 50_000,
        "a@" * 50_000,
        "eyJ" + "a" * 50_000,
        "-----BEGIN PRIVATE KEY-----" * 1500,
        "+1" * 50_000,
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
        f"curl -H 'X-Api-Key: x'\nX-Api-Key: {SECRET}\nAccept: */*",
        f"  db_password: {SECRET}",
        f"aws_secret_access_key = {SECRET}",
        f"Cookie: session={SECRET}; theme=dark",
        f"PGPASSWORD={SECRET} psql",
        f"DefaultEndpointsProtocol=https;AccountKey={SECRET};EndpointSuffix=x",
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
    "key",
    [
        "sk-ant-api03-Ab1Cd2Ef3Gh4Ij5Kl6Mn7",
        "sk_live_Ab1Cd2Ef3Gh4Ij5",
        "whsec_Ab1Cd2Ef3Gh4Ij5Kl6",
        "ghp_Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1W",
        "glpat-Ab1Cd2Ef3Gh4Ij5Kl6",
        "npm_Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1W",
        "hf_Ab1Cd2Ef3Gh4Ij5Kl6Mn7",
        "gsk_Ab1Cd2Ef3Gh4Ij5Kl6Mn7",
        "xai-Ab1Cd2Ef3Gh4Ij5Kl6Mn7",
        "lsv2_pt_Ab1Cd2Ef3Gh4Ij5Kl6Mn7_0123456789",
        "SG.Ab1Cd2Ef3Gh4Ij5Kl6.Mn7Op8Qr9St0Uv1Wx2",
        "ya29.Ab1Cd2Ef3Gh4Ij5Kl6Mn7",
        "123456789:AAb1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1W",
        "https://hooks.slack.com/services/T0123/B4567/Ab1Cd2Ef3Gh4Ij5",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nAb1Cd2-Ef3\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_keys_of_many_makers(key):
    assert ALL.text(f"is {key}, there") == "is [redacted:secret], there"


def test_lists_of_words_and_of_named_values():
    words = ["deploy", "--db-password", SECRET, "--dry-run", "-v", "--api-key", "--help", "password", "reset"]
    assert ALL.json(words) == [*words[:2], "[redacted:secret]", *words[3:]]
    assert ALL.json([["X-Api-Key", SECRET], ["Accept", SECRET]]) == [
        ["X-Api-Key", "[redacted:secret]"],
        ["Accept", SECRET],
    ]
    headers = [{"name": "Authorization", "value": SECRET}, {"key": "DB_PASSWORD", "value": SECRET, "n": 1}]
    assert SECRET not in json.dumps(ALL.json(headers))
    for given in (words, headers):
        assert ALL.json(ALL.json(given)) == ALL.json(given), "twice changes nothing"


def test_a_command_line_is_kept_without_secrets_also_where_no_rule_was_given():
    key = "sk-proj-abcdefghij0123456789"
    assert Redaction().command(["run.py", "--api-key", SECRET, f"--token={key}", "to ada@example.org"]) == [
        "run.py",
        "--api-key",
        "[redacted:secret]",
        "--token=[redacted:secret]",
        "to ada@example.org",
    ]
    assert Redaction.of(["email"]).command(["ada@example.org", key]) == ["[redacted:email]", "[redacted:secret]"]


def test_what_a_request_says_beside_its_messages_is_redacted_too():
    tools = (ToolDefinition("look", f"Uses password={SECRET}", {"default": {"apiKey": SECRET}}),)
    request = Request(messages=(), tools=tools, parameters={"user": "ada@example.org"}, output_schema={"title": SECRET})
    shown = Redaction.of(["all", f"/{SECRET}/"]).request(request)
    assert SECRET not in str(shown)
    assert "ada@" not in str(shown)


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
