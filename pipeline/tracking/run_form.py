"""The form of stored runs: a run whose tags or params cannot be read is left out, and said to be.

Whoever may write to a store may write runs into it, by hand or with other programs, and one of them must not keep the
others from being compared, resumed or deleted.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing import parent_process
from types import UnionType
from typing import Any

from bakeoff.pipeline.stages.dataset.table import GUESSED_TAG
from bakeoff.pipeline.text.words import count_nouns

MAX_TAG_LETTERS = 8000
"""MLflow cuts longer tags."""
MAX_SHOWN_RUNS = 3
MAX_SHOWN_LETTERS = 40
MAX_PROCESS_ID = 2**31 - 1
CONTROL_SIGNS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
"""Signs that end a line, move the cursor of a terminal, or turn the direction of a text."""

Form = Callable[[str], bool]


def find_fault(run: Any) -> str:
    """Return the first tag or param of one of MLflow's runs that bakeoff would not have written; empty if none is.

    Parameters
    ----------
    run : mlflow.entities.Run
    """
    for kind, forms, values in (("tag", TAG_FORMS, run.data.tags), ("param", PARAM_FORMS, run.data.params)):
        for key, is_form in forms.items():
            value = str(values.get(key, ""))
            try:
                has_form = key not in values or is_form(value)
            except (ValueError, RecursionError, OverflowError):
                has_form = False
            if not has_form:
                text = tidy_name(value)
                shown = text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}…"
                return f"its {kind} {key}={shown!r}"
    return ""


def leave_out_faulty(runs: Sequence[Any]) -> list[Any]:
    """Return the runs that can be read, and print which ones are left out.

    Parameters
    ----------
    runs : sequence of mlflow.entities.Run
    """
    faults = {str(run.info.run_id): find_fault(run) for run in runs}
    left_out = {run_id: fault for run_id, fault in faults.items() if fault}
    # Workers read the runs that the process which started them has read.
    if left_out and parent_process() is None:
        _say_left_out(tuple(left_out.items()))
    return [run for run in runs if not faults[str(run.info.run_id)]]


def tidy_name(text: str) -> str:
    r"""Return a name from a store as it can be printed: on one line, and without the signs that a terminal obeys.

    Examples
    --------
    >>> tidy_name("knn\n iris\x1b[2J")
    'knn  iris [2J'
    """
    return CONTROL_SIGNS.sub(" ", text)


@cache
def _say_left_out(faults: tuple[tuple[str, str], ...]) -> None:
    """Print which runs are left out, once in a process."""
    ids = [run_id for run_id, _ in faults]
    shown = ", ".join(ids[:MAX_SHOWN_RUNS]) + (", …" if len(ids) > MAX_SHOWN_RUNS else "")
    runs = count_nouns(len(ids), "run is", "runs are")
    print(
        f"tracking: {runs} left out, because bakeoff did not write {faults[0][1]}: {shown}; `bakeoff rm RUN` deletes "
        "such a run.",
        file=sys.stderr,
    )


def _is_plain(value: str) -> bool:
    """Whether a text can stand in a query of MLflow."""
    return "'" not in value and not CONTROL_SIGNS.search(value)


def _is_mapping(value: str, kinds: type | UnionType = object) -> bool:
    items = json.loads(value)
    return isinstance(items, dict) and all(isinstance(item, kinds) for item in items.values())


def _is_mapping_of_numbers(value: str) -> bool:
    return _is_mapping(value, int | float)


def _is_list_of_texts(value: str) -> bool:
    if len(value) >= MAX_TAG_LETTERS:  # it was cut, which each reader knows
        return value.startswith("[")
    items = json.loads(value)
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


TAG_FORMS: Mapping[str, Form] = {
    "config_hash": _is_plain,
    "dataset_digest": _is_plain,
    "splits_digest": _is_plain,
    "pid": lambda value: 0 < int(value) <= MAX_PROCESS_ID,
    "heartbeat": lambda value: math.isfinite(float(value)),
    "overrides": _is_list_of_texts,
    "versions": _is_mapping,
    "threads": _is_mapping_of_numbers,
    "rows_per_fold": _is_mapping_of_numbers,
    "audit_warnings": _is_list_of_texts,
    "looks": lambda value: int(value) >= 0,
    GUESSED_TAG: _is_mapping,
}
PARAM_FORMS: Mapping[str, Form] = {"seed": lambda value: isinstance(int(value), int)}
