"""``bakeoff inspect``: what each column of a file or dataset is taken for and why, and what looks wrong."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.inspection.request import InspectRequest


def inspect_data(words: Sequence[str]) -> int:
    """Print what each column is taken for and why, and write a page with histograms.

    Raises
    ------
    UserError
        There is no such file or column, or the page cannot be written.
    """
    request = read_request("inspect", InspectRequest, words)

    from bakeoff.pipeline.inspection.inspect_named import inspect_named
    from bakeoff.pipeline.inspection.terminal import print_profile

    profile, page = inspect_named(request)
    print_profile(profile)
    if page is not None:
        print(f"page  {page}")
    return 0
