"""``bakeoff.inspect``: the inferred kinds of the columns of a table, and suspicions about them."""

import os
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bakeoff.pipeline.commands.inspect import inspect_table, profile
from bakeoff.pipeline.commands.inspect.command import InspectRequest
from bakeoff.pipeline.commands.inspect.profile import TableProfile
from bakeoff.pipeline.python.call import own_process_state, show_html
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, Roles, build_from_keys
from bakeoff.pipeline.stages.dataset.typed_table import read_frame
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.tables.output_file import NO_FILE

NO_TARGET = "no target"


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
        """A row for each column with its inferred kind, its role in a run, the reason, and suspicions."""
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
        """Notes on how the source was read and what is omitted, and on suspicious rows and pairs of columns."""
        return (*self.profile.notes, *self.profile.suspicions)

    @property
    def html(self) -> str:
        """The page of the inspection, with histograms and without links to the network."""
        return profile.render_page(self.profile)

    def __repr__(self) -> str:
        target = f"target {self.profile.target}" if self.profile.target else NO_TARGET
        n_columns = len(self.profile.columns)
        return f"<Inspection of {self.profile.name}: {self.profile.n_rows} rows, {n_columns} columns, {target}>"

    def _repr_html_(self) -> str:
        # Suspicions are listed below the table, because long reasons leave no space for them in it.
        suspicions = [sentence for each in self.profile.columns for sentence in each.column.suspicions]
        return show_html(repr(self), [self.table.drop(columns="suspicions")], [*self.notes, *suspicions])


def inspect(dataset: Any, target: str | None = None, **keys: Any) -> Inspection:
    """Infer the kind of each column of a table, and report suspicions.

    Parameters
    ----------
    dataset : str, path or table
        The name of an option, the path of a file, a pandas DataFrame, or an Arrow or polars table.
    target : str, optional
        The column to predict. If it is omitted, there are no associations.
    **keys
        Further keys of the dataset, such as ``nominal=["pclass"]``.

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
    if not isinstance(dataset, str | os.PathLike):
        roles, rules = build_from_keys({"target": str(target), **keys}, Roles, ColumnRules)
        return Inspection(inspect_table.inspect_source(read_frame(dataset), roles, rules, target))
    texts = {key: override_text(value) for key, value in {**keys, "target": target}.items() if value is not None}
    named: dict[str, Any] = {"dataset": dataset} if isinstance(dataset, str) else {"files": (os.fspath(dataset),)}
    with own_process_state():
        request = InspectRequest(**named, keys=texts, output=NO_FILE)
        profile, *_ = inspect_table.inspect_named(request.write_overrides(), request.form, NO_FILE)
    return Inspection(profile)
