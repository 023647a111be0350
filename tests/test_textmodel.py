"""What users call on a trained model, as facts about probability."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
import torch

import lexigraph
from lexigraph.cli.options import load_model
from lexigraph.errors import LexigraphError
from lexigraph.evaluation import search


@pytest.fixture(scope="module")
def model(tiny_run):
    return lexigraph.load(tiny_run)


def test_a_prefix_is_the_text_that_ends_there_or_goes_on(model):
    """p(prefix) = p(terminated) + Σ_v p(prefix followed by v)"""
    text = "She"
    ids = model.tokenizer.encode(text)
    ended, prefix = model.score([text])[0], model.score([text], ended=False)[0]
    logits = model.network(torch.tensor([[model.tokenizer.eos, *ids]]))[0, -1]
    goes_on = logits.detach().softmax(-1)
    goes_on[model.tokenizer.eos] = 0
    continued = math.exp(prefix) * float(goes_on.sum())
    assert math.exp(prefix) == pytest.approx(math.exp(ended) + continued, rel=1e-5)


def test_the_score_is_the_sum_over_tokens(model):
    texts = ["She laughed .", "", "The old men were tired ."]
    tokens = model.token_scores(texts)
    assert [len(values) for values in tokens] == [len(model.tokenizer.encode(text)) + 1 for text in texts]
    assert model.score(texts) == pytest.approx([values.sum() for values in tokens])
    assert all((values <= 0).all() for values in tokens)


def test_a_text_longer_than_the_context_is_scored_to_its_end(model):
    long = "She laughed and " * 40
    assert np.isfinite(model.score([long])[0])
    assert len(model.token_scores([long])[0]) == len(model.tokenizer.encode(long)) + 1


def test_rank_puts_the_most_probable_first(model):
    candidates = ["is tired .", "are tired .", "xyzzy"]
    ranked = model.rank(candidates, prompt="He ")
    values = [item.log_probability for item in ranked]
    assert values == sorted(values, reverse=True)
    assert {item.text for item in ranked} == set(candidates)
    assert all(value <= 0 for value in values)  # a token may reach over the seam of prompt and candidate
    best = max(candidates, key=lambda text: model.score(["He " + text])[0])
    assert ranked[0].text == best


def test_examples_stand_before_the_prompt_and_gain_forgives_rare_words(model):
    candidates = ["is tired .", "laughed ."]
    shown = model.rank(candidates, prompt="He ", examples=["She laughed .", "We sang ."], separator=" ")
    plain = model.rank(candidates, prompt="She laughed . We sang . He ")
    assert [(i.text, i.score) for i in shown] == [(i.text, i.score) for i in plain]
    for item in model.rank(candidates, prompt="He ", by="mean"):
        assert item.score == pytest.approx(item.log_probability / item.tokens)
    for item in model.rank(candidates, prompt="He ", by="gain"):
        alone = model.rank([item.text])[0].score
        assert item.score == pytest.approx(item.log_probability - alone)
    with pytest.raises(LexigraphError, match="not by 'luck'"):
        model.rank(candidates, by="luck")


def test_complete_gives_texts_that_begin_with_the_prompt_best_first(model):
    found = model.complete("The", n_best=3, max_new=6)
    assert len({str(item) for item in found}) == 3
    assert all(item.text.startswith("The") for item in found)
    scores = [item.score for item in found]
    assert scores == pytest.approx([item.log_probability / item.tokens**0.7 for item in found])
    assert scores == sorted(scores, reverse=True)


def test_seeds_choose_the_sample(model):
    one, again = (model.generate(["The"], seed=3, temperature=1.0, max_new=12) for _ in range(2))
    assert one == again
    many = {model.generate(["The"], seed=seed, temperature=1.0, max_new=12)[0] for seed in range(5)}
    assert len(many) > 1
    twice = model.generate(["The", "The"], seed=3, temperature=1.0, max_new=12)
    assert twice[0] == one[0]
    assert twice[0] != twice[1]  # asked twice, it says two things


def test_text_is_handed_out_as_it_comes(model):
    said: list[str] = []
    whole = model.generate(["The old"], max_new=10, on_text=said.append)[0]
    assert whole.startswith("".join(said))
    assert len(said) > 2


def test_diagnosis_weighs_the_true_rest_against_the_one_found(model):
    text, prompt = "She laughed .", "She"
    given = len(model.tokenizer.encode(prompt))
    item = model.diagnose([text], prompt_tokens=given, beam=4, alpha=0.0, max_new=8).items[0]
    rest = model.score([text])[0] - model.score([prompt], ended=False)[0]
    assert item.reference_score == pytest.approx(rest, rel=1e-5)
    assert item.verdict == ("search error" if rest > item.output_score else "model error")


def test_tables_of_search_and_text(model):
    texts = ["She laughed at the door .", "He is not tired ."]
    rows = search.beam_rows(model.trial(texts, max_new=6), [1, 2])
    assert [row[0] for row in rows] == ["1", "2"]
    assert float(rows[1][3]) >= float(rows[0][3]) - 1e-3  # a wider beam finds no worse a score
    kinds = [row[0] for row in search.text_rows(model, texts, max_new=6)]
    assert kinds == ["human", "beam 5", "greedy", "sampled", "sampled, top-p 0.9"]


def test_text_that_did_not_end_is_judged_without_an_end(model):
    """Cut off after one token, the greedy text has one probability: that of the most probable token."""
    text, prompt_tokens = "The old men were tired .", 1
    ids = model.tokenizer.encode(text)[:prompt_tokens]
    log_p = model.network(torch.tensor([[model.tokenizer.begin, *ids]]))[0, -1].detach().log_softmax(-1)
    assert int(log_p.argmax()) != model.tokenizer.eos  # or there would be nothing to cut off
    rows = search.text_rows(model, [text], prompt_tokens=prompt_tokens, max_new=1)
    greedy = next(row for row in rows if row[0] == "greedy")
    assert greedy[6] == f"e^{float(log_p.max()):.2f}"
    human = rows[0]  # a whole text, whose end counts
    assert human[6] == f"e^{float(model.token_scores([text])[0][prompt_tokens:].mean()):.2f}"


def test_texts_that_the_prompt_swallows_whole_are_left_out_and_counted(model):
    """They have no rest that could be compared: scored as nothing, it would seem better than anything found."""
    long, short = "The old men were tired .", "She"
    given = len(model.tokenizer.encode(short))
    how = {"prompt_tokens": given, "max_new": 6}
    told = rf"2 of 3 texts have at most {given} tokens"
    alone = model.diagnose([long], beam=2, **how)
    with pytest.warns(UserWarning, match=told):
        among = model.diagnose([short, long, ""], beam=2, **how)
    assert (alone.left_out, among.left_out) == (0, 2)
    assert among.items == alone.items
    with pytest.warns(UserWarning, match=told):
        beams = search.beam_rows(model.trial([short, long, ""], **how), [1, 2])
    alone = search.beam_rows(model.trial([long], **how), [1, 2])
    assert [row[:-1] for row in beams] == [row[:-1] for row in alone]
    with pytest.warns(UserWarning, match=told):
        kinds = search.text_rows(model, [short, long, ""], **how)
    assert kinds == search.text_rows(model, [long], **how)
    for work in (model.diagnose, model.trial):
        with pytest.raises(LexigraphError, match="no text left to continue: none of 2 has more than"):
            work([short, ""], **how)


def test_texts_that_no_search_may_write_are_left_out_and_counted(tiny_runs):
    """<unk> is never written: a rest that has one could not be found, and the search is not to blame."""
    model = lexigraph.load(tiny_runs("lstm-lm", {"tokenizer.kind": "char"}))
    known, unknown = "She laughed .", "She laughed ∞ ."
    with pytest.warns(UserWarning, match="1 of 2 texts cannot be held or written"):
        found = model.diagnose([unknown, known], beam=2, max_new=6)
    assert (len(found.items), found.left_out) == (1, 1)
    assert found.items == model.diagnose([known], beam=2, max_new=6).items
    with pytest.raises(LexigraphError, match="nothing to diagnose: all of 1 texts"):
        model.diagnose([unknown], beam=2)


def test_an_ability_that_it_lacks_is_named_with_those_it_has(model):
    with pytest.raises(LexigraphError, match=r"gpt model cannot translate; it can: generate, complete, score, rank"):
        model.translate(["ein Haus"])
    assert not hasattr(model, "tag")
    with pytest.raises(AttributeError, match=r"genrate.*generate"):
        _ = model.genrate


def test_in_eight_bits_a_model_says_nearly_the_same_and_its_cost_is_told(tiny_run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("lexigraph.nn.linear.SMALL", 1)
    run, text = tmp_path / "run", tmp_path / "text.txt"
    shutil.copytree(tiny_run, run)
    text.write_text("She laughed .\nThe old men were tired .\n" * 20)
    exact, rounded = lexigraph.load(run), lexigraph.load(run, int8=True)
    assert rounded.int8
    values, near = exact.score(["She laughed ."]), rounded.score(["She laughed ."])
    assert values != near
    assert values == pytest.approx(near, rel=0.02)
    load_model(run, "auto", int8=True)
    assert "eval" in capsys.readouterr().err
    found = lexigraph.evaluate(run, text, int8=True)
    assert "|weights:int8" in found["int8"]["signature"]
    assert "int8" not in found["signature"]
    assert 0 < abs(found["int8"]["nll"]["value"] - found["nll"]["value"]) < 0.02 * found["nll"]["value"]
    load_model(run, "auto", int8=True)
    assert f"instead of {found['nll']['value']:.4f} on {text}" in capsys.readouterr().err


def test_in_eight_bits_a_text_scores_and_continues_alone_as_in_a_batch(tiny_run, monkeypatch):
    monkeypatch.setattr("lexigraph.nn.linear.SMALL", 1)
    model = lexigraph.load(tiny_run, int8=True)
    texts = ["She laughed .", "The old men were tired .", "He is not at the door ."]
    assert model.score(texts) == pytest.approx([model.score([text])[0] for text in texts], rel=1e-5)
    together = model.generate(texts, temperature=0.0, max_new=12)
    assert together == [model.generate([text], temperature=0.0, max_new=12)[0] for text in texts]
