"""What can be listed: the options of each group, figures, metrics, and the models of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.pipeline.config.named_parts import FIGURE_GROUP, list_figures
from bakeoff.pipeline.config.options import GROUPS, find_own_folder, read_options, read_own_listing, require_own_names
from bakeoff.pipeline.config.requests import ExperimentRequest
from bakeoff.pipeline.errors import UserError, did_you_mean

FIGURES = "figures"
METRICS = "metrics"
MODELS = "models"
"""Lists what is in a store, so that it is not among those that are listed by default."""
LISTED = (*GROUPS, FIGURES, METRICS)
GROUP_OF_FILES = {FIGURES: FIGURE_GROUP, METRICS: "metric"}
"""Lists whose options of the user are in a group of another name."""


@dataclass(frozen=True, kw_only=True)
class ListRequest(ExperimentRequest):
    """What is to be listed.

    Attributes
    ----------
    groups : tuple of str
        Groups of options, such as learner, figures, metrics or models; by default all but the models of a store.
    """

    groups: tuple[str, ...] = field(default=(), metadata={"word": "GROUP"})

    def __post_init__(self) -> None:
        for group in self.groups:
            if group not in (*LISTED, MODELS):
                raise UserError(f"list {group}: there is no such group. {did_you_mean(group, (*LISTED, MODELS))}")
        names_store = (
            self.tracking__uri is not None or self.tracking__experiment != ExperimentRequest.tracking__experiment
        )
        if (names_store or MODELS in self.groups) and self.groups != (MODELS,):
            raise UserError(f"the models of a store are listed alone: bakeoff list {MODELS} [tracking.uri=URI].")


@dataclass(frozen=True)
class Listing:
    """The options of a group.

    Attributes
    ----------
    options : mapping of str to str
        Name -> sentence; none of the metrics, which the scoring of learners knows.
    own : mapping of str to str
        Those of the user.
    """

    options: Mapping[str, str]
    own: Mapping[str, str]


def read_listing(group: str) -> Listing:
    """Return the options of a group of `LISTED`.

    Raises
    ------
    UserError
        An option of the user has a name that it must not have.
    """
    own_folder = find_own_folder()
    if own_folder is not None:
        require_own_names(own_folder)
    own = read_own_listing(GROUP_OF_FILES.get(group, group))
    if group == METRICS:
        return Listing({}, own)
    return Listing(list_figures() if group == FIGURES else read_options(group), own)
