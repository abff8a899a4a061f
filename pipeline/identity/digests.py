"""Digests of texts, of files, and of syntax trees, in which comments, docstrings and formatting do not count."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

DIGEST_BYTES = 8
MAX_PATH_LETTERS = 300


def hash_bytes(content: bytes) -> str:
    """Return a digest of some bytes: 16 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def hash_text(text: str) -> str:
    """Return a digest of a text: 16 hexadecimal digits."""
    return hash_bytes(text.encode())


def hash_file(path: Path) -> str:
    """Return a digest of the content of a file; empty if it cannot be read."""
    try:
        return hash_bytes(path.read_bytes())
    except OSError:
        return ""


def names_file(text: str, *folders: Path) -> bool:
    """Return whether a text with an extension or a slash is the path of a file, from some folder or the current one."""
    is_short = 0 < len(text) <= MAX_PATH_LETTERS and text.isprintable()
    is_path = is_short and ("/" in text or bool(Path(text).suffix))
    return is_path and any((folder / text).is_file() for folder in (Path.cwd(), *folders))


def hash_tree(tree: ast.Module) -> str:
    """Return a digest of a syntax tree."""
    return hash_text(ast.dump(tree))


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


def _walk_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it, at any depth."""
    # `ast.walk` would also visit the expressions, which are nine of ten nodes and contain no statements.
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield from _walk_statements(child)
