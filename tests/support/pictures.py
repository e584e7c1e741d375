"""Makes the pictures of the pages: ``python -m tests.support.pictures`` writes docs/pictures/*.svg.

Each is the running app on the sample traces after some keys, so that what the pages show is what the keys do.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from debugger.analysis import prices, text
from debugger.tui.app import RetrospanApp
from debugger.tui.store_session import StoreSession
from tests.support.repo import ROOT
from tests.tui.driver import Desk

FOLDER = ROOT / "docs" / "pictures"
SAMPLES = ROOT / "sample_traces"
# A page that is read offline loads no font; the viewer's own monospace one stands in.
_FONTS = re.compile(r"@font-face\s*\{[^}]*\}\s*")


class Picture(NamedTuple):
    """One picture: which samples, which keys, how many columns and lines."""

    name: str
    samples: Sequence[str]
    keys: Sequence[str]
    size: tuple[int, int] = (116, 30)
    forget: bool = False
    """The travel desk's system text is changed first, so that its replay diverges."""


PICTURES = (
    Picture("list", [path.name for path in sorted(SAMPLES.glob("*.otlp.json*"))], [], (116, 16)),
    Picture("trace", ["travel_desk.otlp.jsonl"], ["enter", "down", "down", "down"]),
    Picture("slowest", ["travel_desk.otlp.jsonl"], ["enter", "z"]),
    Picture("error", ["travel_desk.otlp.jsonl"], ["enter", "x", "enter"]),
    Picture("phrase", ["travel_desk.otlp.jsonl"], ["enter", "H", *"returned 503", "enter"]),
    Picture("memory", ["order_watch.otlp.jsonl"], ["enter", "o", "o", "b"]),
    Picture("diverged", ["travel_desk.otlp.jsonl"], ["enter", "r", "enter"], forget=True),
)


async def _take(picture: Picture, folder: Path) -> str:
    for name in picture.samples:
        shutil.copy(SAMPLES / name, folder)
    if picture.forget:
        source = (SAMPLES / "travel_desk.py").read_text("utf-8")
        changed = source.replace("report failures honestly", "never mention failures")
        (folder / "travel_desk.py").write_text(changed, "utf-8")
    with StoreSession([folder / name for name in picture.samples]) as session:
        app = RetrospanApp(session, ascii_only=False, clock=lambda: 0.0)
        async with app.run_test(size=picture.size) as pilot:
            desk = Desk(app, pilot)
            await desk.settle()
            await desk.press(*("space" if key == " " else key for key in picture.keys))
            return app.export_screenshot(title="Retrospan")


def main() -> None:
    """Write them all."""
    os.environ["TZ"] = "UTC"
    os.environ.pop("NO_COLOR", None)
    time.tzset()
    text.this_year = lambda zone=None: 2026  # type: ignore[assignment]
    prices._installed = lambda: None  # type: ignore[assignment]
    FOLDER.mkdir(exist_ok=True)
    for picture in PICTURES:
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            drawn = asyncio.run(_take(picture, Path(folder)))
            os.chdir(ROOT)
        path = FOLDER / f"{picture.name}.svg"
        path.write_text(_FONTS.sub("", drawn), "utf-8")
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
