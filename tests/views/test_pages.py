"""Pages in a browser, as wide as a phone and as a desk: nothing is asked for, nothing is cut off, all can be read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.text import builtin
from lexigraph.views import alignment, replaying, report
from lexigraph.views.picture import save
from lexigraph.words.vectors import WordVectors

PHONE, DESK = (390, 844), (1100, 750)
SMALLEST = 10  # pixels of a letter's height
TEXT = "She is singing in the garden ."
LONG = "The old man who had closed the door was not seen by her sister in the garden yesterday ."
LOOKS = {  # page → run, and how it is looked into
    "heads": ("bert", ["--attention", LONG]),
    "heads of a translator": ("transformer", ["--attention", f"{LONG}\t{TEXT}"]),
    "one head": ("gpt", ["--attention", "--head", "blocks.1 2", TEXT]),
    "probabilities": ("lstm-lm", ["--probabilities", LONG]),
    "states": ("bert", ["--states", TEXT, LONG]),
    "gates": ("lstm-lm", ["--gates", LONG]),
    "gradients": ("lstm-lm", ["--gradients", "--steps", "8", LONG]),
    "neurons": ("lstm-shakespeare", ["--neurons", f"{TEXT}\n" * 20]),
    "layers": ("bert", ["--layers", "--file", "tags.conll"]),
    "samples": ("gpt with snapshots", ["--samples", "She"]),
    "cliff": ("", ["--cliff"]),
}
OTHERS = ("alignment", "words", "replay", "report")

MEASURED = """() => {
  const small = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, element = text.parentElement, range = document.createRange();
    range.selectNodeContents(text);
    if (!text.textContent.trim() || !range.getBoundingClientRect().width) continue;
    const way = element.closest("svg") ? element.getScreenCTM() : {a: 1, b: 0};
    const size = parseFloat(getComputedStyle(element).fontSize) * Math.hypot(way.a, way.b);
    if (size < SMALLEST) small.add(`${text.textContent.trim()}: ${size.toFixed(1)} px`);
  }
  const said = document.body.innerText;
  return {small: [...small], wide: document.documentElement.scrollWidth - innerWidth, said};
}""".replace("SMALLEST", str(SMALLEST))


@pytest.fixture(scope="module")
def drawn(tiny_runs, tmp_path_factory) -> Callable[[str], tuple[Path, str]]:
    """A page by its name, drawn once, and the name of the run that it must tell."""
    folder = tmp_path_factory.mktemp("pages")
    tags = folder / "tags.conll"
    records = islice(builtin.records(["tokens", "tags"], 60), 60)
    tags.write_text("\n".join(
        "".join(f"{word} {tag}\n" for word, tag in zip(*record.columns.values(), strict=True)) for record in records
    ), "utf-8")  # fmt: skip
    made: dict[str, tuple[Path, str]] = {}

    def draw(name: str) -> tuple[Path, str]:
        if name not in made:
            out = folder / f"{name.replace(' ', '-')}.html"
            made[name] = out, _draw(name, out, tiny_runs, tags)
        return made[name]

    return draw


def _draw(name, out, tiny_runs, tags) -> str:
    if name == "alignment":  # untrained, a translator writes more than can be drawn
        model = lexigraph.load(tiny_runs("transformer"))
        (found,) = model.translate([LONG], alignment=True)[0]
        short = type(found)("short", 0.0, 2, 0.0, found.source, found.target[:8], found.alignment[:8])
        save(alignment.picture(model, short), out)
        return model.path.name
    if name == "words":
        vectors = np.random.default_rng(0).normal(size=(80, 8)).astype(np.float32)
        WordVectors([f"word{number}" for number in range(80)], vectors).map(out=out)
        return "A map of 80 words"
    if name == "replay":
        table = out.with_suffix(".tsv")
        table.write_text(f"text\tfamily\n{TEXT}\tplain\n{TEXT}\tothers\n", "utf-8")
        found = lexigraph.replay(tiny_runs("lstm-autoencoder"), table)
        out.write_text(replaying.page(found, "lstm-autoencoder"), "utf-8")
        return "lstm-autoencoder"
    if name == "report":
        parts = {
            "Loss": report.loss_curve(tiny_runs("gpt") / "log.jsonl"),
            "Texts": report.quotes([LONG, "KING" * 60]) + report.table(["text", "score"], [[LONG, "0.5"]]),
        }
        out.write_text(report.page("A report", LONG, parts, "run gpt"), "utf-8")
        return "run gpt"
    system, arguments = LOOKS[name]
    run = shown = ""
    if system:
        kept = {"train.snapshots": [0.001, 0.002]} if system.endswith("snapshots") else None
        path = tiny_runs(system.split()[0], kept)
        run, shown = str(path), path.name
    words = [str(tags) if each == tags.name else each for each in arguments]
    found = CliRunner().invoke(app, ["look", *([run] if run else []), *words, "--out", str(out)])
    assert found.exit_code == 0, found.exception
    return shown or "made by no run"


@pytest.fixture(scope="module")
def opened(browser, drawn):
    """A page at some width, under a finger if it is a phone's; what scripts got wrong, and what was asked for."""
    contexts = {size: browser.new_context(viewport=dict(zip(("width", "height"), size, strict=True)),
                                          has_touch=size == PHONE) for size in (PHONE, DESK)}  # fmt: skip

    def open_page(name, size=PHONE):
        file, run = drawn(name)
        page, wrong = contexts[size].new_page(), []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        page.on("request", lambda asked: asked.url.startswith(("file:", "data:")) or wrong.append(asked.url))
        page.goto(file.as_uri())
        return page, run, wrong

    yield open_page
    for context in contexts.values():
        context.close()


@pytest.mark.parametrize("name", [*LOOKS, *OTHERS])
def test_a_page_can_be_read_on_a_phone_and_at_a_desk(opened, name):
    for size in (PHONE, DESK):
        page, run, wrong = opened(name, size)
        found = page.evaluate(MEASURED)
        assert not found["small"]
        assert found["wide"] <= 0, f"{found['wide']} pixels are beyond the screen of {size[0]}"
        assert run in found["said"]
        assert not wrong
        page.close()


def test_a_saved_page_is_whole(drawn, browser, tmp_path):
    """Copied elsewhere, and without a network, it shows what it showed."""
    file, run = drawn("heads")
    there = shutil.copy(file, tmp_path / "saved.html")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(there.as_uri())
    assert run in page.inner_text("body")
    assert page.locator("#large td").count() > 100
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth)")
    context.close()


@pytest.mark.parametrize(
    ("name", "touched", "says"),
    [
        ("probabilities", ".tokens span >> nth=1", "bits; most probable: "),
        ("neurons", ".tokens span >> nth=2", "e · "),
        ("gates", ".heat td >> nth=0", "input · The: "),
        ("alignment", ".heat td >> nth=1", " · "),
    ],
)
def test_what_is_touched_says_what_it_is(opened, name, touched, says):
    page, _, wrong = opened(name)
    assert not page.locator("#told").is_visible()
    page.tap(touched)
    assert says in page.inner_text("#told")
    assert page.locator("#told").evaluate("e => e.getBoundingClientRect().bottom <= innerHeight")
    page.tap("h1")
    assert not page.locator("#told").is_visible()
    assert not wrong
    page.close()


def test_a_head_that_is_touched_is_shown_large(opened):
    page, _, wrong = opened("heads of a translator")
    before = page.inner_text("#large caption")
    page.tap("[data-head='5']")
    after = page.inner_text("#large caption")
    assert before.startswith("encoder.0 · 1")
    assert after.startswith("decoder.0 · 2")
    assert page.locator(".large").count() == 1
    page.tap("#large td >> nth=0")
    assert ": " in page.inner_text("#told")
    assert not wrong
    page.close()
