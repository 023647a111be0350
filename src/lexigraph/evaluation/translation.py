"""How well a system writes one text from another.

nll        - log p of the true token, nats per token, each predicted from the true ones before it
loss       KL(smoothed target || p), nats per token; without smoothing the NLL
accuracy   the share of tokens that are the most probable one
bleu       sacreBLEU (13a) of what beam search writes, against the targets as they were given (reference:raw) or
           cleaned by the recipe (reference:cleaned), never through the tokenizer
chrf       chrF2 of the same: characters, which do not mind how words are cut
by_length  BLEU by the number of words of the source, between white space
by_direction   of a model of several languages or tasks: NLL and BLEU of each by itself, and how many are exact
rouge      where eval.measures asks for it: ROUGE of what is written, of the first and of the longest sentences
answers    likewise: exact match and F1 of words (answers.py); pairs of one source are its right answers
too_long   how many lines or pairs the model cannot hold: they are in none of these scores

BLEU and chrF are measured where sources and targets are given. Where a system learns from plain text, which it
corrupts itself, every text is corrupted in the same way each time (objectives/rng.py), and the others are measured
on that.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.abilities.translating import Translator
from lexigraph.evaluation.answers import exact, f1
from lexigraph.evaluation.intervals import FEWEST, Counted, Figure, left_out, metric, reference, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.evaluation.summarising import rouge_scores, shown
from lexigraph.nn.translation import SOURCE, TARGET, TranslationNetwork
from lexigraph.objectives.next_token import IGNORE, SLICE, smoothed_kl
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.batches import Rows
from lexigraph.text.mixing import TASK, TASKS
from lexigraph.text.tables import Table
from lexigraph.text.vocabularies import TEXT

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU, CHRF

LENGTHS = (5, 10, 15, 20, 30, 40, 60)  # words of a source: the last of each group
METRICS = {"loss": False, "nll": False, "accuracy": True}  # for `train.metric`: is greater better?
BEAM, ALPHA = 5, 0.7
RESAMPLES = 1000


class CorpusScores(TypedDict, total=False):
    """What is measured of whole texts, where sources and targets are given."""

    bleu: Figure
    bleu_signature: str
    chrf: Figure
    chrf_signature: str
    exact: Figure


class Group(TypedDict, total=False):
    """What is measured of some of the pairs."""

    bleu: Figure
    exact: Figure
    nll: Figure
    sentences: int


class Written(CorpusScores, Counted, total=False):
    """The same, and how many texts it comes from."""

    sentences: int
    by_length: dict[str, Group]
    by_direction: dict[str, Group]
    rouge: dict[str, dict[str, Figure]]
    answers: dict[str, Figure]


class Scores(Written):
    """What is measured of a translator."""

    nll: Figure
    accuracy: Figure
    always_the_commonest_token: float
    tokens: int
    signature: str


def row_sums(
    network: TranslationNetwork, batch: Batch, carry: Carry | None
) -> tuple[dict[str, Tensor], Carry | None]:
    """Loss, NLL, right tokens and tokens of every target, and its task or the token that its source begins with."""
    hidden = network.hidden(batch["source"], batch["inputs"], batch["source_lengths"])
    valid, slice_ = batch["targets"] != IGNORE, max(1, SLICE // len(network.output_table))
    parts = zip(hidden[valid].split(slice_), batch["targets"][valid].split(slice_), strict=True)
    found = torch.cat([_token_scores(network, *part) for part in parts], 1).double().cpu()
    row = valid.nonzero()[:, 0].cpu()
    values = [*found, torch.ones(len(row), dtype=torch.double)]
    sums = (torch.bincount(row, value, minlength=len(valid)) for value in values)
    first = (batch[TASK] if TASK in batch.tensors else batch["source"][:, len(network.lead)]).double().cpu()
    return dict(zip(("loss", "nll", "right", "tokens", "first"), (*sums, first), strict=True)), None


def _token_scores(
    network: TranslationNetwork, hidden: Float[Tensor, "n d"], right: Int[Tensor, " n"]
) -> Float[Tensor, "3 n"]:
    """Loss, NLL and whether it is right, of every token."""
    log_p = network.logits(hidden).float().log_softmax(1)
    nll = -log_p.gather(1, right[:, None])[:, 0]
    loss = smoothed_kl(log_p, right[:, None], network.smoothing, network.pad) if network.smoothing else nll
    return torch.stack([loss, nll, (log_p.argmax(1) == right).float()])


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in what is to be written; of a target, the first boundary is given."""
    if TARGET not in table.columns:
        return table.columns[TEXT].counts
    target = table.columns[TARGET]
    counts = target.counts.copy()
    counts[target.values[0]] -= 1
    return counts


def validate(network: TranslationNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    tokens = rows["tokens"].sum()
    return {name: float(rows[key].sum() / tokens) for name, key in zip(METRICS, rows, strict=False)}


def scores(model: Translator, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table. Only the first `eval.sentences` pairs, of each direction, are translated."""
    rows, traits = measured(model.network, table, model.recipe, row_sums, model.device), model.network.traits
    tokens = rows["tokens"]
    whole: Written = {}
    more = {}
    if TARGET in table.columns and model.recipe.eval.sentences:
        whole = _written(model, table)
        more = {"decoding": f"beam-{BEAM}-alpha-{ALPHA}", "reference": reference(model)}
        numbers = {name: number for number, name in _named(model).items()}
        for name, group in whole.get("by_direction", {}).items():
            own = rows["first"] == numbers[name]
            group["nll"] = metric(rows["nll"][own], tokens[own])
    if model.recipe.data.unit != "stream":
        whole["too_long"] = table.too_long(traits)
    return {
        "nll": metric(rows["nll"], tokens),
        "accuracy": metric(rows["right"], tokens),
        **whole,
        "always_the_commonest_token": float(unigrams.max() / unigrams.sum()),  # accuracy without any model
        "tokens": int(tokens.sum()),
        "signature": signature(model, table, steps, **more),
    }


def _named(model: Translator) -> dict[int, str]:
    """The names of directions or tasks by the tokens, or the numbers in their column, that tell them."""
    if TASKS in model.vocabularies:
        return dict(enumerate(model.vocabularies.labels(TASKS).names))
    return {model.reading_tokenizer.special[name]: name for name in model.directions}


def _written(model: Translator, table: Table) -> Written:
    """What is measured of translations: of all, by the length of sources, and by direction if there are any."""
    traits, ids = model.network.traits, _named(model)
    source, target, most = table.columns[SOURCE], table.columns[TARGET], model.recipe.eval.sentences
    examples = table.examples_of(Rows(*table.cut(traits)), SOURCE)
    assert source.offsets is not None
    tells = (
        table.columns[TASK].values[examples] if TASK in table.columns else source.values[source.offsets[examples] + 1]
    )
    named = np.array([ids.get(token, "") for token in tells.tolist()])
    if ids and (bare := int((named == "").sum())):
        warnings.warn(
            f"{bare:,} of {len(named):,} sources say no direction, and this model knows {', '.join(ids.values())}: "
            "name files as de=FILE, or a field for it in data.columns.",
            stacklevel=2,
        )
    chosen = np.sort(np.concatenate([np.flatnonzero(named == name)[:most] for name in np.unique(named)]))
    examples, named = examples[chosen], named[chosen]
    sources = [np.asarray(source.of(example))[1:-1] for example in examples.tolist()]
    found = model.translations(sources, beam=BEAM, alpha=ALPHA)
    written = model.tokenizer.decode_batch([best[0].tokens for best in found])
    read, wanted = source.raw(examples), target.raw(examples)
    whole: Written = {**corpus_scores(written, wanted), "sentences": len(written)}
    whole["by_length"] = by_group([length_group(text) for text in read], written, wanted, LENGTH_GROUPS)
    if ids:
        whole["by_direction"] = by_group(named.tolist(), written, wanted, list(ids.values()))
    if "rouge" in model.recipe.eval.measures:
        whole["rouge"] = rouge_scores(read, written, wanted)
    if "answers" in model.recipe.eval.measures:
        whole["answers"] = answer_scores(list(zip(named.tolist(), read, strict=True)), written, wanted)
    return whole


def answer_scores(asked: Sequence[Hashable], written: Sequence[str], right: Sequence[str]) -> dict[str, Figure]:
    """Exact match and F1 of what was written for each source, as one task has it; all of its targets are right."""
    answers, every = dict(zip(asked, written, strict=True)), defaultdict(list)
    for source, target in zip(asked, right, strict=True):
        every[source].append(target)
    both = {"exact": exact, "f1": f1}
    found = {name: np.array([score(answers[q], every[q]) for q in every]) for name, score in both.items()}
    return {name: metric(values, np.ones_like(values)) for name, values in found.items()}


LENGTH_GROUPS = [f"{first + 1}-{last}" for first, last in pairwise((0, *LENGTHS))] + [f"over {LENGTHS[-1]}"]


def length_group(source: str) -> str:
    """The group of a source by its words.

    >>> length_group("A man sleeps ."), length_group("word " * 61)
    ('1-5', 'over 60')
    """
    return LENGTH_GROUPS[bisect_left(LENGTHS, len(source.split()))]


def by_group(
    groups: Sequence[str], written: Sequence[str], wanted: Sequence[str], names: Sequence[str]
) -> dict[str, Group]:
    """BLEU of each group of texts that has any, in the order of `names`."""
    from sacrebleu.metrics import BLEU

    found: dict[str, Group] = {}
    for name in names:
        own = [number for number, group in enumerate(groups) if group == name]
        if own:
            both = [written[number] for number in own], [wanted[number] for number in own]
            same = np.array([a == b for a, b in zip(*both, strict=True)], np.float64)
            found[name] = {"bleu": _resampled(BLEU(tokenize="13a", force=True), *both), "sentences": len(own)}
            found[name]["exact"] = metric(same, np.ones_like(same))
    return found


def corpus_scores(written: list[str], wanted: list[str]) -> CorpusScores:
    """BLEU and chrF with their signatures, and intervals by resampling sentences."""
    from sacrebleu.metrics import BLEU, CHRF

    bleu, chrf = BLEU(tokenize="13a"), CHRF()
    same = np.array([a == b for a, b in zip(written, wanted, strict=True)], np.float64)
    return {
        "bleu": _resampled(bleu, written, wanted),
        "bleu_signature": str(bleu.get_signature()),  # complete only after the score
        "chrf": _resampled(chrf, written, wanted),
        "chrf_signature": str(chrf.get_signature()),
        "exact": metric(same, np.ones_like(same)),
    }


def _resampled(judge: BLEU | CHRF, written: list[str], wanted: list[str]) -> Figure:
    """A score of sacreBLEU, with its interval where there are texts enough for one."""
    enough = len(written) >= FEWEST
    score = judge.corpus_score(written, [wanted], n_bootstrap=RESAMPLES if enough else 1)
    ends = [score._mean - score._ci, score._mean + score._ci] if enough else []
    return {"value": float(score.score), "interval": list(map(float, ends))}


def headline(scores: Scores) -> str:
    """The scores in one line."""
    line = f"NLL {scores['nll']['value']:.4f} nats per token, {scores['accuracy']['value']:.2%} of tokens"
    if "bleu" not in scores:
        return line + left_out(scores)
    line += (
        f"; BLEU {scores['bleu']['value']:.2f}, chrF {scores['chrf']['value']:.2f}, "
        f"{scores['exact']['value']:.2%} of {scores['sentences']:,} targets exact"
    )
    if "answers" in scores:
        line += (
            f"; answers exact {scores['answers']['exact']['value']:.2%}, F1 {scores['answers']['f1']['value']:.2%}"
        )
    if "rouge" in scores:
        line += "; ROUGE-1, -2, -L: " + ", ".join(f"{name} {shown(each)}" for name, each in scores["rouge"].items())
    return line + left_out(scores)
