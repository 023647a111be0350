"""What BERT hides and guesses, its two segments, and what users ask of it: fill and encode."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import lexigraph
from lexigraph import api, upgrades
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation import masked
from lexigraph.models import bert, electra
from lexigraph.models.bert import BERT, Config, Objective, next_segment, two_segments
from lexigraph.objectives.masked import Frame, Words, contents
from lexigraph.objectives.next_token import IGNORE
from lexigraph.run import Run
from lexigraph.text.batches import Rows
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import Vocabularies
from lexigraph.training.distribution import World
from tests.ids import ids as vocabulary

BEGIN, END, MASK = 2, 2, 3
FORMS = list(itertools.product(["pre", "post"], ["gelu", "relu", "silu"]))
TEXTS = ["the old man sang .", "she was singing near the old harbour !", "unhappily , he sang ; they laughed ."]


def network(objective: Objective | None = None, **settings) -> BERT:
    torch.manual_seed(0)
    shape = {"layers": 2, "heads": 2, "dim": 16, "context": 24, "dropout": 0.0}
    made = BERT(Config(**shape | settings), objective or Objective(), vocabulary(60, mask=MASK))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.eval()


def rows(count: int = 40, longest: int = 20) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    lengths = random.integers(1, longest + 1, count)
    return [np.array([BEGIN, *random.integers(4, 60, length), END]) for length in lengths]


def originals(batch) -> torch.Tensor:
    """The inputs with the guessed tokens put back."""
    restored = batch["inputs"].clone()
    for row, positions, targets in zip(restored, batch["positions"], batch["targets"], strict=True):
        row[positions[targets != IGNORE]] = targets[targets != IGNORE]
    return restored


def test_the_targets_put_back_give_the_text_between_its_boundaries():
    made, texts = network(), rows()
    batch = made.prepare({"text": texts})
    for text, restored, length in zip(texts, originals(batch), batch["lengths"].tolist(), strict=True):
        assert restored[:length].tolist() == text.tolist()
        assert (restored[length:] == 0).all()
    assert batch.counts["loss"] == sum(max(1, round(0.15 * (len(text) - 2))) for text in texts)


def test_each_epoch_hides_other_tokens_unless_masking_is_static():
    texts = rows()
    seen = {}
    for dynamic in (True, False):
        made = network(Objective(dynamic=dynamic))
        epochs = [made.prepare({"text": texts}, {"": np.arange(40) + 100 * epoch}) for epoch in (0, 1)]
        seen[dynamic] = torch.equal(epochs[0]["inputs"], epochs[1]["inputs"])
    assert seen == {True: False, False: True}


def test_an_empty_text_hides_its_end_so_that_every_text_counts():
    batch = network().prepare({"text": [np.array([BEGIN, END]), np.array([BEGIN])]})
    assert batch["inputs"].tolist() == [[BEGIN, MASK], [BEGIN, MASK]]
    assert batch["targets"].tolist() == [[END], [END]]


def test_a_stretch_of_a_longer_text_has_boundaries_of_its_own_too():
    row, frame = np.arange(10, 20), Frame(BEGIN, END, MASK, pad=0)
    assert contents(np.array([2, *row, 2]), 10, frame).tolist() == row.tolist()
    assert contents(row, 9, frame).tolist() == row[:-1].tolist()  # its last token opens the next stretch
    with pytest.raises(LexigraphError, match="fit"):
        contents(row, 8, frame)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "sentencepiece", "word", "char"])
def test_words_begin_and_sentences_end_where_the_tokenizer_says(kind):
    size = {"bpe": 275, "sentencepiece": 320}.get(kind, 60)
    tokenizer = Tokenizer.train(iter(TEXTS * 3), kind=kind, size=size, special=["<mask>"])
    row, known = tokenizer.encode(TEXTS[2]), Words.of(tokenizer)
    words: list[str] = []
    for piece, begin in zip(tokenizer.tokens(row), known.begins[row], strict=True):
        if begin or not words:
            words.append("")
        words[-1] += piece.removeprefix("##")
    assert [word.strip(" ▁") for word in words if word.strip(" ▁")] == TEXTS[2].split()
    last = [token for token, stops in zip(row, known.stops[row], strict=True) if stops]
    assert [tokenizer.decode([token]).strip() for token in last] == ["."]


def test_whole_words_are_hidden_whole():
    tokenizer = Tokenizer.train(iter(TEXTS * 3), kind="bpe", size=275, special=["<mask>"])
    known = Vocabularies({"text": tokenizer})
    made = BERT(Config(layers=1, heads=1, dim=8, context=64), Objective(whole_word=True), known)
    ids = np.array([2, *tokenizer.encode(TEXTS[1]), 2])
    word = np.cumsum(made.words.begins[ids])
    for seed in range(20):
        batch = made.prepare({"text": [ids]}, {"": np.array([seed])})
        chosen = np.isin(np.arange(len(ids)), batch["positions"][0].numpy())
        for number in np.unique(word[chosen]):
            inside = (word == number) & (ids != 2)
            assert chosen[inside].all()


def hidden_together(made, ids: list[int], first: int, second: int) -> set[tuple[bool, bool]]:
    """Whether the token `first` and the token `second` of a text were to be guessed, over many draws."""
    seen = set()
    for seed in range(200):
        batch = made.prepare({"text": [np.array([BEGIN, *ids, END])]}, {"": np.array([seed])})
        positions = batch["positions"][0][batch["targets"][0] != IGNORE]
        seen.add((ids.index(first) + 1 in positions, ids.index(second) + 1 in positions))
    return seen


@pytest.mark.parametrize(("system", "network"), [(bert, BERT), (electra, electra.ELECTRA)])
def test_words_of_two_lines_or_documents_are_hidden_apart(system, network):
    tokenizer = Tokenizer.train(iter(TEXTS * 9), kind="bpe", size=330, special=["<mask>"])
    settings = {"layers": 1, "heads": 2, "dim": 16, "context": 64}
    known = Vocabularies({"text": tokenizer})
    made = network(system.Config(**settings), system.Objective(mask_rate=0.4, whole_word=True), known)
    newline, she, he = (tokenizer.id_of(piece) for piece in ("\n", "she", " he"))
    lines = tokenizer.encode("he sang .\nshe was singing")
    assert tokenizer.tokens(lines)[lines.index(newline) + 1] == "she"  # in one piece, and no space before it
    either = {(True, False), (False, True)}
    assert either < hidden_together(made, lines, newline, she)
    documents = [he, END, she, he]  # a document begins after the end of another
    assert (False, True) in hidden_together(made, documents, he, she)


@pytest.mark.parametrize(("kind", "size"), [("bpe", 275), ("wordpiece", 60)])
def test_words_of_two_segments_are_hidden_apart(kind, size):
    tokenizer = Tokenizer.train(iter(TEXTS * 3), kind=kind, size=size, special=["<mask>"])
    objective = Objective(mask_rate=0.4, whole_word=True, second="order")
    known = Vocabularies({"text": tokenizer})
    made = BERT(Config(layers=1, heads=1, dim=8, context=64, pooler=True), objective, known)
    ids = tokenizer.encode(TEXTS[2])[1:]  # a window of a longer text, which begins inside a word
    assert not made.words.begins[ids[0]]
    seen = set()
    for seed in range(200):
        batch = made.prepare({"text": [np.array([BEGIN, *ids, END])]}, {"": np.array([seed])})
        if batch["misplaced"][0]:  # <begin> A <end> B <end>, and B is what the window begins with
            first = int((batch["segments"][0] == 1).nonzero()[0])
            positions = batch["positions"][0][batch["targets"][0] != IGNORE]
            seen.add((first - 2 in positions, first in positions))
    assert {(True, False), (False, True)} < seen


def test_a_tokenizer_without_a_mask_is_refused():
    tokenizer = Tokenizer.train(iter(TEXTS), kind="word")
    with pytest.raises(UsageError, match=r"tokenizer\.special"):
        BERT(Config(), Objective(), Vocabularies({"text": tokenizer}))
    with pytest.raises(UsageError, match=r"objective\.mask_rate"):
        network(Objective(mask_rate=1.5))


@pytest.mark.parametrize(("was", "now"), [(True, "order"), (False, "none")])
def test_a_run_of_before_keeps_its_second_task(was, now):
    tables = {"system": "bert", "objective": {"mask_rate": 0.15, "next_sentence": was}}
    assert upgrades.recipe(tables, 2)["objective"] == {"mask_rate": 0.15, "second": now}


# ---- two segments ----------------------------------------------------------------------------------------------


def test_texts_are_cut_after_sentences_and_half_of_them_exchanged():
    begins, stops = np.ones(60, bool), np.arange(60) == 5
    row = np.array([10, 11, 5, 12, 13, 5, 14])
    found = [two_segments(row, np.random.default_rng(seed), Words(begins, ~begins, stops, 4)) for seed in range(200)]
    parts = {(tuple(text[:cut].tolist()), tuple(text[cut:].tolist()), swapped) for text, cut, swapped in found}
    first, second = ((10, 11, 5), (12, 13, 5, 14)), ((10, 11, 5, 12, 13, 5), (14,))
    assert parts == {(*first, 0), (*first[::-1], 1), (*second, 0), (*second[::-1], 1)}
    assert 60 < sum(swapped for _, _, swapped in found) < 140


def test_two_segments_stand_between_boundaries_and_are_told_apart():
    made = network(Objective(second="order"), pooler=True)
    texts = rows(longest=made.context)
    batch = made.prepare({"text": texts})
    assert batch.counts["second"] == len(texts)
    assert batch["inputs"].shape[1] <= 24
    for text, ids, kinds, exchanged, length in zip(
        texts, originals(batch).numpy(), batch["segments"].numpy(), batch["misplaced"], batch["lengths"], strict=True
    ):
        ends = np.flatnonzero(ids[:length] == END)
        assert len(ends) == 3
        assert kinds[:length].tolist() == [0] * (ends[1] + 1) + [1] * (ends[2] - ends[1])
        parts = [ids[1 : ends[1]].tolist(), ids[ends[1] + 1 : ends[2]].tolist()]
        first, second = parts[::-1] if exchanged else parts
        assert first + second == text[1:-1].tolist()


def test_the_order_of_segments_can_be_learned_and_has_its_own_term():
    torch.manual_seed(0)
    made = BERT(
        Config(layers=1, heads=2, dim=32, context=16, dropout=0.0, pooler=True),
        Objective(second="order"),
        vocabulary(60, mask=MASK),
    )
    random = np.random.default_rng(0)
    texts = [np.array([2, *np.sort(random.choice(np.arange(4, 60), 8, replace=False)), 2]) for _ in range(256)]
    optimizer = torch.optim.Adam(made.parameters(), lr=3e-3)
    for epoch in range(60):
        batch = made.prepare({"text": texts}, {"": np.arange(256) + 1000 * epoch})
        terms, _ = made.loss(batch)
        assert {name: term.count for name, term in terms.items()} == batch.counts
        optimizer.zero_grad()
        sum(term.total / term.count for term in terms.values()).backward()
        optimizer.step()
    assert terms["second"].total.item() / 256 < 0.35  # log 2 = 0.69: they ascend, unless exchanged


def test_a_second_segment_is_the_next_line_or_half_of_the_time_any_other():
    """Devlin et al. (2019), section 3.1: label IsNext for the actual next sentence, NotNext for a random one."""
    row, after, elsewhere = np.arange(10, 15), np.arange(20, 23), np.arange(30, 34)
    found = [next_segment(row, after, elsewhere, np.random.default_rng(seed), 12) for seed in range(200)]
    seen = {(tuple(text[:cut].tolist()), tuple(text[cut:].tolist()), wrong) for text, cut, wrong in found}
    assert seen == {((10, 11, 12, 13, 14), (20, 21, 22), 0), ((10, 11, 12, 13, 14), (30, 31, 32, 33), 1)}
    assert 70 < sum(wrong for _, _, wrong in found) < 130


@pytest.mark.parametrize(
    ("first", "second", "kept"), [(9, 3, (5, 3)), (3, 9, (3, 5)), (9, 9, (4, 4)), (5, 3, (5, 3)), (8, 0, (8, 0))]
)
def test_the_longer_segment_is_cut_first_where_the_two_part(first, second, kept):
    row, after = np.arange(first), 100 + np.arange(second)
    text, cut, _ = next_segment(row, after, after, np.random.default_rng(0), 8)
    assert (cut, len(text) - cut) == kept
    assert text[:cut].tolist() == row[first - kept[0] :].tolist()
    assert text[cut:].tolist() == after[: kept[1]].tolist()


def test_neighbours_come_from_the_document_and_its_last_line_is_not_asked(tmp_path):
    """Lines of a document are named a0, a1 … ; a next line is the one with the next number of the same letter."""
    lines = [[f"{letter}{number}" for number in range(4)] for letter in "abcdef"]
    (tmp_path / "text.txt").write_text("\n\n".join("\n".join(each) for each in lines) + "\n")
    changes = {
        "objective.second": "next",
        "model.pooler": True,
        "data.documents": "blank",
        "data.split": [1.0],
        "tokenizer.kind": "word",
        "train.batch_tokens": 16,
    }
    run = api.prepare("bert", tmp_path / "text.txt", tmp_path / "run", tiny=True, set=changes, quiet=True)
    training, tables = api.training_of(Run.open(run), World(torch.device("cpu")))
    made, names = training.network, training.network.frame
    table, tokenizer = (
        tables["train"],
        Vocabularies.load(Run.open(run), made.columns(Run.open(run).recipe())).tokenizer(),
    )
    starts, lengths = table.cut(made.traits)
    seen = set()
    for epoch in range(8):
        examples = table.fetch(Rows(starts, lengths), made.traits, np.arange(24) + 24 * epoch)
        batch = made.prepare(examples, {"": np.arange(24) + 24 * epoch})
        for ids, wrong in zip(originals(batch).tolist(), batch["misplaced"].tolist(), strict=True):
            first, second = (tokenizer.token_of(token) for token in ids if token not in (names.begin, names.pad))
            follows = first[0] == second[0] and int(second[1]) == int(first[1]) + 1
            assert (wrong == IGNORE) == (first[1] == "3")
            assert follows if wrong == 0 else True  # one from elsewhere may follow by chance
            seen.add((wrong, follows))
    assert {(0, True), (1, False), (IGNORE, False)} <= seen


def test_the_masking_rate_falls_in_training_and_stays_in_evaluation():
    made, texts = (
        network(Objective(mask_rate=0.3, final_mask_rate=0.15, mask_steps=10)),
        [np.array([2, *[9] * 20, 2])],
    )
    seeds = {"": np.array([5])}
    masked = [made.prepare({"text": texts}, seeds, step).counts["loss"] for step in (0, 5, 10, 1000)]
    assert masked == [6, 4, 3, 3]  # of 20: 30 %, 22.5 %, 15 %
    assert made.prepare({"text": texts}).counts["loss"] == 3
    again = [made.prepare({"text": texts}, seeds, 5)["inputs"] for _ in range(2)]
    assert torch.equal(*again)


def test_spans_are_runs_of_whole_words_that_share_their_fate():
    tokenizer = Tokenizer.train(iter(TEXTS * 3), kind="bpe", size=275, special=["<mask>"])
    known = Vocabularies({"text": tokenizer})
    made = BERT(Config(layers=1, heads=1, dim=8, context=128), Objective(spans=True, mask_rate=0.4), known)
    ids = np.array([2, *tokenizer.encode(" ".join(TEXTS)), 2])
    word, together = np.cumsum(made.words.begins[ids]), set()
    for seed in range(20):
        batch = made.prepare({"text": [ids]}, {"": np.array([seed])})
        positions, targets = batch["positions"][0].numpy(), batch["targets"][0].numpy()
        chosen = np.isin(np.arange(len(ids)), positions)
        for number in np.unique(word[chosen]):
            assert chosen[(word == number) & (ids != 2)].all()
        shown = batch["inputs"][0].numpy()[positions]
        together.add((bool((shown == MASK).any()), bool((shown == targets).any())))
    assert len(together) > 1  # some texts lose a span that is only kept, and some all


def test_a_pooler_that_nothing_is_asked_of_is_not_trained():
    made = network(pooler=True)
    terms, _ = made.loss(made.prepare({"text": rows()}))
    terms["loss"].total.backward()
    assert all(p.grad is not None for p in made.parameters() if p.requires_grad)
    with pytest.raises(UsageError, match="pooler"):
        network(Objective(second="order"))


# ---- looking inside --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "activation"), FORMS)
def test_fused_and_open_attention_agree_and_look_at_no_padding(norm, activation):
    made = network(norm=norm, activation=activation)
    ids, lengths = torch.randint(4, 60, (3, 9), generator=torch.Generator().manual_seed(1)), torch.tensor([9, 4, 1])
    logits, weights = made.attention_weights(ids, lengths)
    inside = torch.arange(9) < lengths[:, None]
    assert torch.allclose(logits[inside], made(ids, lengths)[inside], atol=1e-4)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 2, 9))
    assert (weights * ~inside[None, :, None, None]).abs().max() == 0


def test_a_guess_sees_both_sides():
    made = network()
    ids = torch.tensor([[2, 5, 3, 6, 2]])
    before = made(ids)[0, 2]
    for position in (1, 3):
        changed = ids.clone()
        changed[0, position] = 30
        assert not torch.allclose(made(changed)[0, 2], before, atol=1e-2)


# ---- what users ask --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Sentences in which the animal decides the sound: what is hidden can be known."""
    folder = tmp_path_factory.mktemp("bert")
    sounds = {"cat": "meows", "dog": "barks", "cow": "moos", "owl": "hoots"}
    lines = [f"the {size} {a} {b} ." for a, b in sounds.items() for size in ("big", "small", "old", "young")]
    (folder / "text.txt").write_text("\n".join(lines * 20) + "\n")
    settings = {"train.steps": 300, "train.batch_tokens": 512, "train.lr": 1e-2, "train.warmup": 10}
    small = {"model.dim": 32, "tokenizer.size": 400, "data.split": [1.0], "train.validate_every": 300}
    return api.train("bert", folder / "text.txt", folder / "run", set=settings | small, tiny=True, quiet=True)


def test_fill_finds_what_the_rest_of_the_sentence_decides(model):
    found = model.fill("the old dog <mask> .", k=3)
    assert found[0].text == "the old dog barks ."
    assert found[0].tokens == ("barks",)
    assert found[0].probability > 0.9
    assert [f.probability for f in found] == sorted((f.probability for f in found), reverse=True)
    assert model.fill("<mask> young owl hoots .")[0].text == "the young owl hoots ."


def test_probabilities_of_fillings_are_the_networks(model):
    everything = model.fill("the old <mask> barks .", k=10_000)
    assert len(everything) == len(model.tokenizer) - len(model.tokenizer.special)
    ids = model.tokenizer.encode("the old"), model.tokenizer.encode(" barks .")
    row = torch.tensor([[BEGIN, *ids[0], MASK, *ids[1], END]])
    p = model.network(row)[0, 1 + len(ids[0])].softmax(0)
    special = p[: len(model.tokenizer.special)].sum().item()
    assert sum(f.probability for f in everything) == pytest.approx(1 - special, abs=1e-5)
    assert everything[0].probability == pytest.approx(p[len(model.tokenizer.special) :].max().item(), rel=1e-4)


def test_several_gaps_are_filled_one_after_the_other(model):
    """p(both) = p(first | the rest) p(second | the rest and the first)"""
    found = model.fill("the big <mask> <mask> .", k=4)
    probabilities = [filling.probability for filling in found]
    assert probabilities == sorted(probabilities, reverse=True)
    assert len({filling.text for filling in found}) == 4
    animal, sound = found[0].tokens
    assert (animal, sound) in {("cat", "meows"), ("dog", "barks"), ("cow", "moos"), ("owl", "hoots")}
    after = {filling.tokens[0]: filling.probability for filling in model.fill(f"the big {animal} <mask> .", k=4)}
    ids = [BEGIN, *model.tokenizer.encode("the big"), MASK, MASK, *model.tokenizer.encode(" ."), END]
    before = model.network(torch.tensor([ids]))[0, ids.index(MASK)].softmax(0)[model.tokenizer.id_of(" " + animal)]
    assert found[0].probability == pytest.approx(before.item() * after[sound], rel=1e-4)


def test_what_cannot_be_filled_is_told(model):
    with pytest.raises(LexigraphError, match="<mask>"):
        model.fill("the old dog barks .")
    with pytest.raises(LexigraphError, match="at most 46"):
        model.fill("the <mask> " * 40)
    with pytest.raises(UsageError, match="k is 0"):
        model.fill("the <mask>", k=0)


def test_the_mask_in_a_file_or_a_text_to_encode_is_text_like_other(model):
    assert MASK not in model.tokenizer.encode("the <mask> .")


def test_vectors_of_texts(model):
    texts = ["the old dog barks .", "the cow moos .", "the small owl hoots ."]
    mean, first = model.encode(texts), model.encode(texts, pooling="cls")
    assert mean.shape == first.shape == (3, 32)
    assert mean.dtype == first.dtype == np.float32
    row = torch.tensor([[BEGIN, *model.tokenizer.encode(texts[1]), END]])
    hidden = model.network.hidden(row)[0].detach().numpy()
    assert np.allclose(mean[1], hidden.mean(0), atol=1e-5)
    assert np.allclose(first[1], hidden[0], atol=1e-5)
    assert np.allclose(mean[2], model.encode(texts[2]), atol=1e-5)  # alone or among others
    nearest = model.neighbours("the young dog barks .", texts, k=1)[0]
    assert nearest.text == "the old dog barks ."
    for wrong in ({"pooling": "max"}, {"lossless": True}):
        with pytest.raises(UsageError):
            model.encode(texts, **wrong)
    with pytest.raises(LexigraphError, match="46"):
        model.encode("the old dog barks . " * 20)


def test_scores_stand_beside_what_frequencies_achieve(model, tmp_path):
    text = tmp_path / "held-out.txt"
    sizes, sounds = ("big", "small", "old", "young"), ("cat meows", "dog barks", "cow moos", "owl hoots")
    lines = [f"the {size} {sound} .{mark}" for size in sizes for sound in sounds for mark in ("", " .", " . .")]
    text.write_text("\n".join(lines))
    scores = api.evaluate(model.path, text)
    assert scores["nll"]["value"] < scores["unigram_baseline"]["nll"]
    assert scores["accuracy"]["value"] > scores["unigram_baseline"]["accuracy"]
    assert scores["accuracy"]["interval"][0] <= scores["accuracy"]["value"] <= scores["accuracy"]["interval"][1]
    assert scores["masked"] == 48  # one of five to seven tokens a line
    assert "mask_rate:0.15" in scores["signature"]
    assert f"{scores['accuracy']['value']:.2%} right" in masked.headline(scores)
    assert api.evaluate(model.path, text)["nll"] == scores["nll"]  # the same tokens are hidden again


def test_the_frequency_baseline_by_hand():
    seen, wanted = np.array([9, 0, 9, 9, 5, 2, 0]), np.array([0, 0, 0, 0, 3, 1, 0])
    found = masked.unigram_baseline(seen, wanted, 4)  # counts + 1: 1 1 1 1 6 3 1 of 14
    assert found["nll"] == pytest.approx(-(3 * np.log(6 / 14) + np.log(3 / 14)) / 4)
    assert found["accuracy"] == pytest.approx(3 / 4)


def test_an_encoder_says_what_it_can(model):
    assert lexigraph.load(model.path).abilities == ("fill", "encode", "neighbours")
    with pytest.raises(AttributeError, match="fill, encode"):
        model.generate("the")
