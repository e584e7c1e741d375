"""The settings file: theme and keys. A file that cannot be used never stops the program: it says so, and defaults hold.

It is TOML in the platform's folder for settings (on Linux ``~/.config/retrospan/settings.toml``).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from .keymap import all_bindings

_THEME_LINE: Final = re.compile(r"(?m)^theme\s*=.*$")


class SettingsFile(BaseModel):
    """What may stand in the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    theme: Literal["dark", "light"] = "dark"
    keys: dict[str, str] = {}
    """Keys by the name of what they do, several between commas: ``"trace.where" = "ctrl+w,H"``."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that hold, and what was wrong with the file."""

    path: Path | None = None
    """Where changes are remembered; None remembers nothing."""
    theme: Literal["dark", "light"] = "dark"
    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """One line each."""

    def remember_theme(self, theme: Literal["dark", "light"]) -> None:
        """Write the theme into the file and leave everything else in it as it is.

        Raises: OSError: it cannot be written.
        """
        if self.path is None:
            return
        line = f'theme = "{theme}"'
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        # The first table ends what stands at the top of the file.
        top, mark, tables = text.partition("\n[") if not text.startswith("[") else ("", "", text)
        top = _THEME_LINE.sub(line, top, count=1) if _THEME_LINE.search(top) else f"{line}\n{top}"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        aside.write_text(top + mark + tables, encoding="utf-8")
        aside.replace(self.path)


def settings_path() -> Path:
    """Where the file lies."""
    from platformdirs import user_config_path

    return user_config_path("retrospan") / "settings.toml"


def read_settings(path: Path) -> Settings:
    """The settings of a file; defaults where there is none. Never raises."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        file = SettingsFile.model_validate(data)
    except FileNotFoundError:
        return Settings(path)
    except ValidationError as fault:
        first = fault.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        return Settings(None, problems=(f"{path}: {where}: {first['msg'].lower()}; the defaults hold",))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        return Settings(None, problems=(f"{path}: cannot be read ({fault}); the defaults hold",))
    keys, problems = usable_keys(file.keys)
    return Settings(path, file.theme, keys, tuple(f"{path}: {problem}" for problem in problems))


def usable_keys(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keys that can be used, and what is wrong with the others.

    A key that would mean two things in one place is a conflict: the one of the settings that brings it is left out.
    """
    known = {binding.id: binding for binding in all_bindings() if binding.id}
    keys: dict[str, str] = {}
    problems: list[str] = []
    for name, value in wanted.items():
        words = [word.strip() for word in value.split(",") if word.strip()]
        if name not in known:
            problems.append(f"keys: {name!r} is nothing that a key does; docs/settings.md lists the names")
        elif not words:
            problems.append(f"keys: {name!r} has no key")
        else:
            keys[name] = ",".join(words)
    # One that is left out has its old key again, which another one may have been given: so until nothing changes.
    while True:
        now = {id_: keys.get(id_, binding.key) for id_, binding in known.items()}
        found = next(((name, other) for name in keys if (other := _conflict(name, keys, now)) is not None), None)
        if found is None:
            return keys, problems
        name, other = found
        problems.append(f"keys: {keys[name]!r} for {name!r} is the key of {other!r} already")
        del keys[name]


def _conflict(name: str, keys: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """What else one of the keys does in the same place."""
    place = name.partition(".")[0]
    mine = set(keys[name].split(","))
    return next(
        (other for other, taken in now.items()
         if other != name and other.partition(".")[0] in (place, "app") and mine & set(taken.split(","))), None
    )  # fmt: skip
