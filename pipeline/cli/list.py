"""``bakeoff list``: the options of each group with the first comment of its YAML file, figures, metrics, and models."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bakeoff.pipeline.config.named_parts import LISTED, METRIC_LIST, read_listing
from bakeoff.pipeline.config.options import describe_ignored_folder, find_own_folder
from bakeoff.pipeline.config.requests import MODELS, ListRequest, read_request
from bakeoff.pipeline.tables.table import make_table
from bakeoff.pipeline.tables.terminal import align_lines

OWN_MARK = "(own)"


def list_options(words: Sequence[str]) -> int:
    """Print the options of the named groups, or of all groups, with a sentence each.

    Raises
    ------
    UserError
        There is no such group, or an option of the user has a name that it must not have.
    """
    request = read_request("list", ListRequest, words)
    if find_own_folder() is None and (reason := describe_ignored_folder()):
        print(f"note: {reason}", file=sys.stderr)
    for group in request.groups or LISTED:
        if group == MODELS:
            _print_models(request)
        else:
            _print_group(group)
    return 0


def _print_group(group: str) -> None:
    listing = read_listing(group)
    if group == METRIC_LIST:
        # scikit-learn takes a second to load, which the other lists do not need.
        from bakeoff.pipeline.cli.metric_listing import iterate_metric_lines

        print("\n".join(iterate_metric_lines()))
    else:
        print(f"{group}=")
    rows = [[f"  {name}", sentence] for name, sentence in listing.options.items()]
    rows += [[f"  {name}", f"{OWN_MARK} {sentence}"] for name, sentence in listing.own.items()]
    for line in align_lines(make_table("", ["", ""], rows)):
        print(line)


def _print_models(request: ListRequest) -> None:
    from bakeoff.pipeline.cli.model_listing import iterate_model_lines

    for line in iterate_model_lines(request):
        print(line)
