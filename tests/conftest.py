"""What all tests share: hypothesis without clock or chance, trained runs at toy size, and a browser."""

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("lexigraph", deadline=None, derandomize=True)  # a busy machine is no failure
settings.load_profile("lexigraph")


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Finished runs: a recipe at its tiny size on the built-in corpus, with keys changed if asked for.

    Each is trained once, by whichever worker needs it first. Leave them as they are; copy one to change it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny-runs"

    def run(name: str, changes: Mapping[str, Any] | None = None) -> Path:
        from lexigraph import entry

        asked = "".join(f" {key}={value}" for key, value in sorted((changes or {}).items()))
        out = shared / re.sub(r"[^\w.=-]+", "_", name + asked)
        shared.mkdir(exist_ok=True)
        with FileLock(out.with_suffix(".lock")):
            if not (out / "results.json").exists():
                data = None if name == "t5-edits" else "grammar"  # whose sentences have no tasks
                entry.train(name, data=data, out=out, tiny=True, quiet=True, set=dict(changes or {}))
        return out

    return run


@pytest.fixture(scope="session")
def tiny_run(tiny_runs: Callable[..., Path]) -> Path:
    """A finished run of gpt. Leave it as it is; copy it to change it."""
    return tiny_runs("gpt")


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
