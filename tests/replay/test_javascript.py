"""Before a program of Node.js is started it is known whether the adapters will find its framework's files."""

from __future__ import annotations

import json

import pytest

from debugger.replay.program import javascript
from debugger.replay.program.tools import foresee
from runtime.messages import Call

PACKAGES = json.loads(javascript.PACKAGES.read_text("utf-8"))
IMPORTS = {
    "openai": 'import OpenAI from "openai";\nnew OpenAI().chat.completions.runTools({});',
    "@langchain/core": 'const { ChatOpenAI } = require("@langchain/openai");',
    "@openai/agents-core": 'import { Agent } from "@openai/agents";',
    "ai": 'import { generateText } from "ai";',
}


def foreseen(script):
    ran = Call(
        trace_id="a",
        span_id="b",
        parent_span_id=None,
        kind="tool",
        name="book",
        tool_name="book",
        start_unix_nano=1,
        end_unix_nano=2,
    )
    return foresee([ran], ["node", str(script)], [])


def install(folder, known, *, where="node_modules", words=None):
    package = folder / where / known["package"]
    for name in known["files"]:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(words if words is not None else "\n".join(known["needs"]))
    (package / "package.json").write_text('{"version": "9.1.0"}')


@pytest.mark.parametrize("known", PACKAGES, ids=[each["package"] for each in PACKAGES])
def test_a_known_layout_is_answered_and_another_is_told(tmp_path, known):
    script = tmp_path / "agent.mjs"
    script.write_text(IMPORTS[known["package"]])
    assert "was not found beside agent.mjs" in foreseen(script).why
    install(tmp_path, known, words="export {};")
    found = foreseen(script)
    assert found.open == ("book",)
    assert found.why == f"the adapter does not know the files of {known['package']} 9.1.0"
    install(tmp_path, known)
    assert foreseen(script).open == ()


def test_a_package_below_another_one_or_in_a_store_is_found(tmp_path):
    known = next(each for each in PACKAGES if each["package"] == "@langchain/core")
    for number, where in enumerate(("langchain/node_modules", ".pnpm/@langchain+core@1.0.0/node_modules")):
        folder = tmp_path / str(number)
        install(folder, known, where=f"node_modules/{where}")
        script = folder / "agent.cjs"
        script.write_text(IMPORTS["@langchain/core"])
        assert foreseen(script).open == ()
