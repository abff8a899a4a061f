"""A raw table: what a source gives, before the kinds of its columns are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class RawTable:
    """The cells of a source.

    Attributes
    ----------
    frame : DataFrame of shape (n, d)
        The columns of a text file hold text as the file spells it, of dtype ``string``, with empty cells as empty
        text; those of other sources have the types of the source, and missing cells are NA.
    name : str
        Of the dataset: for a file, its name without the suffix.
    source : str
        Where the rows come from.
    notes : tuple of str
        A sentence each about how the source was read, such as a separator that was guessed.
    declared : mapping of str to tuple of str
        Column -> the values that the source declares for it, in order: of ARFF, or of an Arrow dictionary.
    guessed : mapping of str to str
        Keys of the layout that were not given -> the values that were found, with which further rows must be read.
    parts : ndarray of shape (n,) or None
        "train" or "test" for each row, if the rows come from two files.
    """

    frame: pd.DataFrame
    name: str
    source: str
    notes: tuple[str, ...] = ()
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    parts: np.ndarray | None = None
