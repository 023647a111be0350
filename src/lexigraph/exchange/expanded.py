"""A run of sentences with more words: a new run folder beside the old one, which stays as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lexigraph import __version__
from lexigraph.abilities.sentences import Sentences
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import AbilityError, LexigraphError
from lexigraph.outputs import free_folder
from lexigraph.run import FORMAT, Run, replacing
from lexigraph.stored import array_in
from lexigraph.text.vocabularies import FINGERPRINTS
from lexigraph.weights import MODEL, write_tensors

EXPANDED, UNIGRAMS = "expanded", "unigrams.npy"


def expand(run: str | Path, vectors: str | Path, out: str | Path, force: bool = False) -> tuple[Path, int]:
    """The run with the words of `vectors` that it lacks, in the folder `out`; and how many those are."""
    out = free_folder(out, "an expanded run", force, was_expanded)
    old = TextModel.load(run, "cpu")
    if not isinstance(old, Sentences):
        can = ", ".join(old.abilities)
        raise AbilityError(f"Only sentence encoders are expanded; a {old.recipe.system} model can: {can}.")
    opened, model = Run.open(run), old.expanded(vectors)
    added = len(model.tokenizer) - len(old.tokenizer)
    facts = {"format": FORMAT, "lexigraph": __version__, "system": model.recipe.system, "from": str(run)}
    facts |= {EXPANDED: str(vectors), FINGERPRINTS: model.vocabularies.fingerprints()}
    with replacing(out) as temporary:
        temporary.mkdir()
        new = Run(temporary)
        new.write("config.json", facts | {"abilities": list(model.abilities)})
        new.write("recipe.toml", model.recipe.toml())
        model.vocabularies.save(temporary)
        state = {name: value.contiguous() for name, value in model.network.state_dict().items()}
        write_tensors(state, temporary / MODEL)
        if (opened.path / UNIGRAMS).exists():
            counts = array_in(opened.path / UNIGRAMS)
            np.save(temporary / UNIGRAMS, np.concatenate([counts, np.zeros(added, counts.dtype)]))
        results = opened.json("results.json") if opened.finished else {"steps": 0}
        kept = {key: results.get(key, 0) for key in ("steps", "seed")}
        new.write("results.json", {"system": model.recipe.system, **kept, "scores": {}})
    return out, added


def was_expanded(folder: Path) -> bool:
    """Whether it is a run that was made here, and not trained since."""
    try:
        config = Run.open(folder).config()
    except LexigraphError:
        return False
    return EXPANDED in config and not (folder / "log.jsonl").exists()
