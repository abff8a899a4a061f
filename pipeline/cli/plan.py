"""``bakeoff plan -m KEY=VALUE,VALUE ...``: show the jobs of a sweep without running them."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.cli.flags import MULTIRUN_FLAGS
from bakeoff.pipeline.cli.run import run_experiments


def plan_sweep(words: Sequence[str]) -> int:
    """Show the jobs of a sweep, what is wrong with them and how long they may take; return the exit code.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides, as for the sweep; ``-m`` may be left out.
    """
    overrides = [word for word in words if word not in MULTIRUN_FLAGS]
    return run_experiments(["--multirun", *overrides, "dry_run=true"])
