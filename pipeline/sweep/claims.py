"""Claims: of all processes on one store, one runs a job.

A claim is a record lock on eight bytes of a file beside the store.  The kernel gives it back when its process ends, by
whatever signal, so a killed job is never claimed for ever; and NFS carries it to other machines.  The eight bytes hold
a count, as in a sequence lock: odd while the job runs, even when it came to an end.  Whoever takes the claim and finds
the count that was there before the store was asked, and even, knows that nobody ran the job in between; any other count
means: ask the store again.

A store that is a server has no file beside it: its claims lie in this machine's folder for temporary files.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.tracking.store import SQLITE_PREFIX

N_SLOTS = 2**20
"""Two jobs that share one, by the odds of hashing, merely wait for each other."""
SLOT_BYTES = 8


@dataclass(frozen=True)
class Claims:
    """The claims on the jobs of a store.

    One object a process: closing a second one's file would give back the claims of the first.

    Attributes
    ----------
    file : int
        A descriptor, open as long as the process lives.
    """

    file: int

    @classmethod
    def beside(cls, uri: str) -> Claims:
        """Open the claims of a store."""
        if uri.startswith(SQLITE_PREFIX):
            path = Path(f"{uri.removeprefix(SQLITE_PREFIX)}.claims")
        else:
            name = hashlib.blake2b(uri.encode(), digest_size=8).hexdigest()
            path = Path(tempfile.gettempdir()) / f"bakeoff-{os.getuid()}-{name}.claims"
        return cls(os.open(path, os.O_RDWR | os.O_CREAT, 0o666))

    def count(self, job_hash: str) -> int:
        """Return the count of a job's claim, which changes whenever somebody takes it or gives it back."""
        stored = os.pread(self.file, SLOT_BYTES, _slot(job_hash))
        return int(struct.unpack("<q", stored.ljust(SLOT_BYTES, b"\0"))[0])

    @contextmanager
    def hold(self, job_hash: str) -> Iterator[int | None]:
        """Take the claim, give its count before that, and give the claim back; None if another process has it."""
        place = _slot(job_hash)
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, SLOT_BYTES, place)
        except (BlockingIOError, PermissionError):
            yield None
            return
        try:
            found = self.count(job_hash)
            running = found + 1 if found % 2 == 0 else found + 2
            os.pwrite(self.file, struct.pack("<q", running), place)
            yield found
            os.pwrite(self.file, struct.pack("<q", running + 1), place)
        finally:
            fcntl.lockf(self.file, fcntl.LOCK_UN, SLOT_BYTES, place)


def _slot(job_hash: str) -> int:
    return int(job_hash, 16) % N_SLOTS * SLOT_BYTES
