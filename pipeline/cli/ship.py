"""``bakeoff ship``: fit the procedure of a run on all rows, and register the model under a name."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.shipping.request import ShipRequest
from bakeoff.pipeline.text.terminal import print_note, show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.shipping.ship import ShippedModel

RUN_ID_LETTERS = 8
"""Of the id of a run, as many as find it."""


def ship_model(words: Sequence[str]) -> int:
    """Fit the procedure of a run on all rows, and register the model under a name.

    Raises
    ------
    UserError
        There is no such run, it did not finish, its rows have changed, or the name is not valid. Nothing is stored.
    """
    request = read_request("ship", ShipRequest, words)

    from bakeoff.pipeline.shipping.ship import ship_run

    shipped = ship_run(request, print_note)
    record = shipped.record
    run = f"{record.run_name} (run {record.run_id[:RUN_ID_LETTERS]})"
    print(f"shipped {run} as {shipped.word}, {_describe_version(shipped)}")
    for fact in shipped.facts:
        print(f"  {show_controls(fact)}")
    store_words = [word for word in words if word.startswith("tracking.")]
    trusted = [f"trust=[{','.join(request.trust)}]"] if request.trust else []
    print(f"  predict with it: {shlex.join(['bakeoff', 'predict', shipped.word, 'FILE', *trusted, *store_words])}")
    sys.stdout.flush()
    for remark in shipped.remarks:
        print_note(f"ship: {remark}")
    return 0


def _describe_version(shipped: ShippedModel) -> str:
    """Return the number of the version, and which version had the alias before."""
    version = f"version {shipped.version}"
    if shipped.previous_version is None:
        return version
    return f"{version}; version {shipped.previous_version} was {shipped.name.alias} before"
