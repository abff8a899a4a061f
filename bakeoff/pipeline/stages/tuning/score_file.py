"""The scores of candidates on finished inner folds, kept on this machine until the run has finished.

A run that was killed goes on from there when its command is repeated, with the result that it would have had. The file
has a line of JSON for each inner fold and belongs to one ``config_hash``, so other data, code or values have another
one. Fits along a path share their work, so only whole inner folds are kept.
"""

import json
import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bakeoff.pipeline.system import PLAIN_FILE, read_own_file
from bakeoff.pipeline.text.secrets import hide_secrets

MIN_SECONDS = 0.1
"""The scores of an inner fold are kept if it took at least this long."""

OWNER_FOLDER = 0o700
OWNER_FILE = 0o600

Place = tuple[int, int]
"""The number of a fold, -1 for the model fitted on all rows, and that of an inner fold."""


class FoldScores(NamedTuple):
    """What is known of the candidates after an inner fold.

    Attributes
    ----------
    positions : list of int
        The candidates that were fitted.
    scores, seconds : list of float
        The score and the fit time of each; NaN for a score that is not defined.
    messages : list of str
        The warnings.
    """

    positions: list[int]
    scores: list[float]
    seconds: list[float]
    messages: list[str]


@dataclass(frozen=True)
class ScoreFile:
    """A file with the scores of finished inner folds.

    Parameters
    ----------
    path : Path, optional
        Without a path, nothing is kept.
    configuration : str
        The configuration of the run, whose secrets are hidden in messages.
    """

    path: Path | None = None
    configuration: str = ""

    def find(self, place: Place, positions: Sequence[int]) -> FoldScores | None:
        """Return the scores of an inner fold of an earlier run; None if it did not fit the same candidates."""
        found = self._earlier.get(place)
        return found if found and found.positions == list(positions) else None

    def add(self, place: Place, found: FoldScores) -> None:
        """Keep the scores of an inner fold; a file that cannot be written keeps nothing."""
        if self.path is None or sum(found.seconds) < MIN_SECONDS:
            return
        messages = [hide_secrets(message, self.configuration) for message in found.messages]
        line = json.dumps([list(place), *found._replace(messages=messages)])
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=OWNER_FOLDER)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | PLAIN_FILE, OWNER_FILE)
            with open(descriptor, "ab") as file:
                # The line of a run that was killed may have no end.
                file.write(f"\n{line}\n".encode())
        except OSError as error:
            warnings.warn(f"a killed run would have to repeat its tuning: {self.path}: {error.strerror}", stacklevel=2)

    def remove(self) -> None:
        """Remove the file, because the run has finished or is to start anew."""
        with suppress(OSError):
            if self.path is not None:
                self.path.unlink()

    @cached_property
    def _earlier(self) -> dict[Place, FoldScores]:
        """The scores of an earlier run."""
        with suppress(OSError):
            if self.path is not None:
                return dict(filter(None, map(_read_line, read_own_file(self.path).splitlines())))
        return {}


def _read_line(line: bytes) -> tuple[Place, FoldScores] | None:
    """Return the scores in a line; None if it is not complete."""
    try:
        (fold, inner_fold), *columns = json.loads(line)
        return (fold, inner_fold), FoldScores(*columns)
    except (ValueError, TypeError):
        return None
