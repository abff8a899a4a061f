"""Files of answers, and what an answer says: a number, a list of numbers, a set of rows, or a word.

A file has a row ``sheet,s07-3f9a1c``, perhaps a row ``name,…``, and a row for each box. Students and teachers type
them, so a decimal comma, a percentage, a fraction and a sum are numbers as well.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.commands.grade.expressions import FAULTS, MAX_LETTERS, evaluate
from bakeoff.pipeline.commands.work.calculation import EQUALS, write_formula
from bakeoff.pipeline.errors import UserError

MAX_BYTES = 1_000_000
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
HEADER = re.compile(r'\s*"?box"?\s*([,;\t])', re.IGNORECASE)
SIGNS = str.maketrans("−–·×∙÷≈~", "--***/==")
NUMBER = r"[-+]?(?:\d+{0}\d*|{0}\d+|\d+)(?:e[-+]?\d+)?(?:/\d+)?"
LISTED = [re.compile(rf"(?<![\w.])(?a:{NUMBER.format(sign)})", re.IGNORECASE) for sign in ("[.,]", r"\.")]
"""Numbers of a list; a comma in a number is one of its decimals, or else stands between numbers."""
ARITHMETIC = re.compile(r"(?a:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+*/()])+", re.IGNORECASE)
LIST = re.compile(r"\(.*,.*\)|\d+ passes|\S+ : ")
Value = float | tuple[float, ...] | frozenset[int] | str


@dataclass(frozen=True, eq=False)
class HandIn:
    """The answers of a student.

    Attributes
    ----------
    file : str
    sheet : str
        The code of the sheet.
    name : str
    answers : mapping of str to str
        The name of a box -> what is written into it.
    """

    file: str
    sheet: str
    name: str
    answers: Mapping[str, str]

    @property
    def student(self) -> tuple[str, str]:
        """Who has handed in which sheet."""
        return self.sheet, self.name.casefold()


def read_hand_in(file: Path) -> HandIn:
    """Read a file of answers.

    Raises
    ------
    UserError
        The file cannot be read, is too large, has no code of a sheet, or answers a box twice.
    """
    first, *lines = read_text(file).splitlines() or [""]
    header = HEADER.match(first)
    if header is None:
        raise UserError(f"{file.name} does not begin with the line box,answer")
    answers: dict[str, str] = {}
    for number, line in enumerate(lines, start=2):
        # An answer is the rest of its line, so that it may contain a comma without quotation marks. Spreadsheets end
        # lines with separators if another line has more cells.
        cells = next(csv.reader([line.rstrip(f"{header[1]} ")], delimiter=header[1]), [])
        box, answer = "".join(cells[:1]).strip(), header[1].join(cells[1:]).strip()
        if answers.setdefault(box.lower(), answer) != answer:
            raise UserError(f"line {number} of {file.name} answers {box} a second time")
    answers.pop("", None)
    if not answers.get("sheet"):
        raise UserError(f"{file.name} has no line sheet,CODE with the code at the top of the sheet")
    return HandIn(str(file), answers.pop("sheet").lower(), answers.pop("name", ""), answers)


def read_text(file: Path) -> str:
    """Return the text of a file in UTF-8, UTF-16 or the encoding of Windows.

    Raises
    ------
    UserError
        The file cannot be read, or is too large.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}; name a file that exists.") from None
    if len(content) > MAX_BYTES:
        raise UserError(f"{file} has more than {MAX_BYTES:,} bytes, which is no file of answers.")
    try:
        return content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would calculate an answer, such as =1+1, instead of the student."""
    return text.startswith(("=", "@"))


def read_number(text: str) -> float | None:
    """Return a number, fraction, percentage, root or sum; None for other text.

    Examples
    --------
    >>> [read_number(text) for text in ("0,247", "9/14", ".25", "1e-3", "65 %", "√4", "1/2·(-3)", "wind")]
    [0.247, 0.6428571428571429, 0.25, 0.001, 0.65, 2.0, -1.5, None]
    """
    # The space of 1 1/3 remains, because the number is not 11/3.
    plain = re.sub(r"(?<!\d)\s+|\s+(?!\d+\s*/)", "", text.translate(SIGNS).split("=")[-1])
    if plain.rfind(",") > plain.rfind("."):
        plain = plain.replace(".", "").replace(",", ".")
    plain = re.sub(r"√\(?([\d.]+)\)?", r"(\1)**.5", plain.replace(",", ""))
    plain = re.sub(r"(?<![\d.])0+(?=\d)", "", plain).replace("%", "/100")
    try:
        return float(evaluate(plain, {})) if ARITHMETIC.fullmatch(plain) else None
    except FAULTS:
        return None


def read_numbers(text: str, count: int = 0) -> tuple[float, ...] | None:
    """Return the numbers in brackets, or all if there are no brackets; None if they are not as many as ``count``.

    Examples
    --------
    >>> read_numbers("= dry (2:1), = humid (0:1)"), read_numbers("0,5; -1", 2), read_numbers("(3,4)", 2)
    ((2.0, 1.0, 0.0, 1.0), (0.5, -1.0), (3.0, 4.0))
    """
    text = text.translate(SIGNS)
    inner = ", ".join(re.findall(r"\(([^()]*)\)", text)) or text
    for pattern in LISTED if count else LISTED[1:]:
        numbers = [read_number(found) for found in pattern.findall(inner)]
        if len(numbers) == count or not count:
            return tuple(number for number in numbers if number is not None)
    return None


def read_key(text: str, column: str) -> Value:
    """Return the result that a text of a calculation ends with."""
    if column == "→" and text.startswith("rows "):
        return frozenset(map(int, re.findall(r"\d+", text)))
    result = text.split(EQUALS)[-1]
    if column.startswith("parts") or LIST.match(result):
        return read_numbers(text if column.startswith("parts") else result) or ()
    number = read_number(result)
    return text if number is None else number


def read_like(key: Value, text: str, known: Mapping[str, str]) -> Value | None:
    """Return an answer in the form of the key; None if it has not this form.

    Parameters
    ----------
    key : float, tuple, frozenset or str
    text : str
    known : mapping of str to str
        The names of classes and features in small letters -> the names.
    """
    if is_formula(text) or len(text) > MAX_LETTERS:
        return None
    if isinstance(key, float):
        return read_number(text)
    if isinstance(key, tuple):
        return read_numbers(text, len(key)) or read_numbers(text) or None
    if isinstance(key, frozenset):
        return frozenset(map(int, re.findall(r"\d+", text))) or None
    parts = re.split(r"\s*(=|<|≥)\s*", text.replace(">=", "≥"))
    return " ".join(known.get(part.casefold(), part) for part in parts) or None


def agree(a: Value | None, b: Value | None, tolerance: float, digits: int) -> bool:
    """Whether two results are the same within the rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= tolerance
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b, strict=True))
    if isinstance(a, str) and isinstance(b, str):
        a, b = _spell(a, digits), _spell(b, digits)
        # "yes" answers "play = yes".
        is_short = not ("=" in a and "=" in b)
        return a == b or (is_short and a.split("=")[-1] == b.split("=")[-1])
    return a == b


def _spell(word: str, digits: int) -> str:
    plain = word.translate(SIGNS).replace(">=", "≥").casefold()
    return re.sub(r"[\s\"']", "", write_formula(re.sub(r"(?<=\d),(?=\d)", ".", plain), digits))
