"""Forks: edits by path, what they change and what not, the modes on a miss, and where a fork diverges."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from debugger.analysis.prices import live_cost
from debugger.commands._ask import ask_on
from debugger.commands.replay import text_of_report
from debugger.errors import EditError
from debugger.replay.editing import broken_json, editable, spoilt_json, supplied_value, typed
from debugger.replay.edits import read_edits, read_set, resolve
from debugger.replay.model import Edit, ReplayJob, ReplayReport
from debugger.replay.plan import plan_replay
from debugger.replay.recording import Recording
from debugger.replay.report import is_yes, report_to_json
from debugger.replay.run import run_replay
from debugger.store import Store
from runtime.errors import ReplayStop
from runtime.journal import STRICT, Question, ReplaySession, Supplied

from ..runtime.models.servers import KEY, Says, serving
from .endpoint.recorded import TRACE, says, turn, user

SAMPLES = Path(__file__).parents[2] / "sample_traces"
FOREIGN, OWN = "genai_langchain", "travel_desk"


@cache
def load(name: str) -> Recording:
    path = SAMPLES / f"{name}.otlp.jsonl"
    with Store.memory() as store:
        store.load([path])
        row = max(store.traces(), key=lambda row: row.spans)
        return Recording(row.trace_id, store.calls(row.trace_id), [path])


@pytest.fixture(scope="module")
def foreign() -> Recording:
    return load(FOREIGN)


@pytest.fixture(scope="module")
def own() -> Recording:
    return load(OWN)


def fork(recording: Recording, tmp_path: Path, *edits: str, **fields: object) -> ReplayReport:
    on_ask = fields.pop("on_ask", None)
    job = ReplayJob(trace_id=recording.trace_id, edits=tuple(map(read_set, edits)), **fields)  # type: ignore[arg-type]
    more = {"on_ask": on_ask} if on_ask else {}
    return run_replay(recording, job, tmp_path / "fork.otlp.jsonl", **more)  # type: ignore[arg-type]


def statuses(report: ReplayReport) -> list[str]:
    return [call.status for call in report.calls]


def spans(recording: Recording, kind: str) -> list[str]:
    return [call.span_id for call in recording.calls if call.kind == kind]


# Edits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [FOREIGN, OWN])
def test_one_word_of_the_system_text_is_named(name, tmp_path):
    recording = load(name)
    old = next(c for c in recording.calls if c.kind == "llm").input_messages[0].parts[0].content
    report = fork(recording, tmp_path, f"system={old.replace('honestly', 'kindly')}")
    assert statuses(report) == ["missed"]
    found = report_to_json(report)["first_divergence"]
    assert (found["cause"], found["differences"][0]["path"]) == ("prompt text", "messages[0].parts[0].content")
    assert "kindly" in found["differences"][0]["actual"]
    assert report.edits[0].was == old


@pytest.mark.parametrize("name", [FOREIGN, OWN])
def test_a_changed_tool_result_leaves_all_before_and_misses_after(name, tmp_path):
    report = fork(load(name), tmp_path, "tool:convert_currency.result=99.00 CHF")
    assert statuses(report) == ["hit", "hit", "supplied", "missed"]
    assert report.first_divergence is not None
    assert report.first_divergence.cause == "tool result"


@pytest.mark.parametrize("name", [FOREIGN, OWN])
def test_a_fork_begins_at_its_cut(name, tmp_path):
    recording = load(name)
    third = spans(recording, "llm")[2]
    report = fork(recording, tmp_path, "messages[1].text=Only the weather.", span_id=third, anchor="before")
    assert statuses(report) == ["hit"] * 5 + ["missed"]
    report = fork(recording, tmp_path, "messages[+]=And hurry.", span_id=third, anchor="before")
    assert statuses(report) == ["hit"] * 5 + ["missed"]
    assert report.first_divergence is not None
    assert report.first_divergence.differences[-1].recorded is None


def test_an_edit_of_what_makes_no_miss_runs_to_the_recorded_end(foreign, tmp_path):
    report = fork(foreign, tmp_path, "params.temperature=0.9")
    assert (report.ended, report.same_output) == ("done", True)
    assert (report.edits[0].was, report.edits[0].value) == (0.2, 0.9)


def test_tools_and_the_model_of_one_agent_only(foreign, tmp_path):
    report = fork(foreign, tmp_path, "agent:guide_writer.model=gpt-5")
    assert statuses(report)[-1] == "missed"
    assert report.first_divergence is not None
    assert (report.first_divergence.cause, report.first_divergence.name) == ("model", "gpt-4.1-nano")
    report = fork(foreign, tmp_path, "tools.book_museum=null")
    assert report.first_divergence is not None
    assert (statuses(report), report.first_divergence.cause) == (["missed"], "tool set")


@pytest.mark.parametrize("name", [FOREIGN, OWN])
def test_a_fork_goes_on_from_the_end(name, tmp_path):
    recording = load(name)
    last = spans(recording, "llm")[-1]
    report = fork(recording, tmp_path, "next=And for Rome?", rebuild=True)
    assert (set(statuses(report)[:-1]), statuses(report)[-1]) == ({"hit"}, "missed")
    found = report.first_divergence
    assert found is not None
    assert (found.cause, found.reason) == ("extra call", "this goes on past the end of the recording")
    assert report.unreached == ()
    assert found.differences[-1].actual["parts"][0]["content"] == "And for Rome?"
    asked: list[Question] = []

    def on_ask(question: Question) -> Supplied:
        asked.append(question)
        return Supplied(kind="result", value='{"sun": true}')

    cut = {"span_id": last, "anchor": "after", "rebuild": True}
    report = fork(recording, tmp_path, "messages[+]=And for Rome?", mode="ask", on_ask=on_ask, **cut)
    assert (report.ended, report.output, report.same_output) == ("done", '{"sun": true}', False)
    said = [message["role"] for message in asked[0].request[-3:]]
    assert said[-2:] == ["assistant", "user"]
    assert len(asked) == 1


def test_a_change_that_the_run_never_came_to_is_no_yes(tmp_path):
    report = fork(load("refund_desk"), tmp_path, "messages[0].text=other", "next=More.", rebuild=True)
    assert report.unreached == ("next",)
    failed = replace(report, ended="failed", same_output=True, first_divergence=None)
    assert not is_yes(failed)
    assert "✗ failed as recorded; change not reached: next" in text_of_report(failed)
    assert [edit["reached"] for edit in report_to_json(report)["edits"]] == [True, False]


def test_a_program_takes_no_message_after_its_end(own):
    job = ReplayJob(trace_id=own.trace_id, edits=(read_set("next=More."),))
    with pytest.raises(EditError, match="a program ends by itself") as fault:
        resolve(own, job, is_rebuilt=False)
    assert "--rebuild" in fault.value.hint


@pytest.mark.parametrize("name", [FOREIGN, OWN])
def test_every_part_of_a_request_and_its_class(name):
    """What the editor offers is what the command line takes, and each change is named by its class."""
    recording = load(name)
    call = next(call for call in recording.calls if call.kind == "llm")
    offered = dict(editable(call, {"seen": [1]}))
    assert offered["memory.seen"] == "[\n  1\n]"
    schema = json.loads(offered["tools.get_weather.parameters"])
    edits = {
        "tools.get_weather.description": ("tool set", "Another."),
        "tools.get_weather.parameters": ("tool set", json.dumps({**schema, "required": []})),
        "schema": ("output schema", '{"type": "object"}'),
        "model": ("model", "gpt-5"),
        "messages[1].text": ("prompt text", "Rome?"),
    }
    for path, (cause, text) in edits.items():
        assert path in offered
        edit = typed(path, text)
        job = ReplayJob(trace_id=recording.trace_id, edits=(edit,))
        patches, shown = resolve(recording, job, is_rebuilt=True)
        matcher = ReplaySession(
            {frame.call_id: frame.journal for frame in recording.whole.frames.values()}, policy=STRICT, edits=patches
        )
        scope = next(f.call_id for f in recording.whole.frames.values() if f.agent_id == "travel_desk")
        sent = matcher.outgoing(scope, "travel_desk", call.request())
        with pytest.raises(ReplayStop):
            matcher.answer(scope, "prompt", "model", "x", sent)
        assert matcher.divergence is not None
        assert (path, matcher.divergence.cause) == (path, cause)
        assert matcher.divergence.nearest_span_id == call.span_id
        assert shown[0].was is not None or path == "schema"
    for path, text in (("schema", "{"), ("tools.get_weather.parameters", "[]")):
        with pytest.raises(EditError, match="JSON"):
            typed(path, text)


def test_several_edits_of_one_tool_and_of_one_call(foreign):
    call = next(call for call in foreign.calls if call.kind == "llm")
    pair = (
        Edit(path="tools.get_weather.description", value="Another."),
        Edit(path="tools.get_weather.parameters", value={"type": "object"}),
    )
    patches, _ = resolve(foreign, ReplayJob(trace_id=foreign.trace_id, edits=pair), is_rebuilt=True)
    sent = patches.applied(patches.requests[0].agent_id or "", call.request(), None)
    tool = next(tool for tool in sent.tools or () if tool.name == "get_weather")
    assert (tool.description, tool.parameters) == ("Another.", {"type": "object"})
    both = tuple(map(read_set, ("tool:get_weather.result=1", "tool:get_weather.error=gone")))
    with pytest.raises(EditError, match="another edit says otherwise"):
        resolve(foreign, ReplayJob(trace_id=foreign.trace_id, edits=both), is_rebuilt=True)


def test_what_is_typed_as_an_outcome():
    assert supplied_value("tool", '{"a": [1]}') == {"a": [1]}
    assert supplied_value("tool", "{a") == "{a"
    assert (supplied_value("llm", "true"), supplied_value("llm", '{"a": 1}')) == ("true", '{"a": 1}')
    message = {"role": "assistant", "parts": [{"type": "text", "content": "x"}]}
    assert supplied_value("llm", json.dumps(message)) == message
    assert broken_json('{"a": 1,') is not None
    assert broken_json("plain [text") is None
    assert broken_json("[1]") is None
    assert spoilt_json('{"a": 1}', 'x{"a": 1}') is not None
    assert spoilt_json('{"a": 1}', '{"a": 2}') is None
    assert spoilt_json("sunny", "rainy") is None
    assert spoilt_json("21", "about 21") is None


def test_the_branch_keeps_its_edits(foreign, tmp_path):
    report = fork(foreign, tmp_path, "answer.text=No.")
    with Store.memory() as store:
        store.load([tmp_path / "fork.otlp.jsonl"])
        run = next(c for c in store.calls(report.trace_id or "") if c.call_id == "root")
    assert [edit["path"] for edit in run.edits] == ["answer.text"]
    assert run.origin_trace_id == foreign.trace_id


def test_memory_is_edited_where_code_reads_it(tmp_path):
    watch = load("order_watch")
    report = fork(watch, tmp_path, 'memory.seen=["lost"]')
    assert report.first_divergence is not None
    assert "lost" in str(report.first_divergence.differences[0].actual)
    with pytest.raises(EditError, match="no code that reads memory"):
        fork(watch, tmp_path, "memory.seen=[]", rebuild=True)


@pytest.mark.parametrize(
    ("edit", "hint"),
    [
        ("sytem=x", "system"),
        ("messages[7].text=x", "messages[1].text"),
        ("tools.get_wether.description=x", "tools.get_weather.description"),
        ("agent:nobody.model=x", "agent:travel_desk"),
        ("span:ffff.result=x", "span:"),
        ("tool:nothing.result=x", "tool:get_weather.result"),
        ("modle=x", "did you mean model? paths here: model, "),
        ("MODEL=x", "did you mean model?"),
        ("temperature=0", "did you mean params.temperature?"),
        ("result.x=1", "tool:get_weather.result"),
        ("span:ffff.system=1", ".system"),
        ("messages[+]={}", "write text, or"),
        ("answer={}", "write text, or"),
        (f"messages[{'9' * 5000}]=x", "messages[0].text"),
    ],
)
def test_a_path_that_names_nothing_says_which_are_near(edit, hint, foreign):
    job = ReplayJob(trace_id=foreign.trace_id, edits=(read_set(edit),))
    with pytest.raises(EditError) as fault:
        resolve(foreign, job, is_rebuilt=True)
    assert hint in fault.value.hint
    assert len(str(fault.value)) < 200
    assert hint in (plan_replay(foreign, job).problem or "")


def test_edits_come_from_words_and_files():
    assert read_set("system=a=b") == Edit(path="system", value="a=b")
    assert read_set("params.seed=7") == Edit(path="params.seed", value=7)
    assert read_edits('{"model": "m"}', "f") == (Edit(path="model", value="m"),)
    assert read_edits('[{"path": "model", "value": "m"}]', "f") == (Edit(path="model", value="m"),)
    for wrong in ("[1]", "nothing", "3"):
        with pytest.raises(EditError):
            read_edits(wrong, "f")
    with pytest.raises(EditError):
        read_set("system")


# On a miss -----------------------------------------------------------------------------------------------


def test_live_asks_the_real_model_and_runs_only_the_tools_that_were_named(foreign, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("def get_weather(city):\n    return {'city': city, 'temp_c': 31}\n", "utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asks = Says(calls=(("c1", "get_weather", '{"city": "Rome"}'),))
    with serving(asks, Says(text="31 degrees in Rome.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        tools = {"get_weather": f"{tmp_path / 'mine.py'}:get_weather"}
        report = fork(foreign, tmp_path, "messages[1].text=Rome?", mode="live", tools="live", named_tools=tools)
        bodies = [seen.body for seen in server.seen]
    assert (report.ended, report.output, statuses(report)) == ("done", "31 degrees in Rome.", ["live"] * 3)
    assert '"temp_c": 31' in str(bodies[1]["messages"][-1]["content"]) or "31" in str(bodies[1]["messages"][-1])
    assert report.live_usage.input_tokens is not None
    assert report_to_json(report)["live_usage"]["input_tokens"] == report.live_usage.input_tokens
    assert KEY not in (tmp_path / "fork.otlp.jsonl").read_text("utf-8")


def test_live_asks_claude_in_its_own_protocol_and_counts(tmp_path, monkeypatch):
    """Of a trace whose provider was Anthropic; what the answer used is in the report, and so is what it cost."""
    (tmp_path / "mine.py").write_text("def get_weather(city):\n    return 'rain'\n", "utf-8")
    asked_openai = load(FOREIGN)
    calls = [
        replace(call, provider="anthropic", model="claude-sonnet-4") if call.kind == "llm" else call
        for call in asked_openai.calls
    ]
    recording = Recording(asked_openai.trace_id, calls, asked_openai.sources)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    asks = Says(calls=(("c1", "get_weather", '{"city": "Rome"}'),))
    with serving(asks, Says(text="Rain in Rome.")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        tools = {"get_weather": f"{tmp_path / 'mine.py'}:get_weather"}
        report = fork(recording, tmp_path, "messages[1].text=Rome?", mode="live", tools="live", named_tools=tools)
        seen = [(each.path, each.body["model"]) for each in server.seen]
    assert seen == [("/v1/messages", "claude-sonnet-4")] * 2
    assert (report.ended, report.output, statuses(report)) == ("done", "Rain in Rome.", ["live"] * 3)
    assert report.live_usage.input_tokens
    # By the price list: 3 dollars a million in, 0.3 of what came from the cache, 15 out.
    usage = report.live_usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (200, 80, 40)
    computed = live_cost(report.live)
    assert computed is not None
    assert computed.nano_usd == 120 * 3_000 + 80 * 300 + 40 * 15_000
    assert "used 200 tokens in and 40 out" in text_of_report(report)
    assert "the live calls cost $0.0010 by genai-prices" in text_of_report(report)
    assert report_to_json(report)["live_usage"]["output_tokens"] == report.live_usage.output_tokens


def test_a_tool_that_nobody_named_never_runs(foreign, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(Says(calls=(("c1", "book_museum", '{"museum": "Other", "day": "2026-05-05"}'),))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        report = fork(foreign, tmp_path, "messages[1].text=Book.", mode="live", tools="live")
    assert (report.ended, statuses(report)) == ("diverged", ["live", "missed"])


def test_ask_takes_what_the_user_says(foreign, tmp_path):
    asked: list[Question] = []

    def on_ask(question: Question) -> Supplied:
        asked.append(question)
        return Supplied(kind="result", value=f"said {len(asked)}")

    report = fork(foreign, tmp_path, "system=Be brief.", mode="ask", tools="ask", on_ask=on_ask)
    assert (report.ended, report.output, statuses(report)) == ("done", "said 1", ["supplied"])
    assert asked[0].proposal is not None
    assert asked[0].differences[0].path == "messages[0].parts[0].content"
    report = fork(foreign, tmp_path, "system=Be brief.", mode="ask")
    assert (report.ended, statuses(report)) == ("diverged", ["missed"])


@pytest.mark.parametrize(("keeps", "asked"), [(True, ["Oslo?", "And Bergen?"]), (False, ["Oslo?"])])
def test_what_the_user_said_later_follows_or_is_left_out(keeps, asked, tmp_path):
    first = (user("Rome?"),)
    calls = [turn(1, first, says("Sun.")), turn(2, (*first, says("Sun."), user("And Bergen?")), says("Rain."))]
    last: list[str] = []

    def on_ask(question: Question) -> Supplied:
        last.append(question.request[-1]["parts"][0]["content"])
        return Supplied(kind="result", value="Fog.")

    recording = Recording(TRACE, calls, [])
    report = fork(recording, tmp_path, "messages[0].text=Oslo?", mode="ask", on_ask=on_ask, keep_inputs=keeps)
    assert (report.ended, last) == ("done", asked)
    assert statuses(report) == ["supplied"] * len(asked)


def test_a_question_on_the_terminal():
    question = Question(kind="tool", name="look", call_id="x", reason="why \x1b[2J", request={"a": 1}, proposal=5)

    def said(line: str) -> Supplied:
        shown = io.StringIO()
        answer = ask_on(io.StringIO(line), shown, question)
        assert "\x1b" not in shown.getvalue()
        return answer

    assert said("[1, 2]\n") == Supplied(kind="result", value=[1, 2])
    assert said("rain\n") == Supplied(kind="result", value="rain")
    assert said("\n") == Supplied(kind="result", value=5)
    assert said("") == Supplied(kind="stop")
    assert said("!live\n") == Supplied(kind="live")
    failed = said("!error no pipe\n")
    assert failed.error is not None
    assert (failed.kind, failed.error.message) == ("error", "no pipe")


def test_a_plan_says_what_is_changed_and_what_it_may_cost(foreign):
    job = ReplayJob(trace_id=foreign.trace_id, edits=(read_set("system=Be brief."),), mode="live")
    plan = plan_replay(foreign, job)
    assert plan.edits[0].was.startswith("You are the travel desk")
    assert "tokens in" in plan.sentence
    assert json.dumps(plan.edits[0].to_json())
