"""Tokenizers: exact round trips, hand-worked merges, exact sampling distributions, the same file every time."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import math
import os
import pickle
import random
import subprocess
import sys
import tracemalloc
import unicodedata
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError
from lexigraph.text import unigram
from lexigraph.text.tokenizer import KINDS, Tokenizer

EXACT = ("char", "bpe", "sentencepiece")  # white space comes back
ODD = "the <eos> is no end, <pad> no padding, <0x41> no byte; \t  two  spaces \n\n  and lines\n"


def some_text(lines: int = 1500, seed: int = 1) -> list[str]:
    """Lines of made-up words: stems and endings, frequent and rare by Zipf's law, with signs and numbers."""
    rng = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "ou")]
    stems = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(600)]
    weights = [1 / rank for rank in range(1, len(stems) + 1)]
    result = []
    for _ in range(lines):
        words = [stem + rng.choice(("", "", "s", "ing", "ed")) for stem in rng.choices(stems, weights, k=12)]
        words[5] += rng.choice((",", "", " –", f" {rng.randint(1, 2000)}"))
        result.append(" ".join(words).capitalize() + rng.choice(".?!") + "\n")
    return result


TEXT = some_text()


@pytest.fixture(scope="module")
def trained() -> dict[str, Tokenizer]:
    return {kind: Tokenizer.train(iter(TEXT), kind=kind, size=700) for kind in KINDS}


# --- what the vocabulary is -----------------------------------------------------------------------------------


def test_bpe_merges_of_the_classic_example():
    words = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
    tok = Tokenizer.train(iter(words), kind="bpe", size=3 + 256 + 7)
    # e s (9), es t (9), l o (7), lo w (7), then at 6 the smallest first: e w, n ew, new est
    assert tok.tokens(range(259, 266)) == ["es", "est", "lo", "low", "ew", "new", "newest"]
    assert tok.tokens(tok.encode("lowest")) == ["low", "est"]


def test_wordpiece_begins_with_another_merge_than_bpe():
    words = ["qu"] * 15 + ["an"] * 20 + ["at"] * 20 + ["nt"] * 20  # scores worked out in test_wordpiece
    assert Tokenizer.train(iter(words), kind="bpe", size=260).token_of(259) == "an"
    assert Tokenizer.train(iter(words), kind="wordpiece", size=3 + 6 + 1).token_of(9) == "qu"


def test_words_are_ranked_by_count_then_alphabet():
    tok = Tokenizer.train(iter(["b a c", "c b", "c zz"]), kind="word", size=6)
    assert [tok.token_of(i) for i in range(len(tok))] == ["<pad>", "<unk>", "<eos>", "c", "b", "a"]
    assert tok.decode(tok.encode("c\t zz  a\n")) == "c <unk> a"
    rare = Tokenizer.train(iter(["b a c", "c b", "c zz"]), kind="word", min_count=2)
    assert len(rare) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_come_first_in_every_kind(kind):
    tok = Tokenizer.train(iter(TEXT[:200]), kind=kind, size=500, special=("<mask>", "[CLS]", "__de__"))
    assert (tok.pad, tok.unk, tok.eos) == (0, 1, 2)
    assert list(tok.special) == ["<pad>", "<unk>", "<eos>", "<mask>", "[CLS]", "__de__"]
    assert [tok.id_of(name) for name in tok.special] == list(range(6))
    assert len(tok) == tok.size <= 500
    assert tok.keeps_whitespace == (kind in EXACT)
    ids = tok.encode(TEXT[0])
    assert tok.decode([tok.eos, *ids, 4, tok.eos, tok.pad]) == tok.decode(ids)
    assert not {0, 2, 3, 4, 5} & set(ids)
    assert tok.tokens([2]) == ["<eos>"]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "sentencepiece"])
def test_special_tokens_in_a_text_are_text(kind):
    # "<" is not even in the training text of these
    tok = Tokenizer.train(iter(TEXT[:200]), kind=kind, size=500, special=("<mask>",))
    text = "<mask> <eos> <pad>ra" if kind == "unigram" else "<mask> <eos> <pad>ra <0x41>"
    ids = tok.encode(text)
    assert min(ids) >= len(tok.special)
    assert tok.decode(ids) == text


def test_the_word_unk_is_unknown_and_other_special_words_too():
    tok = Tokenizer.train(iter(["the <unk> of <eos> N"]), kind="word")
    assert tok.encode("the <unk> of <eos> <pad>") == [tok.id_of("the"), tok.unk, tok.id_of("of"), tok.unk, tok.unk]
    assert tok.decode(tok.encode("the <unk> of N")) == "the <unk> of N"


def test_unseen_characters_are_unknown_in_char_and_bytes_in_sentencepiece(trained):
    assert trained["char"].encode("ae語") == [*trained["char"].encode("ae"), trained["char"].unk]
    assert trained["char"].decode(trained["char"].encode("a語e")) == "ae"
    assert trained["sentencepiece"].tokens(trained["sentencepiece"].encode("語"))[1:] == [
        "<0xE8>",
        "<0xAA>",
        "<0x9E>",
    ]


def test_char_sees_the_whole_source_even_beyond_the_sample():
    tok = Tokenizer.train((f"{'abc' * 50}{'ž' if i == 4999 else ''}" for i in range(5000)), "char", sample_chars=1000)
    assert tok.decode(tok.encode("až")) == "až"
    assert Tokenizer.train(iter(["aab"]), kind="char", size=4).encode("ab") == [3, 1]


def test_lower_case():
    for kind in KINDS:
        tok = Tokenizer.train(iter(["A Bee A Bee ÉA"] * 5), kind=kind, size=400, lower=True)
        assert tok.decode(tok.encode("A BEE éA")) == "a bee éa"


@pytest.fixture(scope="module")
def marked() -> Tokenizer:
    return Tokenizer.train(iter([*TEXT, *["Sing, bird. The bird may sing, or McBird.\n"] * 50]), kind="bpe", size=700,
                           marked_capitals=True)  # fmt: skip


def test_with_marked_capitals_a_word_has_the_same_tokens_everywhere(marked):
    assert marked.tokens(marked.encode("Sing, bird.")) == ["⇧", " sing", ",", " bird", "."]
    assert marked.tokens(marked.encode("The bird may sing.")) == ["⇧", " the", " bird", " may", " sing", "."]
    assert marked.tokens(marked.encode("McBird"))[-2:] == ["⇧", "bird"]


@given(text=st.text(st.one_of(st.characters(exclude_categories=("Cs",), exclude_characters="\x0e"),
                              st.sampled_from("AZaz  É'\n"))))  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_with_marked_capitals_any_text_comes_back(marked, text):
    assert marked.decode(marked.encode(text)) == text
    assert marked.decode(marked.encode(text, dropout=0.5, seed=len(text))) == text


def test_marked_capitals_are_in_the_file_that_others_read(marked, tmp_path):
    theirs = tokenizers.Tokenizer.from_file(str(marked.save(tmp_path / "marked.json")))
    text = "Sing to McBird, Étienne."
    assert theirs.encode(text).ids == marked.encode(text)
    assert theirs.decode(theirs.encode(text).ids) == text


def test_a_mark_without_a_letter_is_not_written(marked):
    mark = marked.id_of("\x0e")
    assert marked.decode([mark, marked.id_of(","), mark]) == ","


@pytest.mark.parametrize("settings", [{"kind": "word"}, {"kind": "bpe", "lower": True}])
def test_capitals_that_are_not_kept_cannot_be_marked(settings):
    with pytest.raises(LexigraphError, match="Capitals are marked in kind 'bpe'"):
        Tokenizer.train(iter(TEXT), size=700, marked_capitals=True, **settings)


# --- there and back -------------------------------------------------------------------------------------------


@given(text=st.text())
@settings(max_examples=300, deadline=None)
def test_bytes_bring_any_text_back(trained, text):
    tok = trained["bpe"]
    assert tok.decode(tok.encode(text)) == text
    assert tok.decode(tok.encode(text, dropout=0.5, seed=len(text))) == text


assigned = st.characters(max_codepoint=0xFFFF, exclude_categories=("Cs", "Cn", "Co"), exclude_characters="▁")


@given(text=st.text(st.one_of(assigned, st.sampled_from(" \n\t<>ae"))))
@settings(max_examples=300, deadline=None)
def test_sentencepiece_brings_normalised_text_back(trained, text):
    tok = trained["sentencepiece"]
    assert tok.decode(tok.encode(text)) == unicodedata.normalize("NFKC", text)
    assert tok.decode(tok.encode(text, alpha=0.3, seed=len(text))) == unicodedata.normalize("NFKC", text)


@given(text=st.text("".join(sorted(set("".join(TEXT))))))
@settings(max_examples=50, deadline=None)
def test_char_brings_seen_characters_back(trained, text):
    assert trained["char"].decode(trained["char"].encode(text)) == text


@pytest.mark.parametrize(
    "text", ["", " ", "  a  ", "a\r\nb\r", "\0", "naïve café 🙂", ODD, "▁", "\ufeffx", "e\u0301"]
)
def test_awkward_texts(trained, text):
    assert trained["bpe"].decode(trained["bpe"].encode(text)) == text


def test_lines_encoded_one_by_one_are_the_text_encoded_at_once(trained):
    for kind in EXACT:
        flat, _ = trained[kind].encode_flat(TEXT[:50])
        assert flat.tolist() == trained[kind].encode("".join(TEXT[:50]))
        assert trained[kind].decode(flat) == "".join(TEXT[:50])


def test_unigram_keeps_words_and_signs_but_not_runs_of_spaces(trained):
    assert trained["unigram"].decode(trained["unigram"].encode("  Ra,  ba!\n")) == "Ra, ba!"


def test_batches_agree_with_single_texts(trained):
    texts = [*TEXT[:20], "", ODD]
    for tok in trained.values():
        single = [tok.encode(text) for text in texts]
        flat, lengths = tok.encode_flat(texts)
        assert (flat.dtype, lengths.tolist()) == (np.uint32, [len(ids) for ids in single])
        assert [ids.tolist() for ids in tok.encode_batch(texts)] == single
        assert tok.decode_batch(single) == [tok.decode(ids) for ids in single]
        assert tok.encode_batch([]) == []


def test_tokens_of_bpe_are_readable(trained):
    tok = trained["bpe"]
    assert tok.tokens(tok.encode("é mer")) == ["\\xc3", "\\xa9", " mer"]
    assert tok.id_of(" mer") == tok.id_of("Ġmer")


# --- dropout and sampling -------------------------------------------------------------------------------------


def test_merging_without_dropping_any_equals_the_plain_encoding(trained):
    tok = trained["bpe"]
    for text in [*TEXT[:200], ODD, "aaaaaaa", "🙂🙂"]:
        assert tok.encode(text, dropout=1e-300) == tok.encode(text)
    assert tok.encode("ba") == tok.encode("ba", dropout=0.0, seed=5)
    assert tok.tokens(tok.encode("bad", dropout=1.0)) == ["b", "a", "d"]


def test_the_likeliest_sample_is_the_plain_encoding(trained):
    for kind in ("unigram", "sentencepiece"):
        for text in [*TEXT[:200], "語 語a語語", ODD]:
            assert trained[kind].encode(text, alpha=1e5) == trained[kind].encode(text)


def test_samples_follow_their_seed(trained):
    for kind, setting in (("bpe", {"dropout": 0.3}), ("unigram", {"alpha": 0.2}), ("sentencepiece", {"alpha": 0.2})):
        draws = [tuple(trained[kind].encode(TEXT[0], seed=seed, **setting)) for seed in (7, 7, 8)]
        assert draws[0] == draws[1] != draws[2]


def close(counts: Counter, exact: dict, draws: int) -> bool:
    """Every frequency within 4.5 standard deviations of its probability, and nothing else was drawn."""
    return set(counts) <= set(exact) and all(
        abs(counts[way] - draws * p) < 4.5 * math.sqrt(draws * p * (1 - p)) + 1e-9 for way, p in exact.items()
    )


def test_dropout_has_the_exact_distribution():
    # merges in order: a b (15), ab c (10), b c (3)
    tok = Tokenizer.train(iter(["abc"] * 10 + ["ab"] * 5 + ["bc"] * 3), kind="bpe", size=262)
    assert tok.tokens(range(259, 262)) == ["ab", "abc", "bc"]
    p, q, draws = 0.3, 0.7, 4000
    exact = {("abc",): q * q, ("ab", "c"): q * p, ("a", "bc"): p * q, ("a", "b", "c"): p * p}
    counts = Counter(tuple(tok.tokens(tok.encode("abc", dropout=p, seed=seed))) for seed in range(draws))
    assert close(counts, exact, draws)


def ways(word: str, scores: dict[str, float]) -> dict[tuple[str, ...], float]:
    """All segmentations of a word with their log-probabilities, by brute force."""
    found = {}
    for mask in range(2 ** (len(word) - 1)):
        cuts = [0, *(i + 1 for i in range(len(word) - 1) if mask >> i & 1), len(word)]
        pieces = tuple(word[a:b] for a, b in pairwise(cuts))
        if all(piece in scores for piece in pieces):
            found[pieces] = sum(scores[piece] for piece in pieces)
    return found


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0])
def test_unigram_sampling_has_the_exact_distribution(alpha):
    scores = {"a": -2.0, "b": -3.0, "ab": -2.5, "ba": -4.0, "aba": -4.5, "bab": -3.5, "abab": -9.0}
    weight = {way: math.exp(alpha * score) for way, score in ways("abab", scores).items()}
    exact = {way: w / sum(weight.values()) for way, w in weight.items()}
    rng = random.Random(5)
    counts = Counter(tuple(unigram.sample("abab", scores, alpha, rng)) for _ in range(8000))
    assert len(exact) == 9 - 1  # all but those with pieces that are not there
    assert close(counts, exact, 8000)


# --- the unigram model ----------------------------------------------------------------------------------------


def test_expected_counts_are_those_of_all_segmentations():
    pieces = ["a", "ab", "aba", "b", "ba"]
    scores = dict(zip(pieces, [-1.5, -2.0, -3.5, -1.7, -2.2], strict=True))
    texts, weight = ["a", "abab", "bab"], np.array([2.0, 3.0, 5.0])
    expected = Counter()
    for text, count in zip(texts, weight, strict=True):
        found = {way: math.exp(score) for way, score in ways(text, scores).items()}
        for way, p in found.items():
            for piece in way:
                expected[piece] += count * p / sum(found.values())
    lattice = unigram.Lattice(texts, pieces)
    values = np.array([scores[piece] for piece in pieces])
    np.testing.assert_allclose(lattice.expected_counts(values, weight), [expected[p] for p in pieces], rtol=1e-12)
    best = [max(ways(text, scores).values()) for text in texts]
    np.testing.assert_allclose(lattice.best(values), best, rtol=1e-12)


def test_pruning_keeps_what_the_likelihood_needs_most():
    words = {"▁lighthouse": 50, "▁keeper": 40, "▁keel": 3, "▁rare": 2}
    alphabet = set("".join(words))
    learned = unigram.learn_pieces(words, size=len(alphabet) + 2, alphabet=alphabet)
    assert {piece for piece, _ in learned} == alphabet | {"▁lighthouse", "▁keeper"}
    assert [piece for piece, _ in learned[:2]] == ["▁lighthouse", "▁keeper"]


def test_as_short_and_as_likely_as_the_sentencepiece_library():
    library = pytest.importorskip("sentencepiece")
    size, model = 600, io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=map(str.strip, TEXT), model_writer=model, vocab_size=size, byte_fallback=True, minloglevel=2
    )
    peer = library.SentencePieceProcessor(model_proto=model.getvalue())
    tok = Tokenizer.train(iter(TEXT), kind="sentencepiece", size=size)
    theirs = [i for line in TEXT for i in peer.encode(line.strip())]
    ours = tok.encode_flat([line.strip() for line in TEXT])[0]
    assert len(ours) < 1.03 * len(theirs)
    scores = np.array([score for _, score in tok._content["model"]["vocab"]])
    assert -scores[ours].sum() < 1.03 * -sum(map(peer.get_score, theirs))
    assert len(tok) == size


# --- the same every time --------------------------------------------------------------------------------------

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_tokenizer import KINDS, TEXT, Tokenizer
for kind in KINDS:
    print(kind, Tokenizer.train(iter(TEXT[:600]), kind=kind, size=600).save(f"{sys.argv[2]}/{kind}.json").name)
"""


def test_training_gives_the_same_bytes_in_every_process(tmp_path):
    for run, (hash_seed, threads) in enumerate([("1", "1"), ("2", "4")]):
        (tmp_path / str(run)).mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "RAYON_NUM_THREADS": threads}
        here = os.path.dirname(__file__)
        subprocess.run(
            [sys.executable, "-c", PROGRAM, here, str(tmp_path / str(run))],
            env=environment, check=True, capture_output=True, timeout=120,
        )  # fmt: skip
    for kind in KINDS:
        first, second = ((tmp_path / str(run) / f"{kind}.json").read_bytes() for run in range(2))
        assert first == second, kind


def test_the_sample_is_spread_out_and_memory_bounded():
    def long_text():
        for i in range(20_000):
            yield f"part{i // 4000} some more words to fill the line {i % 7}\n"

    tracemalloc.start()
    tok = Tokenizer.train(long_text(), kind="word", sample_chars=10_000, seed=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000  # of 900,000 characters
    assert {f"part{i}" for i in range(5)} <= set(tok.tokens(range(len(tok))))
    again = Tokenizer.train(long_text(), kind="word", sample_chars=10_000, seed=3)
    other = Tokenizer.train(long_text(), kind="word", sample_chars=10_000, seed=4)
    assert tok.fingerprint == again.fingerprint != other.fingerprint


# --- files ----------------------------------------------------------------------------------------------------


def test_files_plain_and_compressed_and_texts_are_the_same_source(tmp_path):
    data = "".join(TEXT[:300])
    (tmp_path / "a.txt").write_text(data)
    (tmp_path / "a.gz").write_bytes(gzip.compress(data.encode()))
    (tmp_path / "a.xz").write_bytes(lzma.compress(data.encode()))
    sources = [[str(tmp_path / "a.txt")], tmp_path / "a.gz", [tmp_path / "a.xz"], iter([data]), data.splitlines(True)]
    assert len({Tokenizer.train(source, size=400).fingerprint for source in sources}) == 1


def test_saved_files_are_read_back_by_us_and_by_hugging_face(trained, tmp_path):
    for kind, tok in trained.items():
        path = tok.save(tmp_path / f"{kind}.json")
        loaded = Tokenizer.load(path)
        assert (loaded.kind, loaded.special, loaded.size) == (tok.kind, tok.special, tok.size)
        assert loaded.fingerprint == tok.fingerprint
        assert len(tok.fingerprint) == 16
        assert pickle.loads(pickle.dumps(tok)).encode(TEXT[0]) == tok.encode(TEXT[0])  # data loaders send it about
        theirs = tokenizers.Tokenizer.from_file(str(path))
        for text in [*TEXT[:30], "語 a", "Two  spaces"]:
            assert loaded.encode(text) == tok.encode(text) == theirs.encode(text).ids
    assert len({tok.fingerprint for tok in trained.values()}) == len(KINDS)
    assert Tokenizer.load(trained["bpe"].save(tmp_path).parent).kind == "bpe"  # a folder means its tokenizer.json
    assert sorted(os.listdir(tmp_path)) == sorted([*(f"{kind}.json" for kind in KINDS), "tokenizer.json"])


def test_a_bad_file_is_named_and_explained(trained, tmp_path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(LexigraphError, match=r"no tokenizer file .*tokenizer\.json"):
        Tokenizer.load(path)
    trained["bpe"].save(path)
    whole = path.read_text()
    content = json.loads(whole)
    foreign = {**content, "model": {k: v for k, v in content["model"].items() if k != "lexigraph"}}
    newer = {**content, "model": {**content["model"], "lexigraph": {"format": 99}}}
    broken = {**content, "model": {**content["model"], "merges": [["no such", "pieces"]]}}
    for text, message in [
        (whole[: len(whole) // 2], "damaged"),
        ("[1, 2]", "not written by Lexigraph"),
        (json.dumps(foreign), "not written by Lexigraph"),
        (json.dumps(newer), "format 99"),
        (json.dumps(broken), "damaged"),
    ]:
        path.write_text(text)
        with pytest.raises(LexigraphError, match=message):
            Tokenizer.load(path)
        assert path.read_text() == text


# --- requests that cannot be met ------------------------------------------------------------------------------


def test_an_unknown_kind_names_the_nearest():
    with pytest.raises(LexigraphError, match="did you mean 'sentencepiece'"):
        Tokenizer.train(iter(TEXT), kind="sentence-piece")


@pytest.mark.parametrize(("kind", "size"), [("bpe", 258), ("char", 3), ("sentencepiece", 259), ("unigram", 20)])
def test_a_size_too_small_is_refused(kind, size):
    with pytest.raises(LexigraphError, match="too small"):
        Tokenizer.train(iter(TEXT), kind=kind, size=size)


def test_the_smallest_bpe_is_bytes():
    tok = Tokenizer.train(iter(TEXT), kind="bpe", size=259)
    assert len(tok.encode("naïve")) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_refused(kind):
    with pytest.raises(LexigraphError, match="holds no text"):
        Tokenizer.train(iter([""]), kind=kind)


def test_a_missing_file_is_not_taken_for_text(tmp_path):
    for source in (["nothing_here.txt"], "nothing_here", tmp_path / "nothing_here"):
        with pytest.raises(LexigraphError, match="nothing_here"):
            Tokenizer.train(source)


@pytest.mark.parametrize("name", ["mask", "<a b>", "<eos>", "<>", "<0x41>"])
def test_special_names_that_text_could_produce_are_refused(name):
    with pytest.raises(LexigraphError, match="special token"):
        Tokenizer.train(iter(TEXT), special=[name])


@pytest.mark.parametrize("kind", KINDS)
def test_lone_surrogates_are_refused_with_their_place(trained, kind):
    with pytest.raises(LexigraphError, match="Character 2 "):
        trained[kind].encode("ab\ud800c")
    lower = Tokenizer.train(iter(TEXT[:100]), kind=kind, size=400, lower=True)
    with pytest.raises(LexigraphError, match="Character 2 "):
        lower.encode_flat(["fine", "ab\ud800c"])
    with pytest.raises(LexigraphError, match="Character 2 "):
        Tokenizer.train(iter(["ab\ud800c"]), kind=kind)


def test_wrong_requests_to_a_trained_tokenizer(trained):
    with pytest.raises(LexigraphError, match="no token 700"):
        trained["bpe"].decode([3, 700])
    with pytest.raises(LexigraphError, match="not in this vocabulary"):
        trained["word"].id_of("zebra")
    with pytest.raises(LexigraphError, match="kind 'bpe'"):
        trained["word"].encode("a", dropout=0.1)
    with pytest.raises(LexigraphError, match="unigram"):
        trained["bpe"].encode("a", alpha=0.1)
    with pytest.raises(LexigraphError, match="at least 0"):
        trained["unigram"].encode("a", alpha=-1.0)
