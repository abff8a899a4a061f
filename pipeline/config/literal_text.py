"""Text of a settled configuration, which OmegaConf would otherwise interpolate a second time.

Names of files, columns and classes may hold ``${``. What was composed has been interpolated once; in what is read from
a store, or from a user's table, ``${oc.env:HOME}`` is a name like others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.pipeline.errors import UserError

OPENING = "${"
INTERPOLATION = re.compile(r"(\\*)\$\{")
"""The beginning of an interpolation, and the backslashes before it, which would escape it."""


def escape_interpolations(node: Any) -> Any:
    r"""Return a part of a configuration that OmegaConf resolves to the part that is given.

    Parameters
    ----------
    node : mapping, list or scalar

    Examples
    --------
    >>> escape_interpolations({"path": "${x}/a.csv", "folds": [2]})
    {'path': '\\${x}/a.csv', 'folds': [2]}
    """
    if isinstance(node, str):
        # A backslash before an escaped interpolation is itself escaped.
        return INTERPOLATION.sub(lambda found: f"{2 * found.group(1)}\\{OPENING}", node)
    if isinstance(node, Mapping):
        return {key: escape_interpolations(child) for key, child in node.items()}
    if isinstance(node, list | tuple):
        return [escape_interpolations(child) for child in node]
    return node


def require_readable_folder(folder: Path) -> None:
    """Reject a current folder whose name Hydra would interpolate: it would write elsewhere.

    Parameters
    ----------
    folder : Path
        Absolute.

    Raises
    ------
    UserError
    """
    if OPENING in str(folder):
        raise UserError(
            f"the current folder {str(folder)!r} has {OPENING} in its name, which Hydra takes for a value to be filled "
            "in; rename the folder, or start in another one."
        )
