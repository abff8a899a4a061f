"""The steps in front of a learner: the scaling of numeric columns, and the table after any other change."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pandas.api.types import is_numeric_dtype

from bakeoff.learners.definitions.scaling import FORMULAS, scale, work_scale
from bakeoff.learners.definitions.steps import Problem, Step
from bakeoff.pipeline.work.rows import WorkedRows

PLACE = "preprocessing"


def list_preprocessing_steps(rows: WorkedRows, problem: Problem) -> Iterator[Step]:
    """Yield the steps from the rows of the source to those that the learner receives."""
    after = dict(zip(problem.features, problem.X.T, strict=True))
    before = {str(name): rows.X[name] for name in rows.X.columns}
    changed = [name for name in after if name not in before or not np.array_equal(before[name], after[name])]
    numeric = {
        name: before[name].to_numpy(float) for name in changed if name in before and is_numeric_dtype(before[name])
    }
    for method in FORMULAS:
        if numeric and all(np.allclose(scale(cells, cells, method), after[name]) for name, cells in numeric.items()):
            for name, cells in numeric.items():
                yield replace(work_scale(cells, method, rows.queries[name], name), place=PLACE)
            changed = [name for name in changed if name not in numeric]
            break
    if changed or len(after) < len(before):
        yield Step(
            "Preprocess the rows; the learner receives this table. (preprocessing=none leaves the columns.)",
            table=(("row", *after), *((number, *row) for number, row in enumerate(problem.X, start=1))),
            place=PLACE,
        )
