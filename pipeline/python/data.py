"""The argument ``dataset`` of a call as words; tables are written to files, so that they are datasets like others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.typed_table import read_frame
from bakeoff.pipeline.sweep.compose import override_text

FRAMES_FOLDER = Path("outputs") / "frames"
DIGEST_BYTES = 8
DEFAULT_NAME = "frame"
REJECTED_CHARACTERS = "/\\*?[]:\"'"


def describe_data(
    dataset: Any, target: str | None, name: str | None, *, is_sweep: bool = False
) -> tuple[list[str], list[str]]:
    """Return the words that specify the data of a call, and notes on them; tables are written to files first.

    Parameters
    ----------
    dataset : str, path, table, or None
        In a sweep also a list of names of options, or a mapping of names to tables and files.
    target : str or None
        A column of the tables; of an option it is the transformation, as on the command line.
    name : str or None
        The name of the dataset, if it is a table.
    is_sweep : bool

    Raises
    ------
    UserError
        The data are not a table, or cannot be written.
    """
    names = list(dataset) if is_sweep and isinstance(dataset, list | tuple) else [dataset]
    if all(item is None or isinstance(item, str) for item in names):
        words = [f"dataset={','.join(names)}"] if dataset is not None else []
        return words + ([] if target is None else [f"target={target}"]), []
    tables = dataset if is_sweep and isinstance(dataset, Mapping) else {name or DEFAULT_NAME: dataset}
    paths = []
    notes: dict[str, None] = {}
    for each, table in tables.items():
        if isinstance(table, os.PathLike):
            paths.append(os.fspath(table))
            continue
        path, own_notes = write_frame(table, str(each))
        paths.append(str(path))
        notes |= dict.fromkeys(own_notes)
    words = ["dataset=file", f"dataset.path={','.join(map(override_text, paths))}"]
    return words + ([] if target is None else [f"dataset.target={override_text(target)}"]), list(notes)


def write_frame(table: Any, name: str, folder: Path = FRAMES_FOLDER) -> tuple[Path, tuple[str, ...]]:
    """Write a table as a Parquet file, and return its path and notes on what the file lacks.

    Parameters
    ----------
    table : DataFrame of shape (n, d), or a table of Arrow or polars
        The table, which is not modified.
    name : str
        The name of the dataset.
    folder : Path
        The file is ``<folder>/<digest>/<name>.parquet``, so that an equal table has the same path.

    Raises
    ------
    UserError
        The data are not a table, have no rows, or have column names that are not unique, or the folder cannot be
        written.
    """
    if not name.strip(" .") or set(name) & set(REJECTED_CHARACTERS):
        raise UserError(f"dataset_name={name!r} must be a text without the letters {' '.join(REJECTED_CHARACTERS)}")
    raw = read_frame(table, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
            written = Path(temporary) / f"{name}.parquet"
            raw.frame.to_parquet(written, index=False)
            with written.open("rb") as stream:
                digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()
            path = folder / digest / written.name
            path.parent.mkdir(exist_ok=True)
            os.replace(written, path)
    except OSError as error:
        raise UserError(f"the table cannot be written to {folder}: {error}") from error
    return path, tuple(raw.notes)
