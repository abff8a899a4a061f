"""The syntax of a module: a fingerprint of it, and the statements that import.

The modules behind a learner are about a hundred and fifty, and parsing them takes a tenth of a short run. So what was
read of bakeoff's own modules is kept beside their bytecode, with the digest of each source, as Python keeps the
bytecode itself.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from bakeoff.pipeline.whole_file import replace_whole

HASH_BYTES = 8


@dataclass(frozen=True)
class ImportStatement:
    """``import source`` or ``from source import names``.

    Attributes
    ----------
    source : str
        Empty in ``from . import names``.
    level : int
        The number of points before the source.
    names : tuple of str
        None in ``import source``.
    """

    source: str
    level: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModuleSyntax:
    """What the identity of a run needs of a module.

    Attributes
    ----------
    fingerprint : str
        Of the syntax tree without docstrings: comments and formatting do not count.
    imports : tuple of ImportStatement
    """

    fingerprint: str
    imports: tuple[ImportStatement, ...]


@dataclass
class SyntaxFile:
    """The file that keeps the syntax of modules: module -> digest of its source, fingerprint, statements that import.

    Attributes
    ----------
    path : Path
        Need not exist.
    entries : dict
    """

    path: Path
    entries: dict[str, list[Any]] = field(default_factory=dict)
    _has_changed: bool = False

    @classmethod
    def open(cls, path: Path) -> SyntaxFile:
        """Read a file; one that is missing, or that nobody can read, has no entries."""
        try:
            stored = json.loads(path.read_bytes())
        except (OSError, ValueError):
            stored = {}
        # Another version of this module may read otherwise.
        is_current = isinstance(stored, dict) and stored.get("reader") == _digest_reader()
        return cls(path, stored["entries"] if is_current else {})

    def read(self, module: str, source: bytes) -> ModuleSyntax:
        """Return the syntax of a module, which is parsed if its source has changed.

        Parameters
        ----------
        module : str
        source : bytes
        """
        digest = hash_bytes(source)
        entry = self.entries.get(module)
        if entry is None or entry[0] != digest:
            syntax = read_syntax(parse_source(source))
            imports = [[each.source, each.level, each.names] for each in syntax.imports]
            self.entries[module] = [digest, syntax.fingerprint, imports]
            self._has_changed = True
            return syntax
        _, fingerprint, imports = entry
        return ModuleSyntax(
            fingerprint, tuple(ImportStatement(name, level, tuple(names)) for name, level, names in imports)
        )

    def save(self) -> None:
        """Write what was parsed, unless Python is not to write bytecode either, or the folder cannot be written."""
        if not self._has_changed or sys.dont_write_bytecode:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replace_whole(self.path) as file:
                file.write_text(json.dumps({"reader": _digest_reader(), "entries": self.entries}))
        self._has_changed = False


def locate_syntax_file() -> Path:
    """Return where the syntax of bakeoff's own modules is kept: beside the bytecode of this module."""
    return Path(cache_from_source(__file__)).with_suffix(".json")


def parse_source(source: bytes) -> ast.Module:
    """Return a syntax tree without docstrings; an empty one if the source has an error, which its import reports."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ast.parse("")
    for node in _walk_statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return tree


def read_syntax(tree: ast.Module) -> ModuleSyntax:
    """Return what the identity of a run needs of a tree from `parse_source`."""
    return ModuleSyntax(hash_bytes(ast.dump(tree).encode()), tuple(_list_imports(tree)))


def _list_imports(tree: ast.Module) -> Iterator[ImportStatement]:
    for node in _walk_statements(tree):
        if isinstance(node, ast.Import):
            yield from (ImportStatement(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield ImportStatement(node.module or "", node.level, names)


def _walk_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it, at any depth."""
    # `ast.walk` would also visit the expressions, which are nine of ten nodes and contain no statements.
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield from _walk_statements(child)


def _digest_reader() -> str:
    return hash_bytes(Path(__file__).read_bytes())


def hash_bytes(content: bytes) -> str:
    """Return a fingerprint of some bytes: 16 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=HASH_BYTES).hexdigest()
