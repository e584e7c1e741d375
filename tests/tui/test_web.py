"""The screen in a browser: who is let in, what a page is, and that its process comes and goes with it."""

from __future__ import annotations

import asyncio
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import ClientSession, CookieJar
from aiohttp.test_utils import unused_port
from aiohttp.web import AppRunner, TCPSite

from debugger.cli import main
from debugger.commands import web
from debugger.tui.serving import WebScreen

TOKEN = "a secret of some length"
DRAWS = (
    "import os, sys\n"
    "os.write(1, b'__GANGLION__\\n' + b'D' + (5).to_bytes(4, 'big') + b'drawn')\n"
    "while b'quit' not in os.read(0, 1000): pass\n"
)
"""What a page's process says to textual-serve: that it is one, something to draw, and nothing after `quit`."""


def serve(scene: Callable[[ClientSession, str, WebScreen], Awaitable[None]]) -> None:
    async def play() -> None:
        port = unused_port()
        url = f"http://127.0.0.1:{port}"
        command = shlex.join(["exec", sys.executable, "-S", "-c", DRAWS])
        screen = WebScreen(command, host="127.0.0.1", port=port, public_url=url, token=TOKEN)
        runner = AppRunner(await screen._make_app(), shutdown_timeout=1)
        await runner.setup()
        await TCPSite(runner, "127.0.0.1", port).start()
        try:
            async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
                await scene(browser, url, screen)
        finally:
            await runner.cleanup()

    asyncio.run(asyncio.wait_for(play(), 30))


def test_only_who_knows_the_secret_is_let_in():
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        async def status(path: str, **headers: str) -> int:
            async with browser.get(url + path, headers=headers, allow_redirects=False) as answer:
                return answer.status

        for path in ("/", "/?token=wrong", "/ws", "/static/js/textual.js", "/nothing"):
            assert await status(path) == 403, path
        right = screen.address.removeprefix(url)
        assert await status(right, Host="rebound.example") == 403
        assert await status(right, Origin="https://elsewhere.example") == 403
        assert await status(right) == 302
        assert await status("/") == 200
        assert await status("/static/js/textual.js") == 200
        assert await status("/ws", Origin="https://elsewhere.example") == 403

    serve(scene)


def test_a_page_loads_nothing_from_elsewhere_and_draws():
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        async with browser.get(screen.address) as answer:
            page = await answer.text()
            assert str(answer.url) == url + "/"
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert page.count("//") == page.count(f"//{url.partition('//')[2]}/")
        async with browser.ws_connect(f"{url}/ws?width=80&height=24") as socket:
            assert await socket.receive_bytes() == b"drawn"
            assert len(screen._sockets) == 1
        # The process is told to quit when the page goes, and is waited for.
        while screen._sockets:
            await asyncio.sleep(0.01)

    serve(scene)


def command_of(*words: str) -> str:
    parser = ArgumentParser()
    web.add_arguments(parser)
    return web._command(parser.parse_args(words))


def test_a_page_runs_the_screen_with_the_same_words():
    said = shlex.split(command_of("a b.jsonl", "--trace", "ab cd", "--agent", "x.py:f"))
    assert said[:2] == ["exec", sys.executable]
    assert said[-5:] == ["debugger.cli", "--trace=ab cd", "--agent=x.py:f", "--", "a b.jsonl"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "192.0.2.1"], "RETROSPAN_TOKEN"),
        (["--port", "0"], "no port"),
        (["--url", "https://x.example/path"], "without a path"),
        (["not-there.jsonl"], "no such file"),
    ],
)
def test_what_cannot_be_served_is_said(words, said, capsys, monkeypatch):
    monkeypatch.delenv("RETROSPAN_TOKEN", raising=False)
    assert main(["web", *words]) == 2
    assert said in capsys.readouterr().err


def test_without_the_extra_it_is_named(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "debugger.tui.serving")
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert main(["web"]) == 2
    assert "pip install 'retrospan[web]'" in capsys.readouterr().err
