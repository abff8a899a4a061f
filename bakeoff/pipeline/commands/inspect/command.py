"""``bakeoff inspect``: the kind of each column of a table, and suspicions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.inspect.request import InspectRequest


def inspect_data(request: InspectRequest) -> int:
    """Print the inferred kind of each column of a file or dataset and the reason, and write a page with histograms.

    With ``to=yaml``, the file of the dataset is printed or written instead.

    Raises
    ------
    UserError
        The file or column does not exist, or the page cannot be written.
    """
    from bakeoff.pipeline.commands.inspect.inspect_table import inspect_named
    from bakeoff.pipeline.commands.inspect.report import print_profile
    from bakeoff.pipeline.commands.inspect.request import PAGE

    profile, path, text = inspect_named(request)
    if request.form == PAGE:
        print_profile(profile)
    elif path is None:
        print(text, end="")
    if path is not None:
        print(f"{request.form}  {path}")
    return 0
