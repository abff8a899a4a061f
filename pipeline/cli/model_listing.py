"""The registered models of a store, as ``bakeoff list models`` prints them: a line for each version."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.pipeline.config.requests import ListRequest
from bakeoff.pipeline.tables.table import make_table
from bakeoff.pipeline.tables.terminal import align_lines
from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.registry import RegisteredVersion, list_versions
from bakeoff.pipeline.tracking.store import open_store

COLUMNS = ("model", "version", "alias", "rows", "score of its run", "run")
RUN_ID_LETTERS = 8
"""Of the id of a run, as many as find it."""


def iterate_model_lines(request: ListRequest) -> Iterator[str]:
    """Yield a line for each version of all registered models, the newest of each first.

    Parameters
    ----------
    request : ListRequest

    Raises
    ------
    UserError
        There is no store.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False, read_only=True)
    versions = sorted(list_versions(store), key=lambda each: (each.name, -each.version))
    if not versions:
        yield f"no model is registered in {hide_secrets(store.uri)}; `bakeoff ship RUN as=NAME@ALIAS` registers one"
        return
    rows = (_describe_version(version) for version in versions)
    yield from align_lines(make_table("models", COLUMNS, rows))


def _describe_version(version: RegisteredVersion) -> tuple[str, ...]:
    """Return the cells of a version; those that another program did not record are empty."""
    tags = version.tags
    headline = tags.get("headline", "")
    score = f"{headline} {format_score(float(tags[headline]))}" if headline in tags else ""
    run = f"{version.run_id[:RUN_ID_LETTERS]} {tags.get('run_name', '')}".strip()
    return (version.name, str(version.version), ", ".join(version.aliases), tags.get("rows", ""), score, run)
