"""Rules about the project's files as a whole."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.support.repo import ROOT, texts

MOST_LINES = 450
_MACHINE = re.compile(r"(?<![\w.])/(?:home|Users|root)/[\w.-]+/|[A-Z]:\\\\?Users\\")
# Put together here, so that this file does not match itself.
_HOSTS = re.compile("|".join(map(re.escape, ("pypi" + ".org", "python" + "hosted.org", "registry." + "npmjs"))))
_INDEX = re.compile(r"(?:index|registry|resolved)[-_a-z]*\"?\s*[=:]\s*\"?https?://")
_SQL = re.compile(
    r"\bselect\b.+\bfrom\b|\binsert\s+into\b|\bupdate\s+\w+\s+set\b|\bdelete\s+from\b|\bgroup\s+by\b|\border\s+by\b"
    r"|\b(?:create|drop|alter)\s+(?:or\s+replace\s+)?(?:temp\s+)?(?:table|view|index|schema)\b",
    re.IGNORECASE | re.DOTALL,
)
PACKAGES = ("debugger", "runtime")


def hits(pattern: re.Pattern[str], *suffixes: str) -> list[str]:
    found = []
    for path, text in texts(*suffixes):
        found += [f"{path}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0][:80]}" for hit in pattern.finditer(text)]
    return found


def test_no_path_of_a_machine():
    assert hits(_MACHINE) == []
    assert hits(re.compile(re.escape(f"{ROOT}/"))) == []


def test_no_package_registry():
    assert hits(_HOSTS) == []
    assert hits(_INDEX) == []


@cache
def modules() -> dict[Path, ast.Module]:
    """The modules of the packages, by their paths."""
    return {path: ast.parse(text) for path, text in texts(".py") if path.parts[0] in PACKAGES}


def strings_of(tree: ast.AST) -> list[ast.Constant]:
    """The texts in a module that are values, not docstrings."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts_ = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [node for node in texts_ if id(node) not in bare]


def test_sql_stands_in_the_store_alone():
    found = []
    for path, tree in modules().items():
        if path.parts[:2] != ("debugger", "store"):
            found += [f"{path}:{node.lineno}" for node in strings_of(tree) if _SQL.search(str(node.value))]
    assert found == []


def test_the_search_for_sql_finds_some():
    tree = ast.parse('"""select a from b"""\nrows = run("select x\\nfrom spans")\n')
    assert [node.lineno for node in strings_of(tree) if _SQL.search(str(node.value))] == [2]


def test_modules_stay_readable():
    long = {str(path): text.count("\n") for path, text in texts(".py") if text.count("\n") > MOST_LINES}
    assert long == {}, f"longer than {MOST_LINES} lines: which idea should leave?"


def test_every_module_says_what_it_is_for():
    silent = [str(path) for path, tree in modules().items() if len((ast.get_docstring(tree) or "").strip(" .")) < 10]
    assert silent == []


def test_nothing_is_left_unfinished():
    words = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    assert hits(words, ".py", ".sql", ".tcss", ".md", ".toml") == []


def test_packages_are_typed():
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()


def test_samples_are_described():
    page = (ROOT / "sample_traces" / "README.md").read_text("utf-8")
    names = [path.name for path, _ in _samples()]
    assert names
    assert [name for name in names if f"`{name}`" not in page] == []


def test_sample_page_counts_spans_right(tmp_path):
    from debugger.store import Store

    page = (ROOT / "sample_traces" / "README.md").read_text("utf-8")
    for path, _ in _samples():
        row = next(line for line in page.splitlines() if f"`{path.name}`" in line and line.startswith("|"))
        told = [int(cell) for cell in re.findall(r"\|\s*(\d+)\s*(?=\|)", row)]
        with Store.memory() as store:
            store.load([path])
            traces = store.traces()
        assert told[0] == sum(trace.spans for trace in traces), path.name
        assert told[1:] in ([], [len(traces)]), path.name


def _samples() -> list[tuple[Path, bytes]]:
    return [(path, path.read_bytes()) for path in sorted((ROOT / "sample_traces").glob("*.otlp.json*"))]
