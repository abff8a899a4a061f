"""The table of bad inputs: ``tests/bad_inputs/README.md`` describes its rows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from wheel_data import wheel_frame

TABLES = Path(__file__).parents[1] / "bad_inputs"
FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""That of libyaml where there is one: each process of the tests reads all rows."""
ROW_KEYS = {
    "cause", "file", "files", "columns", "before", "command", "words", "message", "line", "key", "cure", "marks",
    "extra",
}  # fmt: skip
TABLE_KEYS = {"words", "rows"}
REPEATED = re.compile(r"\{(\S)\*(\d+)\}")
TEXT = "table.csv"
COLUMNS = "table.parquet"


@dataclass(frozen=True)
class BadInput:
    """A row of the table.

    Attributes
    ----------
    area : str
        The name of its file, without the ending.
    cause : str
        What is wrong.
    files : mapping of str to object
        Name -> what is written there; see `write_file`.
    before : sequence of sequence of str
        Commands that run first and succeed.
    words : sequence of str
        The command.
    message : str or None
        A part of the sentence by which the command is refused.
    line : str or None
        A part of a line that the command prints; it succeeds.
    key : str or None
        The key in the message or line that cures the cause.
    cure : sequence of str
        Words with which the command succeeds and is silent about the cause.
    marks : sequence of str
        Of pytest.
    extra : str or None
        The extra that the command needs.
    """

    area: str
    cause: str
    files: Mapping[str, Any]
    before: Sequence[Sequence[str]]
    words: Sequence[str]
    message: str | None
    line: str | None
    key: str | None
    cure: Sequence[str]
    marks: Sequence[str]
    extra: str | None

    @property
    def said(self) -> str:
        """The part of a sentence that the command prints."""
        return " ".join(str(self.message or self.line).split())

    @property
    def silent_words(self) -> Sequence[str]:
        """The command, with a store only if it says which."""
        is_named = any(word.startswith("tracking") for word in self.words)
        is_run = all("=" in word for word in self.words)
        return [*self.words, "tracking=none"] if is_run and not is_named else self.words


def read_bad_inputs(tables: Path = TABLES) -> list[BadInput]:
    """Return the rows of all files of a folder."""
    rows = []
    for file in sorted(tables.glob("*.yaml")):
        table = yaml.load(file.read_text(), FAST_LOADER)
        require_known(file, table, TABLE_KEYS)
        rows += [make_row(file, table.get("words", ""), row) for row in table["rows"]]
    return rows


def make_row(file: Path, shared_words: str, row: Mapping[str, Any]) -> BadInput:
    """Return a row of a file, with the words that all rows of the file share."""
    require_known(file, row, ROW_KEYS)
    has_one_answer = ("message" in row) != ("line" in row)
    assert has_one_answer, f"{file.name}: {row['cause']!r} needs either a message or a line"
    files = dict(row.get("files", {}))
    if "file" in row:
        files[TEXT] = row["file"]
    if "columns" in row:
        files[COLUMNS] = {"columns": row["columns"]}
    command = row.get("command", f"{shared_words} {row.get('words', '')}")
    words = shlex.split(REPEATED.sub(lambda found: found[1] * int(found[2]), command))
    is_named = any(word.startswith("dataset.path=") for word in words)
    if files and not is_named and "command" not in row:
        words.append(f"dataset.path={next(iter(files))}")
    return BadInput(
        area=file.stem,
        cause=row["cause"],
        files=files,
        before=[shlex.split(command) for command in row.get("before", ())],
        words=words,
        message=row.get("message"),
        line=row.get("line"),
        key=row.get("key"),
        cure=shlex.split(row.get("cure", "")),
        marks=row.get("marks", ()),
        extra=row.get("extra"),
    )


def require_known(file: Path, given: Mapping[str, Any], known: set[str]) -> None:
    """Reject a key that nothing reads: a misspelled one would test less than it seems to."""
    unknown = set(given) - known
    assert not unknown, f"{file.name}: {sorted(unknown)} are not keys of {sorted(known)}"


def write_file(path: Path, content: Any) -> None:
    """Write a file of a row.

    Parameters
    ----------
    path : Path
    content : str or mapping
        A text; or ``{text, encoding}``; or ``{hex}``, the bytes; or ``{columns}``, a table that is written as the
        extension of the path says; or ``{repeat, times, before, after}``, a text that is repeated, in which ``{i}``
        is the number of the repetition; or ``{wheel, missing, row_numbers}``, a real table of scikit-learn's wheel,
        with this spelling of missing cells and, if asked, the row numbers that pandas writes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content, newline="")
    elif "hex" in content:
        path.write_bytes(bytes.fromhex(content["hex"]))
    elif "columns" in content:
        write_table(path, pd.DataFrame(content["columns"]))
    elif "wheel" in content:
        table = wheel_frame(content["wheel"]).fillna(content.get("missing", ""))
        if content.get("row_numbers", False):
            table = table.rename_axis("").reset_index()
        write_table(path, table)
    elif "repeat" in content:
        repeated = "".join(content["repeat"].replace("{i}", str(i)) for i in range(content["times"]))
        path.write_text(content.get("before", "") + repeated + content.get("after", ""), newline="")
    else:
        path.write_bytes(content["text"].encode(content["encoding"]))


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a table in the format of the extension."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
