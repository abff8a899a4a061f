"""Bakeoff's own code that decides a result: the family of the learner, the stages, and the experiment.

A test holds that these folders import from nothing else of bakeoff but a short list. Parsing them takes a tenth of a
short run, so their digests are kept beside the bytecode of this module, as Python keeps the bytecode itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

from bakeoff.pipeline.identity.digests import hash_bytes, hash_text, hash_tree, parse_source
from bakeoff.pipeline.tables.output_file import replace_whole

OWN_PACKAGE = "bakeoff"
OWN_FOLDER = Path(__file__).parents[2]
KEPT_FILE = Path(cache_from_source(__file__)).with_suffix(".json")
SHARED_PLACES = ("pipeline/experiment", "pipeline/stages")
BASE = "base"
"""The folder that every family of learners is built on."""
DEFINITIONS = "definitions"
"""The folder of the algorithms as the lectures state them, which no job runs."""


def list_families(modules: Iterable[str]) -> frozenset[str]:
    """Return the folders of ``learners/`` that hold some modules, with those that they are built on.

    Parameters
    ----------
    modules : iterable of str
        Dotted names; that of a package above the folders stands for all of them.

    Examples
    --------
    >>> sorted(list_families(["bakeoff.learners.decision_tree.classifier", "sklearn.svm"]))
    ['base', 'decision_tree', 'trees']
    """
    from bakeoff import learners

    families: set[str] = set()
    for module in modules:
        package, *path = module.split(".")
        if package != OWN_PACKAGE or path[:1] not in ([], ["learners"]):
            continue
        families |= set(path[1:2]) or _list_all_families()
    return frozenset(families | {below for family in families for below in (BASE, *learners.BUILT_ON.get(family, ()))})


def _list_all_families() -> set[str]:
    children = (OWN_FOLDER / "learners").iterdir()
    names = {path.stem for path in children if path.suffix == ".py" or (path / "__init__.py").exists()}
    return names - {"__init__", DEFINITIONS}


@cache
def hash_own_code(families: frozenset[str], folder: Path = OWN_FOLDER) -> str:
    """Return one digest of the stages, the experiment, and families of learners; once per process.

    Parameters
    ----------
    families : frozenset of str
    folder : Path
        Holds ``learners`` and ``pipeline``.
    """
    kept = _read_kept()
    before = dict(kept)
    places = sorted([*SHARED_PLACES, *(f"learners/{family}" for family in families)])
    for place in places:
        sources = _read_sources(folder / place)
        # Another version of these modules may read the sources otherwise.
        content = hash_bytes(b"\0".join([_read_reader(), *sources.values(), *map(str.encode, sources)]))
        if kept.get(place, [""])[0] != content:
            lines = [f"{name} {hash_tree(parse_source(source))}" for name, source in sources.items()]
            kept[place] = [content, hash_text("\n".join(lines))]
    if kept != before and not sys.dont_write_bytecode:
        _write_kept(kept)
    return hash_text("\n".join(f"{place} {kept[place][1]}" for place in places))


def _read_sources(place: Path) -> dict[str, bytes]:
    """Return the sources of a folder, or of the module of that name, by their paths in the folder."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    return {file.relative_to(place.parent).as_posix(): file.read_bytes() for file in files}


@cache
def _read_reader() -> bytes:
    """Return the code of this reader."""
    return Path(__file__).read_bytes() + Path(__file__).with_name("digests.py").read_bytes()


def _read_kept() -> dict[str, list[str]]:
    """Return the digests of the content and of the syntax of each place; none if nobody can read the file."""
    try:
        kept = json.loads(KEPT_FILE.read_bytes())
        return {str(place): [str(content), str(syntax)] for place, (content, syntax) in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write_kept(kept: dict[str, list[str]]) -> None:
    with suppress(OSError):  # an installation that others own keeps nothing
        KEPT_FILE.parent.mkdir(parents=True, exist_ok=True)
        with replace_whole(KEPT_FILE) as temporary:
            temporary.write_text(json.dumps(kept))
