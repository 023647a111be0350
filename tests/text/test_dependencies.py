"""Trees of the built-in grammar's clauses: their words, trees worked by hand; and heads as files have them."""

from __future__ import annotations

import pytest

from lexigraph.errors import LexigraphError
from lexigraph.text import builtin, grammar, heads
from lexigraph.text.constructions import CONSTRUCTIONS, clauses
from lexigraph.text.dependencies import tree


def test_words_are_those_of_the_sentence_and_heads_are_a_tree():
    for clause in clauses(1500):
        words = tree(clause)
        assert [word.form for word in words] == grammar.realise(clause).split()
        heads.read([str(word.head) for word in words], [word.form for word in words], "here")


def test_a_relation_goes_with_its_part_of_speech():
    tags = {"det": {"DET"}, "case": {"ADP"}, "amod": {"ADJ"}, "aux": {"AUX"}, "cop": {"AUX"}, "punct": {"PUNCT"}}
    for clause in clauses(500):
        for word in tree(clause):
            assert word.tag in tags.get(word.relation, {word.tag}), (word, grammar.realise(clause))


BY_HAND = {  # word/tag/head/relation, as Universal Dependencies has it
    "ditransitive": """
        He/PRON/3/nsubj is/AUX/3/aux teaching/VERB/0/root the/DET/5/det lullaby/NOUN/3/obj to/ADP/7/case
        you/PRON/3/obl today/NOUN/3/obl:unmarked ./PUNCT/3/punct
    """,
    "role": """
        The/DET/2/det visitor/NOUN/9/nsubj behind/ADP/5/case the/DET/5/det bench/NOUN/2/nmod
        will/AUX/9/aux be/AUX/9/cop a/DET/9/det student/NOUN/0/root ./PUNCT/9/punct
    """,
    "passive": """
        It/PRON/3/nsubj:pass is/AUX/3/aux:pass eaten/VERB/0/root by/ADP/6/case the/DET/6/det
        horses/NOUN/3/obl:agent ./PUNCT/3/punct
    """,
    "relative": """
        Our/PRON/2/nmod:poss friends/NOUN/10/nsubj who/PRON/4/nsubj know/VERB/2/acl:relcl that/DET/7/det
        sad/ADJ/7/amod joke/NOUN/4/obj will/AUX/10/aux not/PART/10/advmod return/VERB/0/root
        to/ADP/13/case the/DET/13/det school/NOUN/10/obl ./PUNCT/10/punct
    """,
    "infinitive": """
        You/PRON/4/nsubj did/AUX/4/aux not/PART/4/advmod refuse/VERB/0/root to/PART/6/mark
        take/VERB/4/xcomp two/NUM/8/nummod mirrors/NOUN/6/obj ./PUNCT/4/punct
    """,
    "coordination": """
        An/DET/3/det honest/ADJ/3/amod carpenter/NOUN/7/nsubj and/CCONJ/5/cc Clara/PROPN/3/conj
        will/AUX/7/aux cut/VERB/0/root a/DET/10/det beautiful/ADJ/10/amod tulip/NOUN/7/obj
        tonight/NOUN/7/obl:unmarked ./PUNCT/7/punct
    """,
    "subordinate": """
        He/PRON/3/nsubj will/AUX/3/aux drive/VERB/0/root to/ADP/6/case the/DET/6/det fountain/NOUN/3/obl
        after/SCONJ/9/mark it/PRON/9/nsubj rains/VERB/3/advcl ./PUNCT/3/punct
    """,
    "question": """
        Will/AUX/5/aux the/DET/3/det benches/NOUN/5/nsubj be/AUX/5/cop comfortable/ADJ/0/root
        ?/PUNCT/5/punct
    """,
}


@pytest.mark.parametrize("construction", BY_HAND)
def test_trees_are_as_worked_by_hand(construction):
    assert construction in CONSTRUCTIONS
    wanted = BY_HAND[construction].split()
    sentence = " ".join(word.split("/")[0] for word in wanted)
    found = next(c for c in clauses(2000) if c.construction == construction and grammar.realise(c) == sentence)
    assert ["/".join(map(str, word)) for word in tree(found)] == wanted


def test_the_built_in_corpus_has_trees():
    (record,) = builtin.records(("tokens", "heads", "relations", "tags"), 1)
    assert len({len(values) for values in record.columns.values()}) == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2 0 4", r"a.conllu, line 9: word 3 \('.'\) has the head 4, but the sentence has 3 words"),
        ("2 0 _", r"word 3 \('.'\) has none for a head"),
        ("2 0 -1", r"word 3 \('.'\) has '-1' for a head"),
        ("2 0 ２", r"word 3 \('.'\) has '２' for a head"),
        ("2 0 0", r"word 3 \('.'\) has the head 0, as word 2 has: a sentence has one root"),
        ("2 1 2", r"word 1 \('She'\) hangs on itself .* \(1 → 2 → 1\), and no word has the head 0"),
        ("3 0 1", r"word 1 \('She'\) hangs on itself by way of its heads \(1 → 3 → 1\)\."),
        ("1 0 2", r"word 1 \('She'\) hangs on itself by way of its heads \(1 → 1\)\."),
        ("2 0 " + "9" * 5000, r"word 3 \('.'\) has the head 9+, but"),
    ],
)
def test_heads_that_are_no_tree_are_refused_with_the_word_that_is_wrong(value, said):
    with pytest.raises(LexigraphError, match=said):
        heads.read(value, ["She", "sings", "."], "a.conllu, line 9")
