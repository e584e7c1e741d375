"""The tree of forks: two of one span and a fork of a fork, as files, in a session and in a library."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from debugger.errors import ReplayError
from debugger.replay.edits import read_set
from debugger.replay.model import ReplayJob
from debugger.store import Library
from debugger.tui.store_session import StoreSession
from runtime.messages import Call

SAMPLES = Path(__file__).parents[2] / "sample_traces"


class Tree(NamedTuple):
    """The recording, two forks of one of its spans, and a fork of the first."""

    folder: Path
    ids: tuple[str, str, str, str]


def fork(session: StoreSession, trace_id: str, edit: str, output: Path | None = None) -> str:
    at = [call.span_id for call in session.calls(trace_id) if call.kind == "llm"][1]
    edits = (read_set(edit),)
    job = ReplayJob(trace_id=trace_id, span_id=at, anchor="before", edits=edits, rebuild=True, output=output)
    report = session.replay(job, lambda call: None, lambda: False)
    assert (report.ended, report.same_output) == ("done", True)
    assert report.trace_id is not None
    return report.trace_id


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    folder = tmp_path_factory.mktemp("forks")
    recording = Path(shutil.copy(SAMPLES / "genai_langchain.otlp.jsonl", folder / "recording.otlp.jsonl"))
    with StoreSession([recording]) as session:
        session.load(lambda progress: None, lambda: False)
        row = max(session.traces(), key=lambda row: row.spans)
        a = fork(session, row.trace_id, "params.temperature=0.9", folder / "a.otlp.jsonl")
        b = fork(session, row.trace_id, "params.temperature=0.1", folder / "b.otlp.jsonl")
        c = fork(session, a, "params.top_p=0.5", folder / "c.otlp.jsonl")
    return Tree(folder, (row.trace_id, a, b, c))


def params(calls: list[Call]) -> list[dict[str, Any]]:
    """Of each model call, what the forks change."""
    return [{k: v for k, v in c.parameters.items() if k in ("temperature", "top_p")} for c in calls if c.kind == "llm"]


def branch_ids(session: StoreSession, trace_id: str) -> set[str]:
    return {row.trace_id for row in session.branches(trace_id)}


def check_as_files_and_each_differs_only_by_its_edit(tree: Tree) -> None:
    root, a, b, c = tree.ids
    with StoreSession([tree.folder]) as session:
        session.load(lambda progress: None, lambda: False)
        assert (branch_ids(session, root), branch_ids(session, a)) == ({a, b}, {c})
        assert branch_ids(session, b) == branch_ids(session, c) == set()
        was = params(session.calls(root))
        assert was[1] == {"temperature": 0.2}
        # The edit counts for the agent of its call and from its cut on: the other agent, and what came before, stay.
        for trace_id, changed in ((a, {"temperature": 0.9}), (b, {"temperature": 0.1})):
            now = params(session.calls(trace_id))
            assert now[0] == was[0]
            assert now[1] == changed
            assert all(each in (old, changed) for each, old in zip(now, was, strict=True))
            assert sum(each != old for each, old in zip(now, was, strict=True)) == sum(
                each == was[1] for each in was[1:]
            )
        assert params(session.calls(c))[0] == was[0]
        assert params(session.calls(c))[1] == {"temperature": 0.9, "top_p": 0.5}
        edits = {i: [e["path"] for call in session.calls(i) for e in call.edits] for i in (a, b, c)}
        assert edits == {a: ["params.temperature"], b: ["params.temperature"], c: ["params.top_p"]}
        with pytest.raises(ReplayError, match="this trace is a file"):
            session.remove(a)


def check_a_file_that_is_gone_takes_no_other_with_it(tree: Tree, tmp_path: Path) -> None:
    root, a, b, c = tree.ids
    folder = Path(shutil.copytree(tree.folder, tmp_path / "copy"))
    (folder / "a.otlp.jsonl").unlink()
    with StoreSession([folder]) as session:
        session.load(lambda progress: None, lambda: False)
        assert branch_ids(session, root) == {b}
        # Its own fork still says where it came from.
        assert branch_ids(session, a) == {c}
        assert len(session.calls(c)) == len(session.calls(b))


def check_in_a_library(tree: Tree, tmp_path: Path) -> None:
    root, a, b, c = tree.ids
    with Library.open(tmp_path / "library") as library:
        library.load([tree.folder])
        with StoreSession([], library=library) as session:
            assert (branch_ids(session, root), branch_ids(session, a)) == ({a, b}, {c})
            session.remove(a)
            assert (branch_ids(session, root), branch_ids(session, a)) == ({b}, {c})
            left = {row.trace_id for row in session.traces()}
            assert {root, b, c} <= left
            assert a not in left
            assert session.calls(c)


def check_in_a_session_a_replay_that_is_not_saved_can_be_thrown_away(tree: Tree) -> None:
    root, a, b, c = tree.ids
    with StoreSession([tree.folder]) as session:
        session.load(lambda progress: None, lambda: False)
        made = fork(session, root, "params.temperature=0.5")
        assert session.is_temporary(made)
        assert not session.is_temporary(a)
        assert branch_ids(session, root) == {a, b, made}
        session.remove(made)
        assert (branch_ids(session, root), branch_ids(session, a)) == ({a, b}, {c})
        assert not session.is_temporary(made)


def test_the_tree_of_forks(tree, tmp_path):
    """One test, so that the forks are made once, whatever worker it runs on."""
    check_as_files_and_each_differs_only_by_its_edit(tree)
    check_a_file_that_is_gone_takes_no_other_with_it(tree, tmp_path)
    check_in_a_library(tree, tmp_path)
    check_in_a_session_a_replay_that_is_not_saved_can_be_thrown_away(tree)
