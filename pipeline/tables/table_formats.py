"""Formats of tables that commands write, by the extension of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.tables.csv import write_csv

if TYPE_CHECKING:
    import pandas as pd

MAX_SHEET_ROWS = 1_048_576
"""Of an Excel workbook, the row of names included."""
MAX_CELL_CHARACTERS = 32_767
"""Of a cell of an Excel workbook; openpyxl would cut longer text without a word."""
WHITESPACE = "\t\n\r"
FORMULA_TYPE = "f"
ERROR_TYPE = "e"
TEXT_TYPE = "s"
"""The types that openpyxl gives to cells with a formula, an error such as ``#N/A``, and text."""


def _write_tsv(table: pd.DataFrame, path: Path) -> None:
    write_csv(table, path, separator="\t")


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False)


def _write_arrow(table: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa

    converted = pa.Table.from_pandas(table, preserve_index=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, converted.schema) as writer:
        writer.write_table(converted)


def _write_json_lines(table: pd.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in make_records(table):
            file.write(f"{format_json(record)}\n")


def _write_excel(table: pd.DataFrame, path: Path) -> None:
    import pandas as pd

    if len(table) >= MAX_SHEET_ROWS:
        raise ValueError(f"a sheet has at most {MAX_SHEET_ROWS:,} rows; write .parquet or .csv")
    for name, column in table.items():
        _require_cells_of_sheet(str(name), column)
    # In memory, because an archive that a full disk cuts prints a traceback of its own when Python removes it.
    content = BytesIO()
    with pd.ExcelWriter(content, engine="openpyxl") as writer:
        table.to_excel(writer, index=False)
        for sheet in writer.sheets.values():
            _spell_formulas(sheet)
    path.write_bytes(content.getvalue())


def _require_cells_of_sheet(name: str, column: pd.Series[Any]) -> None:
    texts = [cell for cell in column if isinstance(cell, str)]
    if any(len(text) > MAX_CELL_CHARACTERS for text in texts):
        raise ValueError(f"{name!r} holds more than {MAX_CELL_CHARACTERS:,} characters in a cell; write .csv")
    if any(_has_control(text) for text in texts):
        raise ValueError(f"{name!r} holds control characters, which a workbook cannot; write .csv")


def _has_control(text: str) -> bool:
    return any(character < " " and character not in WHITESPACE for character in text)


def _spell_formulas(sheet: Any) -> None:
    """Make text such as ``=A1`` or ``#N/A`` text again: openpyxl takes it for a formula or an error."""
    for row in sheet.iter_rows():
        for cell in row:
            if cell.data_type in (FORMULA_TYPE, ERROR_TYPE):
                cell.data_type = TEXT_TYPE
                # It stays text when the cell is edited.
                cell.quotePrefix = True


WRITERS: Mapping[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": write_csv,
    ".tsv": _write_tsv,
    ".parquet": _write_parquet,
    ".feather": _write_arrow,
    ".arrow": _write_arrow,
    ".jsonl": _write_json_lines,
    ".xlsx": _write_excel,
}
"""Extension -> function that writes a table."""
ESCAPED_FORMATS = (".csv", ".tsv")
"""Formats in which a spreadsheet would run text as a formula."""
