"""``bakeoff check``: what is wrong with the file of a part of the user, and with the code that it names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.config.request_words import parse_arguments
from bakeoff.pipeline.config.trust import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.given import expand_home
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.part_check import Finding, Part

EXIT_WRONG = 1
SUFFIX = ".yaml"
LISTED_GROUPS = ("metric", "figure")
"""Groups whose files Hydra does not compose."""
OTHER_WAYS: Mapping[str, str] = {
    "space": "`bakeoff check` of the learner of that name checks its space",
    "experiment": "`bakeoff plan -m experiment={name}` checks it",
    "search": "`bakeoff plan -m search={name}` checks it",
}
"""Groups that describe no object, and what checks their files."""
STATUS_WIDTH = 11
SUBJECT_WIDTH = 16


def check_files(words: Sequence[str]) -> int:
    """Print what is right and wrong with parts of the user; return 1 if something is wrong, else 0.

    Parameters
    ----------
    words : sequence of str
        ``FILE [FILE ...] [trust=[PACKAGE]]``; a folder stands for the files of options in it.

    Raises
    ------
    UserError
        There is no such file, or it is not one of a group of options.
    """
    (first, *others), values = parse_arguments("check", words, ["FILE"], ["trust"], rest="FILE")
    trust = read_trust(values.get("trust", ""))
    files = [file for word in (first, *others) for file in _find_files(word)]
    n_wrong = sum(_check_file(file, trust) for file in files)
    return EXIT_WRONG if n_wrong else 0


def _find_files(word: str) -> list[Path]:
    """Return the files that a word names, each in a folder of its group."""
    from bakeoff.pipeline.config.options import GROUPS, OWN_GROUPS

    groups = (*GROUPS, *OWN_GROUPS)
    path = expand_home(word)
    if path.is_dir():
        found = [file for file in sorted(path.rglob(f"*{SUFFIX}")) if file.parent.name in groups]
        found = [file for file in found if file.parent.name not in OTHER_WAYS]
        if not found:
            raise UserError(f"check: there is no file of a part in {word}, such as {word}/learner/NAME{SUFFIX}.")
        return found
    if not path.is_file():
        raise UserError(f"check: there is no file {word!r}; name a file such as conf/learner/NAME{SUFFIX}.")
    group = path.absolute().parent.name
    if path.suffix != SUFFIX or group not in groups:
        raise UserError(
            f"check: {word!r} is not the file of an option: it must be GROUP/NAME{SUFFIX}, and GROUP one of "
            f"{', '.join(groups)}."
        )
    if group in OTHER_WAYS:
        raise UserError(f"check: {word!r} describes no part; {OTHER_WAYS[group].format(name=path.stem)}.")
    return [path]


def _check_file(file: Path, trust: tuple[str, ...]) -> int:
    """Print the findings on a file, and return how many of them are wrong."""
    from bakeoff.pipeline.part_check import NOTE, WRONG

    counts = dict.fromkeys((WRONG, NOTE), 0)
    print(f"{file}", flush=True)
    for finding in _iterate_findings(file, trust):
        _print_finding(finding)
        if finding.status in counts:
            counts[finding.status] += 1
    print(f"{file}: {counts[WRONG]} wrong, {counts[NOTE]} to note\n", flush=True)
    return counts[WRONG]


def _iterate_findings(file: Path, trust: tuple[str, ...]) -> Iterator[Finding]:
    from bakeoff.pipeline.part_check import WRONG, Finding, check_part

    try:
        part = _read_part(file, trust)
    except UserError as error:
        yield Finding(WRONG, "file", str(error))
        return
    yield from check_part(part)


def _print_finding(finding: Finding) -> None:
    indent = " " * (STATUS_WIDTH + SUBJECT_WIDTH + 4)
    print(f"  {finding.status:<{STATUS_WIDTH}} {finding.subject:<{SUBJECT_WIDTH}} {show_controls(finding.text)}")
    for line in finding.details:
        print(f"{indent}{show_controls(line)}")
    print(end="", flush=True)


def _read_part(file: Path, trust: tuple[str, ...]) -> Part:
    """Return the part that a file describes; raises UserError if it cannot be composed."""
    from bakeoff.pipeline.config.options import CONF, find_own_folder, load_own_file
    from bakeoff.pipeline.part_check import Part

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
    composed = _compose(group, name, None if is_of_own else folder)
    return Part(group, name, keys, composed[group], trust, composed.get("default_space"))


def _compose(group: str, name: str, folder: Path | None) -> dict[str, Any]:
    """Return the configuration with an option; ``folder`` is where it is, if nothing else says so."""
    from omegaconf import OmegaConf

    from bakeoff.pipeline.config.engine import compose_plainly
    from bakeoff.pipeline.config.messages import explain_error
    from bakeoff.pipeline.config.schema import register_schema

    register_schema()
    overrides = [f"{group}={name}"]
    if folder is not None:
        overrides.append(f"hydra.searchpath=['file://{folder}']")
    try:
        composed = OmegaConf.to_container(compose_plainly(overrides), resolve=True)
    except Exception as error:
        raise explain_error(error) from None
    assert isinstance(composed, dict)
    return {str(key): value for key, value in composed.items()}
