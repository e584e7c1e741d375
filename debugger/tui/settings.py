"""The settings file: theme and keys. A mistake in it never stops the program: it is said, and what is good holds.

It is TOML in the platform's folder for settings (on Linux ``~/.config/retrospan/settings.toml``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import UnwritableError
from ..whole_file import whole_file
from .usable_keys import usable_keys

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

        Raises: UnwritableError: it cannot be written, or is no TOML, which is left to the user.
        """
        if self.path is None:
            return
        try:
            self._write_theme(self.path, theme)
        except OSError as fault:
            raise UnwritableError(self.path, fault.strerror or str(fault)) from fault
        except ValueError as fault:  # so is what is no UTF-8
            raise UnwritableError(self.path, f"it is no valid TOML: {fault}") from fault

    @staticmethod
    def _write_theme(path: Path, theme: str) -> None:
        line = f'theme = "{theme}"'
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        tomllib.loads(text)
        # The first table ends what stands at the top of the file.
        top, mark, tables = text.partition("\n[") if not text.startswith("[") else ("", "", text)
        top = _THEME_LINE.sub(line, top, count=1) if _THEME_LINE.search(top) else f"{line}\n{top}"
        tomllib.loads(top + mark + tables)  # a value over several lines would be cut in half
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as unfinished:  # through a link, as settings are often kept elsewhere
            unfinished.write_text(top + mark + tables, encoding="utf-8")


def settings_path() -> Path:
    """Where the file lies."""
    from platformdirs import user_config_path

    return user_config_path("retrospan") / "settings.toml"


def read_settings(path: Path) -> Settings:
    """The settings of a file without what is wrong in it; defaults where there is none. Never raises."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings(path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        return Settings(path, problems=(f"{path}: cannot be read ({fault}); the defaults hold",))
    file, wrong = _good_of(data)
    keys, problems = usable_keys(file.keys)
    return Settings(path, file.theme, keys, tuple(f"{path}: {problem}" for problem in (*wrong, *problems)))


def _good_of(data: dict[str, Any]) -> tuple[SettingsFile, list[str]]:
    """What can be used of a file, and what is wrong with the rest."""
    try:
        return SettingsFile.model_validate(data), []
    except ValidationError as fault:
        problems = []
        for error in fault.errors():
            *above, last = error["loc"]
            place = data
            for name in above:
                place = place[str(name)]
            del place[str(last)]
            why = "is no setting" if error["type"] == "extra_forbidden" else error["msg"].lower()
            problems.append(f"{'.'.join(map(str, error['loc']))}: {why}; it is left out")
        return SettingsFile.model_validate(data), problems
