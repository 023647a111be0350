"""The parts of the latent suite, on models whose figures are known beforehand."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from lexigraph.abilities.textmodel import Scored
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.latent import judge as judges
from lexigraph.evaluation.latent.arithmetic import GROUPS, arithmetic, combined_pairs
from lexigraph.evaluation.latent.interpolation import describe, fixed_pairs, interpolate, repeats
from lexigraph.evaluation.latent.judge import Verdicts, ceiling, fluency, unlike
from lexigraph.evaluation.latent.likeness import likeness
from lexigraph.evaluation.latent.mixture import copies, likelihood, purity, round_trip, sampled, variety
from lexigraph.evaluation.latent.reconstruction import damaged, in_position, reconstruct
from lexigraph.evaluation.latent.sentences import fitting, mean, ordered, overlap, spaced, spelled, whole
from lexigraph.latent.mixture import Mixture
from lexigraph.text.constructions import sentences
from lexigraph.text.edits import EDITS, edit_pairs, edit_quadruples
from tests.evaluation.latent.fakes import Adder, Codec, Judge

LINES = list(dict.fromkeys(sentences(60, seed=3)))


# ---- sentences ----


def test_texts_that_do_not_fit_are_counted_by_reason():
    model = Codec(LINES, context=6)  # five words and the end
    kept = fitting(model, ["a b c d e", "a b c d e f", "", "a b"])
    assert (kept.texts, kept.positions) == (["a b c d e", "a b"], [0, 3])
    assert kept.skipped == {"too_long": 1, "empty": 1}
    pairs, texts, lost = whole(model, [("a b", "c"), ("a", "a b c d e f")])
    assert (pairs, texts.texts, lost) == ([("a b", "c")], ["a b", "c"], 1)


def test_a_mean_of_nothing_has_no_value():
    assert mean([]) == {"value": None, "interval": [], "rows": 0}
    assert mean([1.0, 0.0])["value"] == 0.5


def test_the_order_depends_on_the_texts_alone():
    assert ordered(reversed(LINES)) == ordered(LINES) == ordered(LINES + LINES[:5])
    assert ordered(LINES, seed=1) != ordered(LINES)
    assert [text for text in ordered(LINES) if text in LINES[:9]] == ordered(LINES[:9])


def test_the_grammar_is_spelled_as_the_test_text_is():
    assert spaced(["She sang .", "He left ?", "No."])
    assert not spaced(["She sang.", "He left?", "no mark"])
    assert spelled("If it rains , who sings ?", False) == "If it rains, who sings?"


def test_overlap_counts_repeated_words():
    assert overlap("a a b", "A b b .") == pytest.approx(2 * 2 / 6)
    assert overlap("", "") == 0


# ---- reconstruction and damage ----


def test_a_dictionary_gives_everything_back():
    found = reconstruct(Codec(LINES), LINES, {"other": ["she sang .", "x " * 50]}, joined=LINES[:9], beam=10,
                        lossless=5)  # fmt: skip
    for figures in (found["test"], *found["by_length"].values(), found["up_to_20_words"]):
        assert figures["exact"]["value"] == figures["accuracy"]["value"] == 1
        assert figures["nll"]["value"] == pytest.approx(0, abs=1e-6)
        assert figures["bleu"]["value"] == pytest.approx(100)
    assert sum(group["exact"]["rows"] for group in found["by_length"].values()) == len(LINES)
    assert sum(group["exact"]["rows"] for group in found["joined_by_length"].values()) == 9
    assert found["domains"]["other"]["skipped"] == {"too_long": 1, "empty": 0}
    assert found["domains"]["other"]["sentences"] == 1
    assert found["beam"]["beam 5"]["exact"]["rows"] == 10
    assert found["lossless"]["lossless"]["exact"]["value"] == 1
    assert "8-bit picture" not in found["pictures"]  # it draws none


def test_a_model_that_always_errs_scores_nothing():
    found = reconstruct(Codec(LINES, aside=" no"), LINES, beam=10, lossless=5)
    assert found["test"]["exact"]["value"] == 0
    assert found["test"]["accuracy"]["value"] == 1  # shown the true tokens, it still predicts them
    assert 0 < found["test"]["bleu"]["value"] < 100


def test_tokens_in_their_place_by_hand():
    model = Codec(["a b c d e"])
    kept = fitting(model, ["a b c d", "a b"])
    right, tokens = in_position(model, kept, ["a c c", "e a b"])
    assert (right.tolist(), tokens.tolist()) == ([2, 0], [4, 2])


class Painter(Codec):
    """Draws the number of a text in broad grey bars, eight of them for eight bits."""

    def pictures(self, z):
        order = list(self.known)
        numbers = [order.index(row[0].text) for row in self.hypotheses(z)]
        bits = np.array([[number >> bit & 1 for bit in range(8)] for number in numbers], np.uint8)
        rows = np.repeat(200 * bits, 4, axis=1)[:, :, None, None]
        return np.ascontiguousarray(np.broadcast_to(rows, (len(numbers), 32, 32, 3)))

    def read(self, pictures, **_):
        order, bars = list(self.known), pictures.reshape(len(pictures), 8, -1).mean(2) > 100
        numbers = (bars << np.arange(8)).sum(1)
        return [order[number] if number < len(order) else "?" for number in numbers]


class WordSketch(Codec):
    """Every word has a vector of its own, and a sentence is their sum; a dot of the picture for each number."""

    def position(self, text):
        seeds = (np.random.default_rng(list(word.encode())) for word in text.split())
        return np.sum([seed.normal(size=self.network.latent) for seed in seeds], 0).astype(np.float32)

    def pictures(self, z):
        grey = np.clip(128 + 12 * z, 0, 255).astype(np.uint8)
        return np.ascontiguousarray(np.broadcast_to(grey[:, None, :, None], (*grey.shape, grey.shape[1], 3)))


def test_pictures_of_an_edit_are_alike_where_words_are_drawn_and_not_where_sentences_are_numbered():
    def shares(model):
        model.network.draws = True
        return {name: each["value"] for name, each in likeness(model, 20)["all_families"].items()}

    words, numbered = shares(WordSketch(LINES)), shares(Strangers(LINES))
    assert 0 < words["pictures"] < 0.75
    assert words["vectors"] == pytest.approx(words["pictures"], abs=0.05)
    assert numbered == pytest.approx({"pictures": 1.0, "vectors": 1.0}, abs=0.1)


class Strangers(WordSketch):
    """A random vector for each sentence."""

    position = Codec.position


def test_broad_bars_survive_every_damage_and_thin_ones_do_not():
    model = Painter(LINES)
    model.network.draws = True
    found = damaged(model, LINES[:30])["damages"]
    assert len(found) == 10
    assert all(figures["exact"]["value"] == figures["in_position"]["value"] == 1 for figures in found.values())
    model.read = lambda pictures, **_: [LINES[int(picture[0, 0, 0]) % len(LINES)] for picture in pictures]
    assert damaged(model, LINES[:30])["damages"]["noise 16"]["exact"]["value"] < 0.5


# ---- arithmetic ----


@cache
def family_pairs(family: str, count: int) -> list[tuple[str, str]]:
    four = [q for way in (True, False) for q in edit_quadruples(family, count, 0, "test", parallel=way)]
    return [pair for a, b, c, d in four for pair in ((a, b), (c, d))] + list(edit_pairs(family, 50, 0, "train"))


def test_every_edit_has_its_group():
    assert sorted(family for members in GROUPS.values() for family in members) == sorted(EDITS)


def test_vectors_that_add_up_pass_every_test():
    model = Adder(family_pairs("he-she", 20))
    found = arithmetic(model, 20, families=["he-she"])
    for figures in (found["families"]["he-she"], found["groups"]["pronoun"]):
        for way in ("success", "if_reconstructed", "reconstructed", "reverse", "mean_difference", "any_two"):
            assert figures[way]["value"] == 1, way
        assert figures["strength 0.75"]["value"] == figures["strength 1.25"]["value"] == 1  # nearest is still b(y)
        assert figures["success"]["rows"] == 20
    assert found["noise"] == 0.0  # the model knows none
    assert set(found["skipped"].values()) == {0}


def test_each_strength_goes_its_own_way():
    model = Adder(family_pairs("he-she", 20))
    for before, after in family_pairs("he-she", 20):  # something else lies half a step along and half a step beyond
        step = model.known[after] - model.known[before]
        model.known[f"half {before}"] = model.known[before] + 0.5 * step
        model.known[f"beyond {before}"] = model.known[before] + 1.5 * step
    found = arithmetic(model, 20, families=["he-she"])["families"]["he-she"]
    values = {name: figure["value"] for name, figure in found.items()}
    assert (values["strength 0.5"], values["success"], values["strength 1.5"]) == (0, 1, 0)
    assert values["reverse"] == values["mean_difference"] == 1


def test_what_does_not_reconstruct_is_told_apart():
    found = arithmetic(Codec(LINES, aside=" no"), 10, families=["plural"])["families"]["plural"]
    assert found["success"]["value"] == found["reconstructed"]["value"] == 0
    assert found["if_reconstructed"]["value"] is None


def test_random_vectors_do_not_add_up():
    found = arithmetic(Codec(LINES), 10, families=["he-she", "present-past"])
    assert found["families"]["he-she"]["reconstructed"]["value"] == 1
    assert found["families"]["he-she"]["success"]["value"] < 0.3
    assert found["two_at_once"]["he-she + present-past"]["success"]["value"] < 0.3


@pytest.mark.parametrize(
    ("families", "before", "after"),
    [
        (("he-she", "present-past"), {"he"}, {"she"}),
        (("not-auxiliary", "ask-auxiliary"), {"."}, {"not", "?"}),
        (("present-past", "not-do"), set(), {"did", "not"}),
    ],
)
def test_two_edits_at_once_change_both(families, before, after):
    pairs = combined_pairs(families, seed=0)
    for old, new in [next(pairs) for _ in range(10)]:
        first, last = set(old.lower().replace("cannot", "can not").split()), set(new.lower().split())
        last |= {"not"} if "cannot" in last else set()
        assert before <= first
        assert after <= last
        assert not after <= first


# ---- the judge and interpolation ----


def test_the_percentile_pools_neighbouring_lengths_by_hand():
    real = Verdicts(np.array([2.0, 4.0, 9.0, 12.0, 40.0]), np.array([2, 2, 3, 3, 4]))
    assert ceiling(real, 2, fewest=2) == pytest.approx(1 + 0.95 * 1)  # 1 and 2 per token
    assert ceiling(real, 3, fewest=2) == pytest.approx(3 + 0.95 * 1)
    # three are wanted at length 2: length 3 joins, and the four are 1 2 3 4; their 95th percentile is 3.85
    assert ceiling(real, 2, fewest=3) == pytest.approx(3.85)
    assert ceiling(real, 99, fewest=1) == pytest.approx(10)
    assert ceiling(real, 2, fewest=1000) == pytest.approx(np.quantile([1, 2, 3, 4, 10], 0.95))
    with pytest.raises(LexigraphError, match="real sentences"):
        ceiling(Verdicts(np.zeros(0), np.zeros(0, np.int64)), 3)


def test_a_twentieth_of_real_sentences_is_unlike_them():
    random = np.random.default_rng(0)
    real = Verdicts(random.gamma(4, 10, 4000), np.full(4000, 10))
    assert unlike(real, real).mean() == pytest.approx(0.05, abs=0.001)


def test_the_ratio_of_perplexities():
    found = fluency(Judge(1.0, {"a b .": 1.5}), ["a b ."], ["c d .", "e ."])
    assert found["perplexity"]["value"] == pytest.approx(math.exp(1.5))
    assert found["perplexity_of_real"]["value"] == pytest.approx(math.e)
    assert found["ratio"]["value"] == pytest.approx(math.exp(0.5))


def test_an_autoencoder_cannot_judge():
    with pytest.raises(UsageError, match="language model"):
        judges.checked(Codec(LINES))


def test_words_side_by_side():
    assert repeats("He saw the The dog.") == {"the"}
    assert repeats("the the.") == {"the"}
    assert repeats("No, no, it is theirs their way, the theme") == set()
    assert repeats("don't don't") == {"don't"}


class Walker(Codec):
    """Its ways between two texts are told beforehand."""

    def blend(self, *texts, steps=7, noise=None, **_):
        middle = self.middle if texts == self.bad else [texts[0]] * (steps - 2)
        return [Scored(text, 0.0, 1, 0.0) for text in (texts[0], *middle, texts[1])]


def test_broken_ways_by_hand():
    pairs, others = fixed_pairs(LINES, 10)
    assert len(pairs) == 10
    assert not set(others) & {text for pair in pairs for text in pair}
    model = Walker(LINES)
    model.bad, model.middle = pairs[0], ["a b", "a b", "the the end", "c d", "e f"]
    found = interpolate(model, LINES, Judge(1.0, {"e f": 9.0}), pairs=10)
    assert (
        found["paths_without_a_broken_step"]["value"] == found["inner_paths_without_a_broken_step"]["value"] == 0.9
    )  # nine of ten ways
    assert found["broken_steps"]["value"] == pytest.approx(2 / 70)  # "the the end" repeats, "e f" surprises
    assert found["broken_by_step"] == pytest.approx([0, 0, 0, 0.1, 0, 0.1, 0])
    assert found["repeating_steps"]["value"] == pytest.approx(1 / 70)
    assert found["different_sentences"]["value"] == pytest.approx((6 + 9 * 2) / 10)
    assert found["stuck_steps"]["value"] == pytest.approx((1 + 9 * 5) / 60)
    model.middle[4] = "c d"
    only = interpolate(model, LINES, Judge(1.0), pairs=10)
    assert only["paths_without_a_broken_step"]["value"] == 0.9
    assert "paths_without_a_broken_step" not in interpolate(model, LINES, pairs=10)


def test_a_repetition_of_the_ends_is_no_fault():
    lines = [f"{who} had had a long day ." for who in ("We", "You", "They", "Both")]
    model = Walker(lines)
    model.bad, model.middle = tuple(fixed_pairs(lines, 1)[0][0]), ["They had had tea ."] * 5
    assert interpolate(model, lines, pairs=1)["repeating_steps"]["value"] == 0


def test_likeness_along_a_way():
    found = describe([["a b", "a c", "d c"]])["likeness"]
    assert [found[f"step {i}"]["to the first"]["value"] for i in (1, 2, 3)] == [1, 0.5, 0]
    assert [found[f"step {i}"]["to the last"]["value"] for i in (1, 2, 3)] == [0, 0.5, 1]


# ---- mixture and round trip ----


def test_purity_by_hand():
    # component 0: he he she → 2 of 3; component 1: they they → 2 of 2; in all 4 of 5
    assert purity([0, 0, 0, 1, 1], ["he", "he", "she", "they", "they"]).mean() == pytest.approx(0.8)


def test_two_clouds_are_likelier_and_purer_with_two_components():
    random = np.random.default_rng(0)
    sides = random.integers(0, 2, 400)
    z = (random.normal(size=(400, 2)) + 20 * sides[:, None]).astype(np.float32)
    texts = [("He" if side else "they") + " ran ." for side in sides]
    found = likelihood(z, texts, components=2)
    assert (found["fitted_to"], found["held_out"]) == (320, 80)
    one, two = found["covariances"]["1 diag"], found["covariances"]["2 diag"]
    assert two["log_likelihood"]["value"] > one["log_likelihood"]["value"] + 1
    assert two["first_word_purity"]["value"] == 1 > one["first_word_purity"]["value"]
    # unit normals, half each: -ln(2π) - 1 - ln 2, within the noise of 80 sentences
    assert two["log_likelihood"]["value"] == pytest.approx(-math.log(2 * math.pi) - 1 - math.log(2), abs=0.3)
    with pytest.raises(LexigraphError, match="give more texts"):
        likelihood(z[:2], texts[:2])


def test_copies_look_at_letters_only():
    found = copies(["She sang .", "She sang!", "He sang ."], iter(["Who?", "SHE  sang"]))
    assert found.tolist() == [1, 1, 0]


def test_variety_by_hand():
    found = variety(["a b", "a b", "a c"])
    assert found["distinct-1"]["value"] == pytest.approx(3 / 6)
    assert found["distinct-2"]["value"] == pytest.approx(2 / 3)
    assert found["distinct-3"]["value"] == 0
    assert found["unique"]["value"] == pytest.approx(1 / 3)


def test_samples_beside_real_sentences():
    model = Codec(LINES)
    z = model.encode(LINES)
    point = Mixture(np.ones(1), z[:1].astype(np.float64), np.full((1, 32), 1e-3))
    found = sampled(model, point, LINES, Judge(2.0), [LINES[0]], count=25)
    assert found["ratio"]["value"] == pytest.approx(1)
    assert found["copies"]["value"] == 1
    assert found["variety"]["samples"]["unique"]["value"] == 0  # always the same sentence
    assert found["variety"]["real"]["unique"]["value"] == 1


def test_a_round_trip_of_known_vectors_comes_back():
    model = Codec(LINES)
    z = model.encode(LINES[:10])
    assert round_trip(model, z, 0.0)["cosine"]["value"] == pytest.approx(1)
    assert round_trip(model, 3 * z, 0.0)["cosine"]["value"] == pytest.approx(1)
    assert round_trip(Codec([*LINES, "no"], context=3), z[:0], 0.0)["cosine"]["value"] is None
    turned = np.array([[0.0, 1.0]], np.float32)
    flat = Codec(LINES, latent=2)
    flat.known[LINES[0]] = np.array([1.0, 0.0], np.float32)
    assert round_trip(flat, turned, 0.0)["cosine"]["value"] == pytest.approx(0)
