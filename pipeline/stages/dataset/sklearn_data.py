"""The datasets of scikit-learn, by name: those in its wheel, and those that it downloads."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.catalogue import choose_target
from bakeoff.pipeline.stages.dataset.source import RawTable, unify_types

LOADED = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""In the wheel."""
FETCHED = (
    "20newsgroups", "california_housing", "covtype", "kddcup99", "lfw_pairs", "lfw_people", "olivetti_faces",
)  # fmt: skip
"""Downloaded once, into scikit-learn's cache."""
NOT_TABLES: Mapping[str, str] = {
    "20newsgroups_vectorized": "it has 130107 columns, nearly all cells of which are zero",
    "rcv1": "it has 47236 columns, nearly all cells of which are zero, and 103 targets",
    "species_distributions": "it is a map",
    "sample_image": "it is a picture",
    "sample_images": "they are pictures",
    "files": "use dataset=file",
    "svmlight_file": "use dataset=file with another format",
    "svmlight_files": "use dataset=file with another format",
    "file": "use dataset=file",
    "openml": "use dataset=openml",
}
"""What scikit-learn loads by a function of this name, and why it is not read."""
TARGET = "target"
FILLED_OPTIONS = frozenset({"as_frame", "return_X_y"})
CACHE_OPTION = "data_home"
"""A folder of pickles, which scikit-learn loads: loading one may run any code."""
CACHE_VARIABLE = "SCIKIT_LEARN_DATA"


def read_sklearn(
    name: str, target: str | None = None, options: Mapping[str, Any] | None = None
) -> tuple[RawTable, str]:
    """Read a dataset of scikit-learn.

    Parameters
    ----------
    name : str
        What follows ``load_`` or ``fetch_`` in the name of scikit-learn's function.
    target : str, optional
        The column to predict; by default the one that scikit-learn names.
    options : mapping of str to object, optional
        Arguments of the function, such as ``subset`` of kddcup99.

    Returns
    -------
    raw : RawTable
        Codes of classes are replaced by their names.
    target : str

    Raises
    ------
    UserError
        There is no such dataset or option, or the download failed.
    """
    bunch = _load(str(name), dict(options or {}))
    frame, known = _make_frame(bunch)
    frame, chosen, target_notes = choose_target(frame, known, target, "scikit-learn")
    unified, notes = unify_types(_decode_bytes(frame))
    return RawTable(unified, str(name), f"scikit-learn: {name}", (*target_notes, *notes)), chosen


def _load(name: str, options: dict[str, Any]) -> Any:
    from sklearn import datasets

    if name in NOT_TABLES:
        raise UserError(f"dataset.name={name!r} of scikit-learn is not read as a table: {NOT_TABLES[name]}.")
    if name not in (*LOADED, *FETCHED):
        raise UserError(
            f"dataset.name={name!r} is not a dataset of scikit-learn. {did_you_mean(name, (*LOADED, *FETCHED))}"
        )
    load = getattr(datasets, f"load_{name}" if name in LOADED else f"fetch_{name}")
    allowed = sorted(set(inspect.signature(load).parameters) - FILLED_OPTIONS - {CACHE_OPTION})
    for key in options:
        if key == CACHE_OPTION:
            raise UserError(
                f"dataset.options.{key}={options[key]!r} would load Python objects from a folder, which may run any "
                f"code, so that no configuration names it; set the environment variable {CACHE_VARIABLE} instead."
            )
        if key not in allowed:
            raise UserError(f"dataset.options.{key} is not an option of {load.__name__}. {did_you_mean(key, allowed)}")
    has_frame = "as_frame" in inspect.signature(load).parameters
    try:
        return load(**options, **({"as_frame": True} if has_frame else {}))
    except (OSError, ValueError) as error:
        raise UserError(
            f"dataset.name={name!r} cannot be read by sklearn.datasets.{load.__name__}: {' '.join(str(error).split())}"
        ) from error


def _make_frame(bunch: Any) -> tuple[pd.DataFrame, list[str]]:
    """Return features and targets in one table, and the names of the targets."""
    data = bunch["data"]
    targets = bunch["target"]
    if isinstance(data, pd.DataFrame):
        frame = data.copy()
    elif isinstance(data, list):
        frame = pd.DataFrame({"text": data})
    else:
        frame = pd.DataFrame(data, columns=[f"x{number}" for number in range(1, data.shape[1] + 1)])
    if isinstance(targets, pd.DataFrame):
        return pd.concat([frame, targets], axis=1), [str(name) for name in targets.columns]
    name = str(getattr(targets, "name", None) or TARGET)
    frame[name] = _name_classes(np.asarray(targets), bunch.get("target_names"))
    return frame, [name]


def _name_classes(codes: np.ndarray, names: Any) -> np.ndarray:
    """Return classes by their names, shape (n,), if the targets are positions in the list of names."""
    is_coded = names is not None and len(names) > 1 and codes.dtype.kind in "iu"
    if not is_coded or not np.array_equal(np.unique(codes), np.arange(len(names))):
        return codes
    return np.asarray(names).astype(str)[codes]


def _decode_bytes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose words are text: kddcup99 holds them as bytes."""
    in_bytes = [name for name, cell in frame.iloc[0].items() if isinstance(cell, bytes)]
    return frame.assign(**{str(name): frame[name].str.decode("ascii") for name in in_bytes})
