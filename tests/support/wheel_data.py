"""Real tables that scikit-learn's wheel carries for its own tests: the answers of OpenML, as ARFF files.

Each is a whole dataset, and was read by many programs before; no test of ours has made it. `wheel_frame` gives the
cells as the file spells them, so that a test can write the same table in any other format.
"""

from __future__ import annotations

import gzip
from importlib import resources
from pathlib import Path

import pandas as pd

RESPONSES = Path(str(resources.files("sklearn.datasets.tests.data.openml")))
"""The folder of the answers; a dataset has a folder of its own in it."""
OPENML_IDS = {
    "titanic": 40945,
    "zoo": 62,
    "krvskp": 3,
    "penguins": 42585,
    "cpu": 561,
    "iris": 61,
    "glass2": 40675,
}
"""Our name for a dataset -> its number at OpenML."""
TARGETS = {
    "titanic": "survived",
    "zoo": "type",
    "krvskp": "class",
    "penguins": "species",
    "cpu": "class",
    "iris": "class",
    "glass2": "class",
}
"""The column that each dataset is about."""


def wheel_file(name: str) -> Path:
    """Return the ARFF file of a dataset, which is compressed by gzip.

    Parameters
    ----------
    name : str
        One of `OPENML_IDS`.
    """
    folder = RESPONSES / f"id_{OPENML_IDS[name]}"
    (file,) = folder.glob("data-v1-dl-*.arff.gz")
    return file


def wheel_text(name: str) -> str:
    """Return the text of the ARFF file of a dataset."""
    with gzip.open(wheel_file(name), "rt", encoding="utf-8") as stream:
        return stream.read()


def wheel_frame(name: str) -> pd.DataFrame:
    """Return the cells of a dataset as the file spells them, without quotes: shape (n, d).

    A missing cell (``?`` without quotes) is missing; all others are text.
    """
    import arff

    lines = wheel_text(name).splitlines()
    start = 1 + next(row for row, line in enumerate(lines) if line.strip().lower() == "@data")
    header = arff.loads("\n".join(lines[:start]))
    names = [attribute for attribute, _ in header["attributes"]]
    # Declared as text, cells are returned as they are spelled: a number would lose its zeros.
    as_text = [f"@attribute '{attribute}' string" for attribute in names]
    table = arff.loads("\n".join(["@relation cells", *as_text, "@data", *lines[start:]]))
    return pd.DataFrame(table["data"], columns=names, dtype="str")
