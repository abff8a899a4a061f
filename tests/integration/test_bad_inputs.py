"""Every bad input of ``tests/bad_inputs`` is answered by a refusal or a line that names the cause and the cure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from bad_inputs import BadInput, read_bad_inputs, write_file
from command import Answer, Bakeoff

from bakeoff.pipeline.text.wording import MAX_LETTERS

MAX_LINES = 2
"""Of a refusal: the sentence, and at most one more."""
SEPARATORS = re.compile(r"[^\w.]+")
PAIR = re.compile(r"[\w.]+=[^\s;,]+")
CURE = re.compile(
    r"\b(must|needs?|accepts?|allowed|at least|at most|usage)\b|Did you mean|Allowed: |`(bakeoff|git) "
    r"|[;:,.)] (so |then |or |and |if .*, )?(add|change|choose|convert|correct|delete|download|drop|export|fetch|fill"
    r"|give|install|leave|list|mark|merge|move|name|remove|rename|repeat|run|save|see|set|shorten|try|use|write)\b",
    re.IGNORECASE,
)
"""Words that say what is allowed, or what to do."""
ROWS = read_bad_inputs()


def parameters() -> list[ParameterSet]:
    """Return the rows as parameters of a test, with their marks."""
    made: list[ParameterSet] = []
    for row in ROWS:
        marks = [getattr(pytest.mark, mark) for mark in row.marks]
        if row.extra:
            marks.append(pytest.mark.extra(row.extra))
        made.append(pytest.param(row, marks=marks, id=f"{row.area}: {row.cause}"))
    return made


def one_line(text: str) -> str:
    """Return a text without line breaks, which a narrow terminal adds."""
    return " ".join(text.split())


def left_files(folder: Path) -> set[Path]:
    """Return the files in a folder and below, without the compiled modules that Python keeps."""
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@pytest.mark.parametrize("row", parameters())
def test_bad_input_is_refused_or_said_with_its_cure(bakeoff: Bakeoff, row: BadInput) -> None:
    for name, content in row.files.items():
        write_file(bakeoff.folder / name, content)
    for command in row.before:
        answer = bakeoff(*command)
        assert answer.status == 0, answer.err
    files = left_files(bakeoff.folder)
    if row.message is not None:
        answer = bakeoff(*row.words)
        require_refusal(answer, row)
        require_complete(one_line(answer.err), row)
        assert left_files(bakeoff.folder) == files
    else:
        require_line(bakeoff(*row.silent_words), row)
    if row.cure:
        cured = bakeoff(*apply_cure(row.silent_words, row.cure))
        assert cured.status == 0, cured.err
        assert row.said not in one_line(cured.out + cured.err)


def apply_cure(words: Sequence[str], cure: Sequence[str]) -> list[str]:
    """Return a command with the words of a cure, in place of those with the same key."""
    keys = {word.partition("=")[0] for word in cure if "=" in word}
    return [*(word for word in words if word.partition("=")[0] not in keys), *cure]


def require_refusal(answer: Answer, row: BadInput) -> None:
    """Require a sentence with the cause and the key that cures it, and no more than that."""
    assert answer.status == 2, answer.out + answer.err
    assert row.said in one_line(answer.err)
    assert row.key is None or row.key in answer.err
    assert "Traceback" not in answer.err
    lines = [line for line in answer.err.strip().splitlines() if not line.startswith("note: ")]
    assert len(lines) <= MAX_LINES


def require_complete(said: str, row: BadInput) -> None:
    """Require a refusal of limited length that names a key or a file, what was given, and what is allowed or a cure."""
    assert len(said.removeprefix("refused: ")) <= MAX_LETTERS
    # What a row gives: words, their keys and values, and the files and what they contain.
    pairs = [word.lstrip("+~").partition("=") for word in row.words]
    files = [name for path in row.files for name in (path, Path(path).name, Path(path).stem)]
    contents = [each for content in row.files.values() for each in SEPARATORS.split(str(content))]
    keys = [part for key, _, _ in pairs for part in (key, key[:20], *re.split("[./@]", key))]
    values = [each for _, _, value in pairs for each in (value, value[:20], *SEPARATORS.split(value))]
    places = [*row.words, *keys, *files, *contents]
    assert any(place and place in said for place in places), f"{said!r} names neither key nor file"
    given = [*places, *values, "null"]
    assert any(each and each in said for each in given), f"{said!r} does not name what was given"
    named = [pair.replace("'", "").rstrip(".:)") for pair in PAIR.findall(said)]
    assert CURE.search(said) or not set(named) <= {*row.words}, f"{said!r} has no cure"


def require_line(answer: Answer, row: BadInput) -> None:
    """Require a line with the cause and the key that cures it, from a command that succeeds."""
    assert answer.status == 0, answer.err
    lines = [one_line(line) for line in (answer.out + answer.err).splitlines()]
    # A line that is said twice is read once.
    said = [line for line in lines if row.said in line]
    assert len(said) == 1, lines
    assert row.key is None or row.key in said[0]


def test_each_row_has_a_cause_of_its_own() -> None:
    causes = Counter((row.area, row.cause) for row in ROWS)
    answers = Counter((row.said, tuple(row.words), str(row.files)) for row in ROWS)
    assert [cause for cause, count in causes.items() if count > 1] == []
    assert [answer for answer, count in answers.items() if count > 1] == []
