"""Regular expressions: all search a long text in a time that grows with its length, not with its square."""

from __future__ import annotations

import subprocess
import sys

import regular_expressions
from regular_expressions import find_expressions

from bakeoff.version import PACKAGE_FOLDER


def test_every_regular_expression_searches_a_long_text_in_linear_time() -> None:
    program = [sys.executable, regular_expressions.__file__]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=PACKAGE_FOLDER.parent)
    assert done.returncode == 0, f"took too long: {done.stdout.splitlines()[-1:]} {done.stderr}"


def test_expressions_of_modules_functions_and_tables_are_found() -> None:
    places = [expression.place for expression in find_expressions()]
    for part in ("text.secrets.ADDRESS", "config.targets.FAMILIES", "config.words, ", "stages.dataset.text_file, "):
        assert any(part in place for place in places)
