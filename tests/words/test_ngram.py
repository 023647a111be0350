import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import ngram
from lexigraph.words.ngram import NgramModel, discounts

TINY = [["a", "b"], ["a", "c"]]
texts = st.lists(st.lists(st.sampled_from(["a", "b", "c", "é", "\0", "<unk>"]), max_size=6), min_size=1, max_size=8)
orders = st.integers(1, 6)


def zipf(sentences=400, seed=0):
    """A text whose words are as unevenly frequent as those of a language: its discounts can be estimated."""
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 12, sentences)
    return [[f"w{min(number, 300)}" for number in random.zipf(1.4, length)] for length in lengths]


def predictable(model):
    return [word for word in model.words if word != "<s>"]


def is_fraction(value, numerator, denominator):
    return value == pytest.approx(float(Fraction(numerator, denominator)), rel=1e-6)


# ---- worked by hand ----


def test_single_words_are_discounted_and_share_the_rest_evenly():
    # a b c d e f once, g h i twice, j k three times, </s> four times: n1 = 6, n2 = 3, n3 = 2, n4 = 1, 22 in all.
    # Y = 6/12; D1 = 1 - 2Y·3/6 = 1/2; D2 = 2 - 3Y·2/3 = 1; D3 = 3 - 4Y·1/2 = 2.
    # Taken away: 6·1/2 + 3·1 + 3·2 = 12, so each of 13 words (these and <unk>) gets 12/22 · 1/13 = 6/143 back.
    model = NgramModel.train([list("abcdef"), list("ghijk"), list("ghijk"), list("jk")], order=1)
    assert is_fraction(model.probability("a"), 37, 572)  # (1 - 1/2)/22 + 6/143
    assert is_fraction(model.probability("g"), 25, 286)  # (2 - 1)/22 + 6/143
    assert is_fraction(model.probability("j"), 25, 286)  # (3 - 2)/22 + 6/143
    assert is_fraction(model.probability("</s>"), 19, 143)  # (4 - 2)/22 + 6/143
    assert is_fraction(model.probability("never"), 6, 143)
    assert is_fraction(model.probability("a", ["g", "h"]), 37, 572)  # the history is not looked at


def test_a_bigram_model_worked_by_hand():
    # Too few counts for discounts: they are 1/2, 1, 3/2. Pairs: <s>a twice; ab, ac, b</s>, c</s> once.
    # Different words before: a 1, b 1, c 1, </s> 2; 5 in all. γ = (3·1/2 + 1)/5 = 1/2, and 1/2 · 1/5 = 1/10.
    model = NgramModel.train(TINY, order=2)
    single = {"a": (1, 5), "b": (1, 5), "c": (1, 5), "</s>": (3, 10), "<unk>": (1, 10)}  # b: (1 - 1/2)/5 + 1/10
    for word, (numerator, denominator) in single.items():
        assert is_fraction(model.probability(word), numerator, denominator)
        assert is_fraction(model.probability(word, ["never"]), numerator, denominator)
    assert is_fraction(model.probability("a", ["<s>"]), 3, 5)  # (2 - 1)/2 + 1/2 · 1/5
    assert is_fraction(model.probability("b", ["<s>"]), 1, 10)  # 1/2 · 1/5
    assert is_fraction(model.probability("b", ["a"]), 7, 20)  # (1 - 1/2)/2 + 1/2 · 1/5
    assert is_fraction(model.probability("</s>", ["b"]), 13, 20)  # (1 - 1/2)/1 + 1/2 · 3/10
    assert model.score(["a", "b"]) == pytest.approx(math.log(3 / 5 * 7 / 20 * 13 / 20))


def test_a_trigram_model_worked_by_hand():
    model = NgramModel.train(TINY, order=3)  # its pairs and single words are those of the bigram model
    assert is_fraction(model.probability("a", ["<s>"]), 3, 5)
    assert is_fraction(model.probability("b", ["<s>", "a"]), 17, 40)  # (1 - 1/2)/2 + 1/2 · 7/20
    assert is_fraction(model.probability("b", ["c", "a"]), 7, 20)  # "c a" was never seen
    assert is_fraction(model.probability("</s>", ["a", "b"]), 33, 40)  # (1 - 1/2)/1 + 1/2 · 13/20
    assert model.score(["a", "b"]) == pytest.approx(math.log(3 / 5 * 17 / 40 * 33 / 40))


def test_shorter_n_grams_count_the_different_words_before_them():
    # a and </s> occur three times each, a after b and c, </s> after a only: 2 and 1 of 5.
    text = [["b", "a"], ["b", "a"], ["c", "a"]]
    for order in (2, 3):
        model = NgramModel.train(text, order)
        assert is_fraction(model.probability("a"), 3, 10)  # (2 - 1)/5 + 1/2 · 1/5
        assert is_fraction(model.probability("</s>"), 1, 5)  # (1 - 1/2)/5 + 1/2 · 1/5
    # Nothing stands before <s>: "<s> b" counts as often as it occurs, 2 of 3. γ = (1 + 1/2)/3.
    assert is_fraction(model.probability("b", ["<s>"]), 13, 30)  # (2 - 1)/3 + 1/2 · 1/5
    assert is_fraction(model.probability("a", ["b"]), 13, 20)  # one word before "b a": (1 - 1/2)/1 + 1/2 · 3/10


def test_discounts_fall_back_where_counts_are_too_few():
    few = [0, 0.5, 1, 1.5]
    assert discounts(np.array([1, 1, 2, 3])).tolist() == few  # no count of 4
    assert discounts(np.array([0, 5, 9])).tolist() == few
    assert discounts(np.empty(0, np.int64)).tolist() == few
    assert discounts(np.repeat([1, 2, 3, 4], [10, 1, 5, 1])).tolist() == few  # D2 = 2 - 3 · 10/12 · 5 is negative
    np.testing.assert_allclose(  # n1 = 4, n2 = 2, n3 = 1, n4 = 1: Y = 1/2; zeros and large counts say nothing
        discounts(np.array([0, 1, 1, 1, 1, 2, 2, 3, 4, 50])), [0, 1 - 1 / 2, 2 - 3 / 4, 3 - 2]
    )


# ---- what holds for every text ----


@given(texts, orders, st.lists(st.sampled_from(["<s>", "a", "b", "never"]), max_size=6))
def test_probabilities_sum_to_one_after_any_history(text, order, history):
    model = NgramModel.train([*text, ["a"]], order)
    every = [model.probability(word, history) for word in predictable(model)]
    assert min(every) > 0
    assert sum(every) == pytest.approx(1, abs=1e-5)
    assert model.probability("<s>", history) < 1e-90
    assert model.distribution(history).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("order", range(1, 8))
def test_probabilities_sum_to_one_with_estimated_discounts(order):
    text = zipf()
    model = NgramModel.train(text, order)
    for history in ([], ["<s>"], ["<s>", *text[3]], text[4][-3:], ["w1"] * 7, ["never", "w2"], ["w1", "never"]):
        every = [model.probability(word, history) for word in predictable(model)]
        assert sum(every) == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(model.distribution(history)[[0, *range(2, len(model.words))]], every, rtol=1e-9)


@given(texts, orders, texts)
def test_a_score_is_the_sum_over_its_words(text, order, others):
    model = NgramModel.train([*text, ["a"]], order)
    for sentence in others:
        steps = [*sentence, "</s>"]
        known = [model.probability(word, ["<s>", *steps[:place]]) for place, word in enumerate(steps)]
        assert model.score(sentence) == pytest.approx(sum(map(math.log, known)))


@given(texts, st.integers(1, 4))
def test_sentences_are_independent_of_their_company(text, block):
    model = NgramModel.train(zipf(50) + text, order=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngram, "BLOCK", block)
        totals = model.totals(iter(text))
        again = NgramModel.train(iter(zipf(50) + text), order=4)
    assert totals.log_probability == pytest.approx(sum(map(model.score, text)))
    assert totals.tokens == sum(map(len, text)) + len(text)
    assert totals.unknown == sum(sentence.count("<unk>") for sentence in text)
    assert model.perplexity(text) == pytest.approx(math.exp(-totals.log_probability / totals.tokens))
    assert again.score(["w1", "a"]) == model.score(["w1", "a"])


@given(texts, orders)
def test_several_sentence_starts_are_one(text, order):
    model = NgramModel.train([*text, ["a"]], order)
    np.testing.assert_allclose(model.distribution(["<s>"] * order), model.distribution(["<s>"]))


def test_more_context_predicts_regular_text_better():
    text = [["the", name, verb, "the", name] for name in ("cat", "dog", "owl") for verb in ("saw", "met", "bit")] * 3
    perplexities = [NgramModel.train(text, order).perplexity(text) for order in (1, 2, 4, 5)]
    assert perplexities == sorted(perplexities, reverse=True)


# ---- vocabulary ----


def test_unk_in_the_text_is_the_unknown_word():
    model = NgramModel.train([["a", "<unk>"], ["b", "<unk>"]], order=2)
    assert model.words == ["<unk>", "<s>", "</s>", "a", "b"]
    assert model.probability("never", ["a"]) == model.probability("<unk>", ["a"]) > 0.5
    assert model.probability("a", ["never"]) == model.probability("a", ["<unk>"])
    assert model.totals([["a", "<unk>"], ["never", "zebra"]])[1:] == (6, 3)


def test_boundaries_written_in_a_text_are_unknown_words():
    model = NgramModel.train([["a", "<s>", "</s>", "b"]], order=3)
    assert model.words == ["<unk>", "<s>", "</s>", "a", "b"]
    assert model.score(["a", "<s>", "</s>", "b"]) == model.score(["a", "<unk>", "<unk>", "b"])


def test_rare_words_and_words_outside_a_vocabulary_are_unknown():
    text = [["a", "b", "a"], ["c", "b", "a"]]
    frequent = NgramModel.train(text, order=2, min_count=2)
    assert frequent.words[3:] == ["a", "b"]
    chosen = NgramModel.train(text, order=2, vocabulary={"b", "a"})
    assert chosen.score(["c", "b"]) == frequent.score(["c", "b"]) == frequent.score(["<unk>", "b"])
    wider = NgramModel.train(text, order=2, vocabulary=["z", "c", "b", "a", "a", "<unk>"])
    assert wider.words[3:] == ["a", "b", "c", "z"]
    assert wider.probability("z", ["a"]) == wider.probability("<unk>", ["a"]) > 0  # neither was seen


@pytest.mark.parametrize("order", range(1, 7))
def test_one_word_is_a_text(order, tmp_path):
    model = NgramModel.train([["a"]], order)
    assert model.order == order
    assert -math.inf < model.score(["b", "b", "b"]) < model.score(["a"]) < 0
    assert math.isfinite(model.score([]))
    model.save_arpa(tmp_path / "arpa")  # with no n-grams in the orders above 3
    assert NgramModel.load_arpa(tmp_path / "arpa").score(["a", "b"]) == model.score(["a", "b"])


# ---- generating ----


def test_generated_words_are_as_frequent_as_they_are_probable():
    model = NgramModel.train(zipf(), order=3)
    for temperature in (1, 2.0):
        drawn = [(made[1:] or ["</s>"])[0] for made in model.generate(["w1"], 1, temperature, seed=3, n=3000)]
        p = {word: model.probability(word, ["<s>", "w1"]) ** (1 / temperature) for word in predictable(model)}
        for word in sorted(p, key=p.__getitem__)[-8:]:
            share = p[word] / sum(p.values())
            assert drawn.count(word) / 3000 == pytest.approx(share, abs=4 * math.sqrt(share / 3000))


@given(texts, orders)
def test_generated_sentences_hold_known_words_only(text, order):
    model = NgramModel.train([*text, ["a"]], order)
    for sentence in model.generate(["never", "a"], max_new=5, temperature=1.5, n=3):
        assert sentence[:2] == ["never", "a"]
        assert len(sentence) <= 7
        assert set(sentence[2:]) <= set(model.words) - {"<s>", "</s>"}


def test_generating_follows_seed_number_and_temperature():
    model = NgramModel.train(zipf(), order=2)
    three = model.generate(seed=1, n=3)
    assert model.generate(seed=1, n=1) == three[:1]
    assert model.generate(seed=2, n=3) != three
    assert len({tuple(made) for made in three}) > 1
    assert NgramModel.train([["a", "b"]] * 9, order=3).generate(temperature=0, n=2) == [["a", "b"]] * 2
    assert model.generate(["w1"], max_new=0) == [["w1"]]


# ---- files ----


@pytest.mark.parametrize("form", ["", "_arpa"])
@pytest.mark.parametrize("order", [1, 2, 5])
def test_a_saved_model_is_the_same(form, order, tmp_path):
    model = NgramModel.train([*zipf(), ["naïve", "\0", "\u2028", "\xa0", "#"]], order)
    path = tmp_path / "model"
    getattr(model, "save" + form)(path)
    loaded = getattr(NgramModel, "load" + form)(path)
    other = [*zipf(30, seed=1), ["naïve", "\0", "\u2028", "\xa0", "#", "never"]]
    assert loaded.order == order
    assert set(loaded.words) == set(model.words)
    assert list(map(loaded.score, other)) == list(map(model.score, other))
    assert os.listdir(tmp_path) == ["model"]


def test_any_word_can_be_saved_but_not_in_an_arpa_file(tmp_path):
    for word in ("new york", "a\nb", "", "\ud800"):
        model = NgramModel.train([[word, "a"]], order=2)
        with pytest.raises(LexigraphError, match="cannot stand in an ARPA file"):
            model.save_arpa(tmp_path / "arpa")
        assert not os.listdir(tmp_path)
        model.save(tmp_path / "model")
        assert NgramModel.load(tmp_path / "model").score([word]) == model.score([word])
        (tmp_path / "model").unlink()


def test_an_arpa_file_is_written_as_its_format_says(tmp_path):
    NgramModel.train(TINY, order=2).save_arpa(tmp_path / "arpa")
    lines = (tmp_path / "arpa").read_text().split("\n")
    assert lines[:5] == ["\\data\\", "ngram 1=6", "ngram 2=5", "", "\\1-grams:"]
    assert lines[-3:] == ["", "\\end\\", ""]
    entries = {
        entry[1]: (float(entry[0]), *map(float, entry[2:]))
        for entry in (line.split("\t") for line in lines if "\t" in line)
    }
    assert entries["<s>"] == pytest.approx((-99, math.log10(1 / 2)))  # γ(<s>) = 1/2
    assert entries["</s>"] == pytest.approx((math.log10(3 / 10),))
    assert entries["<s> a"] == pytest.approx((math.log10(3 / 5),), rel=1e-6)
    assert len(entries) == 11


ARPA = """made by hand

\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.0 </s>
0 <s> -0.25
-0.5 a -0.125
-0.75 b

\\2-grams:
-0.5 a b
-0.25\t<s> a

\\end\\
"""


def test_an_arpa_file_of_others_is_read(tmp_path):
    (tmp_path / "arpa").write_text(ARPA)
    model = NgramModel.load_arpa(tmp_path / "arpa")
    assert model.score(["a", "b"]) / math.log(10) == pytest.approx(-0.25 - 0.5 - 1)
    assert model.score(["b", "a"]) / math.log(10) == pytest.approx((-0.25 - 0.75) - 0.5 + (-0.125 - 1))
    assert model.probability("never") == pytest.approx(0, abs=1e-90)
    assert model.probability("<s>") == pytest.approx(0, abs=1e-90)
    (tmp_path / "arpa").write_text(ARPA.replace("1=4", "1=5").replace("-0.75 b", "-0.75 b\n-2 <unk> -1"))
    model = NgramModel.load_arpa(tmp_path / "arpa")
    assert model.score(["never", "b"]) / math.log(10) == pytest.approx((-0.25 - 2) + (-1 - 0.75) - 1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("\\data\\", "data", "no line"),
        (ARPA, "", "no line"),
        ("\\end\\\n", "", r"line 16 should be \\end"),
        ("2=2", "2=3", "line 17 is no 2-gram"),
        ("1=4", "1=3", "line 11 should be"),
        ("2=2", "2=two", "two"),
        ("ngram 2=2\n", "", "line 12 should be"),
        ("-0.75 b", "much b", "line 11 is no 1-gram"),
        ("-0.75 b", "nan b", "not finite"),
        ("-0.5 a b", "-0.5 a", "line 14 is no 2-gram"),
        ("-0.5 a b", "-0.5 a b 0 0", "line 14 is no 2-gram"),
        ("-0.5 a b", "-0.5 a z", "line 14 is no 2-gram"),
        ("-0.5 a b", "-0.25 <s> a", "2-grams are not in order, or one is there twice"),
        ("-1.0 </s>", "-1.0 c", "no <s> or no </s>"),
        (ARPA[ARPA.index("ngram 1") : -7], "", "all n-grams"),
    ],
)
def test_damaged_arpa_files_are_refused(old, new, words, tmp_path):
    (tmp_path / "arpa").write_text(ARPA.replace(old, new))
    with pytest.raises(LexigraphError, match=words):
        NgramModel.load_arpa(tmp_path / "arpa")


def test_an_arpa_file_without_the_beginning_of_an_n_gram_is_refused(tmp_path):
    text = ARPA.replace("ngram 2=2\n", "ngram 2=2\nngram 3=1\n").replace("\\end", "\\3-grams:\n-1 b a b\n\n\\end")
    (tmp_path / "arpa").write_text(text)
    with pytest.raises(LexigraphError, match="3-grams that begin with no 2-gram"):
        NgramModel.load_arpa(tmp_path / "arpa")


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "model"
    for load in (NgramModel.load, NgramModel.load_arpa):
        with pytest.raises(LexigraphError, match="There is no"):
            load(path)
        with pytest.raises(LexigraphError, match="is damaged or no"):
            load(tmp_path)
    NgramModel.train(TINY, order=2).save(path)
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[:-8], whole[:20], b"\xff" * 99):
        path.write_bytes(content)
        for load in (NgramModel.load, NgramModel.load_arpa):
            with pytest.raises(LexigraphError, match="is damaged or no"):
                load(path)
    with pytest.raises(LexigraphError, match=r"There is no folder .*missing for model"):
        NgramModel.train(TINY).save(tmp_path / "missing" / "model")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"other": np.ones(1)}, "it holds backoff.1, .* other, words"),
        ({"words": np.frombuffer(b"[1]", np.uint8)}, "no list of words"),
        ({"words": np.frombuffer(b'["a"]', np.uint8)}, "lacks <unk>"),
        ({"words": np.frombuffer(b"{", np.uint8)}, "Expecting"),
        ({"keys.2": np.zeros(5)}, "wrong form"),
        ({"log_p.2": np.zeros(4, np.float32)}, "wrong form"),
        ({"keys.2": np.array([0, 1, 2, 3, 36])}, "not in order"),
        ({"keys.2": np.array([-1, 1, 2, 3, 4])}, "not in order"),
        ({"keys.2": np.array([0, 2, 1, 3, 4])}, "not in order"),
        ({"log_p.2": np.full(5, np.nan, np.float32)}, "not finite"),
    ],
)
def test_tensors_that_are_no_model_are_refused(change, words, tmp_path):
    from safetensors.numpy import load_file, save_file

    NgramModel.train(TINY, order=2).save(tmp_path / "model")
    save_file({**load_file(tmp_path / "model"), **change}, tmp_path / "changed")
    with pytest.raises(LexigraphError, match=words):
        NgramModel.load(tmp_path / "changed")


# ---- wrong requests ----


def test_wrong_requests_get_a_sentence():
    for nothing in ([], [[], []]):
        with pytest.raises(LexigraphError, match="holds no words"):
            NgramModel.train(nothing)
    with pytest.raises(LexigraphError, match="none occurs 3 times"):
        NgramModel.train(TINY, min_count=3)
    with pytest.raises(LexigraphError, match="vocabulary is empty"):
        NgramModel.train(TINY, vocabulary=[])
    with pytest.raises(UsageError, match="order is 0"):
        NgramModel.train(TINY, order=0)
    with pytest.raises(UsageError, match="'a cat' is a text"):
        NgramModel.train(iter(["a cat"]))
    model = NgramModel.train(TINY)
    with pytest.raises(LexigraphError, match="at least one sentence"):
        model.perplexity([])
    for temperature in (-1, math.nan, math.inf):
        with pytest.raises(UsageError, match="temperature"):
            model.generate(temperature=temperature)
