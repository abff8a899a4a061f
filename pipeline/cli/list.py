"""``bakeoff list``: the options of each group with the first comment of its YAML file, figures, and metrics."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.named_figures import list_figures
from bakeoff.pipeline.config.options import GROUPS, read_options
from bakeoff.pipeline.errors import UserError, did_you_mean

FIGURES_KEY = "figures"
METRICS_KEY = "metrics"
LISTED = (*GROUPS, FIGURES_KEY, METRICS_KEY)


def list_options(words: Sequence[str]) -> int:
    """Print the options of the named groups, or of all groups; return the exit code.

    Parameters
    ----------
    words : sequence of str
        Names of groups.

    Raises
    ------
    UserError
        There is no such group.
    """
    for group in words:
        if group not in LISTED:
            raise UserError(f"list {group}: there is no such group. {did_you_mean(group, LISTED)}")
    for group in words or LISTED:
        if group == METRICS_KEY:
            _print_metrics()
            continue
        sentences = list_figures() if group == FIGURES_KEY else read_options(group)
        width = max(map(len, sentences), default=0)
        print(f"{group}=")
        for name, sentence in sentences.items():
            print(f"  {name:<{width}}  {sentence}")
    return 0


def _print_metrics() -> None:
    # scikit-learn takes a second to load, which the other lists do not need.
    from bakeoff.pipeline.cli.metric_listing import iterate_metric_lines

    for line in iterate_metric_lines():
        print(line)
