"""What all tests share: hypothesis without clock or chance, a trained run at toy size, and a browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("lexigraph", deadline=None, derandomize=True)  # a busy machine is no failure
settings.load_profile("lexigraph")


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run: gpt at its tiny size on the built-in corpus. Leave it as it is; copy it to change it."""
    from lexigraph import api

    out = tmp_path_factory.mktemp("tiny") / "run"
    api.train("gpt", data="grammar", out=out, tiny=True, quiet=True)
    return out


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window and without a network."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("There is no chromium: pages are not tried in a browser (Debian: apt-get install chromium).")
    playwright = pytest.importorskip("playwright.sync_api", reason="Pages are tried in a browser with playwright.")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=flags)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh page in which any error of a script, and any request but for files, fails the test."""
    wrong: list[str] = []
    opened = browser.new_page(viewport={"width": 1100, "height": 750})
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: request.url.startswith(("file:", "data:")) or wrong.append(request.url))
    yield opened
    opened.close()
    assert not wrong
