"""The steps in front of a learner: the scaling of numeric columns, and the table after any other change."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bakeoff.learners.definitions.scaling import FORMULAS, scale, work_scale
from bakeoff.learners.definitions.steps import Problem, Step
from bakeoff.pipeline.commands.work.rows import WorkedRows

PLACE = "preprocessing"


def list_preprocessing_steps(rows: WorkedRows, problem: Problem) -> Iterator[Step]:
    """Yield the steps from the rows of the source to those that the learner receives."""
    after = dict(zip(problem.features, problem.X.T, strict=True))
    before = {str(name): rows.X[name] for name in rows.X.columns}
    changed = [name for name in after if name not in before or not np.array_equal(before[name], after[name])]
    # The learner may receive intervals of numbers, or numbers in place of nominal cells.
    plain = {*rows.X.select_dtypes("number")} - {problem.features[j] for j in problem.nominal}
    numeric = {name: before[name].to_numpy(float) for name in changed if name in plain}
    for method in FORMULAS:
        scaled = {name: scale(cells, cells, method) for name, cells in numeric.items()}
        # Beside nominal columns, numbers are objects.
        if numeric and all(np.allclose(cells, after[name].astype(float)) for name, cells in scaled.items()):
            for name, cells in numeric.items():
                step = work_scale(cells, method, rows.queries[name], name, problem.numbers)
                yield replace(step, place=PLACE)
            changed = [name for name in changed if name not in numeric]
            break
    if changed or len(after) < len(before):
        yield Step(
            "Preprocess the rows; the learner receives this table. (preprocessing=none leaves the columns.)",
            table=(("row", *after), *((number, *row) for number, row in zip(problem.numbers, problem.X, strict=True))),
            place=PLACE,
        )
