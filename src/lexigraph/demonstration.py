"""`lexigraph demo`: train a small language model on the built-in corpus, and show what it learned."""

from __future__ import annotations

import sys
from pathlib import Path

from lexigraph import api
from lexigraph.errors import LexigraphError
from lexigraph.run import Run, remove, replacing
from lexigraph.text.edits import agreement_items
from lexigraph.textmodel import TextModel
from lexigraph.views import report

PROMPTS = ("She", "The old", "Did", "Please", "Yesterday the")
SENTENCES = (
    ("The key to the cabinets is old .", "The key to the cabinets are old ."),
    ("She does not sing .", "She do not sings ."),
    ("Did they open the door ?", "Did they opened the door ?"),
)


def run(out: Path, steps: int, sentences: int = 40_000) -> Path:
    """Train on so many sentences of the built-in corpus, generate, measure and write the report; returns its path."""
    folder, page = out / "gpt", out / "report.html"
    if out.exists() and any(out.iterdir()) and not page.exists():
        raise LexigraphError(f"{out} is not empty and holds no demo: choose another --out.")
    remove(page)
    remove(folder)  # each demo starts from nothing
    out.mkdir(parents=True, exist_ok=True)
    page.write_text("The demo is under way.")  # so that one that was stopped may be started again
    changes = {"train.steps": steps, "train.tensorboard": False, "data.sentences": sentences}
    changes["train.validate_every"] = max(1, steps // 8)
    model = api.train("gpt", "grammar", folder, set=changes)
    samples = model.generate([p for p in PROMPTS for _ in range(2)], max_new=30, temperature=0.8)
    print("\nIt writes:", *(f"  {text}" for text in samples), sep="\n")
    agreement = agreement_table(model)
    print("\nSubject and verb agree (right form more probable):", file=sys.stdout)
    for row in agreement:
        print("  " + "  ".join(row))
    with replacing(page) as temporary:
        temporary.write_text(_page(model, folder, samples, agreement), encoding="utf-8")
    return page


def agreement_table(model: TextModel, count: int = 400) -> list[tuple[str, ...]]:
    """How often the right verb form is the more probable one, by what stands between subject and verb."""
    items = list(agreement_items(count, seed=1))
    right = model.score([f"{item.prefix} {item.right}" for item in items], ended=False)
    wrong = model.score([f"{item.prefix} {item.wrong}" for item in items], ended=False)
    kinds = {
        "nothing between": lambda item: item.distractors == 0,
        "nouns of the same number between": lambda item: item.distractors and not item.attractor,
        "a noun of the other number between": lambda item: item.attractor,
    }
    rows: list[tuple[str, ...]] = []
    for name, belongs in kinds.items():
        verdicts = [r > w for item, r, w in zip(items, right, wrong, strict=True) if belongs(item)]
        if verdicts:
            rows.append((name, f"{sum(verdicts) / len(verdicts):.0%}", f"of {len(verdicts)}"))
    return rows


def _page(model: TextModel, folder: Path, samples: list[str], agreement: list[tuple[str, ...]]) -> str:
    results = Run.open(folder).json("results.json")
    scores = results["scores"]["test"]
    rows = []
    for name in ("nll", "perplexity", "bits_per_byte"):
        interval = " – ".join(f"{bound:.3f}" for bound in scores[name]["interval"])
        baseline = scores["unigram_baseline"].get(name)
        alone = f"{baseline:.3f}" if baseline is not None else ""
        rows.append((name.replace("_", " "), f"{scores[name]['value']:.3f}", interval, alone))
    pairs = [(good, bad, *(f"{value:.1f}" for value in model.score([good, bad]))) for good, bad in SENTENCES]
    parameters = sum(parameter.numel() for parameter in model.network.parameters())
    return report.page(
        "A language model in a minute",
        f"A transformer of {parameters:,} parameters, trained on the built-in grammar for {results['steps']:,} steps "
        f"in {results['seconds']:.0f} seconds.",
        {
            "Learning": report.loss_curve(folder / "log.jsonl"),
            "What it writes": report.quotes(samples),
            "How well it predicts unseen sentences": report.table(
                ("metric", "value", "95 % interval", "token frequencies alone"), rows
            ),
            "Does the verb agree with its subject?": "<p>The share of items in which the right form of the verb is "
            "the more probable one.</p>" + report.table(("between subject and verb", "right", ""), agreement),
            "Which sentence does it prefer?": report.table(
                ("sentence", "variant", "log p", "log p of the variant"), pairs
            ),
            "Go on": f"<p><code>lexigraph generate {folder} She</code> writes more; <code>lexigraph train gpt --data "
            "my.txt --out runs/mine</code> does all this with your own text.</p>",
        },
        scores["signature"],
    )
