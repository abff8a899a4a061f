"""``bakeoff.load``: a stored model, which predicts for tables of pandas."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.config.trust import read_trust
from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.python.call import own_process_state, warn_of
from bakeoff.pipeline.tracking.models import load_model


def load(
    word: str,
    *,
    dataset: str = "",
    trust: Sequence[str] = (),
    tracking__uri: str | None = None,
    tracking__experiment: str = "bakeoff",
) -> Model:
    """Load a stored model.

    Parameters
    ----------
    word : str
        The name of a registered model, such as ``titanic@champion``, ``titanic/3``, or ``titanic`` for its newest
        version; or the run that stored the model, given by its id, at least the first 8 characters of it, ``latest`` or
        ``best``.
    dataset : str
        Restricts ``latest`` and ``best`` to runs on this dataset.
    trust : sequence of str
        User-defined packages whose code the model may run. Trust recorded in the store does not count.
    tracking__uri : str, optional
        The store; by default ``MLFLOW_TRACKING_URI`` or else ``outputs/mlflow.db``.
    tracking__experiment : str
        The experiment in which to search for runs.

    Returns
    -------
    Model
        A model whose ``predict`` accepts and returns a DataFrame. Differences from the environment in which the model
        was fitted are reported as `BakeoffWarning`.

    Raises
    ------
    UserError
        The model does not exist or needs untrusted code.

    Examples
    --------
    >>> load("none_such", tracking__uri="sqlite:////none/such.db")
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: tracking.uri: there is no store at sqlite:////none/such.db; run an \
experiment first, or give tracking.uri=URI.
    """
    request = RunRequest(
        run=word,
        dataset=dataset,
        trust=read_trust(trust),
        tracking__uri=tracking__uri,
        tracking__experiment=tracking__experiment,
    )
    with own_process_state():
        model = load_model(request)
    warn_of(model.notes)
    return model
