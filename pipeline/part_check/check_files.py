"""The files of parts of the user: which ones are meant, what they describe, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.options import CONF, GROUPS, OWN_GROUPS, find_own_folder, load_own_file
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.part_check.checks import check_part
from bakeoff.pipeline.part_check.finding import WRONG, Finding
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.part_check.request import CheckRequest
from bakeoff.pipeline.text.words import expand_home

SUFFIX = ".yaml"
LISTED_GROUPS = ("metric", "figure")
"""Groups whose files Hydra does not compose."""
OTHER_WAYS: Mapping[str, str] = {
    "space": "`bakeoff check` of the learner of that name checks its space",
    "experiment": "`bakeoff plan -m experiment={name}` checks it",
    "search": "`bakeoff plan -m search={name}` checks it",
}
"""Groups that describe no object, and what checks their files."""


def find_files(request: CheckRequest) -> list[Path]:
    """Return the files that a request names, each in a folder of its group.

    Raises
    ------
    UserError
        There is no such file, or it is not one of a group of options.
    """
    return [file for word in request.files for file in _find_files(word)]


def check_file(file: Path, trust: tuple[str, ...]) -> Iterator[Finding]:
    """Yield what is right and wrong with a part of the user, which its file describes.

    Parameters
    ----------
    file : Path
        Of `find_files`.
    trust : tuple of str
        Packages whose code may be called.
    """
    try:
        part = _read_part(file, trust)
    except UserError as error:
        yield Finding(WRONG, "file", str(error))
        return
    yield from check_part(part)


def _find_files(word: str) -> list[Path]:
    """Return the files that a word names, each in a folder of its group."""
    groups = (*GROUPS, *OWN_GROUPS)
    path = expand_home(word)
    if path.is_dir():
        found = [file for file in sorted(path.rglob(f"*{SUFFIX}")) if file.parent.name in groups]
        found = [file for file in found if file.parent.name not in OTHER_WAYS]
        if not found:
            raise UserError(f"there is no file of a part in {word}, such as {word}/learner/NAME{SUFFIX}.")
        return found
    if not path.is_file():
        raise UserError(f"there is no file {word!r}; name a file such as conf/learner/NAME{SUFFIX}.")
    group = path.absolute().parent.name
    if path.suffix != SUFFIX or group not in groups:
        raise UserError(
            f"{word!r} is not the file of an option: it must be GROUP/NAME{SUFFIX}, and GROUP one of "
            f"{', '.join(groups)}."
        )
    if group in OTHER_WAYS:
        raise UserError(f"{word!r} describes no part; {OTHER_WAYS[group].format(name=path.stem)}.")
    return [path]


def _read_part(file: Path, trust: tuple[str, ...]) -> Part:
    """Return the part that a file describes; raises UserError if it cannot be composed."""
    group = file.absolute().parent.name
    name = file.stem
    keys = load_own_file(file)
    if (CONF / group / file.name).is_file() and not os.path.samefile(CONF / group / file.name, file):
        raise UserError(f"{group}={name} is an option of bakeoff; give the file another name.")
    if group in LISTED_GROUPS:
        node = {"name": name, **keys} if group == "metric" else keys
        return Part(group, name, keys, node, trust)
    folder = file.absolute().parent.parent
    own = find_own_folder()
    is_of_own = own is not None and own.resolve() == folder.resolve()
    if own is not None and not is_of_own and (own / group / file.name).is_file():
        raise UserError(f"{group}={name} is an option in {own.name}/ too; give one of the files another name.")
    overrides = [f"{group}={name}"]
    if not is_of_own:
        overrides.append(f"hydra.searchpath=['file://{folder}']")
    composed = compose_parts(overrides, [group, "default_space"])
    return Part(group, name, keys, composed[group], trust, composed.get("default_space"))
