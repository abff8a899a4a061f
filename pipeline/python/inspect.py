"""``bakeoff.inspect``: the inferred kinds of the columns of a table, and suspicions about them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bakeoff.pipeline.errors import placing_errors
from bakeoff.pipeline.inspection.inspect_table import inspect_named, inspect_source
from bakeoff.pipeline.inspection.profile import TableProfile
from bakeoff.pipeline.inspection.report import render_page
from bakeoff.pipeline.inspection.request import NO_PAGE, InspectRequest
from bakeoff.pipeline.python.call import own_process_state
from bakeoff.pipeline.python.data import require_text_names
from bakeoff.pipeline.stages.dataset import ColumnRules, Roles
from bakeoff.pipeline.stages.dataset.keys import build_from_keys
from bakeoff.pipeline.stages.dataset.typed_table import read_frame
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.tables.markup import render_template

NO_TARGET = "no target"
TEMPLATE = Path(__file__).parent / "templates" / "inspection.html"


@dataclass(frozen=True, repr=False)
class Inspection:
    """An inspected table.

    Attributes
    ----------
    profile : TableProfile
        All findings, as plain values.
    """

    profile: TableProfile

    @property
    def table(self) -> pd.DataFrame:
        """A row for each column: its inferred kind, its role in a run, the reason, and suspicions."""
        rows = [
            {
                "column": each.column.name,
                "kind": each.column.kind,
                "role": each.column.role,
                "reason": each.column.reason,
                "missing": each.column.n_missing,
                "distinct": each.column.n_distinct,
                "association": each.association,
                "suspicions": " ".join(each.column.suspicions),
            }
            for each in self.profile.columns
        ]
        return pd.DataFrame(rows).set_index("column")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the source was read, on what is left out, and on suspicious rows and pairs of columns."""
        return (*self.profile.notes, *self.profile.suspicions)

    @property
    def html(self) -> str:
        """The page of the inspection, with histograms and without links to the network."""
        return render_page(self.profile)

    def __repr__(self) -> str:
        target = f"target {self.profile.target}" if self.profile.target else NO_TARGET
        n_columns = len(self.profile.columns)
        return f"<Inspection of {self.profile.name}: {self.profile.n_rows} rows, {n_columns} columns, {target}>"

    def _repr_html_(self) -> str:
        # Suspicions are listed below the table, because long reasons leave no space in it.
        table = self.table.drop(columns="suspicions").round({"association": 3})
        suspicions = [sentence for each in self.profile.columns for sentence in each.column.suspicions]
        values = {
            "headline": repr(self),
            "names": list(table.columns),
            "rows": list(table.astype(object).where(table.notna(), "").itertuples()),
            "notes": [*self.notes, *suspicions],
        }
        return render_template(TEMPLATE, values)


def inspect(dataset: Any, target: str | None = None, **keys: Any) -> Inspection:
    """Infer the kind of each column of a table, and report suspicions.

    Parameters
    ----------
    dataset : str, path or table
        The name of an option, the path of a file, a pandas DataFrame, or an Arrow or polars table.
    target : str, optional
        The column to predict. Without one there are no associations.
    **keys
        Keys of the dataset, such as ``nominal=["pclass"]``.

    Returns
    -------
    Inspection

    Raises
    ------
    UserError
        The file or column does not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, 2.5, 0.5], "code": ["a1", "b2", "c3"], "y": ["p", "q", "p"]})
    >>> inspect(frame, target="y").table["kind"].to_dict()
    {'size': 'numeric', 'code': 'nominal', 'y': 'nominal'}
    """
    if isinstance(dataset, str | os.PathLike):
        return Inspection(_inspect_named(dataset, target, keys))
    if isinstance(dataset, pd.DataFrame):
        require_text_names(dataset)
    roles, rules = build_from_keys({"target": str(target), **keys}, Roles, ColumnRules)
    return Inspection(inspect_source(read_frame(dataset), roles, rules, target))


def _inspect_named(dataset: str | os.PathLike[str], target: str | None, keys: dict[str, Any]) -> TableProfile:
    """Inspect an option or a file, as the command does."""
    texts = {key: override_text(value) for key, value in keys.items()}
    if target is not None:
        texts["target"] = override_text(target)
    with placing_errors("inspect"), own_process_state():
        if isinstance(dataset, str):
            request = InspectRequest(dataset=dataset, keys=texts, output=NO_PAGE)
        else:
            request = InspectRequest(files=(os.fspath(dataset),), keys=texts, output=NO_PAGE)
        profile, _ = inspect_named(request)
        return profile
