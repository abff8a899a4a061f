"""Standard streams that outlast their readers, as in ``bakeoff list | head``, and show what a terminal can show."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO, final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STANDARD_OUTPUT = 1
STANDARD_ERROR = 2
"""File descriptors."""
UNKNOWN_LETTERS = "backslashreplace"
"""How letters are written that the encoding of a terminal does not have."""


def prepare_streams() -> None:
    """Let standard output and standard error be written for as long as the command runs, and whatever they are.

    A stream that is closed, as by ``>&-``, discards what is written. Its descriptor is taken: otherwise a file that is
    opened later, such as the store, would get what other code prints.
    """
    for descriptor in range(STANDARD_ERROR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest descriptor that is free
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _open_stream(sys.stdout, STANDARD_OUTPUT)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _open_stream(sys.stderr, STANDARD_ERROR)


def _open_stream(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is None:
        return open(descriptor, "w", encoding="utf-8", closefd=False)
    try:
        return keep_writable(stream)
    except OSError:  # it has no descriptor, as in a notebook
        return stream


def keep_writable(stream: TextIO) -> TextIO:
    """Return a stream to the same file descriptor that can be written after its reader has gone.

    Parameters
    ----------
    stream : TextIO
        Standard output or standard error.
    """
    stream.flush()
    raw = LastingFile(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=UNKNOWN_LETTERS,
        line_buffering=True,
    )


@final
class LastingFile(io.FileIO):
    """A file descriptor that discards what is written to a closed pipe.

    An experiment goes on, so that no run is lost because the reader of its output has ended.
    """

    def write(self, data: ReadableBuffer) -> int:
        """Write bytes and return their number; without a reader, discard them and all that follow."""
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)
