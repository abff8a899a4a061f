"""Claims: of all processes that use one store, only one runs a job.

A claim is a record lock on eight bytes of a file next to the store. The kernel releases it when its process ends, by
whatever signal, so that a killed job does not stay claimed; and NFS passes it on to other machines.

The eight bytes hold a count, as in a sequence lock: it is odd while the job runs, and even after the job has ended. If
a process takes a claim and finds an even count that has not changed since the store was asked, then no other process
ran the job in between. With any other count the store must be asked again.

A store that is a server has no file next to it. Its claims are in the temporary folder of this machine.
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

from bakeoff.pipeline.secret_values import strip_secrets
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX, sqlite_path

N_SLOTS = 2**20
"""Two jobs whose hashes share a slot, which is rare, only wait for each other."""
SLOT_BYTES = 8
COUNT_FORMAT = "<q"


@dataclass(frozen=True)
class Claims:
    """The claims on the jobs of a store.

    A process must have only one of these objects per store: closing the file of a second one would release the claims
    of the first.

    Attributes
    ----------
    file : int
        A descriptor, which stays open as long as the process runs.
    """

    file: int

    @classmethod
    def open_for_store(cls, uri: str) -> Claims:
        """Open the claims of a store."""
        if uri.startswith(SQLITE_PREFIX):
            path = Path(f"{sqlite_path(uri)}.claims")
        else:
            name = hashlib.blake2b(strip_secrets(uri).encode(), digest_size=8).hexdigest()
            path = Path(tempfile.gettempdir()) / f"bakeoff-{os.getuid()}-{name}.claims"
        return cls(os.open(path, os.O_RDWR | os.O_CREAT, 0o666))

    def read_count(self, job_hash: str) -> int:
        """Return the count of a job's claim, which changes whenever the claim is taken or released."""
        stored = os.pread(self.file, SLOT_BYTES, _slot_offset(job_hash))
        padded = stored.ljust(SLOT_BYTES, b"\0")  # the file ends before a slot that was never written
        return int(struct.unpack(COUNT_FORMAT, padded)[0])

    @contextmanager
    def hold(self, job_hash: str) -> Iterator[int | None]:
        """Take the claim, yield the count it had before, and release it; yield None if another process holds it."""
        offset = _slot_offset(job_hash)
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, SLOT_BYTES, offset)
        except (BlockingIOError, PermissionError):
            yield None
            return
        try:
            found = self.read_count(job_hash)
            is_even = found % 2 == 0
            running = found + 1 if is_even else found + 2  # always odd
            os.pwrite(self.file, struct.pack(COUNT_FORMAT, running), offset)
            yield found
            os.pwrite(self.file, struct.pack(COUNT_FORMAT, running + 1), offset)
        finally:
            fcntl.lockf(self.file, fcntl.LOCK_UN, SLOT_BYTES, offset)


def _slot_offset(job_hash: str) -> int:
    return int(job_hash, 16) % N_SLOTS * SLOT_BYTES
