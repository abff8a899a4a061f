"""Print the size of the code, room by room, beside its budget.

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
PLACES = {"pipeline": "bakeoff/pipeline", "learners": "bakeoff/learners", "tests": "tests"}
# The most tokens of a folder; of the tests, only lines have a budget.
MOST_TOKENS = {"pipeline": 246_000, "learners": 118_000}
MOST_FILES = {"pipeline": 230, "learners": 95}
MOST_LINES = {"tests": 25_000}


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


def measure_rooms(folder: Path, *, by_file: bool) -> dict[str, Size]:
    """Return the sizes of the entries of a folder, or of all its files."""
    rooms: dict[str, Size] = {}
    for file in sorted(folder.rglob("*.py")):
        place = file.relative_to(folder)
        name = str(place) if by_file else place.parts[0]
        rooms[name] = rooms.get(name, Size()) + measure_file(file)
    return rooms


def format_size(name: str, size: Size) -> str:
    """Return one row of the table."""
    share = size.imports / size.lines if size.lines else 0
    return f"{name:44} {size.tokens:>8,} {size.lines:>8,} {size.files:>6} {size.small:>6} {share:>8.1%}"


def main() -> None:
    """Print a table for each folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="a row for each file instead of each room")
    options = parser.parse_args()
    for folder, place in PLACES.items():
        rooms = measure_rooms(ROOT / place, by_file=options.files)
        total = sum(rooms.values(), Size())
        print(f"{folder + '/':44} {'tokens':>8} {'lines':>8} {'files':>6} {'< 40':>6} {'imports':>8}")
        for name, size in sorted(rooms.items(), key=lambda room: -room[1].tokens):
            print(format_size(name, size))
        print(format_size("total", total))
        budgets = (MOST_TOKENS, "tokens"), (MOST_FILES, "files"), (MOST_LINES, "code lines")
        allowed = [f"{most[folder]:,} {unit}" for most, unit in budgets if folder in most]
        print(f"budget: {', '.join(allowed)}\n")


if __name__ == "__main__":
    main()
