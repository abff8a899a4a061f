"""``bakeoff ship``: fit the procedure of a run on all rows, and register the model under a name."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.config.trust.trusted_packages import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.shipping import ShippedModel
    from bakeoff.pipeline.tracking.registry import ModelName

NAME_KEY = "as"
STORE_KEYS = ("tracking.uri", "tracking.experiment")
KEYS = (NAME_KEY, "dataset", "dataset.path", "trust", *STORE_KEYS)
RUN_ID_LETTERS = 8
"""Of the id of a run, as many as find it."""


def ship_model(words: Sequence[str]) -> int:
    """Fit the procedure of a run on all rows, and register the model; return the exit code.

    Parameters
    ----------
    words : sequence of str
        ``RUN as=NAME@ALIAS [dataset=NAME] [dataset.path=FILE] [trust=[PACKAGE]] [tracking.uri=URI]
        [tracking.experiment=NAME]``; RUN is the id of a run, ``latest``, ``best`` (of a dataset), or the name of a
        registered model, which stands for the run that it comes from.

    Raises
    ------
    UserError
        There is no such run, it did not finish, its rows have changed, or the name is not valid. Nothing is stored.
    """
    (word,), values = parse_arguments("ship", words, ["RUN"], KEYS)
    name = _parse_name(values)

    from bakeoff.pipeline.shipping import ShipRequest, ship_run
    from bakeoff.pipeline.tracking.find_run import BEST, find_run_id
    from bakeoff.pipeline.tracking.store import open_store

    trust = read_trust(values.get("trust", ""))
    request = ShipRequest(name, trust, values.get("dataset.path"), is_best=word == BEST)
    store = open_store(values.get("tracking.uri"), values.get("tracking.experiment", "bakeoff"), create=False)
    run_id = find_run_id(store, word, "ship", values.get("dataset", ""))
    try:
        shipped = ship_run(store, run_id, request, _announce)
    except UserError as error:
        raise UserError(f"ship: {str(error).removeprefix('ship: ')}") from None
    _print_shipped(shipped, trust, [f"{key}={values[key]}" for key in STORE_KEYS if key in values])
    return 0


def _parse_name(values: Mapping[str, str]) -> ModelName:
    """Return the name of the registered model and the alias, which may be left out."""
    if NAME_KEY not in values:
        raise UserError("ship: as=NAME@ALIAS must say under which name the model is registered: as=titanic@champion.")
    from bakeoff.pipeline.tracking.registry import parse_model_name

    try:
        return parse_model_name(values[NAME_KEY], NAME_KEY)
    except UserError as error:
        raise UserError(f"ship: {error}") from None


def _announce(sentence: str) -> None:
    print(show_controls(sentence), file=sys.stderr)


def _print_shipped(shipped: ShippedModel, trust: Sequence[str], store_words: Sequence[str]) -> None:
    """Print what was registered, what it was fitted on, the score of its run, and what may be wrong with it."""
    record = shipped.record
    run = f"{record.run_name} (run {record.run_id[:RUN_ID_LETTERS]})"
    print(f"shipped {run} as {shipped.word}, {_describe_version(shipped)}")
    for fact in shipped.facts:
        print(f"  {show_controls(fact)}")
    trusted = [f"trust=[{','.join(trust)}]"] if trust else []
    command = shlex.join(["bakeoff", "predict", shipped.word, "FILE", *trusted, *store_words])
    print(f"  predict with it: {command}")
    sys.stdout.flush()
    for remark in shipped.remarks:
        print(f"ship: {show_controls(remark)}", file=sys.stderr)


def _describe_version(shipped: ShippedModel) -> str:
    """Return the number of the version, and which version had the alias before."""
    version = f"version {shipped.version}"
    if shipped.previous_version is None:
        return version
    return f"{version}; version {shipped.previous_version} was {shipped.name.alias} before"
