"""Claims: of all processes that use one store, only one runs a job.

A claim is a record lock on eight bytes of a file next to the store. The kernel releases it when its process ends, by
whatever signal, so that a killed job does not stay claimed; and NFS passes it on to other machines.

The eight bytes hold a count, as in a sequence lock: it is odd while the job runs, and even after the job has ended. If
a process takes a claim and finds an even count that has not changed since the store was asked, then no other process
ran the job in between. With any other count the store must be asked again.

A store that is a server has no file next to it. Its claims are in a folder of the user, in the temporary folder of this
machine, where everybody may write: so links are not followed, and a folder or a file of another user is refused.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import strip_secrets
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX, sqlite_path

N_SLOTS = 2**20
"""Two jobs whose hashes share a slot, which is rare, only wait for each other."""
SLOT_BYTES = 8
COUNT_FORMAT = "<q"
FOLDER_MODE = 0o700
FILE_MODE = 0o666
"""Further restricted by the umask: who may write the store of a group may run its jobs."""
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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
        """Open the claims of a store.

        Raises
        ------
        UserError
            In the place of the file is something else, or the folder belongs to another user.
        """
        if can_trust_claims(uri):
            return cls(_open_file(Path(f"{sqlite_path(uri)}.claims"), FILE_MODE))
        name = hashlib.blake2b(strip_secrets(uri).encode(), digest_size=8).hexdigest()
        folder = Path(tempfile.gettempdir()) / f"bakeoff-{os.getuid()}"
        _require_own_folder(folder)
        return cls(_open_file(folder / f"{name}.claims", FILE_MODE & FOLDER_MODE))

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


def can_trust_claims(uri: str) -> bool:
    """Whether all processes that use a store have claims in one file; those of a server may be on other machines."""
    return uri.startswith(SQLITE_PREFIX)


def _slot_offset(job_hash: str) -> int:
    return int(job_hash, 16) % N_SLOTS * SLOT_BYTES


def _open_file(path: Path, mode: int) -> int:
    """Open a file of claims, which is created if it does not exist, and return its descriptor.

    Raises
    ------
    UserError
        It is a link, a pipe or a device, has another name as well, or cannot be opened.
    """
    try:
        # A pipe without a reader is refused at once, and not waited for.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else str(error.strerror)
        raise _explain_file(path, reason) from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        reason = "it has another name as well" if stat.S_ISREG(found.st_mode) else "it is not a regular file"
        raise _explain_file(path, reason)
    return descriptor


def _explain_file(path: Path, reason: str) -> UserError:
    return UserError(
        f"the claims on jobs cannot be kept in {str(path)!r}: {reason}; remove it if it is not yours to keep, or name "
        "another store with tracking.uri."
    )


def _require_own_folder(folder: Path) -> None:
    """Create a folder that nobody else may use, or reject one that somebody else may."""
    with suppress(FileExistsError):
        folder.mkdir(mode=FOLDER_MODE)
    found = folder.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_own or found.st_mode & WRITABLE_BY_OTHERS:
        raise UserError(
            f"the claims on jobs cannot be kept in {str(folder)!r}: it is not a folder that you alone may write; "
            "remove it, or set TMPDIR to a folder of yours."
        )
