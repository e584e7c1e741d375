"""What a replay adds to each call: in process, through the endpoint, and over many traces side by side.

Usage: ``bench_replay.py [TRACES]`` (500 unless told). Compare the ratios, not the milliseconds: each is measured beside
its floor in the same run. Conversations are an agent's: a user's text, then tool calls and their results, and each
request brings all of it again. CPU time of this process, but for the traces side by side, which is time on the clock.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from debugger.replay.endpoint import chat
from debugger.replay.recording import Recording
from runtime import STRICT, ReplaySession, Run, ScriptedModel, agent, prompt, restore_snapshot, run_sync
from runtime.messages import Call, Message, Request
from tests.replay.endpoint.doors import replaying
from tests.replay.endpoint.recorded import TRACE, asks_for, result, says, turn, user

CALLS = 1000
SHAPES = {"1,000 calls, conversations up to 50 KB": 100, "1,000 calls, conversations up to 125 KB": 250}
"""Turns in a conversation."""
SMALL = """
from runtime import ScriptedModel, agent, prompt

@agent(model=ScriptedModel(id="m", script=lambda request: "done"))
async def small(number: int) -> str:
    return "".join([(await prompt(f"{number} {step}")).text for step in range(3)])
"""
"""A program of its own, since those who replay it know nothing of this folder."""
MODEL = ScriptedModel(id="m", script=lambda request: "done")


def conversation(number: int, turns: int) -> Iterator[tuple[Message, ...]]:
    """The messages of each request; half a kilobyte is added from one to the next."""
    messages = [user(f"conversation {number} {'x' * 480}")]
    for n in range(turns):
        yield tuple(messages)
        id_ = f"call_{number}_{n}"
        messages += [asks_for((id_, "look", {"at": n})), result(id_, f"seen {n} {'y ' * 170}")]


def bodies(number: int, turns: int) -> Iterator[dict[str, Any]]:
    """The same requests as chat completions."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"conversation {number} {'x' * 480}"}]
    for n in range(turns):
        yield {"model": "m", "messages": list(messages)}
        call = {
            "id": f"call_{number}_{n}",
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"at":{n}}}'},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"seen {n} {'y ' * 170}"})


def per_call(work: Callable[[], object]) -> float:
    """Milliseconds of CPU for each of the calls."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3 / CALLS


def in_process(turns: int) -> Iterator[str]:
    """A run of our own agent, recorded and then replayed; beside it a cassette that hashes each request as JSON.

    The hit alone is what the replay session takes to find a request that two new messages were added to, with their
    digests and the row of the report; the rest of a call is the run's: trace events, journal, context.
    """
    asked = [list(conversation(number, turns)) for number in range(CALLS // turns)]

    @agent(model=MODEL)
    async def talks() -> int:
        for each in asked:
            for messages in each:
                await prompt(history=messages)
        return len(asked)

    recorded = Run(enable_snapshot=True)
    asyncio.run(recorded.execute(talks))
    snapshot = restore_snapshot(recorded.events)
    run = Run(snapshot=snapshot, policy=STRICT, memory_from="start")
    ours = per_call(lambda: asyncio.run(run.execute(talks)))
    assert {row.status for row in run.session.rows} == {"hit"}
    plain = [body for number in range(CALLS // turns) for body in bodies(number, turns)]
    floor = per_call(lambda: [hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest() for body in plain])
    yield f"in process   {ours:6.3f} ms a call, {ours / floor:5.2f} x a hash of the request as JSON"
    (scope,) = (call_id for call_id, frame in snapshot.frames.items() if frame.journal.prompt)
    session = ReplaySession({scope: snapshot.frames[scope].journal}, policy=STRICT)
    requests = [
        Request(messages=messages, model=MODEL.id, provider=MODEL.provider)
        for number in range(CALLS // turns)
        for messages in conversation(number, turns)
    ]
    hit = per_call(lambda: [session.answer(scope, "prompt", "m", str(n), each) for n, each in enumerate(requests)])
    assert {row.status for row in session.rows} == {"hit"}
    yield f"the hit alone{hit:6.3f} ms a call, {hit / floor:5.2f} x a hash of the request as JSON"


class Floor(BaseHTTPRequestHandler):
    """Parses a body and answers with one text."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def ask_all(port: int, path: str, texts: list[str]) -> None:
    """Each request, one after the other over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for text in texts:
        connection.request("POST", path, text)
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 200, said
    connection.close()


def recording(turns: int) -> Recording:
    """The conversations as a trace of some other program."""
    calls: list[Call] = []
    for number in range(CALLS // turns):
        calls += [
            turn(len(calls) + n + 1, messages, says("done")) for n, messages in enumerate(conversation(number, turns))
        ]
    return Recording(TRACE, calls, [])


def through_the_endpoint(turns: int) -> Iterator[str]:
    """A client of chat completions that keeps its connection, and what of that is not HTTP."""
    asked = [body for number in range(CALLS // turns) for body in bodies(number, turns)]
    texts = [json.dumps(body) for body in asked]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Floor)
    Thread(target=server.serve_forever, daemon=True).start()
    floor = per_call(lambda: ask_all(server.server_address[1], "/", texts))
    server.shutdown()
    recorded = recording(turns)
    with replaying(recorded) as endpoint:
        ours = per_call(lambda: ask_all(endpoint.port, f"/{endpoint.token}/v1/chat/completions", texts))
    yield f"endpoint     {ours:6.3f} ms a call, {ours / floor:5.2f} x a bare server that parses JSON"
    with replaying(recorded) as endpoint:
        door = per_call(lambda: [endpoint.door.ask(chat.SPEAKER, json.loads(text)) for text in texts])
        parsing = per_call(lambda: [json.loads(text) for text in texts])
    yield f"without HTTP {door:6.3f} ms a call, {door / parsing:5.2f} x parsing the request"


def side_by_side(count: int) -> Iterator[str]:
    """``replay FOLDER`` over own traces, as programs and rebuilt; beside it a bare interpreter for each."""
    with tempfile.TemporaryDirectory() as made:
        program, folder = Path(made) / "small.py", Path(made) / "traces"
        program.write_text(SMALL, "utf-8")
        small = runpy.run_path(str(program))["small"]
        folder.mkdir()
        for number in range(count):
            run_sync(small, input={"number": number}, trace_file=folder / f"t{number}.otlp.jsonl")
        began = time.perf_counter()
        for _ in range(10):
            subprocess.run([sys.executable, "-c", "import asyncio, pydantic"], check=True)
        floor = (time.perf_counter() - began) / 10
        for more in (["--agent", f"{program}:small"], ["--rebuild"]):
            began = time.perf_counter()
            command = [str(Path(sys.executable).with_name("retrospan")), "replay", str(folder), "--json", *more]
            reports = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
            each = (time.perf_counter() - began) / count
            assert len(reports) == count
            assert all(report["ended"] == "done" and report["misses"] == 0 for report in reports)
            yield f"{count} traces, {more[0]}: {each * 1e3:.0f} ms each, {each / floor:.2f} x an interpreter's start"


def main() -> None:
    for name, turns in SHAPES.items():
        sys.stdout.write(f"{name}\n")
        for line in (*in_process(turns), *through_the_endpoint(turns)):
            sys.stdout.write(f"  {line}\n")
    for line in side_by_side(int(sys.argv[1]) if len(sys.argv) > 1 else 500):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
