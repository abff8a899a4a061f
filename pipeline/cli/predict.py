"""``bakeoff predict``: the model of a run, applied to a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.cli.arguments import parse
from bakeoff.pipeline.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

LATEST = "latest"


def predict_file(words: Sequence[str]) -> int:
    """Write the predictions of a run's model for each row of a file, with probabilities where there are any.

    Parameters
    ----------
    words : sequence of str
        ``RUN FILE [output=FILE] [tracking.uri=URI]``; RUN is a run's id, or ``latest``.

    Raises
    ------
    UserError
        No such run, no model in it, or columns that the file lacks.
    """
    (run, path), values = parse(
        "predict", words, ["RUN", "FILE"], ["output", "tracking.uri", "tracking.experiment", "separator"]
    )
    from bakeoff.pipeline.stages.dataset import read_file, require_file
    from bakeoff.pipeline.tracking import load_model

    file = Path(path).expanduser()
    require_file(file)
    model, kinds = load_model(run, values.get("tracking.uri"), values.get("tracking.experiment", "bakeoff"))
    nominal = [name for name, kind in kinds.items() if kind == "string"]
    frame = read_file(file, values.get("separator", ","), nominal)
    target = Path(values.get("output", f"{Path(path).stem}.predictions.csv")).expanduser()
    table = predict_table(model, kinds, frame)
    try:
        table.to_csv(target, index=False)
    except OSError as error:
        raise UserError(f"predict: output={str(target)!r} cannot be written: {error}") from error
    print(f"{len(table)} predictions in {target}", file=sys.stderr)
    return 0


def predict_table(model: Any, kinds: dict[str, str], frame: pd.DataFrame) -> pd.DataFrame:
    """Predict for each row of a table.

    Parameters
    ----------
    model : estimator
        Fitted.
    kinds : dict of str to str
        The columns the model takes: ``double`` or ``string``.
    frame : DataFrame of shape (m, at least d)
        Further columns are left alone.

    Returns
    -------
    DataFrame of shape (m, 1 or 1 + c)
        ``prediction``, and ``probability_<class>`` where the model has probabilities.

    Raises
    ------
    UserError
        A column is missing or of the wrong kind, or the learner cannot take a cell.
    """
    import pandas as pd

    from bakeoff.pipeline.stages.dataset import with_kinds

    present = [str(column) for column in frame.columns]
    for name in kinds:
        if name not in present:
            raise UserError(
                f"predict: the file has no column {name!r}, which the model needs. {did_you_mean(name, present)}"
            )
    numeric = [name for name, kind in kinds.items() if kind == "double"]
    X = with_kinds(frame[list(kinds)], numeric=numeric, nominal=[name for name in kinds if name not in numeric])
    try:
        table = pd.DataFrame({"prediction": model.predict(X)})
        if hasattr(model, "predict_proba"):
            for label, column in zip(model.classes_, model.predict_proba(X).T, strict=True):
                table[f"probability_{label}"] = column
    except ValueError as error:
        raise UserError(f"predict: {error}") from error
    return table
