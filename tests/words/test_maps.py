import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import maps
from lexigraph.words.vectors import WordVectors

ROYAL = WordVectors(  # of length 1: male or female, royal or not, and what all people share
    ["man", "king", "woman", "queen", "bread", "<b>"],
    np.array(
        [[0.6, -0.48, 0.64], [0.6, 0.48, 0.64], [-0.6, -0.48, 0.64], [-0.6, 0.48, 0.64], [0, 0, -1], [0, -0.6, -0.8]],
        np.float32,
    ),
    np.array([50, 20, 40, 10, 90, 5]),
)
PAIRS = [("man", "king"), ("woman", "queen")]


def random_vectors(words=60, dim=8, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((words, dim)).astype(np.float32)
    return WordVectors([f"w{number}" for number in range(words)], vectors)


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def data_of(page):
    """What the page's script draws."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


# ---- positions ----


def test_a_plane_in_fifty_dimensions_is_found_again_up_to_rotation():
    random = np.random.default_rng(0)
    plane = random.standard_normal((40, 2)) * [3, 1]
    basis = np.linalg.qr(random.standard_normal((50, 2)))[0]
    points = maps.positions(plane @ basis.T + random.standard_normal(50))
    np.testing.assert_allclose(distances(points), distances(plane), atol=1e-10)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-10)
    assert points[:, 0].var() > points[:, 1].var()


def test_principal_components_are_those_of_scikit_learn():
    from sklearn.decomposition import PCA

    vectors = random_vectors().vectors.astype(np.float64)
    expected = PCA(2).fit_transform(vectors)
    points = maps.positions(vectors)
    signs = np.sign((points * expected).sum(axis=0))
    np.testing.assert_allclose(points * signs, expected, atol=1e-9)


def test_the_order_of_the_words_does_not_mirror_the_map():
    vectors = random_vectors().vectors.astype(np.float64)
    np.testing.assert_allclose(maps.positions(vectors[::-1]), maps.positions(vectors)[::-1], atol=1e-9)


def test_tsne_keeps_neighbours_together_and_obeys_its_seed():
    random = np.random.default_rng(0)
    owner = np.repeat([0, 1, 2], 15)
    vectors = 10 * np.eye(3, 12)[owner] + random.standard_normal((45, 12))
    points = maps.positions(vectors, "tsne", seed=3)
    apart = distances(points) + np.diag(np.full(45, np.inf))
    assert (owner[apart.argmin(axis=1)] == owner).all()
    np.testing.assert_array_equal(points, maps.positions(vectors, "tsne", seed=3))


def test_three_words_are_enough_for_either_method():
    vectors = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    for method in ("pca", "tsne"):
        assert np.isfinite(maps.positions(vectors, method)).all()


# ---- analogies ----


def test_ranks_by_hand():
    def at(degrees):
        return np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))])

    # b − a + c points to 90 degrees: b itself does not count, 80 and 105 are nearer than d, 120 is not
    own = {"a": at(0), "b": at(90), "c": at(0), "d": at(65)}
    words = ["a", "b", "c", "d", "one", "two", "three"]
    vectors = np.stack([*own.values(), 5 * at(80), 0.1 * at(105), at(120)])
    assert maps.ranks([("a", "b"), ("c", "d")], own, words, vectors) == [maps.Analogy("a", "b", "c", "d", 3)]
    assert str(maps.Analogy("man", "king", "woman", "queen", 1)) == "king − man + woman → queen: rank 1"


@pytest.mark.parametrize("block", [7, 5000])
def test_a_rank_is_the_place_in_the_answers_to_the_analogy(block, monkeypatch):
    monkeypatch.setattr(maps, "BLOCK", block)
    wv = random_vectors(words=100)
    pairs = [("w1", "w2"), ("w30", "w40"), ("w99", "w0")]
    own = {word: wv.unit[wv.index[word]].astype(np.float64) for pair in pairs for word in pair}
    found = maps.ranks(pairs, own, wv.words, wv.vectors)
    assert [analogy[:4] for analogy in found] == [
        (*pairs[0], *pairs[1]),
        (*pairs[0], *pairs[2]),
        (*pairs[1], *pairs[2]),
    ]
    for a, b, c, d, rank in found:
        assert [answer.word for answer in wv.analogy(a, b, c, k=100)].index(d) + 1 == rank


def test_pairs_with_a_common_word_ask_nothing():
    own = dict(zip(ROYAL.words, ROYAL.unit, strict=True))
    assert maps.ranks([("man", "king"), ("king", "queen")], own, ROYAL.words, ROYAL.vectors) == []


def test_pairs_are_drawn_on_their_own_plane(tmp_path):
    page = ROYAL.map(["bread"], out=tmp_path / "map.html", pairs=PAIRS).read_text(encoding="utf-8")
    data = data_of(page)
    assert data["words"][:5] == ["bread", "man", "king", "woman", "queen"]
    bread, man, king, woman, queen = np.array(data["points"])
    assert data["pairs"] == [[1, 2], [3, 4]]
    np.testing.assert_allclose(king - man, queen - woman, atol=1e-3)  # a parallelogram stays one
    np.testing.assert_allclose(np.linalg.norm(woman - man) / np.linalg.norm(king - man), 1.2 / 0.96, atol=1e-3)
    np.testing.assert_allclose(bread, (man + queen) / 2, atol=1e-3)  # right below the middle: off the plane
    assert data["analogies"] == [[1, 2, 3, 4, 1]]
    assert "the plane holds 100% of their variance" in page


def test_the_picture_notes_the_ranks(tmp_path):
    root = ElementTree.parse(ROYAL.map(out=tmp_path / "map.svg", pairs=PAIRS)).getroot()
    texts = [element.text.strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "king − man + woman → queen: rank 1" in texts
    assert {"man", "king", "woman", "queen"} <= set(texts)
    assert "bread" not in texts


# ---- files ----


def test_the_page_needs_nothing_else_and_holds_every_word_once(tmp_path):
    wv = random_vectors()
    path = wv.map(wv.words[:20], out=tmp_path / "map.html")
    page = path.read_text(encoding="utf-8")
    assert "http" not in page
    assert "src=" not in page
    data = data_of(page)
    assert data["words"][:20] == wv.words[:20]
    assert len(data["points"]) == 20
    for word in data["words"]:
        assert page.count(f'"{word}"') == 1
    for word, row in zip(wv.words[:20], data["near"], strict=True):
        expected = [(other.word, round(other.score, 3)) for other in wv.nearest(word, k=10)]
        assert [(data["words"][number], score) for number, score in row] == expected


def test_words_cannot_break_the_page_or_the_picture(tmp_path):
    words = ["<b>", "</script>", "__DATA__", "$x$", "a&b", '"', "\x01", "é" * 60]
    vectors = np.random.default_rng(0).standard_normal((len(words), 5)).astype(np.float32)
    wv = WordVectors(words, vectors)
    page = wv.map(out=tmp_path / "map.html", highlight={"<i>": ["<b>"]}).read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "<i>" not in page
    assert page.count("</script>") == 2  # the data's and the program's
    assert data_of(page)["words"] == words
    root = ElementTree.parse(wv.map(out=tmp_path / "map.svg")).getroot()
    texts = {element.text.strip() for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {*words[:6], "\N{REPLACEMENT CHARACTER}", "é" * 27 + "…"} <= texts


@pytest.mark.parametrize("kind", ["png", "svg", "html"])
def test_each_kind_is_written_alike_twice_and_replaces_what_was_there(kind, tmp_path):
    path = tmp_path / f"map.{kind}"
    path.write_text("old")
    assert ROYAL.map(out=path, force=True) == path
    content = path.read_bytes()
    assert content.startswith({"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!doctype html>"}[kind])
    ROYAL.map(out=str(path), force=True)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_the_most_frequent_words_are_drawn_unless_some_are_named(tmp_path):
    wv = random_vectors(words=320)
    counts = np.arange(320)  # the last are the most frequent
    wv = WordVectors(wv.words, wv.vectors, counts)
    data = data_of(wv.map(out=tmp_path / "map.html").read_text(encoding="utf-8"))
    assert data["words"][:300] == wv.words[:19:-1]
    assert len(data["points"]) == 300


def test_groups_have_a_colour_and_a_place_on_the_map(tmp_path):
    groups = {"royal": ["king", "queen"], "male": ["man", "king"]}
    data = data_of(ROYAL.map(["bread"], out=tmp_path / "map.html", highlight=groups).read_text(encoding="utf-8"))
    assert data["words"][:4] == ["bread", "king", "queen", "man"]
    plain, king, queen, man = data["colours"]
    assert plain == ""
    assert king == queen != man  # of two groups the first
    assert data["groups"] == [["royal", king], ["male", man]]


def test_labels_cover_neither_each_other_nor_a_dot():
    random = np.random.default_rng(0)
    dots = random.normal(300, 60, (150, 2))  # crowded, so that not all find room
    boxes = np.stack([random.uniform(10, 60, 150), np.full(150, 9.0)], axis=1)
    frame = np.array([[100.0, 100.0], [500.0, 500.0]])
    centres = maps.label_positions(dots, boxes, range(150), dots, frame)
    put = np.isfinite(centres[:, 0])
    assert 75 < put.sum() < 150
    low, high = (centres - boxes / 2)[put], (centres + boxes / 2)[put]
    meet = ((low[:, None] < high) & (low < high[:, None])).all(axis=2)
    assert meet.sum() == put.sum()  # each meets itself alone
    assert not ((low[:, None] < dots) & (dots < high[:, None])).all(axis=2).any()
    assert (low >= frame[0]).all()
    assert (high <= frame[1]).all()


# ---- refusals ----


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"words": ["man", "king", "quene"]}, "'quene' is not among the 6 words. Did you mean 'queen'"),
        ({"pairs": [("man", "kin"), ("woman", "queen")]}, "'kin' is not among the 6 words. Did you mean 'king'"),
        ({"words": ["man", "king", "man"]}, "at least 3 different words, not 2"),
        ({"words": []}, "at least 3 different words, not 0"),
        ({"pairs": [("man", "king")]}, "not 2; of pairs, at least two"),
        ({"pairs": [("man", "man")]}, r"two different words, as \('man', 'king'\)"),
        ({"pairs": PAIRS, "method": "tsne"}, "not by tsne: leave method at pca"),
        ({"method": "umap"}, "no map by 'umap'. Choose from: pca, tsne"),
        ({"out": "map.pdf"}, "'map.pdf' cannot name a map: .* .png or .svg or .html"),
        ({"out": "map"}, "'map' cannot name a map"),
        ({"out": "nowhere/map.png"}, "There is no folder .*nowhere for map.png"),
        ({"highlight": {str(number): ["man"] for number in range(7)}}, "colours for 6 groups of words, not for 7"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_leaves_nothing_behind(settings, sentence, tmp_path):
    settings = {"out": "map.png", **settings}
    settings["out"] = tmp_path / settings["out"]
    with pytest.raises(LexigraphError, match=sentence):
        ROYAL.map(**settings)
    assert list(tmp_path.iterdir()) == []


def test_vectors_that_no_plane_can_show_are_refused(tmp_path):
    words = ["a", "b", "c"]
    for vectors, sentence in (
        ([[1], [2], [3]], "Vectors of 1 number lie on a line"),
        ([[1, 2], [2, 4], [3, 6]], "one point: all its words have the same vector"),  # scaled to length 1
        ([[1, 2], [2, np.nan], [3, 6]], "not finite"),
    ):
        with pytest.raises(LexigraphError, match=sentence):
            WordVectors(words, np.array(vectors, np.float32)).map(out=tmp_path / "map.svg")
    with pytest.raises(UsageError, match="at least 3"):
        maps.positions(np.ones((2, 5)))
    (tmp_path / "taken.png").mkdir()
    with pytest.raises(LexigraphError, match="is a folder"):
        ROYAL.map(out=tmp_path / "taken.png")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.png"]


# ---- the page, in a browser ----


def opened(page, tmp_path, **settings):
    page.goto(ROYAL.map(["bread", "<b>"], out=tmp_path / "map.html", pairs=PAIRS, **settings).as_uri())
    return page


def nearest_words(page):
    return page.locator("#card li").all_inner_texts()


def test_a_word_is_found_by_its_beginning_and_shows_its_nearest(page, tmp_path):
    opened(page, tmp_path)
    page.fill("#search", "qu")
    assert page.inner_text("#found") == "1 found, Enter goes there"
    page.press("#search", "Enter")
    assert page.inner_text("#card h2") == "queen"
    assert [text.split() for text in nearest_words(page)[:2]] == [["woman", "0.54"], ["king", "0.28"]]
    page.fill("#search", "zebra")
    assert page.inner_text("#found") == "not on this map"


def test_one_can_go_from_word_to_word_by_mouse_and_by_keys(page, tmp_path):
    opened(page, tmp_path)
    page.fill("#search", "queen")
    page.press("#search", "Enter")
    page.click("#card button:has-text('woman')")
    assert page.inner_text("#card h2") == "woman"
    page.focus("canvas")
    before = page.inner_text("#card h2")
    moves = [(page.press("canvas", key), page.inner_text("#card h2"))[1] for key in ("ArrowUp", "ArrowDown") * 2]
    assert set(moves) - {before}
    page.press("canvas", "Escape")
    assert page.inner_text("#card h2") == "Nearest words"


def test_a_click_on_a_dot_keeps_its_word_and_zooming_moves_it(page, tmp_path):
    opened(page, tmp_path)
    place = page.evaluate("at(words.indexOf('king'))")
    box = page.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + place[0], box["y"] + place[1])
    assert page.inner_text("#card h2") == "king"
    page.click("#zoom button >> nth=0")
    assert page.evaluate("at(words.indexOf('king'))") != place
    page.click("#zoom button >> nth=2")
    assert page.evaluate("at(words.indexOf('king'))") == place


def test_analogies_stand_beside_the_map_and_names_are_shown_as_they_are(page, tmp_path):
    opened(page, tmp_path, highlight={"<i>": ["<b>"]})
    assert page.locator("#analogies li").all_inner_texts()[0] == "king − man + woman → queen: rank 1"
    assert "<i>" in page.inner_text("#legend")
    assert page.locator("#legend i").count() == page.locator("#legend li").count()  # dots, none of them from a name
    dark = page.evaluate(
        "pen.getImageData(0, 0, canvas.width, canvas.height).data.filter((v, i) => i % 4 == 3 && v).length"
    )
    assert dark > 1000  # something is drawn
