"""The options for listing what can be chosen, and what a store holds."""

from dataclasses import dataclass, field

from bakeoff.pipeline.config.options import GROUPS, LISTED
from bakeoff.pipeline.config.requests import ExperimentRequest
from bakeoff.pipeline.errors import UserError, did_you_mean

RUNS = "runs"
STORED = (RUNS, "models")
"""The content of a store, which is not listed by default."""
TERMINAL = "terminal"
CSV = "csv"


@dataclass(frozen=True, kw_only=True)
class ListRequest(ExperimentRequest):
    """The items to list.

    Attributes
    ----------
    groups : tuple of str
        Groups of options, such as learner, figures or metrics, each with the options whose keys to show; runs or models
        of a store; by default all groups of options.
    to : str
        The format of runs and models: terminal or csv.
    """

    groups: tuple[str, ...] = field(default=(), metadata={"word": "GROUP"})
    to: str = TERMINAL

    def __post_init__(self) -> None:
        formats = (TERMINAL, CSV) if {*STORED}.issuperset(self.sections) else (TERMINAL,)
        if self.to not in formats:
            raise UserError(f"to={self.to}: {did_you_mean(self.to, formats)} CSV is a format of runs and models.")

    @property
    def sections(self) -> dict[str, list[str]]:
        """The groups to list, each with the options whose keys to show."""
        sections: dict[str, list[str]] = {}
        for name in self.groups or LISTED:
            if name in (*LISTED, *STORED):
                group = name
                sections[group] = []
            elif sections and group in GROUPS:
                sections[group].append(name)
            else:
                suggestion = did_you_mean(name, (*LISTED, *STORED))
                raise UserError(f"list {name}: there is no group of this name. {suggestion}")
        return sections
