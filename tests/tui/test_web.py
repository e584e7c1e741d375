"""The screen in a browser: who is let in, what a page is, and that its process comes and goes with it."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import ClientSession, CookieJar, WSCloseCode, WSMsgType
from aiohttp.test_utils import unused_port
from aiohttp.web import AppRunner, TCPSite

from debugger.cli import main
from debugger.commands import web
from debugger.tui.serving import PAGES, WebScreen
from debugger.tui.serving_page import MalformedError, PageProcess

TOKEN = "a secret of some length"
DRAWS = (
    "import os, sys\n"
    "os.write(1, b'__GANGLION__\\n' + b'D' + (5).to_bytes(4, 'big') + b'drawn')\n"
    "while b'quit' not in os.read(0, 1000): pass\n"
)
"""What a page's process says to textual-serve: that it is one, something to draw, and nothing after `quit`."""
_TELLS = "os.write(1, b'D' + len(said).to_bytes(4, 'big') + said)\n"
TELLS = (
    "import os\n"
    "os.write(1, b'__GANGLION__\\n')\n"
    "said = (os.environ['COLUMNS'] + 'x' + os.environ['ROWS']).encode()\n"
    f"while b'quit' not in said:\n    {_TELLS}    said = os.read(0, 1000)\n"
)
"""Draws its size, and then what it is told."""
STAYS = (
    "import os\n"
    "os.write(1, b'__GANGLION__\\n')\n"
    f"said = str(os.getpid()).encode()\n{_TELLS}"
    "while True: os.write(1, b'D' + (90000).to_bytes(4, 'big') + b'x' * 90000)\n"
)
"""Draws its number and never leaves."""


FAILS = "import sys\nsys.exit('retrospan: gone.jsonl: no such file ' + 60 * 'é\033')\n"
DIES = f"import os\nos.write(1, b'__GANGLION__\\n')\nsaid = b'drawn'\n{_TELLS}os.kill(os.getpid(), 9)\n"


def serve(scene: Callable[[ClientSession, str, WebScreen], Awaitable[None]], process: str = DRAWS) -> None:
    async def play() -> None:
        port = unused_port()
        url = f"http://127.0.0.1:{port}"
        command = shlex.join(["exec", sys.executable, "-S", "-c", process])
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

        for path in ("/", "/?token=wrong", "/ws", "/static/js/textual.js", "/page.js", "/nothing"):
            assert await status(path) == 403, path
        right = screen.address.removeprefix(url)
        assert await status(right, Host="rebound.example") == 403
        assert await status(right, Origin="https://elsewhere.example") == 403
        assert await status(right) == 302
        assert await status("/") == 200
        assert await status("/static/js/textual.js") == 200
        assert await status("/page.js") == 200
        assert await status("/ws", Origin="https://elsewhere.example") == 403

    serve(scene)


def test_what_is_no_http_is_refused_without_a_word(caplog):
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", screen.port)
        writer.write("GET /?token=ééé HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert b" 400 " in await reader.readline()
        writer.close()

    serve(scene)
    assert caplog.text == ""


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


def test_what_is_no_message_closes_its_page_in_one_line(caplog):
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        async with browser.get(screen.address), browser.ws_connect(f"{url}/ws") as socket:
            assert await socket.receive_bytes() == b"drawn"
            await socket.send_str("{")
            assert (await socket.receive()).data == WSCloseCode.POLICY_VIOLATION
        while screen._sockets:
            await asyncio.sleep(0.01)

    serve(scene)
    assert len(caplog.messages) == 1
    assert "\n" not in caplog.text.strip()


@pytest.mark.parametrize(
    "said",
    ["[]", '["resize", {"width": "wide"}]', '["resize", 3]', '["stdin", 5]', '["hop"]', '"x"', "[" * 5000],
    ids=range(7),
)
def test_only_messages_are_heard(said):
    process = PageProcess("", write_bytes=None, write_str=None, close=None, download_manager=None)
    with pytest.raises(MalformedError):
        asyncio.run(process.hear(said))


def test_no_page_makes_its_process_draw_without_bounds():
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        async with browser.get(screen.address), browser.ws_connect(f"{url}/ws?width=200000&height=200000") as socket:
            assert await socket.receive_bytes() == b"500x300"
            await socket.send_str('["stdin", "\\ud800"]')
            await socket.send_str('["resize", {"width": 200000, "height": -7}]')
            while b'"resize"' not in (heard := await socket.receive_bytes()):
                pass
            assert b'"width": 500, "height": 1}' in heard

    serve(scene, TELLS)


def test_a_process_that_does_not_leave_is_ended(monkeypatch):
    monkeypatch.setattr(PageProcess, "grace_s", 0.05)

    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        async with browser.get(screen.address), browser.ws_connect(f"{url}/ws") as socket:
            number = int(await socket.receive_bytes())
        while screen._sockets:
            await asyncio.sleep(0.01)
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)

    serve(scene, STAYS)


def test_one_page_too_many_reads_why():
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        screen._shown = PAGES
        async with browser.get(screen.address) as answer:
            assert (answer.status, answer.headers["Content-Type"]) == (503, "text/plain; charset=utf-8")
            assert "Close one of them" in await answer.text()
        async with browser.get(f"{url}/ws") as answer:
            assert answer.status == 503
        screen._shown -= 1
        async with browser.get(url) as answer:
            assert answer.status == 200

    serve(scene)


@pytest.mark.parametrize(
    ("process", "why"), [(FAILS, "retrospan: gone.jsonl: no such file é␛"), (DIES, "was ended by signal 9")]
)
def test_a_page_whose_process_ended_learns_why(process, why, capfd):
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        async with browser.get(screen.address), browser.ws_connect(f"{url}/ws") as socket:
            while (heard := await socket.receive()).type is WSMsgType.BINARY:
                pass
            assert heard.data == WSCloseCode.INTERNAL_ERROR
            assert why in heard.extra
            assert len(heard.extra.encode()) <= 123

    serve(scene, process)
    assert "\033" not in capfd.readouterr().err


def test_a_page_learns_whether_it_was_left_or_the_server_ended():
    async def scene(browser: ClientSession, url: str, screen: WebScreen) -> None:
        async with browser.get(screen.address):
            for ends, code in ((False, WSCloseCode.OK), (True, WSCloseCode.GOING_AWAY)):
                async with browser.ws_connect(f"{url}/ws") as socket:
                    assert await socket.receive_bytes() == b"drawn"
                    ending = screen.on_shutdown(None) if ends else socket.send_str('["stdin", "quit"]')
                    heard, _ = await asyncio.gather(socket.receive(), ending)
                    assert heard.data == code

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
        (["--port", "65536"], "no port"),
        (["--url", "https://x.example/path"], "without a path"),
        (["not-there.jsonl"], "no such file"),
    ],
)
def test_what_cannot_be_served_is_said(words, said, capsys, monkeypatch):
    monkeypatch.delenv("RETROSPAN_TOKEN", raising=False)
    assert main(["web", *words]) == 2
    assert said in capsys.readouterr().err


def test_port_0_is_any_free_one_which_the_address_names(monkeypatch):
    monkeypatch.delenv("RETROSPAN_TOKEN", raising=False)
    served = []
    monkeypatch.setattr(WebScreen, "serve", lambda screen: served.append((screen.port, screen.public_url)))
    assert main(["web", "--port", "0"]) == 0
    [(port, url)] = served
    assert port > 0
    assert url == f"http://127.0.0.1:{port}"


def test_without_the_extra_it_is_named(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "debugger.tui.serving")
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert main(["web"]) == 2
    assert "pip install 'retrospan[web]'" in capsys.readouterr().err
