"""Parquet files, whose columns have types."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable


def read_parquet(file: Path, layout: FileLayout) -> RawTable:
    """Read a Parquet file; raises UserError if the layout says that it has no names."""
    if not layout.has_names:
        raise UserError(f"dataset.header=false is for text, but dataset.path={str(file)!r} is Parquet and has names.")
    return RawTable(pd.read_parquet(file), file.stem, str(file.resolve()))
