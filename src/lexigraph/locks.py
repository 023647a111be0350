"""One process at a time works on a folder: `.lock` in it says which, on what computer, since when.

The lock itself is the kernel's (flock), so that it ends with its process, however that ended; a file that a killed
process or a power cut left behind is taken over. Only what another computer left cannot be judged from here.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from lexigraph.errors import LexigraphError

LOCK = ".lock"
BOOT = Path("/proc/sys/kernel/random/boot_id")


class Holder(TypedDict):
    """Who holds a lock."""

    process: int
    host: str
    boot: str  # of the computer since it was started; containers of one computer share it
    since: str


class Lock:
    """A lock, held until `release`: of a folder, the file .lock in it; of a file, .NAME.lock beside it.

    folder: whether `target` is one, where another process may remove it at any moment; else it is looked at.
    """

    def __init__(self, target: Path, *, wait: bool = False, folder: bool = False) -> None:
        inside = folder or target.is_dir()
        self.path = target / LOCK if inside else target.with_name(f".{target.name}{LOCK}")
        while True:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self._hold(target, wait)
                if self._is_current():
                    break
            except BaseException:
                os.close(self._file)
                raise
            os.close(self._file)  # the one who held it has just removed it: begin anew

    def _hold(self, target: Path, wait: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            held = error.errno in (errno.EWOULDBLOCK, errno.EAGAIN)
            if held or _alive(self._read()):  # on a file system without locks, the process is asked for
                raise LexigraphError(f"{target} is in use by {_told(self._read())}: wait until it ends.") from None
        other, mine = self._read(), _self()
        if other is not None and not _same_computer(other, mine) and not wait:
            raise LexigraphError(
                f"{target} is in use by {_told(other)}. If that process has ended, remove {self.path} and try again."
            )
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps(mine).encode(), 0)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            return False

    def _read(self) -> Holder | None:
        try:
            found = json.loads(os.pread(self._file, 4096, 0))
            return Holder(process=found["process"], host=found["host"], boot=found["boot"], since=found["since"])
        except (ValueError, KeyError, TypeError):  # a process that was killed before it had written who it was
            return None

    def release(self, folder: Path | None = None) -> None:
        """Give it up; `folder`: where the folder is now, if it was renamed."""
        path = self.path if folder is None else folder / LOCK
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._file), path.stat()):
                path.unlink()
        os.close(self._file)


@contextmanager
def locked(target: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a folder or a file, or say who does; `wait`: until nobody else does."""
    try:
        lock = Lock(target, wait=wait)
    except OSError as error:
        raise LexigraphError(f"{target} cannot be locked, and so not be written to: {error}.") from None
    try:
        yield
    finally:
        lock.release()


def _self() -> Holder:
    try:
        boot = BOOT.read_text().strip()
    except OSError:  # no Linux
        boot = ""
    since = datetime.now().isoformat(" ", "seconds")
    return Holder(process=os.getpid(), host=socket.gethostname(), boot=boot, since=since)


def _same_computer(one: Holder, other: Holder) -> bool:
    return one["host"] == other["host"] or one["boot"] == other["boot"] != ""


def _alive(holder: Holder | None) -> bool:
    """Whether a process of this computer is still there."""
    if holder is None or not _same_computer(holder, _self()) or holder["process"] == os.getpid():
        return False
    return is_alive(holder["process"])


def is_alive(process: int) -> bool:
    """Whether there is a process of this number here."""
    try:
        os.kill(process, 0)
    except PermissionError:  # somebody else's
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _told(holder: Holder | None) -> str:
    if holder is None:
        return "another process"
    return f"process {holder['process']} on {holder['host']} since {holder['since']}"
