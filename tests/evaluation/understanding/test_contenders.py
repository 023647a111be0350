"""Contenders: what the simplest of them answer, and what vectors they learn from."""

import numpy as np
import pytest

import lexigraph
from lexigraph.evaluation.understanding import contenders, frozen, tasks
from lexigraph.evaluation.understanding.contenders import CommonestTag, Majority, OfVectors, TfIdf
from lexigraph.evaluation.understanding.sets import Example
from lexigraph.words.vectors import WordVectors

TEXT, PAIR = tasks.TASKS["sentiment"], tasks.TASKS["pronouns"]
SIMILARITY, TAGS = tasks.TASKS["sts-b"], tasks.TASKS["ewt"]


def learned(contender, task, train, asked, setting=10.0):
    return contender.answers(task, train, (), setting, 0, [asked])[0]


def test_majorities():
    train = [Example("x", "b"), Example("y", "a"), Example("z", "b")]
    assert learned(Majority("m"), TEXT, train, [Example("x", "a")] * 2) == ["b", "b"]
    numbers = [Example("x", 1.0, "y"), Example("x", 4.0, "y")]
    assert learned(Majority("m"), SIMILARITY, numbers, numbers) == [2.5, 2.5]
    tagged = [Example(["the", "run"], ["DET", "NOUN"]), Example(["run", "run"], ["NOUN", "VERB"])]
    assert learned(Majority("m"), TAGS, tagged, tagged) == [["NOUN", "NOUN"]] * 2
    asked = [Example(["the", "run", "zzz"], [])]
    assert learned(CommonestTag("c"), TAGS, tagged, asked) == [["DET", "NOUN", "NOUN"]]


def test_counted_words_decide():
    train = [Example(f"good {n}", "+") for n in "abcd"] + [Example(f"bad {n}", "-") for n in "abcd"]
    asked = [Example("so good", "+"), Example("so bad", "-")]
    assert learned(TfIdf("t"), TEXT, train, asked) == ["+", "-"]
    assert learned(TfIdf("t"), TEXT, train[:4], asked) == ["+", "+"]  # one class alone is no problem


@pytest.mark.parametrize("name", ["words", "vectors"])
def test_pairs_are_known_by_how_their_sides_differ(name):
    """Whether both sides are the same: no side alone tells."""
    nouns = ["cat", "dog", "cow", "hen", "fox", "owl"]
    vectors = dict(zip(nouns, np.eye(6, dtype=np.float32), strict=True))
    of_vectors = OfVectors("v", (), lambda texts: np.stack([vectors[text] for text in texts]), "")
    contender = TfIdf("t") if name == "words" else of_vectors
    pairs = [Example(a, "same" if a == b else "different", b) for a in nouns for b in nouns]
    pairs += [each for each in pairs if each.label == "same"] * 4
    assert learned(contender, PAIR, pairs, pairs) == [each.label for each in pairs]
    numbers = [each._replace(label=float(each.label == "same")) for each in pairs]
    assert np.corrcoef(learned(contender, SIMILARITY, numbers, numbers), [each.label for each in numbers])[0, 1] > 0.9


def test_each_text_is_encoded_once():
    asked: list[str] = []

    def maker(texts):
        asked.extend(texts)
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    contender = OfVectors("v", (), maker, "")
    train = [Example("a", "1"), Example("bbb", "3"), Example("a", "1")]
    learned(contender, TEXT, train, train)
    learned(contender, TEXT, train, [Example("cc", "2")])
    assert asked == ["a", "bbb", "cc"]


def test_cross_validation_holds_out_every_example_once():
    parts = contenders.folds(23, 5, seed=1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(23))
    seen: list[tuple[int, int]] = []

    class Spy(Majority):
        def answers(self, task, train, dev, setting, seed, asked):
            assert not {each.text for each in train} & {each.text for each in asked[0]}
            assert not dev
            seen.append((len(train), len(asked[0])))
            return super().answers(task, train, dev, setting, seed, asked)

    examples = [Example(str(n), "a" if n % 4 else "b") for n in range(20)]
    assert contenders.cross_validated(Spy("m"), TEXT, examples, 0.0, 0, 5, 5) == 0.75
    assert seen == [(16, 4)] * 5


# ---- vectors of texts ----


@pytest.mark.parametrize("name", ["bert", "skip-thought", "gpt"])
def test_texts_of_any_length_have_a_vector(name, tiny_runs):
    model = lexigraph.load(tiny_runs(name), "cpu")
    assert frozen.readable(model)
    found = frozen.vectors(model, ["She sings .", "", "She sings . " * 300, "He slept ."])
    assert np.isfinite(found).all()
    assert not found[1].any()
    assert found[[0, 2, 3]].any(1).all()
    if name != "gpt":
        np.testing.assert_allclose(found[0], model.encode("She sings ."), atol=1e-5)
    alone = frozen.vectors(model, ["He slept ."])
    np.testing.assert_allclose(alone[0], found[3], atol=1e-5)


def test_states_of_a_language_model_are_averaged(tiny_run):
    import torch

    model = lexigraph.load(tiny_run, "cpu")
    row = model.rows(["She sings ."])[0][0]
    with torch.inference_mode():
        batch = model.network.reading([np.array([model.tokenizer.eos, *row, model.tokenizer.eos])])
        last = model.network.states(batch).layers[-1][0, 1 : len(row) + 1]
    np.testing.assert_allclose(frozen.vectors(model, ["She sings ."])[0], last.mean(0), atol=1e-5)


def test_word_vectors_are_averaged():
    wv = WordVectors(["the", "Cat", "dog"], np.array([[1, 0], [0, 1], [4, 4]], np.float32))
    found = frozen.averaged(wv, ["The Cat", "zzz", "dog zzz"])
    assert found.tolist() == [[0.5, 0.5], [0, 0], [4, 4]]
