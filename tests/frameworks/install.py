"""Installs what the programs of this folder need into a folder of its own, and runs them.

Usage: ``python tests/frameworks/install.py FOLDER``, with the interpreter that has Retrospan's ``dev`` extra.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = [
    "openai",
    "anthropic",
    "langgraph",
    "langchain-openai",
    "pydantic-ai-slim[openai]",
    "openai-agents",
]
NPM = ["openai", "ai", "@ai-sdk/openai", "@langchain/core", "@langchain/openai", "@openai/agents", "zod"]


def main() -> int:
    """Install what is not there yet, then run the tests."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if (npm := shutil.which("npm")) is not None:
        subprocess.run([npm, "install", "--no-fund", "--no-audit", *NPM], cwd=folder, check=True)
    tests = [sys.executable, "-m", "pytest", "-rs", "-n", "2", "-m", "", str(Path(__file__).parent)]
    return subprocess.run(tests, env={**os.environ, "RETROSPAN_FRAMEWORKS": str(folder)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
