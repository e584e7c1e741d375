"""A program in the place of an MCP server that talks over standard input and output.

Each message of the client goes to the endpoint first. Only what it says to pass on reaches the real server, which is
not even started before that. Standard library only; run as ``mcp_proxy.py COMMAND [ARGUMENT ...]``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120


class Proxy:
    """One server's place."""

    def __init__(self, command: list[str]) -> None:
        from retrospan_inject.door import Door  # type: ignore[import-not-found, unused-ignore]

        settings = json.loads(os.environ["RETROSPAN_DOOR"])
        self._door: Any = Door(settings["url"], settings["port"])
        self._command = command
        self._name = " ".join([os.path.basename(command[0]), *command[1:]])  # noqa: PTH119
        self._real: subprocess.Popen[bytes] | None = None
        self._listening: list[threading.Thread] = []
        self._writing = threading.Lock()

    def run(self) -> int:
        """Until the client closes its end; the real server's exit code, if there was one."""
        for line in sys.stdin.buffer:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except ValueError:
                continue  # no message; a real server would not understand it either
            found = self._door.mcp(self._name, message)
            if found["do"] == "reply":
                self._say(json.dumps(found["message"]).encode() + b"\n")
            elif found["do"] == "forward":
                self._pass_on(line)
        if self._real is None:
            return 0
        assert self._real.stdin is not None
        self._real.stdin.close()
        for listening in self._listening:
            listening.join()  # what it still says belongs to the client
        return self._real.wait()

    def _pass_on(self, line: bytes) -> None:
        if self._real is None:
            env = {key: value for key, value in os.environ.items() if key != "RETROSPAN_DOOR"}
            self._real = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
            self._listening.append(threading.Thread(target=self._listen, args=(self._real,), daemon=True))
            self._listening[-1].start()
        assert self._real.stdin is not None
        self._real.stdin.write(line)
        self._real.stdin.flush()

    def _listen(self, real: subprocess.Popen[bytes]) -> None:
        assert real.stdout is not None
        for line in real.stdout:
            try:
                self._door.mcp_told(self._name, json.loads(line))
            except ValueError:
                continue  # prints of a server that does not keep to the protocol
            self._say(line)

    def _say(self, line: bytes) -> None:
        with self._writing:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(Proxy(sys.argv[1:]).run())
