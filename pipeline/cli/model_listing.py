"""The registered models of a store, as ``bakeoff list models`` prints them: a line for each version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bakeoff.pipeline.cli.arguments import parse_arguments

KEYS = ("tracking.uri", "tracking.experiment")
COLUMNS = ("name", "version", "aliases", "rows", "score", "run")
GAP = "  "


def list_models(words: Sequence[str]) -> int:
    """Print the versions of all registered models, the newest of each name first; return the exit code.

    Parameters
    ----------
    words : sequence of str
        ``[tracking.uri=URI]``.

    Raises
    ------
    UserError
        There is no store, or a key is not valid.
    """
    _, values = parse_arguments("list models", words, [], KEYS)
