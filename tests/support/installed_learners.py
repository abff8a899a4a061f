"""The learners whose packages are installed."""

from __future__ import annotations

from importlib.util import find_spec

from bakeoff.pipeline.config.options import read_options
from bakeoff.pipeline.identity.config_hash import DISTRIBUTIONS


def list_installed_learners() -> list[str]:
    """Return the names of all learners of ``conf/`` but those whose package is an extra that is not installed."""
    absent = {library for library in DISTRIBUTIONS if find_spec(library) is None}
    return [name for name in read_options("learner") if name.split("_")[0] not in absent]
