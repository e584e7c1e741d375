"""What the endpoint adds to a model call: 1,000 recorded calls over HTTP, against a server that knows one text.

Usage: ``bench_endpoint.py``. Compare the ratio, not the milliseconds: both are asked in one run by one client. The
long conversation shows what grows with its length, since each request brings all of it again.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from debugger.replay.endpoint import chat
from debugger.replay.recording import Recording
from tests.replay.endpoint.doors import replaying
from tests.replay.endpoint.recorded import TRACE, says, turn, user

CALLS = 1000
TURNS = 100


class Floor(BaseHTTPRequestHandler):
    """Reads a body and answers with one text."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def ask_all(port: int, path: str, bodies: list[str]) -> float:
    """Seconds for each request, one after the other over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    began = time.perf_counter()
    for body in bodies:
        connection.request("POST", path, body)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()
    return (time.perf_counter() - began) / len(bodies)


def main() -> None:
    texts = [f"question {number} {'x' * 2000}" for number in range(CALLS)]
    bodies = [json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}) for text in texts]
    floor_server = ThreadingHTTPServer(("127.0.0.1", 0), Floor)
    Thread(target=floor_server.serve_forever, daemon=True).start()
    floor = ask_all(floor_server.server_address[1], "/", bodies)
    floor_server.shutdown()
    calls = [turn(number + 1, (user(text),), says(f"answer {number}")) for number, text in enumerate(texts)]
    with replaying(Recording(TRACE, calls, [])) as endpoint:
        ours = ask_all(endpoint.port, f"/{endpoint.token}/v1/chat/completions", bodies)
    out = f"{CALLS} calls of 2 KB over HTTP: {ours * 1e3:.2f} ms each, {ours / floor:.1f} times a bare server\n"

    said: list[dict[str, str]] = []
    calls, known = [], ()
    for number in range(TURNS):
        known = (*known, user(f"q{number} {'y' * 400}"))
        calls.append(turn(number + 1, known, says(f"a{number}")))
        known = (*known, says(f"a{number}"))
    with replaying(Recording(TRACE, calls, [])) as endpoint:
        began = time.perf_counter()
        for number in range(TURNS):
            said.append({"role": "user", "content": f"q{number} {'y' * 400}"})
            endpoint.door.ask(chat.SPEAKER, {"model": "m", "messages": said})
            said.append({"role": "assistant", "content": f"a{number}"})
        each = (time.perf_counter() - began) / TURNS
    out += f"a conversation that grows to {2 * TURNS} messages: {each * 1e3:.2f} ms each without HTTP\n"
    sys.stdout.write(out)


if __name__ == "__main__":
    main()
