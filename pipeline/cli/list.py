"""``bakeoff list``: the options of each group with the first comment of its YAML file, figures, metrics, and models."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from bakeoff.pipeline.config.named_parts import list_figures
from bakeoff.pipeline.config.options import (
    GROUPS,
    describe_ignored_folder,
    find_own_folder,
    read_options,
    read_own_listing,
    require_own_names,
)
from bakeoff.pipeline.errors import UserError, did_you_mean

FIGURES_KEY = "figures"
METRICS_KEY = "metrics"
MODELS_KEY = "models"
"""Lists what is in a store, so that it stands alone."""
OWN_GROUP_OF_KEY = {FIGURES_KEY: "figure", METRICS_KEY: "metric"}
"""Lists whose options of the user are in a group of another name."""
OWN_MARK = "(own)"
LISTED = (*GROUPS, FIGURES_KEY, METRICS_KEY)


def list_options(words: Sequence[str]) -> int:
    """Print the options of the named groups, or of all groups; return the exit code.

    Parameters
    ----------
    words : sequence of str
        Names of groups; or ``models``, with the keys of the store.

    Raises
    ------
    UserError
        There is no such group, or an option of the user has a name that it must not have.
    """
    if words and words[0] == MODELS_KEY:
        from bakeoff.pipeline.cli.model_listing import list_models

        return list_models(words[1:])
    for group in words:
        if group not in LISTED:
            raise UserError(f"list {group}: there is no such group. {did_you_mean(group, (*LISTED, MODELS_KEY))}")
    own_folder = find_own_folder()
    if own_folder is not None:
        require_own_names(own_folder)
    elif reason := describe_ignored_folder():
        print(f"note: {reason}", file=sys.stderr)
    for group in words or LISTED:
        own = read_own_listing(OWN_GROUP_OF_KEY.get(group, group))
        if group == METRICS_KEY:
            _print_metrics()
            _print_options(own, OWN_MARK)
            continue
        sentences = list_figures() if group == FIGURES_KEY else read_options(group)
        width = max(map(len, [*sentences, *own]), default=0)
        print(f"{group}=")
        _print_options(sentences, width=width)
        _print_options(own, OWN_MARK, width)
    return 0


def _print_options(sentences: Mapping[str, str], mark: str = "", width: int = 0) -> None:
    """Print a line for each option, its name as wide as the others."""
    width = width or max(map(len, sentences), default=0)
    for name, sentence in sentences.items():
        words = [f"  {name:<{width}} ", mark, sentence]
        print(" ".join(filter(None, words)))


def _print_metrics() -> None:
    # scikit-learn takes a second to load, which the other lists do not need.
    from bakeoff.pipeline.cli.metric_listing import iterate_metric_lines

    for line in iterate_metric_lines():
        print(line)
