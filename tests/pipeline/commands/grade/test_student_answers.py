"""What students write: numbers, lists, words and rows in many notations, and files of answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from answer_sheets import write_answers

from bakeoff.pipeline.commands.grade.answers import Value, agree, read_hand_in, read_key, read_like, read_number
from bakeoff.pipeline.errors import UserError

KNOWN = {"wind": "wind", "weak": "weak", "yes": "yes"}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0,247", 0.247),
        (".247", 0.247),
        ("-,5", -0.5),
        ("9/14", 9 / 14),
        ("1e-3", 0.001),
        ("24,7 %", 0.247),
        ("−3", -3),
        ("1,234.5", 1234.5),
        ("√8", 8**0.5),
        ("2·3/4", 1.5),
        ("(1+2)/4", 0.75),
        ("1.234,5", 1234.5),
        ("9/14 ≈ 0,643", 0.643),
        ("5 ÷ 8", 0.625),
        ("2 / 3 · 1 / 4", 1 / 6),
        ("1 1/3", None),
        ("0.9 bits", None),
        ("007", 7),
        ("1/0", None),
        ("9**9**9", None),
        ("__import__('os')", None),
        ("wind", None),
        ("1 e", None),
        ("", None),
        ("1" + "+1" * 500, None),
    ],
)
def test_a_number_is_read_in_each_notation_and_nothing_is_run(text: str, number: float | None) -> None:
    found = read_number(text)
    assert found == (None if number is None else pytest.approx(number))


@pytest.mark.parametrize(
    ("written", "column", "answer", "is_right"),
    [
        ("H = -Σ p log2 p = -1/2·log2(1/2) = 0.94028", "H", "0,9403", True),
        ("H = -Σ p log2 p = -1/2·log2(1/2) = 0.94028", "H", "H = .9402", True),
        ("H = -Σ p log2 p = -1/2·log2(1/2) = 0.94028", "H", "0.93", False),
        ("= dry (2:1), = humid (0:3)", "parts", "2:1, 0:3", True),
        ("= dry (2:1), = humid (0:3)", "parts", "dry (2:1) humid (0:3)", True),
        ("= dry (2:1), = humid (0:3)", "parts", "2:1, 3:0", False),
        ("(-2.0, 5.5)", "ω", "(-2; 5,5)", True),
        ("(3.0, 4.0)", "ω", "3,4", True),
        ("rows 4, 5, 2", "→", "2, 4 and 5", True),
        ("rows 4, 5, 2", "→", "2, 4", False),
        ("play = yes", "→", "YES", True),
        ("play = yes", "→", "no", False),
        ("wind = weak", "→", "Wind=weak", True),
        ("wind = weak", "→", "weak", True),
        ("x1 < 2.1666666666666665", "→", "x1<2,1667", True),
        ("x1 ≥ 2.5", "→", "x1 >= 2.5", True),
        ("9 passes with 14 updates", "→", "9, 14", True),
        ("accuracy : error = 4/7 : 3/7", "accuracy : error", "4/7; 3/7", True),
    ],
)
def test_an_answer_is_compared_in_the_form_of_the_key(written: str, column: str, answer: str, is_right: bool) -> None:
    key = read_key(written, column)
    assert agree(key, read_like(key, answer, KNOWN), 1e-4, 4) == is_right


@pytest.mark.parametrize("key", [1.0, (1.0, 2.0), "wind", frozenset({1})])
@pytest.mark.parametrize("text", ["=1+1", "=HYPERLINK(1)", "@SUM(1)", "", "x" * 1000])
def test_formulas_of_spreadsheets_and_long_texts_are_no_answers(key: Value, text: str) -> None:
    assert read_like(key, text, KNOWN) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_file_is_read_in_each_encoding_and_with_each_separator(tmp_path: Path, encoding: str, separator: str) -> None:
    file = tmp_path / "a.csv"
    lines = ["Box,Answer", "sheet,S01-ABC", "name,Zoë", "b1,0.5", 'B2,"say ""x"""', "", "b3,"]
    file.write_bytes("\r\n".join(line.replace(",", separator, 1) for line in lines).encode(encoding))
    found = read_hand_in(file)
    assert (found.sheet, found.name) == ("s01-abc", "Zoë")
    assert found.answers == {"b1": "0.5", "b2": 'say "x"', "b3": ""}


def test_an_answer_keeps_its_decimal_comma_without_quotation_marks(tmp_path: Path) -> None:
    file = write_answers(tmp_path / "a.csv", "s01-abc", {"b1": "0,247", "b2": "3, 4"})
    assert read_hand_in(file).answers == {"b1": "0,247", "b2": "3, 4"}


def test_separators_with_which_a_spreadsheet_fills_short_lines_are_no_answers(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("box;answer;\nsheet;s01-abc;\nb1;0,5;\nb2;2;4 \nb3;;\n")
    found = read_hand_in(file)
    assert found.sheet == "s01-abc"
    assert found.answers == {"b1": "0,5", "b2": "2;4", "b3": ""}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "does not begin with the line box,answer"),
        (b"hello\n", "does not begin with the line box,answer"),
        (b"box,answer\nb1,2\n", "has no line sheet,CODE"),
        (b"box,answer\nsheet,s01-a\nb1,2\nb1,3\n", "line 4 of a.csv answers b1 a second time"),
        (b"box,answer\n" + b"b1,2\n" * 1_000_000, "has more than 1,000,000 bytes"),
    ],
    ids=["empty", "other", "no code", "twice", "million lines"],
)
def test_a_file_that_is_none_of_answers_is_refused_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(content)
    with pytest.raises(UserError, match=reason):
        read_hand_in(file)
