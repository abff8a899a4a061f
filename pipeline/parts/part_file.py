"""The files of user-defined parts: which ones are meant, and the jobs that they are put into."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.options import CONF, GROUPS, OWN_GROUPS, SUFFIX, find_own_folder, load_own_file
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.words import expand_home

PART_GROUPS = tuple(group for group in (*GROUPS, *OWN_GROUPS) if group not in ("space", "experiment", "search"))
"""The groups whose files describe an object."""


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """Files of user-defined parts.

    Attributes
    ----------
    files : tuple of str
        Files such as conf/learner/NAME.yaml; a folder stands for the files of options in it.
    trust : tuple of str
        Packages of yours whose code may be called.
    """

    files: tuple[str, ...] = field(metadata={"word": "FILE"})
    trust: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartFile:
    """The file of a user-defined part.

    Attributes
    ----------
    path : Path
        ``GROUP/NAME.yaml`` in some folder.
    trust : tuple of str
        Packages whose code may be called.
    """

    path: Path
    trust: tuple[str, ...]

    @property
    def group(self) -> str:
        """The group of options that it belongs to."""
        return self.path.absolute().parent.name

    @property
    def space(self) -> Path:
        """The file with the search space of a learner; it need not exist."""
        return self.path.parent.parent / "space" / self.path.name

    def compose(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the settled configuration of a job with this part.

        Parameters
        ----------
        words : sequence of str
            Overrides that choose the rest of the job.

        Raises
        ------
        UserError
            The file is not YAML or has the name of an option of bakeoff, or the job cannot be composed.
        """
        from bakeoff.pipeline.config.compose_job import compose_job

        own = find_own_folder()
        if own is None or own.resolve() != self.path.absolute().parent.parent.resolve():
            raise UserError(
                f"{str(self.path)!r} is not in conf/ of the current folder; start in the folder above conf/."
            )
        keys = load_own_file(self.path)
        name = self.path.stem
        shipped = CONF / self.group / self.path.name
        if shipped.is_file() and not os.path.samefile(shipped, self.path):
            raise UserError(f"{self.group}={name} is an option of bakeoff; give the file another name.")
        # Lists name metrics and figures, so that Hydra composes no files of theirs.
        choice = [] if self.group in OWN_GROUPS else [f"{self.group}={name}"]
        trust = [f"trust=[{','.join(self.trust)}]"]
        spec = compose_job([*words, *choice, *trust]).spec
        if self.group == "metric":
            spec["evaluation"]["metrics"] = [{"name": name, **keys}]
        elif self.group == "figure":
            spec["figures"] = [keys]
        return spec


def find_files(request: CheckRequest) -> Iterator[PartFile]:
    """Yield the files that a request names.

    Raises
    ------
    UserError
        There is no such file, or it is not one of a group of options.
    """
    for word in request.files:
        yield from (PartFile(path, request.trust) for path in _find_paths(word))


def _find_paths(word: str) -> list[Path]:
    """Return the files that a word names, each in a folder of its group."""
    path = expand_home(word)
    files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    found = [file for file in files if file.absolute().parent.name in PART_GROUPS and file.suffix == SUFFIX]
    if not found or not found[0].is_file():
        raise UserError(
            f"there is no file of a part in {word!r}: it must be GROUP/NAME{SUFFIX}, and GROUP one of "
            f"{', '.join(PART_GROUPS)}."
        )
    return found
