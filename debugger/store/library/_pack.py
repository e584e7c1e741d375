"""Packing: many small spool files that were taken become one, so that a long time of receiving leaves few files.

The spool is the truth, so no byte of it goes: the pack is whole on the disk, and known, before its parts are deleted.
What a process that died left behind is dealt with by the next packing.
"""

from __future__ import annotations

import os
import shutil
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Final

from ._catalog import Catalog, LoadedFile
from ._place import Place
from ._work import sync

FEWEST: Final = 64
"""Parts that are worth a pack."""
SMALL_BYTES: Final = 8 << 20
"""Larger files are left alone."""
ENDINGS: Final = (".otlp.pb", ".otlp.jsonl")
"""How the names of closed spool files end."""
_PACK: Final = "-pack"
_NEW: Final = ".pack-new"


def is_pack(path: Path) -> bool:
    """Whether a spool file was made here. One that is not known was left by a process that died, beside its parts."""
    return any(path.name.endswith(f"{_PACK}{ending}") for ending in ENDINGS)


def pack(place: Place, catalog: Catalog) -> int:
    """Pack what can be; how many files went into packs.

    Raises: OSError: a pack cannot be written; nothing has changed then.
    """
    if sum(1 for _ in place.spool.iterdir()) < FEWEST:
        return 0
    packed = 0
    with catalog.writing():
        for path in place.spool.iterdir():
            if path.name.endswith(_NEW) or (is_pack(path) and not catalog.is_taken(path)):
                path.unlink(missing_ok=True)
        for parts in _runs(place, catalog):
            _write(place, catalog, parts)
            packed += len(parts)
    _delete_parts(place, catalog)
    return packed


def _runs(place: Place, catalog: Catalog) -> Iterator[list[LoadedFile]]:
    """Small files of one encoding between which nothing was removed: a rebuild removes it at its time again."""
    removals = sorted(catalog.removed().values())
    small = [
        file
        for file in catalog.files()
        if file.kind == "spool" and (file.size or 0) <= SMALL_BYTES and Path(file.path).is_file()
    ]
    for ending in ENDINGS:
        alike = [file for file in small if file.path.endswith(ending)]
        for _, run in groupby(alike, lambda file: (bisect_left(removals, file.position), file.reader)):
            parts = list(run)
            if len(parts) >= FEWEST:
                yield parts


def _write(place: Place, catalog: Catalog, parts: list[LoadedFile]) -> None:
    last = Path(parts[-1].path)
    ending = next(ending for ending in ENDINGS if last.name.endswith(ending))
    # Behind its last part in the order of names, and never a name that a receiver gives.
    target = place.spool / f"{last.name.removesuffix(ending)}{_PACK}{ending}"
    new = place.spool / f".{target.name}{_NEW}"
    with new.open("xb") as out:
        for part in parts:
            with Path(part.path).open("rb") as source:
                shutil.copyfileobj(source, out, SMALL_BYTES)
        out.flush()
        os.fsync(out.fileno())
    size = new.stat().st_size
    if size != sum(part.size or 0 for part in parts):
        new.unlink()  # somebody has changed a part: it is no longer what was taken
        return
    new.rename(target)
    sync(place.spool)
    catalog.pack(
        LoadedFile(
            catalog.next_file_id(), "spool", str(target), size, None, None, parts[-1].reader, parts[-1].position
        ),
        parts,
    )


def _delete_parts(place: Place, catalog: Catalog) -> None:
    for path in place.spool.iterdir():
        if path.name.endswith(ENDINGS) and catalog.is_packed(path):
            with suppress(FileNotFoundError):  # another process was faster
                path.unlink()
