"""Doctests of modules whose extra is not installed are not collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("optuna") else ["bakeoff/pipeline/study/*"]
