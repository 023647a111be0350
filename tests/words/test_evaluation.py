import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import benchmarks, evaluation, measures
from lexigraph.words.benchmarks import OutlierSet, Question
from lexigraph.words.subwords import Subwords
from lexigraph.words.vectors import WordVectors


def at_angles(**degrees):
    """Words with vectors in the plane, at these angles and of different lengths: a cosine tells the angle between."""
    angles = np.radians(list(degrees.values()))
    lengths = np.arange(1, len(angles) + 1)[:, None]
    return WordVectors(
        list(degrees), (lengths * np.stack([np.cos(angles), np.sin(angles)], axis=1)).astype(np.float32)
    )


ROYAL = WordVectors(  # male, female, royal, many
    ["man", "woman", "king", "queen", "men", "women", "kings", "queens"],
    np.array([[male, 1 - male, royal, many] for many in (0, 1) for royal in (0, 1) for male in (1, 0)], np.float32),
    np.arange(80, 0, -10),
)


def random_vectors(words=300, dim=10):
    vectors = np.random.default_rng(0).standard_normal((words, dim)).astype(np.float32)
    return WordVectors([f"w{number}" for number in range(words)], vectors)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wb") as stream:
        stream.write(text.encode())
    return path


# ---- files ----


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tabs.txt", "old\tnew\t1.58\r\nhot dog\tfood\t9\r\n"),
        ("tabs.txt.gz", "old\tnew\t1.58\n\nhot dog\tfood\t9"),
        ("full.txt", "word1\tword2\tPOS\tSimLex999\tSD\nold\tnew\tA\t1.58\t0.4\nhot dog\tfood\tN\t9\t0.1\n"),
        ("table.csv", ",word1,word2,similarity\n0,old,new,1.58\n1,hot dog,food,9\n"),
        ("combined.csv", "Word 1,Word 2,Human (mean)\nold,new,1.58\nhot dog,food,9\n"),
    ],
)
def test_pairs_of_words_are_read_in_every_form(name, text, tmp_path):
    assert benchmarks.similarity_pairs(write(tmp_path / name, text)) == [
        ("old", "new", 1.58),
        ("hot dog", "food", 9.0),
    ]


def test_pairs_may_be_split_by_spaces(tmp_path):
    assert benchmarks.similarity_pairs(write(tmp_path / "a.txt", "old new 1.58\n")) == [("old", "new", 1.58)]


def test_analogies_are_told_apart_by_their_sections(tmp_path):
    google = write(tmp_path / "q.txt", ": family\nboy girl he she\n: gram8-plural\ncat cats dog dogs\n")
    assert benchmarks.analogy_questions(google) == [
        Question("semantic", "family", "boy", "girl", "he", ("she",)),
        Question("syntactic", "gram8-plural", "cat", "cats", "dog", ("dogs",)),
    ]
    rows = "0,JJ_JJR,good,better,rough,rougher\n1,2c,mile  , yard ,hour,seconds\n"
    table = write(tmp_path / "q.csv.gz", ",type,word1,word2,word3,target\n" + rows)
    assert benchmarks.analogy_questions(table) == [
        Question("syntactic", "JJ_JJR", "good", "better", "rough", ("rougher",)),
        Question("semantic", "2c", "mile", "yard", "hour", ("seconds",)),
    ]


def test_every_two_pairs_of_a_bats_file_are_a_question_each_way(tmp_path):
    write(tmp_path / "L2.txt", "cat\tanimal/pet/\r\noak\ttree\r\nrose\tflower/plant\r\n")
    write(tmp_path / "I1.txt", "cat\tcats\ndog\tdogs\n")
    write(tmp_path / "README.md", "no questions here")
    questions = benchmarks.bats_questions(tmp_path)
    assert questions[:2] == [
        Question("inflection", "I1", "cat", "cats", "dog", ("dogs",)),
        Question("inflection", "I1", "dog", "dogs", "cat", ("cats",)),
    ]
    assert [(q.a, q.b, q.c, q.answers) for q in questions[2:]] == [
        ("cat", "animal", "oak", ("tree",)),
        ("cat", "animal", "rose", ("flower", "plant")),
        ("oak", "tree", "cat", ("animal", "pet")),
        ("oak", "tree", "rose", ("flower", "plant")),
        ("rose", "flower", "cat", ("animal", "pet")),
        ("rose", "flower", "oak", ("tree",)),
    ]
    assert len(benchmarks.bats_questions(tmp_path, limit=2)) == 4


def test_categories_skip_rows_without_a_word_and_keep_words_of_two_categories(tmp_path):
    table = write(tmp_path / "a.csv", ",category,word\n0,bird,crane\n1,bird,\n2,tool,crane\n3,tool,crane\n")
    assert benchmarks.categories(table) == [("crane", "bird"), ("crane", "tool")]


def test_sets_with_outliers_are_lists_in_cells(tmp_path):
    text = """,category,outliers,words\n0,cats,"['dog', ""cat's"", '']","['lion', 'Big_Cat']"\n"""
    assert benchmarks.outlier_sets(write(tmp_path / "a.csv", text)) == [
        OutlierSet("cats", ["lion", "Big_Cat"], ["dog", "cat's"])
    ]


def test_labelled_and_tagged_texts(tmp_path):
    labelled = write(tmp_path / "trec.txt.gz", "NUM:dist How far ?\n0 \n1 good .\n")
    assert benchmarks.labelled_texts(labelled) == [("How far ?", "NUM"), ("", "0"), ("good .", "1")]
    sentences = [(["He", "ran"], ["B-NP", "B-VP"]), (["#"], ["O"])]
    chunks = write(tmp_path / "train.txt.xz", "He PRP B-NP\nran VBD B-VP\n\n# # O\n")
    assert benchmarks.tagged_sentences(chunks) == sentences
    word = "\t".join(["1", "He", "he", "PRON", "PRP", *"_____"])
    assert benchmarks.tagged_sentences(write(tmp_path / "a.conllu", f"# text = He\n{word}\n\n")) == [
        (["He"], ["PRON"])
    ]


SETS_HEADER = ",category,outliers,words\n"


@pytest.mark.parametrize(
    ("read", "name", "text", "sentence"),
    [
        (benchmarks.similarity_pairs, "a.txt", "a\tb\t1\n\na\tb\n", "a.txt, line 3: the line has 2 columns where 3"),
        (benchmarks.similarity_pairs, "a.txt", "a\tb\t1\na\tb\tx\n", "a.txt, line 2: 'x' is no score"),
        (benchmarks.similarity_pairs, "a.txt", "a\tb\tnan\n", "line 1: 'nan' is no score"),
        (benchmarks.similarity_pairs, "a.txt", "a\t\t1\n", "line 1: column 2 is empty"),
        (
            benchmarks.similarity_pairs,
            "a.csv",
            "word1,word2,value\na,b,1\n",
            "line 1: no column is called score or similar",
        ),
        (
            benchmarks.similarity_pairs,
            "a.csv",
            'word1,word2,score\na,"b"c,1\n',
            "line 2: it is no row of a .csv file",
        ),
        (benchmarks.similarity_pairs, "a.txt", " \n", "is empty"),
        (benchmarks.analogy_questions, "a.txt", ": s\na b c d\na b c\n", "line 3: a question is four words, not 3"),
        (
            benchmarks.analogy_questions,
            "a.csv",
            "type,word1,word2,target\n",
            "line 1: there is no column 'word3' among type",
        ),
        (
            benchmarks.analogy_questions,
            "a.csv",
            "type,word1,word2,word3,target\ns,a,,c,d\n",
            "line 2: column 3 is empty",
        ),
        (benchmarks.categories, "a.csv", "category,word\nbird\n", "line 2: the line has 1 columns where 2"),
        (benchmarks.outlier_sets, "a.csv", SETS_HEADER + "0,c,dog,['cat']\n", "line 2: 'dog' is no list of words"),
        (benchmarks.outlier_sets, "a.csv", SETS_HEADER + "0,c,[1],['cat']\n", r"line 2: '\[1\]' is no list of words"),
        (benchmarks.tagged_sentences, "a.txt", "He PRP B-NP\nran VBD\n", "a.txt as .conll, line 2: .* column 2"),
    ],
)
def test_a_bad_line_is_named(read, name, text, sentence, tmp_path):
    with pytest.raises(LexigraphError, match=sentence):
        read(write(tmp_path / name, text))


def test_bad_bats_files_are_named(tmp_path):
    with pytest.raises(LexigraphError, match="holds no BATS files"):
        benchmarks.bats_questions(tmp_path)
    write(tmp_path / "E1.txt", "rome\titaly\nparis\t/\n")
    with pytest.raises(LexigraphError, match=r"E1.txt, line 2: there is no answer"):
        benchmarks.bats_questions(tmp_path)


# ---- similarity ----


def test_spearman_by_hand():
    wv = at_angles(a=0, b=10, c=40, d=90)  # cosines rank ab > bc > ac > ad
    figure = measures.similarity(wv, [("a", "b", 9.0), ("a", "c", 8.0), ("b", "c", 5.0), ("a", "d", 1.0)])
    assert figure["value"] == pytest.approx(1 - 6 * (1 + 1) / (4 * 15))  # two ranks differ by one
    assert (figure["coverage"], figure["n"], figure["interval"]) == (1, 4, [])


def test_words_are_looked_up_as_given_then_lower_cased_and_unknown_ones_leave_their_pair_out():
    wv = WordVectors(["US", "us", "we"], np.array([[0, 1], [1, 0], [1, 0.1]], np.float32))
    pairs = [("US", "we", 1.0), ("Us", "We", 2.0), ("us", "them", 9.0), ("we", "we", 3.0)]
    figure = measures.similarity(wv, pairs)
    assert (figure["value"], figure["n"], figure["coverage"]) == (pytest.approx(1), 3, 0.75)


def test_vectors_with_ngrams_know_every_word():
    wv = WordVectors(["cat"], np.ones((1, 2), np.float32), subwords=Subwords(np.eye(2, dtype=np.float32), 2, 3, 4))
    assert measures.similarity(wv, [("cat", "cats", 3.0), ("dog", "emu", 1.0)])["coverage"] == 1


def test_spearman_with_equal_scores_is_that_of_scipy_and_its_interval_has_the_width_of_theory():
    wv, random = random_vectors(), np.random.default_rng(1)
    words = random.integers(len(wv), size=(400, 2))
    cosines = np.array([wv.similarity(wv.words[a], wv.words[b]) for a, b in words])
    scores = np.round(4 * (cosines + random.normal(0, 0.3, 400)))  # few different scores: many ties
    pairs = [(wv.words[a], wv.words[b], float(score)) for (a, b), score in zip(words, scores, strict=True)]
    figure = measures.similarity(wv, pairs)
    rho = spearmanr(cosines, scores).statistic
    assert figure["value"] == pytest.approx(rho, abs=1e-6)
    low, high = figure["interval"]
    assert low < rho < high
    assert high - low == pytest.approx(
        2 * 1.96 * (1 - rho**2) * np.sqrt((1 + rho**2 / 2) / 397), rel=0.2
    )  # Fisher's z


def test_without_pairs_or_without_differences_there_is_no_figure():
    wv = at_angles(a=0, b=10, c=40)
    for pairs in ([], [("a", "b", 1.0)], [("a", "b", 3.0), ("a", "c", 3.0)]):
        assert measures.similarity(wv, pairs)["value"] is None


# ---- analogies ----

FAMILY = [
    Question("semantic", "sex", "man", "woman", "King", ("queen",)),
    Question("semantic", "sex", "man", "woman", "king", ("princess", "queen")),
    Question("semantic", "rank", "man", "king", "woman", ("women",)),  # wrong: it is queen
    Question("syntactic", "plural", "man", "men", "king", ("kings",)),
    Question("syntactic", "plural", "man", "men", "boy", ("boys",)),  # unknown
    Question("syntactic", "plural", "man", "men", "queen", ("ladies",)),  # no known answer
]


@pytest.mark.parametrize("method", ["additive", "multiplicative"])
def test_analogies_that_hold_exactly_are_right_and_unknown_words_are_left_out(method):
    found = measures.analogies(ROYAL, FAMILY, method)
    assert list(found) == ["semantic", "syntactic"]
    assert (found["semantic"]["value"], found["semantic"]["n"]) == (pytest.approx(2 / 3), 3)
    parts = found["semantic"]["parts"]
    assert {name: (part["value"], part["n"]) for name, part in parts.items()} == {"sex": (1, 2), "rank": (0, 1)}
    assert (found["syntactic"]["value"], found["syntactic"]["n"]) == (1, 1)
    assert found["syntactic"]["coverage"] == pytest.approx(1 / 3)


def test_restricted_to_the_most_frequent_words_the_others_are_unknown():
    assert measures.analogies(ROYAL, FAMILY, restrict=4)["syntactic"]["n"] == 0
    assert measures.analogies(ROYAL, FAMILY, restrict=4)["semantic"]["n"] == 2
    assert measures.analogies(ROYAL, FAMILY, restrict=7)["syntactic"]["n"] == 1
    assert measures.analogies(ROYAL, FAMILY, restrict=None) == measures.analogies(ROYAL, FAMILY)
    backwards = WordVectors(ROYAL.words[::-1], ROYAL.vectors[::-1], ROYAL.counts[::-1])
    assert measures.analogies(backwards, FAMILY, restrict=7) == measures.analogies(ROYAL, FAMILY, restrict=7)


def test_fifty_of_a_hundred_right_answers_have_the_interval_of_a_coin():
    found = measures.analogies(ROYAL, [FAMILY[0], FAMILY[2]] * 50)["semantic"]
    assert (found["value"], found["interval"]) == (0.5, [0.4, 0.6])
    assert found["parts"]["sex"]["interval"] == []  # all of them right: resampling tells nothing
    assert measures.analogies(ROYAL, [FAMILY[0], FAMILY[2]] * 9)["semantic"]["interval"] == []


def test_wrong_requests_for_analogies_are_refused():
    with pytest.raises(UsageError, match="restrict is 0"):
        measures.analogies(ROYAL, FAMILY, restrict=0)
    with pytest.raises(UsageError, match="additive, multiplicative"):
        measures.analogies(ROYAL, FAMILY, "divided")
    assert measures.analogies(ROYAL, []) == {}


@pytest.mark.parametrize("restrict", [150, 300])
def test_similarity_and_analogies_are_those_of_gensim(restrict, tmp_path):
    models = pytest.importorskip("gensim.models")
    wv, random = random_vectors(), np.random.default_rng(2)
    peer = models.KeyedVectors(wv.dim)
    peer.add_vectors(wv.words, wv.vectors)
    words = [f"W{number}" for number in range(330)]  # the last 30 are unknown

    lines = ["\t".join([*random.choice(words, 2), f"{random.normal():.2f}"]) for _ in range(200)]
    file = write(tmp_path / "pairs.txt", "\n".join(lines) + "\n")
    _, spearman, unknown = peer.evaluate_word_pairs(file)
    figure = measures.similarity(wv, benchmarks.similarity_pairs(file))
    assert figure["value"] == pytest.approx(spearman.statistic, abs=1e-9)
    assert 1 - figure["coverage"] == pytest.approx(unknown / 100)

    lines = []
    for section in ("capital", "gram1"):
        lines.append(f": {section}")
        for _ in range(300):
            a, b, c = random.choice(wv.words, 3, replace=False)
            answer = wv.analogy(a, b, c, k=1)[0].word if random.random() < 0.5 else random.choice(words)
            lines.append(f"{a} {b} {c} {answer.upper()}")
    file = write(tmp_path / "questions.txt", "\n".join(lines) + "\n")
    _, sections = peer.evaluate_word_analogies(str(file), restrict_vocab=restrict)
    found = measures.analogies(wv, benchmarks.analogy_questions(file), restrict=restrict)
    for kind, section in zip(("semantic", "syntactic"), sections[:2], strict=True):
        right, wrong = len(section["correct"]), len(section["incorrect"])
        assert right > 0
        assert wrong > 0
        assert found[kind]["n"] == right + wrong
        assert found[kind]["value"] == pytest.approx(right / (right + wrong))


# ---- categories and outliers ----


def test_purity_by_hand():
    wv = at_angles(cat=0, dog=2, emu=4, car=90, bus=92, van=94)
    kinds = dict.fromkeys(("cat", "dog", "emu"), "animal") | dict.fromkeys(("car", "bus", "van"), "vehicle")
    assert measures.categorisation(wv, list(kinds.items()))["value"] == 1
    # three animals in one cluster; two vehicles and an animal in the other: (3 + 2) / 6
    figure = measures.categorisation(wv, list((kinds | {"van": "animal", "yak": "animal"}).items()))
    assert (figure["value"], figure["n"]) == (pytest.approx(5 / 6), 6)
    assert figure["coverage"] == pytest.approx(6 / 7)
    assert measures.categorisation(wv, [("yak", "animal")])["value"] is None


def test_position_of_outliers_by_hand():
    wv = at_angles(a=0, b=8, c=20, far=90, near=25, inside=11)
    # sums of cosines to the others, with near: a 2.84, b 2.92, c 2.91, near 2.86: two of three are above it
    for outlier, position in {"far": 1, "near": 2 / 3, "inside": 0}.items():
        found = measures.outliers(wv, [OutlierSet("letters", ["a", "b", "c", "unknown"], [outlier])])
        assert found["position"]["value"] == pytest.approx(position)
        assert found["accuracy"]["value"] == (position == 1)
    found = measures.outliers(wv, [OutlierSet("all", ["a", "b", "c"], ["far", "near", "inside", "unknown"])])
    assert found["position"]["value"] == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert found["accuracy"]["value"] == pytest.approx(1 / 3)
    assert (found["accuracy"]["coverage"], found["accuracy"]["n"]) == (0.75, 3)
    assert measures.outliers(wv, [OutlierSet("small", ["a"], ["far"])])["position"]["value"] is None


def test_position_of_outliers_follows_the_compactness_of_the_definition():
    wv = random_vectors()
    sets = [OutlierSet("", wv.words[i : i + 8], [wv.words[i + 8]]) for i in range(0, 270, 9)]
    positions = []
    for one in sets:
        words = [*one.words, *one.outliers]
        compactness = []
        for left_out in words:
            rest = [word for word in words if word != left_out]
            compactness.append(np.mean([wv.similarity(a, b) for a in rest for b in rest if a != b]))
        positions.append(sum(other < compactness[-1] for other in compactness[:-1]) / 8)
    found = measures.outliers(wv, sets)
    assert found["position"]["value"] == pytest.approx(np.mean(positions))
    assert found["accuracy"]["value"] == pytest.approx(np.mean(np.array(positions) == 1))


# ---- classifiers ----


def test_mean_vectors_know_synonyms_that_counts_have_not_seen():
    wv = at_angles(good=0, great=5, bad=90, awful=85)
    train = [("a good one", "+"), ("a bad one", "-")] * 5
    found = measures.classification(wv, train, [("a Great one", "+"), ("an awful one", "-")] * 10)
    assert found["mean vector"]["value"] == 1
    assert found["mean vector"]["coverage"] == pytest.approx(1 / 3)  # one word of three has a vector
    assert found["bag of words"]["value"] == 0.5  # what it has learned tells the two apart in nothing
    assert found["bag of words"]["coverage"] == pytest.approx((2 + 1) / 6)
    seen = measures.classification(wv, train, [("a good one", "+"), ("a bad one", "-")])
    assert seen["bag of words"]["value"] == 1


def test_a_tagger_that_sees_the_words_around_tells_the_run_from_to_run():
    wv = at_angles(the=0, to=90, run=45, walk=50)
    train = [(["the", "run"], ["D", "N"])] * 6 + [(["to", "run"], ["P", "V"])] * 4
    test = [(["the", "walk"], ["D", "N"]), (["to", "run"], ["P", "V"]), (["to", "Walk", "emu"], ["P", "V", "X"])]
    found = measures.tagging(wv, train, test)
    assert found["window of vectors"]["value"] == pytest.approx(6 / 7)  # all but the tag never seen
    assert found["window of vectors"]["coverage"] == pytest.approx(6 / 7)
    # the, to and to are learned, run is mostly N, and walk, Walk and emu get the most frequent tag, which is D
    assert found["most frequent tag"]["value"] == pytest.approx(3 / 7)
    assert found["most frequent tag"]["coverage"] == pytest.approx(4 / 7)


def test_a_classifier_needs_two_labels():
    with pytest.raises(LexigraphError, match="two labels"):
        measures.classification(ROYAL, [("king", "+")], [("queen", "+")])


# ---- all of it ----


@pytest.fixture
def folder(tmp_path):
    """Every set that is looked for, tiny."""
    words = tmp_path / "word-vectors-eval"
    write(words / "word-sim" / "pairs.txt", "man\tking\t9\nman\twomen\t1\nwoman\tking\t2\nman\temu\t4\n")
    write(words / "questions-words.txt.gz", ": family\nman woman king queen\n: gram1\nman men king queens\n")
    write(words / "analogy" / "msr.csv.gz", ",type,word1,word2,word3,target\n0,NN_NNS,man,men,king,kings\n")
    write(words / "word-categorization" / "ap.csv", ",category,word\n0,many,men\n1,many,women\n2,royal,queen\n")
    write(words / "outlier-detection" / "8.csv", f"{SETS_HEADER}0,m,['queen'],\"['man','men','kings']\"\n")
    write(tmp_path / "bats" / "I1.txt", "man\tmen\nking\tkings\n")
    write(tmp_path / "sentence-polarity" / "mr.txt", "0 the man\n1 the queens\n" * 20)
    for part in ("train", "test"):
        write(tmp_path / "trec" / f"TREC.{part}.txt", "NUM:x one man ?\nHUM:y more queens ?\n" * 3)
        write(tmp_path / "sst" / "sentences" / f"binary.{part}.txt", "0 man\n1 queens\n" * 3)
        write(tmp_path / "conll2000-chunking" / f"{part}.txt.xz", "man NN B-NP\nruns VBZ B-VP\n\n" * 3)
        rows = "\n".join("\t".join([str(n), *row, *"______"]) for n, row in enumerate([["men", "_", "N"]], 1))
        more = rows.replace("men", "ran").replace("N", "V")
        write(tmp_path / "ud-english-ewt" / f"en-{part}.conllu", f"{rows}\n\n{more}\n\n")
    return tmp_path


def test_everything_in_a_folder_is_judged_and_tabulated(folder):
    said = []
    results = evaluation.evaluate(ROYAL, folder, report=said.append)
    assert json.loads(json.dumps(results)) == results
    values = {(name, what): one["value"] for name, found in results["figures"].items() for what, one in found.items()}
    methods = ("additive", "multiplicative")
    assert values.pop(("ap", "purity")) >= 2 / 3
    assert values == {
        ("pairs", "Spearman"): pytest.approx(np.sqrt(3) / 2),
        **{("questions-words", f"semantic, {method}"): 1 for method in methods},
        **{("questions-words", f"syntactic, {method}"): 0 for method in methods},
        **{("msr", f"syntactic, {method}"): 1 for method in methods},
        **{("bats", f"inflection, {method}"): 1 for method in methods},
        ("8", "accuracy"): 1,
        ("8", "position"): 1,
        **{(name, what): 1 for name in ("mr", "trec", "sst") for what in ("mean vector", "bag of words")},
        **{
            (name, what): 1
            for name in ("conll2000-chunking", "ud-english-ewt")
            for what in ("window of vectors", "most frequent tag")
        },
    }
    assert said[0] == "similarity: pairs"
    assert len(said) == len(results["figures"])
    signature = results["signature"]
    assert (signature["dim"], signature["words"], signature["restrict"]) == (4, 8, 30_000)
    assert {"methods", "quick", "lexigraph", "numpy", "scipy", "scikit-learn"} <= signature.keys()
    columns, rows = evaluation.table(results)
    assert columns == ("name", "what", "figure", "interval", "coverage", "n")
    assert rows[0] == ("pairs", "Spearman", "0.866", "", "75%", "3")
    assert len(rows) == len(values) + 1
    assert ("bats", "inflection, additive: I1", "1.000", "", "100%", "2") in evaluation.table(results, sections=True)[
        1
    ]


def test_a_folder_may_be_one_of_the_sets_and_parts_may_be_chosen(folder):
    assert set(evaluation.evaluate(ROYAL, folder / "bats")["figures"]) == {"bats"}
    found = evaluation.evaluate(ROYAL, folder / "word-vectors-eval", parts=["similarity", "outliers"])
    assert set(found["figures"]) == {"pairs", "8"}
    with pytest.raises(UsageError, match=r"no part speed\. Choose from: similarity, analogies"):
        evaluation.evaluate(ROYAL, folder, parts=["speed"])
    with pytest.raises(LexigraphError, match=r"holds nothing to judge by.*word-vectors-eval, bats"):
        evaluation.evaluate(ROYAL, folder / "trec" / "nothing")


def test_a_quick_evaluation_takes_a_part_of_each_set(folder, monkeypatch):
    monkeypatch.setattr(evaluation, "QUICK", 1)
    found = evaluation.evaluate(ROYAL, folder, parts=["analogies"], methods=["additive"], quick=True)
    assert [figure["n"] for figure in found["figures"]["bats"].values()] == [1]
    assert found["signature"]["quick"] is True


def test_a_curve_has_a_row_for_each_value(folder, monkeypatch, tmp_path):
    text = tmp_path / "my.txt"
    text.write_text("a b\n" * 500_000)
    read = []

    def train(cls, file, dim, method="skipgram"):
        read.append((method, Path(file).stat().st_size))
        return WordVectors(ROYAL.words, np.ascontiguousarray(ROYAL.vectors[:, :dim]))

    monkeypatch.setattr(WordVectors, "train", classmethod(train))
    rows = list(evaluation.curve(text, {"method": "glove"}, "dim", [4, 1], folder))
    assert [(row["dim"], row["words"]) for row in rows] == [(4, 8), (1, 8)]
    sizes = list(evaluation.curve(text, {"dim": 4}, "megabytes", [0.5, 2], folder))
    assert [row["megabytes"] for row in sizes] == [0.5, 2]
    assert read == [("glove", 2_000_000)] * 2 + [("skipgram", 500_000), ("skipgram", 2_000_000)]
    with pytest.raises(UsageError, match="3 are not to be had"):
        list(evaluation.curve(text, {"dim": 4}, "megabytes", [3], folder))
    assert rows[0]["similarity"] == pytest.approx(np.sqrt(3) / 2)
    assert rows[0]["analogies"] == pytest.approx(4 / 5)  # all but the wrong one of the five
    strangers = WordVectors(["a", "b", "c", "d"], np.eye(4, dtype=np.float32))
    assert np.isnan(evaluation.averages(strangers, folder)).all()
