"""Ten aims of a newcomer, each reached in at most three commands, typed as a person would type them.

The commands are executed as they stand, at toy size (tests/pages.py); what they answer is looked at.
"""

from __future__ import annotations

import csv
import io
import json
import signal
import textwrap
from pathlib import Path

import pytest
from PIL import Image

import lexigraph
from lexigraph import entry
from lexigraph.text import constructions, edits
from lexigraph.training.step import Training
from tests.pages import Follower, tiny

FRENCH = """L'homme voit l'arbre . La femme voit l'enfant . L'enfant aime la femme et l'homme .
Le chat dort sous la table . L'homme mange du pain avec l'ami . La femme boit de l'eau dans le jardin .
L'arbre est grand et vert . L'eau est froide .
"""


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Types up to three commands in an empty folder; gives what the last one answered, and the notes of all."""
    monkeypatch.chdir(tmp_path)
    follower = Follower(tmp_path / "kept")

    def type_in(*lines):
        assert len(lines) <= 3
        notes = ""
        for line in lines:
            capsys.readouterr()
            follower.type_in(line, monkeypatch)
            out, err = capsys.readouterr()
            notes += err
        return out, notes

    return type_in


def test_a_language_model_of_a_hard_wrapped_novel(typed):
    prose = " ".join(" ".join(constructions.sentences(400)).replace(" .", ".").split())
    Path("novel.txt").write_text(textwrap.fill(prose, 70) + "\n", encoding="utf-8")
    out, _ = typed("lexigraph check novel.txt")
    assert "--split-sentences" in out
    out, _ = typed(
        "lexigraph train gpt --data novel.txt --split-sentences --out runs/novel",
        'lexigraph generate runs/novel "The" -n 2',
    )
    assert out.strip()


def test_vectors_of_french_words(typed):
    Path("fr.txt").write_text(FRENCH * 20, encoding="utf-8")
    _, notes = typed("lexigraph train ppmi-svd --data fr.txt --out runs/whole")
    assert "words.split=elision" in notes
    out, _ = typed(
        "lexigraph train ppmi-svd --data fr.txt --out runs/fr --set words.split=elision",
        "lexigraph words nearest runs/fr homme -k 3",
    )
    assert "homme" not in out
    assert len(out.splitlines()) >= 3


def test_a_translator_from_a_csv_of_pairs(typed):
    with open("pairs.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["source", "target", "note"])
        rows.writerows((*pair, 'said "so", twice') for pair in edits.edit_pairs("ask-auxiliary", 200))
    out, _ = typed(
        "lexigraph train transformer --data pairs.csv --out runs/t",
        'lexigraph translate runs/t "She is singing ." --json',
    )
    assert json.loads(out)


def test_search_my_notes(typed):
    Path("notes/2024").mkdir(parents=True)
    Path("notes/harbour.txt").write_text("Bread and milk.\nThe old harbour was full of small boats.\n")
    Path("notes/2024/may.md").write_text("A boat lies in the harbour.\nNothing else happened.\n")
    out, _ = typed('lexigraph search notes "old harbour"')
    first = out.splitlines()[0]
    assert first.startswith("notes/harbour.txt:2")
    assert "**old** **harbour**" in first
    assert "may.md:1" in out


def test_which_model_suits_my_text(typed):
    Path("my.txt").write_text("\n".join(constructions.sentences(400)) + "\n")
    out, _ = typed("lexigraph check my.txt", "lexigraph compare gpt lstm-lm --data my.txt --out runs/compared")
    assert "gpt" in out
    assert "lstm-lm" in out
    assert "bits_per_byte" in out


def test_sentences_as_pictures_and_back_after_resaving(typed):
    text = "The rain had stopped, but nobody went outside."
    typed(f'lexigraph pictures books "{text}" --out drawn')
    Image.open("drawn/0000.png").resize((256, 256), Image.Resampling.NEAREST).save("sent.png")  # without its metadata
    out, notes = typed("lexigraph read books sent.png --any")
    assert out.strip() == text
    assert "sent.png" in notes


def test_my_own_model_in_a_python_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = entry.train("gpt", data=constructions.sentences(400), out="runs/mine", set=tiny(["gpt"]), quiet=True)
    text = model.generate("She", max_new=5)
    assert isinstance(text, str)
    assert lexigraph.load("runs/mine").generate("She", max_new=5) == text
    assert len(model.score(["She sings .", "He slept ."])) == 2


def test_to_hugging_face_and_back_with_the_same_greedy_text(typed):
    Path("my.txt").write_text("\n".join(constructions.sentences(400)) + "\n")
    typed("lexigraph train gpt --data my.txt --out runs/gpt --set model.positions=learned")
    typed("lexigraph convert runs/gpt there", "lexigraph convert there runs/back")
    here, _ = typed('lexigraph generate runs/gpt "She" --temperature 0 --max-new 8')
    back, _ = typed('lexigraph generate runs/back "She" --temperature 0 --max-new 8')
    assert here == back
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained("there")
    theirs = transformers.AutoModelForCausalLM.from_pretrained("there")
    found = theirs.generate(**tokenizer("She", return_tensors="pt"), max_new_tokens=8, do_sample=False)
    assert tokenizer.decode(found[0], skip_special_tokens=True).strip() == here.strip()


def test_go_on_after_ctrl_c_with_more_steps(typed, monkeypatch):
    Path("my.txt").write_text("\n".join(constructions.sentences(400)) + "\n")
    step = Training.step

    def stopped(self):
        facts = step(self)
        signal.raise_signal(signal.SIGINT)
        return facts

    with monkeypatch.context() as pressed:
        pressed.setattr(Training, "step", stopped)
        _, notes = typed("lexigraph train gpt --data my.txt --out runs/gpt")
    assert "--resume" in notes
    assert not Path("runs/gpt/results.json").exists()
    out, _ = typed("lexigraph train --out runs/gpt --resume --set train.steps=4", "lexigraph info runs/gpt --json")
    assert json.load(io.StringIO(out))["results"]["steps"] == 4


def test_what_a_key_means(typed):
    out, _ = typed("lexigraph explain train.warmup")
    assert "learning rate" in out
    assert "default" in out
