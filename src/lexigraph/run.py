"""A run folder is complete: what trained it, what it learned, how well, and where to go on from.

    recipe.toml  config.json  tokenizer.json  model.safetensors  results.json  log.jsonl  checkpoints/
    unigrams.npy (for the baseline; of pairs, their targets')
    tables/ (the encoded text with its checksums, until the run is finished)
    .lock (while a process trains it: which, on what computer, since when)
    source-tokenizer.json (of a translator with separate vocabularies, whose tokenizer.json is that of its targets)
    vectors/ (of word vectors, which have neither tokenizer nor model.safetensors)

Every file is written beside its place, flushed to the disk and renamed, so that a reader or a power cut meets
the old file or the new one, never half of one. `model.safetensors` always holds the best weights so far,
or the latest as long as no validation has counted.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraph import __version__, upgrades
from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.locks import LOCK, Lock, is_alive
from lexigraph.outputs import json_text, reason
from lexigraph.registry import WORD_SYSTEMS
from lexigraph.stored import json_in

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

    def changes(self, asked: recipes.Recipe, allowed: Sequence[str] = ()) -> list[str]:
        """The keys by which a recipe differs from the one that the run was started with; only some may."""
        changed = {text.partition(":")[0]: text for text in recipes.differences(self.recipe(), asked)}
        if refused := [text for key, text in changed.items() if key not in allowed]:
            may = f" Only {', '.join(allowed)} may change." if allowed else ""
            raise LexigraphError(
                f"{self.path} was started with another recipe, which differs: {'; '.join(refused)}.{may}"
            )
        return list(changed)

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
        text = content if isinstance(content, str) else json_text(content, indent=2) + "\n"
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
    """A temporary folder for a new run; it appears as `folder` if the block succeeds, and leaves nothing if not.

    It is locked, so that of two who prepare the same run one is told; what a killed process left of it is removed.
    """
    refuse_occupied(folder)
    folder = folder.resolve() if folder.is_symlink() else folder
    temporary = folder.with_name(f".{folder.name}.partial")
    with with_parents(folder), terminable():
        try:
            lock = _made_and_locked(temporary)
        except OSError as error:
            raise LexigraphError(f"The run folder {folder} cannot be made: {error}.") from None
        try:
            remove_leftovers(folder.with_name(f"{folder.name}.partial"))
            for left in temporary.iterdir():
                if left.name != LOCK:
                    remove(left)
            refuse_occupied(folder)  # another process may have come first
            yield temporary
            _flush_all(temporary)
            os.rename(temporary, folder)
            _flush(folder.parent)
        except OSError as error:
            _discard(temporary)
            raise LexigraphError(f"{folder} could not be written: {reason(error)}. Nothing of it is left.") from None
        except BaseException:
            _discard(temporary)
            raise
        finally:
            lock.release(folder)


def _made_and_locked(temporary: Path) -> Lock:
    while not temporary.is_file():
        with suppress(FileExistsError):  # exist_ok would look a second time, when it may be gone
            temporary.mkdir()
        with suppress(FileNotFoundError):  # whoever had it has just discarded it
            return Lock(temporary, folder=True)
    raise FileExistsError(errno.EEXIST, "a file has that name", str(temporary))


def _discard(temporary: Path) -> None:
    """Remove a folder that others may be waiting for: under another name, so that they make one of their own."""
    gone = temporary.with_name(f"{temporary.name}.{os.getpid()}.partial")
    with suppress(OSError):
        os.rename(temporary, gone)
        remove(gone)


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as Ctrl-C does, so that what it made on the disk goes again."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    here = threading.current_thread() is threading.main_thread()  # signals come to no other
    asked = [number for number in numbers if here and signal.getsignal(number) is signal.SIG_DFL]
    for number in asked:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in asked:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def with_parents(folder: Path) -> Iterator[None]:
    """Make the folders above `folder`; those that were not there go again if the block fails."""
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LexigraphError(f"The folder {folder.parent} for {folder.name} cannot be made: {error}.") from None
        yield
    except BaseException:
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside `target`, a file or a folder; renamed to it if the block succeeds, else removed.

    It has the number of this process in its name: two that write the same file end with one of the two.
    """
    temporary, old = _partial(target), target.with_name(f".{target.name}.old")
    try:
        remove_leftovers(target)
        if old.exists() and not target.exists():  # killed between the two renames of a folder, below
            os.rename(old, target)
        with terminable():
            yield temporary
            _flush_all(temporary)
            _rename(temporary, target, old)
        _flush(target.parent)
    except OSError as error:
        remove(temporary)
        raise LexigraphError(
            f"{target} could not be written: {reason(error)}. What was there before is unchanged."
        ) from None
    except BaseException:
        remove(temporary)
        raise


def _rename(temporary: Path, target: Path, old: Path) -> None:
    if not target.is_dir():
        os.replace(temporary, target)
    elif _exchanged(temporary, target):
        remove(temporary)
    else:  # a folder cannot replace a full one: put the old one aside first
        remove(old)
        os.rename(target, old)
        try:
            os.rename(temporary, target)
        except OSError:
            os.rename(old, target)
            raise
        remove(old)


@contextmanager
def adding(folder: Path) -> Iterator[Path]:
    """A temporary folder whose files move into `folder` if the block succeeds, over those of the same names."""
    with with_parents(folder / "file"), terminable():
        temporary = _partial(folder / "files")
        try:
            remove_leftovers(folder / "files")
            temporary.mkdir()
            yield temporary
            _flush_all(temporary)
            for file in sorted(temporary.iterdir()):
                os.replace(file, folder / file.name)
            _flush(folder)
        except OSError as error:
            raise LexigraphError(f"The files of {folder} could not be written: {reason(error)}.") from None
        finally:
            remove(temporary)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders changed places in one moment, which Linux can do on most disks."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    if exchange is None:
        return False
    here, both_stay = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return exchange(here, os.fsencode(one), here, os.fsencode(other), both_stay) == 0


def _partial(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.partial")


def remove_leftovers(target: Path) -> None:
    """Remove what this process, or one that is no more, began to write here."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.partial"):
        process = path.name.split(".")[-2]
        if process.isdigit() and (int(process) == os.getpid() or not is_alive(int(process))):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _flush_all(path: Path) -> None:
    """Have the disk keep a file, or a folder with all that is in it."""
    for each in [path, *path.rglob("*")]:
        _flush(each)


def _flush(path: Path) -> None:
    """Have the disk keep `path`: a file's bytes, or a folder's list of names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
