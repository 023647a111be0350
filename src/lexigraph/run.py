"""A run folder is complete: what trained it, what it learned, how well, and where to go on from.

    recipe.toml  config.json  tokenizer.json  model.safetensors  results.json  log.jsonl  checkpoints/
    unigrams.npy (for the baseline; of pairs, their targets')  tokens/ (until the run is finished)
    source-tokenizer.json (of a translator with separate vocabularies, whose tokenizer.json is that of its targets)
    vectors/ (of word vectors, which have neither tokenizer nor model.safetensors)

Every file is written beside its place, flushed to the disk and renamed, so that a reader or a power cut meets
the old file or the new one, never half of one. `model.safetensors` always holds the best weights so far,
or the latest as long as no validation has counted.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraph import __version__, upgrades
from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.files import json_in
from lexigraph.registry import WORD_SYSTEMS

BUNDLED = Path(__file__).parent / "bundled"
FORMAT = 2  # raise it when an old run folder would be misread, and say in upgrades.py what it means
OLDEST = 1


@dataclass(frozen=True)
class Run:
    """A folder that holds a run; `Run.open` refuses anything else."""

    path: Path

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """The run in `folder` or the bundled model of that name, or a sentence that says why it is none."""
        path = Path(folder)
        if not (path / "config.json").exists() and str(folder) in bundled():  # some other folder may have that name
            path = BUNDLED / str(folder)
        if not path.is_dir():
            names = f"; bundled models: {', '.join(bundled())}" if bundled() else ""
            raise LexigraphError(f"There is no run folder {path}{names}.")
        if not (path / "config.json").exists():
            raise LexigraphError(f"{path} is not a run folder: it has no config.json.")
        run = cls(path)
        run.config()
        return run

    def config(self) -> dict[str, Any]:
        """System, abilities and format version."""
        config = self.json("config.json")
        version = config.get("format") if isinstance(config, dict) else None
        if not isinstance(version, int) or version < OLDEST:
            raise LexigraphError(f"{self.path / 'config.json'} does not state its format: this is not a run folder.")
        if version > FORMAT:
            raise LexigraphError(
                f"{self.path} has format {version}, this Lexigraph ({__version__}) reads up to {FORMAT}: "
                "update Lexigraph to use it."
            )
        return config

    def recipe(self) -> recipes.Recipe:
        """The resolved recipe that made this run."""
        version = self.config()["format"]
        try:
            return recipes.read(self.path / "recipe.toml", upgrade=lambda tables: upgrades.recipe(tables, version))
        except (UsageError, KeyError) as error:  # not what the user wrote, but what became of the file
            raise LexigraphError(f"The recipe of this run is damaged: {error}") from None

    def refuse_changes(self, asked: recipes.Recipe) -> None:
        """Refuse to go on by another recipe than the one that the run was started with."""
        if changed := list(recipes.differences(self.recipe(), asked)):
            raise LexigraphError(f"{self.path} was started with another recipe, which differs: {'; '.join(changed)}.")

    def roles(self) -> dict[str, int]:
        """Special tokens that an older run names in its recipe, by the part that they play."""
        return upgrades.roles(recipes.source(self.path / "recipe.toml").tables, self.config()["format"])

    def json(self, name: str) -> Any:
        """A JSON file of the run."""
        if not (self.path / name).exists():
            raise LexigraphError(f"The run folder {self.path} is incomplete: {name} is missing.")
        return json_in(self.path / name)

    def write(self, name: str, content: str | dict[str, Any]) -> None:
        """Write a text or JSON file of the run, atomically."""
        text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        with replacing(self.path / name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def bundled(self) -> bool:
        """Whether it ships with Lexigraph: such a folder is read, never written to."""
        return self.path.parent == BUNDLED

    @property
    def finished(self) -> bool:
        """Whether training came to its end."""
        return (self.path / "results.json").exists()


def bundled() -> list[str]:
    """The names of the models that ship with Lexigraph; wherever a run folder is expected, they serve too."""
    return sorted(path.parent.name for path in BUNDLED.glob("*/config.json"))


def holds_word_vectors(folder: str | Path) -> bool:
    """Whether a folder is a run of word vectors, finished or not."""
    try:
        config = json_in(Path(folder) / "config.json")
    except LexigraphError:
        return False
    return isinstance(config, dict) and config.get("system") in WORD_SYSTEMS


def word_vectors_asked(recipe: str | Path | None, out: str | Path | None) -> bool:
    """Whether this is a training of word vectors: by its recipe or, to be resumed, by its folder."""
    return recipes.of_word_vectors(recipe) if recipe is not None else out is not None and holds_word_vectors(out)


def folder_for(out: str | Path | None) -> Path:
    """Where a run is to go, if that is a folder with a name."""
    if out is None:
        raise UsageError("Say where the run folder goes: out=… (--out DIR).")
    folder = Path(out)
    if folder.name in ("", ".."):
        raise UsageError(f"{out} has no name of its own: choose a folder that a run can be renamed to.")
    return folder


def refuse_occupied(folder: Path) -> None:
    """Refuse a folder that holds anything: a new run replaces nothing."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "holds a run already" if (folder / "config.json").exists() else "exists and is not empty"
        raise LexigraphError(f"{folder} {what}: choose another --out, or --resume to go on with it.")


@contextmanager
def creating(folder: Path) -> Iterator[Path]:
    """A temporary folder for a new run; it appears as `folder` if the block succeeds, and leaves nothing if not."""
    refuse_occupied(folder)
    with with_parents(folder), replacing(folder) as temporary:
        temporary.mkdir()
        yield temporary


@contextmanager
def with_parents(folder: Path) -> Iterator[None]:
    """Make the folders above `folder`; those that were not there go again if the block fails."""
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LexigraphError(f"The run folder {folder} cannot be made: {error}.") from None
        yield
    except BaseException:
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside `target`, a file or a folder; renamed to it if the block succeeds, else removed."""
    temporary, old = (target.with_name(f".{target.name}.{kind}") for kind in ("partial", "old"))
    remove(temporary)
    if old.exists() and not target.exists():  # killed between the two renames of a folder, below
        os.rename(old, target)
    try:
        yield temporary
        for path in [temporary, *temporary.rglob("*")]:
            _flush(path)
        if target.is_dir():  # a folder cannot replace a full one: put the old one aside first
            remove(old)
            os.rename(target, old)
            try:
                os.rename(temporary, target)
            except OSError:
                os.rename(old, target)
                raise
            remove(old)
        else:
            os.replace(temporary, target)
        _flush(target.parent)
    except OSError as error:
        remove(temporary)
        raise LexigraphError(f"{target} could not be written: {error}. What was there before is unchanged.") from None
    except BaseException:
        remove(temporary)
        raise


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Have the disk keep `path`: a file's bytes, or a folder's list of names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
