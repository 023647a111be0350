"""Trees in brackets: what is written is read, where what is no tree goes wrong, and the forms that networks learn."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError
from lexigraph.text import constructions, grammar, phrases, readers, sentiment
from lexigraph.text.check import check
from lexigraph.text.trees import NoTree, Span, Tree, binarised, parents, parse, unbinarised, without

WORDS = st.sampled_from(["it", "(", ")", "A/B", "8\u00a01/2", "."])
LABELS = st.sampled_from(["S", "NP", "VP"])
BROKEN = {
    "(S (NP it)": (1, 1, "lacks 1 closing bracket"),
    "(S (NP it)))": (1, 12, "closes nothing"),
    "(S (NP it)\n   (VP))": (2, 7, r"the node \(VP\) is empty"),
    "(S (NP it) works)": (1, 12, r"write \(LABEL works\)"),
    "(S (NP it he))": (1, 11, "'he' has no node of its own"),
    "(S it (NP he))": (1, 7, "behind the word 'it'"),
    "(S (NP it)) (S (NP he))": (1, 13, "new line"),
    "It works .": (1, 1, "'It' stands outside"),
    "": (1, 1, "no tree"),
    "(A a)\n(B b)": (1, 1, "2 trees"),
}


@st.composite
def trees(draw, most=6):
    """Trees with chains, and nodes of one, two and many children."""

    def grown(first: int, count: int, chain: bool = True) -> list[Span]:
        label = draw(LABELS)
        if chain and draw(st.booleans()):
            below = grown(first, count, chain=False)
        elif count == 1:
            below = [Span(first, first, "T")]
        else:
            cuts = sorted(draw(st.sets(st.integers(1, count - 1), min_size=1)))
            parts = zip([0, *cuts], [*cuts, count], strict=True)
            below = [span for a, b in parts for span in grown(first + a, b - a)]
        return [Span(first, first + count - 1, label), *below]

    words = draw(st.lists(WORDS, min_size=1, max_size=most))
    return Tree(tuple(words), tuple(grown(0, len(words))))


@given(trees())
def test_what_is_written_is_read(tree):
    assert parse(str(tree)) == tree


@given(trees())
def test_binarising_leaves_no_node_with_three_children_and_can_be_undone(tree):
    two = binarised(tree)
    above = parents(two.spans)
    assert max(above.count(index) for index in range(len(two.spans))) <= 2
    assert unbinarised(two) == tree


@given(trees())
def test_tags_and_joined_phrases_are_all_of_a_tree(tree):
    assert len({span[:2] for span in tree.phrases}) == len(tree.phrases)
    assert Tree.of(tree.words, tree.tags, tree.phrases) == tree


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_tree_is_refused_with_its_line_and_column(text):
    line, column, why = BROKEN[text]
    with pytest.raises(NoTree, match=why) as refused:
        parse(text)
    assert (refused.value.line, refused.value.column) == (line, column)


def test_white_space_in_a_word_does_not_cut_it():
    assert parse(str(Tree(("New York",), (Span(0, 0, "N"),)))).words == ("New\u00a0York",)


def test_traces_and_words_with_some_tags_go_with_the_nodes_that_held_nothing_else():
    tree = parse("( (S (NP-SBJ (-NONE- *-1)) (VP (VB go) (PP (-NONE- *))) (. .)) )")
    assert str(tree) == "(S (VP (VB go)) (. .))"
    assert str(without(tree, {"."})) == "(S (VP (VB go)))"


def test_trees_over_several_lines_and_files_of_them(tmp_path):
    for name in ("a.mrg", "a.txt"):
        (tmp_path / name).write_text(
            "( (S\n    (NP (PRP It))\n    (VP (VBZ works))))\n\n(S (VP (VB Go)) (-LRB- -LRB-))\n"
        )
        found = list(readers.read(tmp_path / name, needed=("tokens", "tags", "phrases", "tree")))
        assert [record.line for record in found] == [1, 5]
        assert found[0].columns["tokens"] == ["It", "works"]
        assert found[1].columns["tokens"] == ["Go", "("]
        assert found[0].columns["tags"] == ["PRP", "VBZ"]
        assert [tuple(span) for span in found[0].columns["phrases"]] == [(0, 1, "S"), (0, 0, "NP"), (1, 1, "VP")]
    (tmp_path / "b.mrg").write_text("(S (NP it))\n(S (NP it\n")
    with pytest.raises(LexigraphError, match=r"b\.mrg, line 2, column 1: .* lacks 2 closing brackets"):
        list(readers.read(tmp_path / "b.mrg", needed=("tokens", "tree")))


@pytest.mark.parametrize(
    ("text", "kind", "recipe"),
    [("(3 (2 It) (4 works))", "trees", "tree-lstm"), ("(S (NP (PRP It)) (VP (VB go)))", "phrases", "constituency")],
)
def test_check_tells_what_a_file_of_trees_trains(tmp_path, text, kind, recipe):
    (tmp_path / "a.trees").write_text(f"{text}\n" * 30)
    report = check(tmp_path / "a.trees")
    assert report.files["train"].kind == kind
    assert recipe in report.recipes
    assert any(f"lexigraph train {recipe} " in command for command in report.commands)


def test_the_built_in_grammar_yields_a_tree_of_every_construction():
    """By hand for one of them; all have a root, every word's tag, and the clause's own words."""
    seen = set()
    for clause in constructions.clauses(400):
        tree = phrases.tree(clause)
        assert " ".join(tree.words) == grammar.realise(clause)
        assert parse(str(tree)) == tree
        assert {"VP"} & {label for span in tree.phrases for label in span.label.split("+")}
        seen.add(clause.construction)
    assert len(seen) == 23
    put = grammar.Clause(
        grammar_frame := constructions.lexicon.frame_of("placement", "put"),
        constructions.lexicon.VERB["put"],
        grammar.SHE,
        (grammar.IT,),
        goal=grammar.NounPhrase(constructions.lexicon.NOUN["table"], determiner=constructions.THE, preposition="on"),
    )
    assert grammar_frame.kind == "placement"
    assert str(phrases.tree(put)) == (
        "(S (NP (PRP She)) (VP (VBZ puts) (NP (PRP it)) (PP (IN on) (NP (DT the) (NN table)))) (. .))"
    )


def test_sentiment_made_from_the_words_up_is_that_of_the_whole_sentence():
    """The class of an item is drawn before its words; that of a tree follows from its words and their order."""
    for (text, label), tree in islice(zip(sentiment.items(), sentiment.trees(), strict=False), 500):
        assert " ".join(tree.words) == text
        assert tree.spans[0].label == label
