"""The picture of importances: bars agree with the numbers, whose table is safe in spreadsheets."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from doubles import experiment as make_experiment
from finished_runs import finish

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.commands.figures.importances import Importances
from bakeoff.pipeline.experiment import evaluate_splits, fit_final_model
from bakeoff.pipeline.stages.dataset import read_table
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.tables.output_file import NUMBER
from bakeoff.pipeline.tracking.card import write_tables


def test_importances_have_bars_with_whiskers_the_first_on_top() -> None:
    table = pd.DataFrame({"column": ["b, c", "a"], "mean": [-0.5, 0.25], "std": [0.0, 0.125]})
    (axes,) = Importances().draw_table(finish(make_experiment(splitter=KFold(folds=3))), table).axes
    bars: list[Any] = list(axes.patches)
    assert [bar.get_width() for bar in bars] == [0.25, -0.5]
    whiskers: Any = axes.collections[0]
    assert whiskers.get_segments()[0][:, 0].tolist() == [0.125, 0.375]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b, c"]
    low, high = axes.get_ylim()
    assert low > high


def test_labels_that_spreadsheets_run_are_escaped_in_every_table_of_a_run(tmp_path: Path) -> None:
    rows = pd.DataFrame({"=x": np.sin(np.arange(40)), "y": np.where(np.arange(40) % 3, "=a", "-1")})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    experiment = make_experiment(read_table(str(tmp_path / "rows.csv"), target="y"), REGISTRY["decision_tree"]())
    splits = experiment.make_splits()
    folds = list(evaluate_splits(experiment, splits.folds))
    model = fit_final_model(experiment, splits, folds[-1])
    out = tmp_path / "tables"
    out.mkdir()
    write_tables(out, experiment, folds, model)
    Importances(repeats=2).save(out, experiment, folds, model)
    cells = {file.name: list(csv.reader(file.read_text().splitlines())) for file in out.glob("*.csv")}
    flat = [cell for table in cells.values() for row in table for cell in row]
    assert not [cell for cell in flat if cell.startswith(("=", "+", "-", "@")) and not NUMBER.fullmatch(cell)]
    assert cells["confusion_matrix.csv"][0] == ["truth", "-1", "'=a"]
    assert {row[2] for row in cells["predictions.csv"][1:]} == {"-1", "'=a"}
    assert "'=x" in [cell for row in cells["importances.csv"] for cell in row]
