"""word2vec and fastText: gradients, trees, tables, and what training promises."""

import itertools

import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import constructions
from lexigraph.words import kernels, recipe, word2vec
from lexigraph.words.checkpoint import Checkpoint
from lexigraph.words.corpus import Corpus
from lexigraph.words.settings import Settings
from lexigraph.words.vectors import WordVectors

DIM, RATE = 5, 1e-3
CODES = {
    (5, 2, 1, 1): ["0", "10", "110", "111"],
    (3, 3, 2, 2): ["00", "01", "10", "11"],
    (8, 4, 2, 1): ["0", "10", "110", "111"],
}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    file = tmp_path_factory.mktemp("words") / "text.txt"
    file.write_text("\n".join(constructions.sentences(4000)) + "\n")
    return file


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_pass(kernel, v, u, ids, negative, *, alias=None, tree=word2vec.NO_TREE, of=None, parts=None, rate=RATE):
    """A pass with window 1 and nothing skipped; returns the tables after it and the sums."""
    words = len(of) - 1 if of is not None else len(v)
    of = np.arange(words + 1) if of is None else of
    parts = np.arange(words, dtype=np.int32) if parts is None else parts
    tables = []
    for values in (v, u):
        tables.append(word2vec.table(len(values), DIM))
        tables[-1][:, :DIM] = values
    sums = np.zeros(3)
    keep = np.full(words, 2**32 - 1, np.uint32)
    alias = word2vec.alias_table(np.ones(words)) if alias is None else alias
    v_table, u_table = (table.reshape(-1) for table in tables)
    kernel(v_table, u_table, tables[0].shape[1], np.array(ids, np.int32), of, parts, 1, negative, np.float32(rate),
           keep, alias, *tree, *kernels.logistic_tables(), np.uint64(7), sums)  # fmt: skip
    return tables[0][:, :DIM], tables[1][:, :DIM], sums


def numerical_gradient(loss, values, epsilon=1e-5):
    gradient = np.zeros_like(values)
    for place in itertools.product(*map(range, values.shape)):
        moved = []
        for sign in (1, -1):
            values[place] += sign * epsilon
            moved.append(loss())
            values[place] -= sign * epsilon
        gradient[place] = (moved[0] - moved[1]) / (2 * epsilon)
    return gradient


def random_tables(rows=4, columns=4, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(rows, DIM)), random.normal(size=(columns, DIM))


def log_likelihood(name, v, u, pairs, tree, of=None, parts=None):
    """Σ log P(o | h) over (rows behind h, o), by the definitions."""
    total = 0.0
    for behind, o in pairs:
        h = v[behind].mean(0)
        if name == "softmax":
            scores = u @ h
            total += scores[o] - np.log(np.exp(scores).sum())
        else:
            starts, nodes, labels = tree
            for place in range(starts[o], starts[o + 1]):
                sign = 1 if labels[place] else -1
                total += np.log(sigmoid(sign * (u[nodes[place]] @ h)))
    return total


@pytest.mark.parametrize("name", ["softmax", "hierarchical"])
@pytest.mark.parametrize("kernel", [kernels.skipgram, kernels.cbow], ids=["skipgram", "cbow"])
def test_a_step_is_the_rate_times_the_gradient(name, kernel):
    counts = np.array([9, 4, 3, 1])
    tree = word2vec.huffman(counts) if name == "hierarchical" else word2vec.NO_TREE
    v, u = random_tables(4, 4 if name == "softmax" else 3)
    ids = [2, 0, -1]  # each word is the other's only context
    pairs = [([2], 0), ([0], 2)]
    wanted = [numerical_gradient(lambda: log_likelihood(name, v, u, pairs, tree), values) for values in (v, u)]
    new_v, new_u, sums = one_pass(kernel, v, u, ids, {"softmax": -1, "hierarchical": 0}[name], tree=tree)
    tolerance = 5e-3 if name == "softmax" else 2e-2  # σ comes from a table of 1024 cells
    assert np.allclose((new_v - v) / RATE, wanted[0], atol=tolerance)
    assert np.allclose((new_u - u) / RATE, wanted[1], atol=tolerance)
    assert sums.tolist()[1:] == [2, 2]
    assert sums[0] == pytest.approx(-log_likelihood(name, v, u, pairs, tree), abs=1e-2)


def test_negative_sampling_steps_by_the_gradient_of_its_own_objective():
    v, u = random_tables()
    only = np.array([0, 0, 0, 1.0])  # every word drawn is word 3
    new_v, new_u, sums = one_pass(kernels.skipgram, v, u, [2, 0, -1], 2, alias=word2vec.alias_table(only + 1e-12))

    def objective():
        return sum(np.log(sigmoid(u[o] @ v[w])) + 2 * np.log(sigmoid(-(u[3] @ v[w]))) for w, o in ((2, 0), (0, 2)))

    assert np.allclose((new_v - v) / RATE, numerical_gradient(objective, v), atol=2e-2)
    assert np.allclose((new_u - u) / RATE, numerical_gradient(objective, u), atol=2e-2)
    assert sums[0] == pytest.approx(-objective(), abs=2e-2)


def test_the_softmax_gradient_is_observed_minus_expected():
    v, u = random_tables(4, 4)
    _, new_u, _ = one_pass(kernels.skipgram, v, u, [1, 3, -1], -1)
    step = np.zeros_like(u)
    for w, o in ((1, 3), (3, 1)):
        expected = np.exp(u @ v[w]) / np.exp(u @ v[w]).sum()
        step += np.outer(np.eye(4)[o] - expected, v[w])
    assert np.allclose((new_u - u) / RATE, step, atol=5e-3)


def test_all_rows_of_a_word_with_n_grams_take_the_step_of_their_mean():
    v, u = random_tables(6, 2)
    of, parts = np.array([0, 3, 5]), np.array([0, 2, 3, 1, 4], np.int32)  # row 5 belongs to no word
    new_v, _, _ = one_pass(kernels.skipgram, v, u, [0, 1, -1], -1, of=of, parts=parts)
    for rows, o in (([0, 2, 3], 1), ([1, 4], 0)):
        h = v[rows].mean(0)
        expected = np.exp(u @ h) / np.exp(u @ h).sum()
        for row in rows:
            assert np.allclose((new_v - v)[row] / RATE, u[o] - expected @ u, atol=1e-2)
    assert np.array_equal(new_v[5], v[5].astype(np.float32))


@pytest.mark.parametrize("counts", CODES)
def test_huffman_codes_by_hand(counts):
    starts, _, labels = word2vec.huffman(np.array(counts))
    codes = ["".join("0" if label else "1" for label in labels[a:b]) for a, b in itertools.pairwise(starts)]
    assert sorted(map(len, codes)) == sorted(map(len, CODES[counts]))
    assert sum(2.0 ** -len(code) for code in codes) == 1
    assert not any(a != b and b.startswith(a) for a in codes for b in codes)
    assert [len(code) for code in codes] == sorted(map(len, codes))  # no frequent word has a longer code


def test_hierarchical_probabilities_sum_to_one():
    random = np.random.default_rng(0)
    counts = np.sort(random.integers(1, 1000, 300))[::-1]
    starts, nodes, labels = word2vec.huffman(counts)
    u, h = random.normal(size=(299, 8)), random.normal(size=8)
    p = sigmoid(u @ h)
    steps = np.where(labels > 0, p[nodes], 1 - p[nodes])
    assert sum(steps[a:b].prod() for a, b in itertools.pairwise(starts)) == pytest.approx(1)
    depth = np.diff(starts)
    entropy = -(counts / counts.sum() * np.log2(counts / counts.sum())).sum()
    assert entropy <= (counts * depth).sum() / counts.sum() < entropy + 1  # Huffman's bound


def test_the_alias_table_holds_the_distribution():
    weights = np.random.default_rng(0).random(1000) ** 4
    cells = word2vec.alias_table(weights)
    own = (cells >> np.uint64(32)).astype(float) / 2**32
    share = own.copy()
    np.add.at(share, (cells & np.uint64(0xFFFFFFFF)).astype(int), 1 - own)
    assert np.allclose(share / 1000, weights / weights.sum(), atol=1e-8)


def test_fasttext_is_trained_as_published():
    """Bojanowski et al. 2017, sections 4.2 and 4.3, and the defaults of their program."""
    published = {
        "negative": 5, "ns_exponent": 0.5, "sample": 1e-4, "alpha": 0.05, "window": 5, "epochs": 5, "min_count": 5,
        "minn": 3, "maxn": 6, "buckets": 2_000_000,
    }  # fmt: skip
    for settings in (Settings(method="fasttext").resolved(), recipe.read("fasttext").words):
        assert {name: getattr(settings, name) for name in published} == published
    cbow = Settings(method="fasttext-cbow").resolved()
    assert (cbow.ns_exponent, cbow.sample, cbow.alpha) == (0.5, 1e-4, 0.05)
    word2vecs = Settings(method="skipgram").resolved()
    assert (word2vecs.ns_exponent, word2vecs.sample) == (0.75, 1e-3)  # Mikolov et al. 2013 and their program
    asked = Settings(method="fasttext", ns_exponent=0, sample=0).resolved()
    assert (asked.ns_exponent, asked.sample) == (0, 0)  # uniform, and never


@pytest.mark.parametrize(
    ("method", "given", "power"),
    [("skipgram", {}, 0.75), ("fasttext", {}, 0.5), ("fasttext", {"ns_exponent": 0.75}, 0.75)],
)
def test_negatives_are_drawn_by_a_power_of_their_counts(text, monkeypatch, method, given, power):
    drawn = []

    def alias_table(weights, made=word2vec.alias_table):
        drawn.append(weights / weights.max())
        return made(weights)

    monkeypatch.setattr(word2vec, "alias_table", alias_table)
    wv = WordVectors.train(text, method, dim=4, epochs=1, min_count=2, threads=1, buckets=500, **given)
    assert np.allclose(drawn[0], (wv.counts / wv.counts.max()) ** power)


def test_frequent_words_are_kept_with_the_probability_of_word2vec():
    counts = np.array([900_000, 99_000, 1000])
    keep = word2vec._keep(counts, 1e-3) / (2**32 - 1)
    assert keep[0] == pytest.approx(np.sqrt(1e-3 / 0.9) + 1e-3 / 0.9)
    assert keep[2] == pytest.approx(1)
    assert np.all(word2vec._keep(counts, 0) == 2**32 - 1)


@pytest.mark.parametrize("method", ["skipgram", "cbow", "fasttext", "fasttext-cbow"])
@pytest.mark.parametrize("loss", ["negative", "hierarchical"])
def test_the_loss_falls_and_one_thread_gives_the_same_bits(text, method, loss):
    settings = {"dim": 20, "epochs": 3, "min_count": 2, "loss": loss, "sample": 0, "buckets": 1000}
    one = WordVectors.train(text, method, threads=1, seed=3, **settings)
    again = WordVectors.train(text, method, threads=1, seed=3, **settings)
    other = WordVectors.train(text, method, threads=1, seed=4, **settings)
    assert one.losses == sorted(one.losses, reverse=True)
    assert np.array_equal(one.vectors, again.vectors)
    assert not np.array_equal(one.vectors, other.vectors)
    assert np.isfinite(one.vectors).all()


@pytest.mark.parametrize("method", ["skipgram", "cbow"])
def test_vectors_are_gensims_where_nothing_is_left_to_chance(text, tmp_path, monkeypatch, method):
    """The same first vectors, tree and rate, no word skipped, only the next neighbours: nothing is drawn."""
    (file := tmp_path / "lower.txt").write_text(text.read_text().lower())  # both cut at white space
    theirs = pytest.importorskip("gensim.models").Word2Vec(
        vector_size=20, window=1, min_count=2, sample=0, negative=0, hs=1, sg=int(method == "skipgram"), workers=1,
        alpha=0.025, min_alpha=0.025,
    )  # fmt: skip
    theirs.build_vocab(corpus_file=str(file))
    first = {word: theirs.wv[word].copy() for word in theirs.wv.index_to_key}
    totals = {"total_words": theirs.corpus_total_words, "total_examples": theirs.corpus_count}
    theirs.train(corpus_file=str(file), epochs=5, **totals)
    with Corpus.read(file, 2, split="space") as corpus:
        points, codes = ([theirs.wv.get_vecattr(w, name) for w in corpus.words] for name in ("point", "code"))
        starts = np.cumsum([0, *map(len, points)])
        tree = starts, np.concatenate(points).astype(np.int32), 1 - np.concatenate(codes).astype(np.float32)
        monkeypatch.setattr(word2vec, "huffman", lambda counts: tree)  # words of the same count may change places
        monkeypatch.setattr(word2vec, "LAST_RATE", 1.0)  # it falls by pieces of text, which are not cut alike
        given = {"loss": "hierarchical", "dim": 20, "window": 1, "sample": 0, "epochs": 5, "alpha": 0.025}
        begin = np.stack([first[word] for word in corpus.words])
        settings = Settings(method=method, threads=1, **given).resolved()
        ours = word2vec.fit(corpus, settings, start=begin).vectors()
        other = np.stack([theirs.wv[word] for word in corpus.words])
    apart = np.linalg.norm(ours - other, axis=1) / np.linalg.norm(other - begin, axis=1)
    assert len(apart) > 100
    assert np.median(apart) < 0.06  # gensim reads σ from a table as coarse as word2vec's own program does


def test_words_of_one_kind_come_near_each_other(text):
    wv = WordVectors.train(text, "skipgram", dim=30, epochs=5, min_count=2, threads=2, sample=0)
    near = {neighbour.word for neighbour in wv.nearest("she", 5)}
    assert near & {"he", "they", "we", "i", "you"}


def test_words_never_seen_have_vectors_with_fasttext(text):
    wv = WordVectors.train(text, "fasttext", dim=20, epochs=2, min_count=2, threads=1, buckets=5000)
    assert "laughinger" not in wv
    assert np.linalg.norm(wv["laughinger"]) > 0


def test_training_goes_on_from_other_vectors(text, tmp_path):
    first = WordVectors(["she", "zebra"], np.ones((2, 20), np.float32), np.array([7, 3]))
    settings = {"dim": 20, "epochs": 1, "min_count": 2, "threads": 1, "alpha": 1e-9}
    wv = WordVectors.train(text, "skipgram", start=first, **settings)
    assert np.allclose(wv["she"], 1, atol=1e-4)  # at a rate of nearly nothing it stays where it was
    assert np.array_equal(wv["zebra"], first["zebra"])  # not in the new text: kept as it is
    assert not np.allclose(wv["he"], 1, atol=0.1)
    with pytest.raises(UsageError, match="have 20 dimensions"):
        WordVectors.train(text, start=first, min_count=2, dim=30)
    with pytest.raises(UsageError, match="Only skipgram and cbow"):
        WordVectors.train(text, "fasttext", start=first, dim=20)


def test_a_shared_table_and_full_softmax(text):
    shared = WordVectors.train(text, dim=16, epochs=2, min_count=20, threads=1, shared=True)
    soft = WordVectors.train(text, dim=16, epochs=2, min_count=50, threads=1, loss="softmax", sample=0)
    assert shared.losses[1] < shared.losses[0]
    assert soft.losses[1] < soft.losses[0] < np.log(len(soft))
    with pytest.raises(UsageError, match="shared = True is for"):
        WordVectors.train(text, shared=True, loss="hierarchical")


def test_threads_learn_as_well_as_one(text):
    settings = {"dim": 20, "epochs": 4, "min_count": 2, "sample": 0}
    for loss in ("negative", "hierarchical"):
        one, four = (WordVectors.train(text, threads=n, loss=loss, **settings).losses[-1] for n in (1, 4))
        assert four == pytest.approx(one, rel=0.05)


def test_long_lines_are_taken_in_parts(tmp_path):
    file = tmp_path / "long.txt"
    file.write_text("a b c d " * 20_000)
    wv = WordVectors.train(file, dim=8, epochs=1, threads=1, sample=0)
    assert sorted(wv.words) == ["a", "b", "c", "d"]
    with Corpus.read(file) as corpus:
        assert corpus.tokens == 80_000


def test_wrong_requests(text, tmp_path):
    with pytest.raises(UsageError, match=r"Unknown key words\.windw; did you mean 'words.window'\?"):
        WordVectors.train(text, windw=3)
    with pytest.raises(UsageError, match=r"words\.method must be one of skipgram, cbow, .*, not 'skipgran'"):
        WordVectors.train(text, "skipgran")
    with pytest.raises(UsageError, match=r"words\.dim must be at least 1, not 0"):
        WordVectors.train(text, dim=0)
    with pytest.raises(LexigraphError, match="no word is seen min_count = 1000000 times"):
        WordVectors.train(text, min_count=1_000_000)
    (tmp_path / "one.txt").write_text("word " * 10)
    with pytest.raises(LexigraphError, match="has one word that is seen often enough, 'word'"):
        WordVectors.train(tmp_path / "one.txt")


@pytest.mark.parametrize("method", ["skipgram", "cbow", "fasttext", "glove"])
def test_a_training_that_was_killed_ends_with_the_same_bits(text, tmp_path, method):
    settings = {"dim": 12, "epochs": 4, "min_count": 2, "threads": 1, "buckets": 500}
    calm = WordVectors.train(text, method, **settings)
    kept = tmp_path / "kept"
    words = []

    class Killed(Exception):
        pass

    def die(checkpoint, tables, losses, save=Checkpoint.save):
        save(checkpoint, tables, losses)
        words.append(len(losses))
        if len(losses) == 2:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", die)
        with pytest.raises(Killed):
            WordVectors.train(text, method, checkpoint=kept, **settings)
    assert words == [1, 2]
    assert kept.exists()
    with pytest.raises(LexigraphError, match="with other text or settings"):
        WordVectors.train(text, method, checkpoint=kept, **{**settings, "window": 3})
    resumed = WordVectors.train(text, method, checkpoint=kept, **settings)
    assert np.array_equal(resumed.vectors, calm.vectors)
    assert resumed.losses == calm.losses
    assert not kept.exists()
