"""Output files of commands: formats by extension, written completely or not at all, and never over an input.

Names of classes, columns and rows may come from untrusted files. A spreadsheet executes a cell such as
``=HYPERLINK(…)`` when it opens a CSV file, and treats a leading apostrophe as a mark that the cell is text. Text that
would be executed is therefore prefixed with an apostrophe.
"""

from __future__ import annotations

import csv
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.document import format_json, make_records
from bakeoff.pipeline.text.wording import count_nouns, expand_home, join_words

if TYPE_CHECKING:
    import pandas as pd


MARK = "'"
FORMULA = re.compile("'*[=+\\-@\t\r\n\0＝＋－＠]")
"""The beginning of text that needs a mark: a character that begins a formula, possibly preceded by marks."""
NUMBER = re.compile(r"[+-](?:[0-9.,]*[0-9][0-9.,]*(?:e[+-]?[0-9]+)?%?|inf|nan)", re.IGNORECASE)
"""Signed numbers, including those with a decimal comma or thousands separators; they are not formulas."""
MARK_NOTE = "text that begins with =, +, - or @ is preceded by an apostrophe, so that a spreadsheet does not run it"


def escape_text(text: str) -> str:
    """Return text, prefixed with an apostrophe if a spreadsheet would treat it as a formula; numbers are unchanged.

    References
    ----------
    OWASP, "CSV Injection"; CWE-1236.

    Examples
    --------
    >>> [escape_text(text) for text in ("=1+1", "-5", "+1,5e3", "-x", "a=b", "'=1")]
    ["'=1+1", '-5', '+1,5e3', "'-x", 'a=b', "''=1"]
    """
    is_formula = FORMULA.match(text) is not None and NUMBER.fullmatch(text) is None
    return f"{MARK}{text}" if is_formula else text


def write_csv(
    table: pd.DataFrame, target: Any, *, separator: str = ",", decimal: str = ".", has_index: bool = False
) -> None:
    """Write a table as pandas does, but with its text escaped; pandas would take a sixth of the time of a small run.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
    target : Path or text stream
    separator, decimal : str
    has_index : bool
        Whether to write the index as the first column.
    """
    columns = list(table.items())
    if has_index:
        columns.insert(0, (table.index.name, table.index.to_series()))
    names = [_escape_cell(name) for name, _ in columns]
    cells = [_list_cells(column, decimal) for _, column in columns]
    is_file = isinstance(target, Path)
    with target.open("w", encoding="utf-8", newline="") if is_file else nullcontext(target) as file:
        writer = csv.writer(file, delimiter=separator, lineterminator=os.linesep)
        writer.writerow(names)
        writer.writerows(zip(*cells, strict=True))


def _list_cells(column: pd.Series[Any], decimal: str) -> list[Any]:
    """Return the cells of a column with escaped text, and empty text in place of missing cells."""
    # Python writes these as pandas does; narrow floats, and dates without times, are written by pandas itself.
    is_plain = column.dtype.kind in "Oiub" or column.dtype == float
    cells = (column if is_plain else column.astype(str)).tolist()
    if column.dtype.kind == "f" and decimal != ".":
        cells = [str(cell).replace(".", decimal) for cell in cells]
    absent = column.isna().tolist()
    return ["" if is_missing else _escape_cell(cell) for cell, is_missing in zip(cells, absent, strict=True)]


def describe_escapes(table: pd.DataFrame, path: Path) -> str:
    """Return a message about the text that `write_table` escapes, or an empty string if there is none.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
    path : Path

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": ["=1", "b", "@c"], "x": [-1, 2, 3]})
    >>> describe_escapes(table, Path("a.csv")).partition(";")[0], describe_escapes(table, Path("a.jsonl"))
    ('formulas in 2 cells of id', '')
    """
    if path.suffix.lower() not in ESCAPED_FORMATS:
        return ""
    names = [name for name in map(str, table.columns) if escape_text(name) != name]
    counts = [_count_escapes(table.iloc[:, position]) for position in range(table.shape[1])]
    columns = [str(name) for name, count in zip(table.columns, counts, strict=True) if count]
    what = [f"the names of columns {', '.join(names)}"] if names else []
    if columns:
        what.append(f"{count_nouns(sum(counts), 'cell')} of {', '.join(columns)}")
    return f"formulas in {join_words(what)}; {MARK_NOTE}" if what else ""


def _count_escapes(column: pd.Series[Any]) -> int:
    if column.dtype.kind != "O":
        return 0
    return sum(isinstance(cell, str) and escape_text(cell) != cell for cell in column)


def _escape_cell(cell: Any) -> Any:
    return escape_text(cell) if isinstance(cell, str) else cell


def _write_arrow(table: pd.DataFrame, path: Path) -> None:
    table.to_feather(path, compression="uncompressed")


def _write_json_lines(table: pd.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in make_records(table):
            file.write(f"{format_json(record)}\n")


def _write_excel(table: pd.DataFrame, path: Path) -> None:
    """Write a workbook in which text is no formula, whatever it begins with, and whose archive has a comment."""
    import pandas as pd

    with pd.ExcelWriter(path, engine="openpyxl") as workbook:
        table.to_excel(workbook, index=False)
        for cell in chain.from_iterable(workbook.book.active.iter_rows()):
            cell.data_type = "s" if cell.data_type == "f" else cell.data_type
    with ZipFile(path, "a") as archive:
        archive.comment = EXCEL_MARK


WRITERS: Mapping[str, Callable[..., None]] = {
    ".csv": write_csv,
    ".tsv": partial(write_csv, separator="\t"),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
    ".feather": _write_arrow,
    ".arrow": _write_arrow,
    ".jsonl": _write_json_lines,
    ".xlsx": _write_excel,
}
"""Extension -> function that writes a table."""
EXCEL_MARK = b"predictions of bakeoff"
ESCAPED_FORMATS = (".csv", ".tsv")
"""Formats in which a spreadsheet would execute text as a formula."""


MAX_NAME_LETTERS = 60
"""The maximum length of a file name chosen by bakeoff; with an extension, file systems allow 255 bytes."""
PRIVATE_MODE = 0o600
MAX_STEM_BYTES = 200
"""The maximum length of a temporary file name; file systems allow at most 255 bytes."""


TERMINAL = "terminal"
CSV = "csv"
DIAGRAM = "a diagram"
REPORT_FORMATS: Mapping[str, str] = {
    ".txt": TERMINAL,
    ".csv": CSV,
    ".json": "json",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
}
PAGE_FORMAT = "page"
YAML_FORMAT = "yaml"
PAGES: Mapping[str, str] = {".html": PAGE_FORMAT, ".htm": PAGE_FORMAT}
EXTENSIONS = {form: extension for extension, form in REPORT_FORMATS.items()}
PAGE = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n(?:<meta [^>]*>\n)*<meta name="generator" content="bakeoff">\n<title>'
)
NO_FILE = Path("none")
"""Given as an output, nothing is written."""
SAMPLE_BYTES = 1 << 20
"""The size of the beginning and of the end of a file by which its kind is recognized."""


@dataclass(frozen=True)
class OutputKind:
    """What a command writes into a file.

    Attributes
    ----------
    formats : mapping of str to object
        Extension -> format.
    mark : str
        A regular expression that matches the beginning and the end of each file that the command has written.
    """

    formats: Mapping[str, Any]
    mark: str

    def find_format(self, output: Path | None, to: str | None = None, default: str = TERMINAL) -> str:
        """Return the format of the extension of a file; without a file, the given or the default one.

        Raises
        ------
        UserError
            The extension has no format, or another one than the given one.
        """
        if output is None:
            return to or default
        extension = output.suffix.lower()
        if extension not in self.formats:
            found = f"the extension {output.suffix!r}" if output.suffix else "no extension"
            raise UserError(f"output={str(output)!r} has {found}. Allowed: {', '.join(self.formats)}.")
        form: str = self.formats[extension]
        if to not in (None, form):
            raise UserError(f"to={to}: output={output} is a file for {form}; leave to= out, or rename the file.")
        return form

    def require_own(self, path: Path, marked: Path | None = None) -> None:
        """Reject a link, and an existing file that this command has not written.

        Parameters
        ----------
        path : Path
        marked : Path, optional
            The file that shows which command has written both; by default the file itself.

        Raises
        ------
        UserError
        """
        shown = f"output={str(path)!r}"
        if path.is_symlink():
            raise UserError(f"{shown} is a link, and links are not followed; name another file, or remove the link.")
        if path.exists() and not self._has_written(marked or path):
            raise UserError(f"{shown} is a file that this command has not written; name another one.")

    def _has_written(self, path: Path) -> bool:
        """Whether a file is empty, or is of this kind by its beginning and its end."""
        with suppress(OSError), path.open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
            file.seek(-len(sample), os.SEEK_END)
            return not sample or re.match(self.mark.encode(), sample + file.read(), re.DOTALL) is not None
        return False


COMPARISON = OutputKind(
    {**REPORT_FORMATS, ".pdf": DIAGRAM, ".svg": DIAGRAM},
    rf"(?:# |% |{PAGE})?Which of [^\n]* is best on |metric,dataset,configuration,|"
    r'\{\s*"format": "bakeoff.comparison"|% \\usepackage\{booktabs,longtable\}\n|'
    r"%PDF.*/Creator \(bakeoff\)|"
    r"<\?xml[^\n]*\n<svg role=.img. aria-label=.(?:Mean ranks by|[^\n]* of each system with) ",
)
DIFFERENCE = OutputKind(
    REPORT_FORMATS,
    rf"(?:# |% |{PAGE})?(?:Why do [^\n]* differ\?|Which options of [^\n]* matter\?)|"
    r'(?:key|row,truth),before,after|\{\s*"format": "bakeoff.(?:difference|ablation)"',
)
CALCULATION = OutputKind(
    {".txt": TERMINAL, ".md": "markdown", ".tex": "latex", ".html": "html"},
    rf"(?:# |% |{PAGE})?[^\n]+ by hand(?:\n|</title>)",
)
INSPECTION = OutputKind(
    {**PAGES, ".yaml": YAML_FORMAT, ".yml": YAML_FORMAT},
    rf"{PAGE}[^\n]*: columns</title>|# \d+ rows of [^\n]*\ndefaults:\n  - file\n",
)
EXPLANATION = OutputKind(PAGES, rf"{PAGE}[^\n]*: explanation</title>")
PREDICTIONS = OutputKind(
    WRITERS,
    r'(?=[^\n]*\n)(?:[^\n]*[,;\t])?"?prediction"?(?:[,;\t]"?probability_[^\n]*)?\n|'
    r'\{[^\n]*"prediction": |(?:PAR1|ARROW1).*"field_name": "prediction"|'
    rf"PK.*{EXCEL_MARK.decode()}\Z",
)
SCHEMA = OutputKind({".json": "json"}, r'\{\s*"\$schema": [^\n]*\s*"title": "bakeoff: ')
CAPSULE = OutputKind({".zip": "zip"}, r"PK.{28}tables\.tex")
FIGURE = OutputKind({".png": "png"}, r"\x89PNG.*Software\0bakeoff")


def require_output(
    given: str | Path, kind: OutputKind, inputs: Iterable[Path] = (), store: Sequence[Path] = ()
) -> Path:
    """Return the path of a file to write; raise an error before any work is done if it cannot be written.

    Parameters
    ----------
    given : str or Path
        The path given by the user.
    kind : OutputKind
        What the command writes: it determines the allowed extensions, and which earlier files it replaces.
    inputs : iterable of Path
        Files that the command reads.
    store : sequence of Path
        The database of the command's store, and its other files.

    Raises
    ------
    UserError
        The extension has no format. The path is a folder, a link, an input, a part of the store, or a file of another
        kind. Its folder does not exist or is read-only.
    """
    path = expand_home(given)
    kind.find_format(path)
    for each in inputs:
        if _is_same(path, each):
            raise UserError(f"output={str(path)!r} is the file {each}, which is an input; name another file.")
    require_apart_from_store(path, store)
    folder = path.resolve().parent
    # A device such as /dev/null would be replaced by a file.
    is_other = path.exists() and not path.is_file()
    if is_other or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"output={str(path)!r} cannot be written; choose a file in a folder that you can write to.")
    kind.require_own(path)
    return path


def require_apart_from_store(path: Path, store: Sequence[Path]) -> None:
    """Reject an output inside a store, such as its database, a file next to it, or an artifact of a run.

    Parameters
    ----------
    path : Path
        A file or a folder.
    store : sequence of Path
        As for `require_output`.

    Raises
    ------
    UserError
    """
    target = path.resolve()
    for part in store:
        if _is_same(path, part) or target == part or part in target.parents:
            raise UserError(
                f"output={str(path)!r} is a part of the store {store[0]}, which holds your runs; name another file."
            )


def require_output_folder(folder: Path, key: str) -> None:
    """Reject a folder to write into, given by a key, that is a link or a file.

    Raises
    ------
    UserError
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserError(f"{key}={str(folder)!r} is a file or a link, and links are not followed; name a folder.")


@contextmanager
def fill_folder(folder: Path, key: str) -> Iterator[Path]:
    """Yield a temporary folder whose content is moved into a new or empty folder if the block succeeds.

    If the block fails, the folder is as it was before.

    Parameters
    ----------
    folder : Path
    key : str
        The key by which it was given.

    Raises
    ------
    UserError
        The folder is a link or a file, is not empty, or cannot be written.
    """
    require_output_folder(folder, key)
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise UserError(f"{key}={str(folder)!r} is a folder that is not empty; choose another name.")
        with TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
            yield Path(temporary)
            for part in Path(temporary).iterdir():
                part.rename(folder / part.name)
    except OSError as error:
        raise UserError(f"{key}={str(folder)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, in place of an earlier file or link.

    Raises
    ------
    OSError
    """
    path.unlink(missing_ok=True)
    path.touch(mode=PRIVATE_MODE, exist_ok=False)
    path.write_text(text, encoding="utf-8")


def name_file(name: str) -> str:
    """Return the name of a dataset or model as a file name without slashes and of limited length.

    Examples
    --------
    >>> name_file("a/b"), name_file("wine")
    ('a-b', 'wine')
    """
    return name.replace("/", "-").replace("\\", "-").replace("\0", "")[:MAX_NAME_LETTERS]


def write_table(table: pd.DataFrame, path: Path, **layout: str) -> None:
    """Write a table in the format given by the extension.

    Floats are written so that reading them restores the same values.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
        The table; its index is not written.
    path : Path
        The path returned by `require_output`; an existing file is replaced.
    **layout
        The separator and the decimal sign of a text file.

    Raises
    ------
    UserError
        The file cannot be written, or its format does not support a cell.
    """
    write = WRITERS[path.suffix.lower()]
    with replace_file(path) as temporary:
        write(table, temporary, **layout)


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces another file if the block succeeds.

    If the block fails, for example because the disk is full, the temporary file is deleted and an earlier file remains
    unchanged.

    Parameters
    ----------
    path : Path
        The file to replace. A link is replaced and not followed; the new file has the permissions of the old one.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    # In the same folder, because a file cannot be moved atomically between file systems; the extension is kept.
    stem = path.stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore")
    temporary = path.with_name(f".{stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        if path.exists() and not path.is_symlink():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        # The reason of an OSError contains the name of the temporary file, which means nothing to the user.
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"output={str(path)!r} cannot be written: {reason}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all; text as UTF-8."""
    with replace_file(path) as temporary:
        temporary.write_bytes(content if isinstance(content, bytes) else content.encode())


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths, which may be links or differ in spelling, refer to the same existing file."""
    return path.exists() and other.exists() and path.samefile(other)
