"""The pictures of the pages: each is shown, each that is shown is there, and none loads anything."""

from __future__ import annotations

import re

from tests.support.pictures import FOLDER, PICTURES
from tests.support.repo import ROOT

MOST_BYTES = 100_000


def test_pictures_are_shown_small_and_whole():
    names = {picture.name for picture in PICTURES}
    assert {path.stem for path in FOLDER.iterdir()} == names
    pages = [path.read_text("utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))]
    assert set(re.findall(r"\]\((?:docs/)?pictures/(\w+)\.svg\)", "".join(pages))) == names
    for path in FOLDER.iterdir():
        drawn = path.read_text("utf-8")
        assert len(drawn) < MOST_BYTES
        assert not re.search(r"(?:url\(|href=|src=)[\"']?https?:", drawn), f"{path.name} loads something"
