"""What else decides what the code of the user does: environment variables, files, and whether it is the code that runs.

The values of the environment variables that a module reads by name count, and the content of the files whose names
stand in it, relative to its folder or to the current one.
"""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.pipeline.source_code import find_source, hash_file, hash_text, name_of, parse_module, read_text
from bakeoff.pipeline.text.secrets import is_secret_name

ENVIRONMENT_READERS = frozenset({"get", "getenv", "pop", "setdefault"})
ENVIRONMENT_NAMES = frozenset({"environ", "environb"})
MAX_PATH_LETTERS = 300


@dataclass(frozen=True)
class SourceFile:
    """A file of the user's code, as it was when it was read first.

    Attributes
    ----------
    module : str
    path : Path
    state : tuple of int
        The time of its last change in nanoseconds, and its size in bytes.
    loaded_spec : object
        Another one after the module was loaded again; None if it was not loaded.
    """

    module: str
    path: Path
    state: tuple[int, int]
    loaded_spec: Any

    @classmethod
    def read(cls, module: str, path: Path) -> SourceFile:
        """Return the present state of a file."""
        return cls(module, path, _read_state(path), _get_spec(module))

    def has_changed(self) -> bool:
        """Return whether the file is another one now."""
        return _read_state(self.path) != self.state

    def is_loaded_as_before(self) -> bool:
        """Return whether the module is loaded and was not loaded again since."""
        return self.loaded_spec is not None and _get_spec(self.module) is self.loaded_spec


def _read_state(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:  # it was deleted
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def _get_spec(module: str) -> Any:
    """Return the object that is replaced when a module is loaded again; None if it is not loaded."""
    return getattr(sys.modules.get(module), "__spec__", None)


def list_surroundings(module: str) -> list[str]:
    """Return the environment variables that a module of the user reads, and the files whose names stand in it.

    Parameters
    ----------
    module : str

    Returns
    -------
    list of str
        ``env NAME fingerprint`` and ``file NAME fingerprint``, sorted. Values stay secret.
    """
    tree = parse_module(module)
    source = find_source(module)
    folders = [Path.cwd()] if source is None else [source.parent, Path.cwd()]
    named = {name for node in ast.walk(tree) if (name := _read_variable(node))}
    # A password that changes leaves the results as they are, and nobody can guess it from a fingerprint.
    variables = {name for name in named if not is_secret_name(name)}
    lines = {f"env {name} {hash_text(os.environ.get(name, ''))}" for name in variables}
    for text in {text for node in ast.walk(tree) for text in _read_paths(node)}:
        lines |= {f"file {text} {hash_file(path)}" for path in _find_files(text, folders)}
    return sorted(lines)


def looks_like_file(text: str) -> bool:
    """Return whether a text may be the path of a file: it has an extension or a slash."""
    is_short = 0 < len(text) <= MAX_PATH_LETTERS and text.isprintable()
    return is_short and ("/" in text or bool(Path(text).suffix))


def _find_files(text: str, folders: list[Path]) -> list[Path]:
    if not looks_like_file(text):
        return []
    return [path for folder in folders if (path := folder / Path(text)).is_file()][:1]


def _read_variable(node: ast.AST) -> str:
    """Return the name of the environment variable that an expression reads; empty if it reads none by name."""
    if isinstance(node, ast.Subscript) and name_of(node.value) in ENVIRONMENT_NAMES:
        return read_text(node.slice)
    if not isinstance(node, ast.Call) or not node.args or name_of(node.func) not in ENVIRONMENT_READERS:
        return ""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    reads = name_of(node.func) == "getenv" or (owner is not None and name_of(owner) in ENVIRONMENT_NAMES)
    return read_text(node.args[0]) if reads else ""


def _read_paths(node: ast.AST) -> list[str]:
    """Return the texts of an expression that may be paths: one text, or the last texts of a path that is joined."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        parts = _read_chain(node)
    elif isinstance(node, ast.Call):
        parts = [read_text(argument) for argument in node.args]
    else:
        return []
    known = parts[max((number + 1 for number, part in enumerate(parts) if not part), default=0) :]
    return ["/".join(known[start:]) for start in range(len(known) - 1)]


def _read_chain(node: ast.expr) -> list[str]:
    """Return the texts of ``a / "b" / "c"``, empty for what is no text."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*_read_chain(node.left), read_text(node.right)]
    return [read_text(node)]
