"""Bakeoff's own code that decides a result, as syntax trees: the family of the learner, the stages, and the experiment.

A test holds that these folders import from nothing else of bakeoff but a short list. Comments, docstrings, formatting
and the words of errors do not count. Parsing takes a tenth of a short run, so that the digests are kept beside the
bytecode of this module, as Python keeps the bytecode itself.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

from bakeoff.pipeline.tables.output_file import replace_whole

OWN_PACKAGE = "bakeoff"
OWN_FOLDER = Path(__file__).parents[2]
KEPT_FILE = Path(cache_from_source(__file__)).with_suffix(".json")
SHARED_PLACES = ("pipeline/experiment", "pipeline/stages")
BASE = "base"
"""The folder that every family of learners is built on."""
DEFINITIONS = "definitions"
"""The folder of the algorithms as the lectures state them, which no job runs."""
DIGEST_BYTES = 8


def hash_bytes(content: bytes) -> str:
    """Return a digest of some bytes: 16 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def hash_text(text: str) -> str:
    """Return a digest of a text: 16 hexadecimal digits."""
    return hash_bytes(text.encode())


def parse_source(source: bytes) -> ast.Module:
    """Return a syntax tree without docstrings; an empty one if the source has an error, which its import reports."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.parse("")
    for node in _walk_statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return tree


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
        if package == OWN_PACKAGE and path[:1] in ([], ["learners"]):
            families |= set(path[1:2]) or _list_all_families()
    return frozenset(families | {below for family in families for below in (BASE, *learners.BUILT_ON.get(family, ()))})


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
    known = dict(kept)
    places = sorted([*SHARED_PLACES, *(f"learners/{family}" for family in families)])
    lines = []
    for place in places:
        sources = _read_sources(folder / place)
        # Another version of this module may read the sources otherwise.
        content = hash_bytes(b"\0".join([Path(__file__).read_bytes(), *sources.values(), *map(str.encode, sources)]))
        if content not in known:
            known[content] = hash_text("\n".join(f"{name} {_hash_syntax(text)}" for name, text in sources.items()))
        lines.append(f"{place} {known[content]}")
    if known != kept and not sys.dont_write_bytecode:
        _write_kept(known)
    return hash_text("\n".join(lines))


def _list_all_families() -> set[str]:
    children = (OWN_FOLDER / "learners").iterdir()
    names = {path.stem for path in children if path.suffix == ".py" or (path / "__init__.py").exists()}
    return names - {"__init__", DEFINITIONS}


def _read_sources(place: Path) -> dict[str, bytes]:
    """Return the sources of a folder, or of the module of that name, by their paths in the folder."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    return {file.relative_to(place.parent).as_posix(): file.read_bytes() for file in files}


def _hash_syntax(source: bytes) -> str:
    """Return a digest of the syntax tree of a source of ours, in which the words of errors do not count."""
    tree = parse_source(source)
    for node in _walk_statements(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = []
    return hash_text(ast.dump(tree))


def _walk_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it, at any depth."""
    # `ast.walk` would also visit the expressions, which are nine of ten nodes and contain no statements.
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield from _walk_statements(child)


def _read_kept() -> dict[str, str]:
    """Return the digest of the syntax for each digest of the content of a place; none if the file cannot be read."""
    try:
        return dict(json.loads(KEPT_FILE.read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def _write_kept(kept: Mapping[str, str]) -> None:
    with suppress(OSError):  # an installation that others own keeps nothing
        KEPT_FILE.parent.mkdir(parents=True, exist_ok=True)
        with replace_whole(KEPT_FILE) as temporary:
            temporary.write_text(json.dumps(kept))
