"""Words, names of columns, cells and classes of 100,000 letters: commands answer without a search of quadratic time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from command import Bakeoff

N_LETTERS = 100_000
LIMIT_SECONDS = 20
"""Of processor time for a command, which takes less than 1; a search of quadratic time takes minutes."""
SHAPES = {"one word": "x", "spaces": " ", "no scheme": "://", "options": "http://h?key=1&", "backslashes": "\\"}
FILE = ("dataset=file", "dataset.target=y", "learner=decision_tree", "tracking=none", "figures=[]")


def write_tables(folder: Path, text: str) -> None:
    """Write tables with a text as the name of a column, among numbers, among words, and as a class."""
    cell = '"' + text.replace('"', '""') + '"'
    rows = [(row % 7, row % 5 / 4, "ab"[row % 2]) for row in range(40)]
    tables: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
        "column": (cell, rows),
        "number": ("a", [*rows, (cell, 1, "a")]),
        "word": ("a", [("uv"[first % 2], second, third) for first, second, third in rows] + [(cell, 1, "a")] * 2),
        "class": ("a", [(first, second, cell if third == "b" else "a") for first, second, third in rows]),
    }
    for name, (header, cells) in tables.items():
        lines = [f"{header},b,y", *(",".join(map(str, row)) for row in cells)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("letters", SHAPES.values(), ids=SHAPES)
def test_commands_answer_for_texts_of_100_000_letters(bakeoff: Bakeoff, letters: str) -> None:
    text = letters * (N_LETTERS // len(letters)) + "x"
    write_tables(bakeoff.folder, text)
    commands = [
        *([text], [f"{text}=1"], [f"seed={text}"], ["list", text], ["inspect", f"{text}=1"]),
        *([*FILE, f"dataset.path={name}.csv"] for name in ("column", "number", "word", "class")),
        ["inspect", "column.csv", "target=y"],
    ]
    for command in commands:
        begin = time.process_time()
        assert bakeoff(*command).status in (0, 1, 2)
        assert time.process_time() - begin < LIMIT_SECONDS, [word[:60] for word in command]
