"""Print the size of the code, room by room and command by command, beside its budget.

    python benchmarks/size.py [--files]

Tokens are counted because lines can be packed and files can be split: those of Python's `tokenize`, without comments,
docstrings, newlines and indents. A code line is a line with a token.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
COMMANDS = Path("bakeoff/pipeline/commands")
MOST_TOKENS_OF_A_COMMAND = 12_000
MOST_TOKENS_OF_COMMANDS = {"compare": 18_000}
"""Folders of commands with a budget of their own."""
MOST_FILES = 230
"""The most files of `pipeline/` and `learners/`."""
MOST_IMPORTS = 0.11
"""The largest share of imports in their code lines."""


@dataclass(frozen=True)
class Area:
    """A folder whose size has a budget.

    Attributes
    ----------
    title : str
    folder : Path
    most_tokens : int
    most_lines : int or None
        The most code lines; None without such a budget.
    left_out : Path or None
        A folder in it that is an area of its own.
    """

    title: str
    folder: Path
    most_tokens: int
    most_lines: int | None = None
    left_out: Path | None = None


AREAS = (
    Area("core of pipeline/", COMMANDS.parent, 150_000, left_out=COMMANDS),
    Area("pipeline/commands/", COMMANDS, 82_000),
    Area("learners/", Path("bakeoff/learners"), 119_000),
    Area("tests/", Path("tests"), 310_000, most_lines=26_000),
)


@dataclass(frozen=True)
class Size:
    """The size of some files: tokens, code lines, lines that import, files, and files under 40 code lines."""

    tokens: int = 0
    lines: int = 0
    imports: int = 0
    files: int = 0
    small: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(
            self.tokens + other.tokens,
            self.lines + other.lines,
            self.imports + other.imports,
            self.files + other.files,
            self.small + other.small,
        )


def measure_file(file: Path) -> Size:
    """Return the size of one module."""
    text = file.read_text()
    tree = ast.parse(text)
    prose = set(find_docstring_lines(tree))
    written = tokenize.generate_tokens(io.StringIO(text).readline)
    tokens = [token for token in written if token.type not in LAYOUT and token.start[0] not in prose]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    imports = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return Size(len(tokens), len(lines), len(imports), 1, int(len(lines) < 40))


def find_docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of docstrings, and of other strings that are statements."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield from range(statement.lineno, statement.end_lineno + 1)


def measure_rooms(area: Area, *, by_file: bool) -> dict[str, Size]:
    """Return the sizes of the entries of a folder, or of all its files."""
    rooms: dict[str, Size] = {}
    folder = ROOT / area.folder
    for file in sorted(folder.rglob("*.py")):
        if area.left_out is not None and file.is_relative_to(ROOT / area.left_out):
            continue
        place = file.relative_to(folder)
        name = str(place) if by_file else place.parts[0]
        rooms[name] = rooms.get(name, Size()) + measure_file(file)
    return rooms


def print_area(area: Area, *, by_file: bool) -> Size:
    """Print a table of the rooms of an area, the largest first, with its budget, and return its size."""
    rooms = measure_rooms(area, by_file=by_file)
    total = sum(rooms.values(), Size())
    print(f"{area.title:44} {'tokens':>8} {'budget':>8} {'lines':>7} {'files':>6} {'< 40':>6} {'imports':>8}")
    for name, size in sorted(rooms.items(), key=lambda room: -room[1].tokens):
        print(format_size(name, size, find_budget(area, name)))
    print(format_size("total", total, area.most_tokens))
    if area.most_lines is not None:
        print(f"budget: {area.most_lines:,} code lines")
    print()
    return total


def find_budget(area: Area, room: str) -> int | None:
    """Return the most tokens of a room; None if it has no budget of its own."""
    is_command = area.folder == COMMANDS and (ROOT / COMMANDS / room).is_dir()
    return MOST_TOKENS_OF_COMMANDS.get(room, MOST_TOKENS_OF_A_COMMAND) if is_command else None


def format_size(name: str, size: Size, budget: int | None) -> str:
    """Return one row of a table."""
    share = size.imports / size.lines if size.lines else 0
    most = "" if budget is None else f"{budget:,}"
    return f"{name:44} {size.tokens:>8,} {most:>8} {size.lines:>7,} {size.files:>6} {size.small:>6} {share:>8.1%}"


def main() -> None:
    """Print a table for each area, then the files and the share of imports of the product."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="a row for each file instead of each room")
    options = parser.parse_args()
    sizes = {area.folder.parts[0]: Size() for area in AREAS}
    for area in AREAS:
        sizes[area.folder.parts[0]] += print_area(area, by_file=options.files)
    product = sizes["bakeoff"]
    print(
        f"pipeline/ and learners/: {product.files} files (budget: {MOST_FILES}), of whose lines "
        f"{product.imports / product.lines:.1%} are imports (budget: {MOST_IMPORTS:.0%})"
    )


if __name__ == "__main__":
    main()
