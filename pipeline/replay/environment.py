"""What has changed between a stored run and its replay: versions, code, data, threads and machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bakeoff.pipeline.tracking import provenance

UNKNOWN = "not recorded"
COMMIT_TAG = "mlflow.source.git.commit"
DECISIVE_TAGS = {
    "dataset_digest": "data",
    "splits_digest": "splits",
    "code_hash": "code of the learner and the pipeline",
    "blas": "BLAS",
    "threads": "threads",
    COMMIT_TAG: "commit",
    "git_dirty": "files that differ from the commit",
    "host": "machine",
}
"""Tags of a run that may explain a difference, and their names in words."""


@dataclass(frozen=True)
class Change:
    """Something that was different when the stored run was made.

    Attributes
    ----------
    what : str
    then, now : str
    """

    what: str
    then: str
    now: str


def find_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> list[Change]:
    """Return what differs between the circumstances of a stored run and those of its replay.

    Parameters
    ----------
    stored : mapping of str to str
        The tags of the stored run; outside a repository, for one, it has recorded no commit.
    repeated : mapping of str to str
        The tags that the replay would have, as `describe_circumstances` returns them.
    """
    return [*_find_version_changes(stored, repeated), *_find_tag_changes(stored, repeated)]


def describe_circumstances(description_tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags that a run would have if it started now.

    Parameters
    ----------
    description_tags : mapping of str to str
        The tags that describe its job.
    """
    return {**provenance.list_tags(), **description_tags}


def _find_version_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> Iterator[Change]:
    then = {"python": stored.get("python", UNKNOWN), **json.loads(stored.get("versions", "{}"))}
    now = json.loads(repeated.get("versions", "{}"))
    for package, version in now.items():
        stored_version = str(then.get(package, UNKNOWN))
        if stored_version != str(version):
            yield Change(package, stored_version, str(version))


def _find_tag_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> Iterator[Change]:
    for tag, what in DECISIVE_TAGS.items():
        then = stored.get(tag, UNKNOWN)
        now = repeated.get(tag, UNKNOWN)
        if then != now:
            yield Change(what, then, now)
