"""The official SDKs at the endpoint: what they were told when it was recorded, they are told again."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.runtime.models.servers import KEY, CutOff, Raw, Says
from tests.support.later import Later

from .doors import record, recording_of, replaying, statuses

anthropic = Later("anthropic")
openai = Later("openai")
CALLS = (("c1", "get_weather", '{"city":"Paris"}'), ("c2", "get_weather", '{"city":"Rome"}'))
TOOL = {"name": "get_weather", "description": "Weather.", "parameters": {"type": "object", "properties": {}}}


def openai_client(endpoint: Any, **options: Any) -> Any:
    return openai.OpenAI(base_url=f"{endpoint.url}/v1", api_key=KEY, **options)


def anthropic_client(endpoint: Any, **options: Any) -> Any:
    return anthropic.Anthropic(base_url=endpoint.url, api_key=KEY, **options)


def chat(endpoint, stream=False):
    """Two turns with two tool calls between them."""
    messages: list[Any] = [{"role": "system", "content": "Be nice."}, {"role": "user", "content": "Weather?"}]
    tools: Any = [{"type": "function", "function": TOOL}]
    out = []
    with openai_client(endpoint) as client:
        for _ in range(2):
            if stream:
                with client.chat.completions.stream(model="m", messages=messages, tools=tools) as events:
                    events.until_done()
                    answer = events.get_final_completion()
            else:
                answer = client.chat.completions.create(model="m", messages=messages, tools=tools)
            message = answer.choices[0].message
            calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()]
            out.append((message.content, calls, answer.choices[0].finish_reason))
            made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
            messages.append({"role": "assistant", "content": message.content, "tool_calls": made})
            messages += [{"role": "tool", "tool_call_id": i, "content": f"sunny {a}"} for i, _, a in calls]
    return out


def responses(endpoint, stream=False):
    items: list[Any] = [{"role": "user", "content": "Weather?"}]
    tools: Any = [{"type": "function", **TOOL}]
    out = []
    with openai_client(endpoint) as client:
        for _ in range(2):
            given = {"model": "m", "instructions": "Be nice.", "input": items, "tools": tools}
            if stream:
                with client.responses.stream(**given) as events:
                    events.until_done()
                    answer = events.get_final_response()
            else:
                answer = client.responses.create(**given)
            calls = [(c.call_id, c.name, c.arguments) for c in answer.output if c.type == "function_call"]
            thought = [s.text for item in answer.output if item.type == "reasoning" for s in item.summary]
            out.append((answer.output_text, calls, thought, answer.status))
            items += [item.to_dict() for item in answer.output]
            items += [{"type": "function_call_output", "call_id": i, "output": f"sunny {a}"} for i, _, a in calls]
    return out


def messages(endpoint, stream=False):
    said: list[Any] = [{"role": "user", "content": "Weather?"}]
    tools: Any = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}]
    out = []
    with anthropic_client(endpoint) as client:
        for _ in range(2):
            given: Any = {"model": "m", "max_tokens": 99, "system": "Be nice.", "messages": said, "tools": tools}
            if stream:
                with client.messages.stream(**given) as events:
                    answer = events.get_final_message()
            else:
                answer = client.messages.create(**given)
            calls = [(b.id, b.name, b.input) for b in answer.content if b.type == "tool_use"]
            texts = [b.text for b in answer.content if b.type == "text"]
            thoughts = [(b.thinking, b.signature) for b in answer.content if b.type == "thinking"]
            out.append((texts, calls, thoughts, answer.stop_reason))
            said.append({"role": "assistant", "content": [b.to_dict() for b in answer.content]})
            results = [{"type": "tool_result", "tool_use_id": i, "content": f"sunny {a}"} for i, _, a in calls]
            said.append({"role": "user", "content": results})
    return out


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("program", [chat, responses, messages])
def test_what_was_recorded_is_answered_again(program, stream, tmp_path):
    script = [Says("Let me see.", CALLS, reasoning="hmm"), Says("Sunny in both.")]
    path = tmp_path / "t.otlp.jsonl"
    recorded = record(path, script, lambda endpoint: program(endpoint, stream))
    assert recorded[0][1], "the first answer holds calls"
    recording = recording_of(path)
    assert [call.kind for call in recording.calls] == ["chain", "llm", "tool", "tool", "llm"]
    tools = [call for call in recording.calls if call.kind == "tool"]
    assert [(c.tool_call_id, c.arguments) for c in tools] == [("c1", {"city": "Paris"}), ("c2", {"city": "Rome"})]
    assert all(str(call.result).startswith("sunny {") for call in tools)
    with replaying(recording) as endpoint:
        assert program(endpoint, stream) == recorded
        assert statuses(endpoint) == ["hit", "live", "live", "hit"]
        assert endpoint.door.tape.session.inferred is False
    # The other way of delivery asks the same.
    with replaying(recording) as endpoint:
        program(endpoint, not stream)
        assert statuses(endpoint) == ["hit", "live", "live", "hit"]


def test_usage_and_finish_come_again(tmp_path):
    def program(endpoint):
        with openai_client(endpoint) as client:
            answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        usage = answer.usage
        return (
            answer.choices[0].finish_reason,
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.prompt_tokens_details.cached_tokens,
            usage.completion_tokens_details.reasoning_tokens,
        )

    path = tmp_path / "t.otlp.jsonl"
    recorded = record(path, [Says("a lot", cut=True)], program)
    assert recorded == ("length", 100, 20, 40, 7)
    with replaying(recording_of(path)) as endpoint:
        assert program(endpoint) == recorded


def test_anthropic_usage_counts_the_cache_apart(tmp_path):
    def program(endpoint):
        with anthropic_client(endpoint) as client:
            answer = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
        return (
            answer.usage.input_tokens + answer.usage.cache_creation_input_tokens,
            answer.usage.cache_read_input_tokens,
        )

    path = tmp_path / "t.otlp.jsonl"
    assert record(path, [Says("yes")], program) == (60, 40)
    with replaying(recording_of(path)) as endpoint:
        assert program(endpoint) == (60, 40)


LIMITED = {"error": {"message": "Slow down.", "type": "rate_limit_error", "code": "rate_limit_exceeded", "param": None}}


def ask_chat(endpoint, **options):
    with openai_client(endpoint, **options) as client:
        try:
            answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        except openai.APIStatusError as fault:
            return type(fault).__name__, fault.status_code, str(fault)
    return answer.choices[0].message.content


def test_each_attempt_was_recorded_and_is_made_again(tmp_path):
    again = {"retry-after-ms": "1"}
    script = [Raw(429, json.dumps(LIMITED), headers=again), Raw(500, "oops", headers=again), Says("at last")]
    path = tmp_path / "t.otlp.jsonl"
    assert record(path, script, ask_chat) == "at last"
    recording = recording_of(path)
    assert [call.error and call.error.type for call in recording.calls[1:]] == ["429", "500", None]
    with replaying(recording) as endpoint:
        assert ask_chat(endpoint) == "at last"
        assert statuses(endpoint) == ["hit", "hit", "hit"]


def test_an_error_comes_with_its_class_and_words(tmp_path):
    def program(endpoint):
        return ask_chat(endpoint, max_retries=0)

    path = tmp_path / "t.otlp.jsonl"
    recorded = record(path, [Raw(429, json.dumps(LIMITED))], program)
    assert recorded[:2] == ("RateLimitError", 429)
    with replaying(recording_of(path)) as endpoint:
        assert program(endpoint) == recorded


def test_an_anthropic_error_comes_with_its_class_and_words(tmp_path):
    def program(endpoint):
        with anthropic_client(endpoint, max_retries=0) as client, pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
        return type(caught.value).__name__, caught.value.status_code, str(caught.value)

    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    path = tmp_path / "t.otlp.jsonl"
    recorded = record(path, [Raw(529, json.dumps(body))], program)
    assert recorded[1] == 529
    with replaying(recording_of(path)) as endpoint:
        assert program(endpoint) == recorded


def test_a_refusal_comes_again(tmp_path):
    def program(endpoint):
        with openai_client(endpoint) as client:
            answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        return answer.choices[0].message.refusal, answer.choices[0].message.content

    path = tmp_path / "t.otlp.jsonl"
    assert record(path, [Says(refusal="I will not.")], program) == ("I will not.", None)
    with replaying(recording_of(path)) as endpoint:
        assert program(endpoint) == ("I will not.", None)


def test_a_stream_that_broke_off_is_recorded_as_such(tmp_path):
    def program(endpoint):
        with openai_client(endpoint) as client:
            stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
            return len(list(stream))

    path = tmp_path / "t.otlp.jsonl"
    assert record(path, [CutOff(Says("never whole"), 2)], program) == 2
    call = recording_of(path).calls[-1]
    assert call.error is not None
    assert call.error.type == "incomplete_stream"


def test_a_miss_is_no_retry_and_says_what_differs(tmp_path):
    path = tmp_path / "t.otlp.jsonl"
    record(path, [Says("a")], ask_chat)

    def other(endpoint):
        with openai_client(endpoint) as client, pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "y"}])
        return str(caught.value)

    with replaying(recording_of(path)) as endpoint:
        words = other(endpoint)
        assert 'messages[0].parts[0].content: recorded "x", now "y"' in words
        assert statuses(endpoint) == ["missed"], "asked once"
        assert ask_chat(endpoint)[0] == "BadRequestError", "a replay that has diverged has ended"


def test_parallel_requests_get_each_answer_once(tmp_path):
    number = 32
    path = tmp_path / "t.otlp.jsonl"

    def program(endpoint):
        found: list[Any] = []
        with openai_client(endpoint) as client:

            def one() -> None:
                answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
                found.append(answer.choices[0].message.content)

            threads = [threading.Thread(target=one) for _ in range(number)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return sorted(found)

    recorded = record(path, [Says(f"answer {n}") for n in range(number)], program)
    assert len(set(recorded)) == number
    with replaying(recording_of(path)) as endpoint:
        assert program(endpoint) == recorded


def test_structured_output_and_models(tmp_path):
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }

    def program(endpoint, kind="integer"):
        given = json.loads(json.dumps(schema).replace("integer", kind))
        form: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": given, "strict": True}}
        with openai_client(endpoint) as client:
            answer = client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}], response_format=form
            )
        return json.loads(answer.choices[0].message.content)

    path = tmp_path / "t.otlp.jsonl"
    assert record(path, [Says('{"n": 3}')], program) == {"n": 3}
    with replaying(recording_of(path)) as endpoint:
        assert program(endpoint) == {"n": 3}
        with openai_client(endpoint) as client:
            assert [model.id for model in client.models.list()] == ["m"]
            assert client.models.retrieve("m").id == "m"
        with anthropic_client(endpoint) as client:
            assert [model.id for model in client.models.list()] == ["m"]
    with replaying(recording_of(path)) as endpoint, pytest.raises(openai.BadRequestError, match="schema"):
        program(endpoint, "string")
