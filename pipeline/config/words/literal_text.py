"""Text that Hydra would take for a value to be filled in.

Names of files, columns and classes may hold ``${``: what was composed is built as it is, and not interpolated again.
"""

from __future__ import annotations

from pathlib import Path

from bakeoff.pipeline.errors import UserError

OPENING = "${"


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
