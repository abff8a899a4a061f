"""The source code that a class or function depends on.

Code of the user is every module that is neither installed nor part of Python or bakeoff. All of it that is imported is
followed, with the packages around it, wherever the import stands.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, distributions, packages_distributions, version
from pathlib import Path

from bakeoff.pipeline.module_syntax import (
    HASH_BYTES,
    ImportStatement,
    ModuleSyntax,
    SyntaxFile,
    hash_bytes,
    locate_syntax_file,
    parse_source,
    read_syntax,
)

OWN_PACKAGE = "bakeoff"
INSTALLED_FOLDERS = frozenset({"site-packages", "dist-packages"})
IMPORT_FUNCTIONS = frozenset({"import_module", "__import__"})


def get_package(module: str) -> str:
    """Return the first part of a dotted name."""
    return module.split(".")[0]


def collect_imports(roots: set[str], packages: set[str]) -> set[str]:
    """Return modules and all that they import, at any depth.

    Parameters
    ----------
    roots : set of str
    packages : set of str
        Followed although they are installed; code of the user is followed in any case.
    """
    collected: set[str] = set()
    unvisited = set(roots)
    while unvisited:
        collected |= unvisited
        imported = {name for module in unvisited for name in list_imports(module)}
        followed = {name for name in imported if get_package(name) in packages or is_of_user(name)}
        unvisited = followed - collected
    return collected


@cache
def list_imports(module: str) -> frozenset[str]:
    """Return the modules that a module imports; ``from a import b`` imports a.b if that is a module, else a."""
    imported: set[str] = set()
    for statement in read_module(module).imports:
        imported |= _list_named(statement, module)
    if is_of_user(module):
        imported |= _list_dynamic(parse_module(module))
        # Python runs the file of a package before that of a module in it.
        imported = {ancestor for name in (module, *imported) for ancestor in _list_ancestors(name)}
    return frozenset(imported)


def _list_named(statement: ImportStatement, module: str) -> set[str]:
    """Return the modules of a statement ``import a``, ``from a import b`` or ``from .a import b``."""
    source = statement.source
    if statement.level:
        if not is_of_user(module) and get_package(module) != OWN_PACKAGE:
            return set()  # the version of an installed package identifies its code
        source = ".".join(part for part in (_find_base(module, statement.level), source) if part)
    if not source:
        return set()
    # In other packages the search would take long, and their version identifies their code anyway.
    has_sources = get_package(source) == OWN_PACKAGE or is_of_user(source)
    names = {f"{source}.{name}" for name in statement.names} if has_sources else set()
    submodules = {name for name in names if find_source(name)}
    return submodules or {source}


def _find_base(module: str, level: int) -> str:
    """Return the package that a relative import with as many points starts from."""
    source = find_source(module)
    is_package = source is not None and source.stem == "__init__"
    parts = module.split(".")
    n_kept = len(parts) - level + is_package
    return ".".join(parts[:n_kept])


def _list_dynamic(tree: ast.Module) -> set[str]:
    """Return the modules that functions such as ``importlib.import_module`` are given by name."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    names = [read_text(call.args[0]) for call in calls if name_of(call.func) in IMPORT_FUNCTIONS]
    return {name for name in names if name and not name.startswith(".")}


def _list_ancestors(module: str) -> list[str]:
    if not is_of_user(module):
        return [module]
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


@cache
def is_of_user(module: str) -> bool:
    """Return whether a module is neither installed nor part of Python or bakeoff."""
    places = _list_places(get_package(module))
    return bool(places) and not any(INSTALLED_FOLDERS & set(Path(place).parts) for place in places)


@cache
def is_installed(package: str) -> bool:
    """Return whether a package is installed, and is neither part of Python nor bakeoff itself."""
    places = _list_places(package)
    return any(INSTALLED_FOLDERS & set(Path(place).parts) for place in places)


def _list_places(package: str) -> list[str]:
    """Return the files or folders of a package; none of one that is part of Python or bakeoff, or is missing."""
    if package == OWN_PACKAGE or package in sys.stdlib_module_names:
        return []
    spec = _find_spec(package)
    if spec is None:
        return []
    is_file = spec.has_location and spec.origin is not None
    return [str(spec.origin)] if is_file else list(spec.submodule_search_locations or ())


@cache
def find_source(module: str) -> Path | None:
    """Return the file of a module, of Python or compiled; None if it has none, as a folder."""
    spec = _find_spec(module)
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    path = Path(spec.origin)
    is_readable = path.suffix == ".py" or is_of_user(module)
    return path if is_readable else None


@cache
def _find_spec(module: str) -> ModuleSpec | None:
    """Find a module without importing the packages around it."""
    package, _, _ = module.rpartition(".")
    try:
        if package:
            around = _find_spec(package)
            folders = None if around is None else around.submodule_search_locations
            return None if folders is None else PathFinder.find_spec(module, list(folders))
        script = getattr(sys.modules.get(module), "__file__", None) if module == "__main__" else None
        if script is not None:  # a script that calls bakeoff, and defines the learner itself
            return importlib.util.spec_from_file_location(module, script)
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


@cache
def parse_module(module: str) -> ast.Module:
    """Return the syntax tree of a module, without docstrings; an empty one if it has no source."""
    return parse_source(_read_source(module))


@cache
def read_module(module: str) -> ModuleSyntax:
    """Return the fingerprint of a module's syntax, and what it imports."""
    if get_package(module) == OWN_PACKAGE:
        return _open_syntax_file().read(module, _read_source(module))
    return read_syntax(parse_module(module))


def _read_source(module: str) -> bytes:
    """Return the source of a module; empty if it has none."""
    source = find_source(module)
    return b"" if source is None or source.suffix != ".py" else source.read_bytes()


@cache
def _open_syntax_file() -> SyntaxFile:
    return SyntaxFile.open(locate_syntax_file())


def keep_syntax() -> None:
    """Keep what was parsed of bakeoff's own modules for the next process."""
    _open_syntax_file().save()


@cache
def hash_module(module: str) -> str:
    """Return a fingerprint of a module's syntax tree; of its bytes if it is compiled."""
    source = find_source(module)
    is_compiled = source is not None and source.suffix != ".py"
    if source is not None and is_compiled:
        return hash_file(source)
    return read_module(module).fingerprint


def hash_text(text: str) -> str:
    """Return a fingerprint of a text: 16 hexadecimal digits."""
    return hash_bytes(text.encode())


def hash_file(path: Path) -> str:
    """Return a fingerprint of the content of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=HASH_BYTES))
    except OSError:
        return ""
    return digest.hexdigest()


def get_version(*distributions: str) -> str:
    """Return the version of the first of some distributions that is installed."""
    for name in distributions:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"


def _find_distributions(package: str) -> list[str]:
    """Return the names of the distributions that hold a package, most of which have a short file that says so."""
    declared = {each.name: (each.read_text("top_level.txt") or "").split() for each in distributions()}
    found = [name for name, packages in declared.items() if package in packages]
    return found or list(packages_distributions().get(package, []))


@cache
def get_package_version(package: str) -> str:
    """Return the version of the distribution that a package belongs to; ``unknown`` if it belongs to none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return get_version(*sorted(_find_distributions(package)))


def read_text(node: ast.expr) -> str:
    """Return a text that stands in the code; empty for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def name_of(node: ast.expr) -> str:
    """Return the last part of a name such as ``os.environ``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


CACHED = (
    list_imports,
    is_of_user,
    is_installed,
    find_source,
    _find_spec,
    parse_module,
    read_module,
    _open_syntax_file,
    hash_module,
    get_package_version,
)
"""The functions that read a file once per process."""
