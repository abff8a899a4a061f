"""Standard output that outlasts its reader, as in ``bakeoff list | head``."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, TextIO, final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def keep_writable(stream: TextIO) -> TextIO:
    """Return a stream to the same file descriptor that can be written after its reader has gone.

    Parameters
    ----------
    stream : TextIO
        Standard output.
    """
    stream.flush()
    raw = LastingFile(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
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
