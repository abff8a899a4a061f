"""What is to be compared, and how."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ComparisonRequest:
    """What is to be compared, and how.

    Attributes
    ----------
    selection : str
        Which runs were selected, in words.
    command : str
        The command line.
    metrics : tuple of str
        Empty for the headline of the runs.
    base : str
        Name of a configuration or a learner; empty for the best.
    has_base_run : bool
        Whether the base is a run, which `mark_as_base` has made a row of its own.
    alpha, rope : float
    all_pairs : bool
    may_choose : bool
        Whether one row may represent a learner with several configurations.
    keeps_all : bool
        Whether runs of one job are rows of their own.
    repeat : tuple of str
        Commands that run the jobs again.
    """

    selection: str
    command: str
    metrics: tuple[str, ...] = ()
    base: str = ""
    has_base_run: bool = False
    alpha: float = 0.05
    rope: float = 0.01
    all_pairs: bool = False
    may_choose: bool = True
    keeps_all: bool = False
    repeat: tuple[str, ...] = ()
