"""The YAML file of an inspected dataset, as `conf/dataset/` holds it: what was found differs from the defaults."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bakeoff.pipeline.commands.inspect.profile import TableProfile
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.text.wording import escape_text, show_in_line

TEMPLATE = Path(__file__).parent / "dataset.yaml.template"
CONFIRMED = re.compile(r"dataset\.(\w+)=(\w+)(?=[\w=. ]* confirms it\)\.$)")
"""A key in a note on a guess."""
FOUND_KEYS = ("target", "task", "numeric", "nominal", "drop", "units")
"""The keys that the findings decide, including what was given for them."""


def write_dataset_file(profile: TableProfile, node: Mapping[str, Any]) -> str:
    """Return a file that selects the same rows and columns, with the reason for each key that was inferred.

    Parameters
    ----------
    profile : TableProfile
    node : mapping
        The configuration of the dataset.

    Raises
    ------
    UserError
        No target is named.
    """
    if profile.target is None:
        raise UserError("to=yaml needs the column to predict; add target=COLUMN.")
    defaults = compose_parts(["dataset=file"], ["dataset"])["dataset"]
    given = {key: value for key, value in node.items() if value != defaults[key] and key not in FOUND_KEYS}
    guesses = [(*found, note.partition(" (")[0]) for note in profile.notes for found in CONFIRMED.findall(note)]
    values = {"profile": profile, "given": given, "guesses": guesses}
    return render_template(TEMPLATE, values, {"yaml": _write_value, "line": show_in_line})


def _write_value(value: Any) -> str:
    """Return a value in which OmegaConf finds no reference."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    return escape_text(text.removesuffix("...\n").strip())
