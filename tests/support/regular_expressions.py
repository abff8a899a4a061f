"""The regular expressions of some folders of bakeoff, each with the texts for which its cost is tried.

As a program, it applies all of them to long texts, within a limit of processor time.
"""

from __future__ import annotations

import ast
import importlib
import re
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from bakeoff.version import PACKAGE_FOLDER

PIPELINE = PACKAGE_FOLDER / "pipeline"
FOLDERS = ("text", "config", "stages/dataset")
N_LETTERS = 25_000
SHAPE_SECONDS = 0.5
"""Of processor time for an expression on texts of a shape: linear searches take 0.03, and quadratic ones 2 to 40."""
LIMIT_SECONDS = 40
"""Of processor time for all: it ends a search that takes longer than a quadratic one."""
SHAPES: Mapping[str, tuple[str, str]] = {
    "one word": ("", "x"),
    "a number": ("", "1"),
    "spaces": ("", " "),
    "no ASCII": ("", "é"),
    "backslashes": ("", "\\"),
    "names": ("", "a."),
    "addresses": ("", "x://"),
    "no scheme": ("", "://"),
    "users": ("", "a://b:c@"),
    "references": ("", "${"),
    "lines": ("", "- a\n"),
    "an entry": ("- ", " "),
    "a unit": ("1 ", "²"),
    "a declared name": ("@attribute ", "a"),
    "declared spaces": ("@attribute a {", " "),
    "declared values": ("@attribute a {", ", "),
}
"""How texts begin, and the letters that they repeat."""
ENDS = ("", "x", "1", "!")
"""A search that fails at the end may begin anew."""
ARGUMENTS = {"key": "learner", "package": "sklearn", "any_module": "svm|tree", "name": "[A-Z][a-z]*"}
"""Variables of functions, in patterns -> a value."""
WHOLE = ("match", "fullmatch")
"""Methods that begin at the first letter alone; the others search for all places."""


class Expression(NamedTuple):
    """A regular expression.

    Attributes
    ----------
    place : str
        The module with the name or the line.
    pattern : re.Pattern
    methods : set of str
        The methods of the pattern that are called.
    """

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def apply(self, text: str) -> None:
        """Do with a text what the pattern is used for."""
        searched: Any = text if isinstance(self.pattern.pattern, str) else text.encode()
        for method in WHOLE:
            if method in self.methods:
                getattr(self.pattern, method)(searched)
        if self.methods.difference(WHOLE) or not self.methods:
            for _ in self.pattern.finditer(searched):
                pass


def find_expressions() -> list[Expression]:
    """Return all regular expressions of the folders: the constants of modules, and those in calls of ``re``."""
    methods = _find_methods()
    found: list[Expression] = []
    for folder in FOLDERS:
        for file in sorted((PIPELINE / folder).rglob("*.py")):
            name = ".".join(file.relative_to(PIPELINE).with_suffix("").parts).removesuffix(".__init__")
            module = importlib.import_module(f"bakeoff.pipeline.{name}")
            constants = [
                Expression(f"{name}.{constant}", pattern, methods.get(constant, frozenset()))
                for constant, value in vars(module).items()
                for pattern in _walk(value)
            ]
            known = {expression.pattern for expression in constants}
            calls = _find_calls(name, module, ast.parse(file.read_text()))
            found += [*constants, *(call for call in calls if call.methods or call.pattern not in known)]
    return found


def _find_methods() -> dict[str, frozenset[str]]:
    """Return the methods that are called of each name in the whole of the pipeline."""
    methods: dict[str, set[str]] = {}
    for file in PIPELINE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and hasattr(re.Pattern, node.attr):
                owner = getattr(node.value, "id", getattr(node.value, "attr", ""))
                methods.setdefault(owner, set()).add(node.attr)
    return {name: frozenset(found) for name, found in methods.items()}


def _walk(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | dict):
        for item in (*value, *(value.values() if isinstance(value, dict) else ())):
            yield from _walk(item)


def _find_calls(name: str, module: ModuleType, tree: ast.Module) -> Iterator[Expression]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[source, *others]) if (
                method != "escape"
            ):
                methods = frozenset({method}) - {"compile"}
                place = f"{name}, line {node.lineno}"
                table = _find_table(tree, source)
                flags = [word.value for word in node.keywords if word.arg == "flags"]
                flags += others if method == "compile" else []
                first, *options = _evaluate([source if table is None else table, *flags], module)
                for pattern in [first] if table is None else first:
                    expression = re.compile(pattern, *options)
                    yield Expression(place, expression, methods)


def _find_table(tree: ast.Module, source: ast.expr) -> ast.expr | None:
    """Return the table whose keys a variable takes, as in ``for pattern, found in TABLE.items()``."""
    variable = source.id if isinstance(source, ast.Name) else None
    for node in ast.walk(tree):
        match node:
            case ast.For(target=ast.Tuple([ast.Name(name), *_]), iter=ast.Call(func=ast.Attribute(value=table))):
                if name == variable:
                    return table
    return None


def _evaluate(nodes: Sequence[ast.expr], module: ModuleType) -> list[Any]:
    names = {**vars(module), **ARGUMENTS}
    return [eval(compile(ast.Expression(node), module.__name__, "eval"), names) for node in nodes]


def main() -> None:
    """Apply all expressions; the last line that is printed names the one at work."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
    for expression in find_expressions():
        for shape, (begin, letters) in SHAPES.items():
            print(f"{expression.place}: {shape}", flush=True)
            begun = time.process_time()
            for end in ENDS:
                expression.apply(begin + letters * (N_LETTERS // len(letters)) + end)
            if time.process_time() - begun > SHAPE_SECONDS:
                sys.exit("its time grows with the square of the length")


if __name__ == "__main__":
    main()
