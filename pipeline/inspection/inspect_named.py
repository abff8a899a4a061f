"""The inspection of a file or of an option, as the configuration of a dataset describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.build import build_object, find_target
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.targets import require_names
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.config.words import check_overrides
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.inspection.inspect_table import inspect_dataset, inspect_source
from bakeoff.pipeline.inspection.page import write_page
from bakeoff.pipeline.inspection.profile import TableProfile
from bakeoff.pipeline.inspection.request import NO_PAGE, InspectRequest
from bakeoff.pipeline.stages.dataset.files import list_dataset_files
from bakeoff.pipeline.stages.dataset.loaders import COLLECTORS
from bakeoff.pipeline.tables.output_file import name_file, replace_file, require_output
from bakeoff.pipeline.text.words import expand_home, quote_text
from bakeoff.pipeline.tracking.store import list_store_paths

OTHER_KEYS = ("trust", "experiment")
"""Keys that are not those of the dataset; all other keys without a dot are."""
MISSING_VALUE = "???"


def inspect_named(request: InspectRequest) -> tuple[TableProfile, Path | None]:
    """Inspect files or a dataset, write the page, and return what was found and the file of the page.

    Parameters
    ----------
    request : InspectRequest

    Raises
    ------
    UserError
        There is no such file, option, key or column, or the page cannot be written.
    """
    overrides = _write_overrides(request)
    check_overrides(overrides)
    composed = compose_parts(add_trust_of_environment(overrides), ["dataset", "trust"])
    if request.output not in (None, NO_PAGE):
        require_output(str(request.output), list_dataset_files(composed["dataset"]), list_store_paths(None))
    profile = _inspect_node(composed["dataset"], composed["trust"])
    if request.output == NO_PAGE:
        return profile, None
    page = expand_home(request.output or f"{name_file(profile.name)}.inspection.html")
    with replace_file(page) as temporary:
        write_page(profile, temporary)
    return profile, page


def _write_overrides(request: InspectRequest) -> list[str]:
    """Return the words that compose the configuration of the dataset."""
    overrides = [f"dataset={request.dataset or 'file'}"]
    if request.files:
        quoted = ",".join(quote_text(file) for file in request.files)
        overrides.append(f"dataset.path={quoted}" if len(request.files) == 1 else f"dataset.path=[{quoted}]")
    for key, value in request.keys.items():
        is_short = "." not in key and key not in OTHER_KEYS
        overrides.append(f"dataset.{key}={value}" if is_short else f"{key}={value}")
    return overrides


def _inspect_node(node: Mapping[str, Any], trust: Sequence[str]) -> TableProfile:
    """Inspect the dataset that a configuration describes, in which a mandatory value may be missing."""
    require_names(node, "dataset", trust)
    function = find_target(str(node.get("_target_")), "dataset._target_", trust)
    has_target = node.get("target") != MISSING_VALUE
    missing = [key for key, value in node.items() if value == MISSING_VALUE and key != "target"]
    if missing:
        raise UserError(f"dataset.{missing[0]} must be given: add {missing[0]}=VALUE.")
    if function not in COLLECTORS:
        return inspect_dataset(build_object(node, "dataset", list(trust)))
    keys = {key: value for key, value in node.items() if not key.startswith("_")}
    source = COLLECTORS[function](**keys)
    # OpenML and scikit-learn name a target themselves.
    target = source.roles.target if has_target else None
    return inspect_source(*source, target)
