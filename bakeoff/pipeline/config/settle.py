"""Turn a composed configuration into a settled one: plain values, with every open choice made.

A settled configuration determines a run completely. `build_experiment` reads it, `hash_config` hashes it, and the run
stores it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from bakeoff.pipeline.config import build, options, words
from bakeoff.pipeline.config.targets import TARGET_KEY, require_names
from bakeoff.pipeline.errors import UserError

DEFAULT_VALIDATION_FRACTION = 0.2
DEFAULT_INNER_FOLDS = 5
NULL_PARTS = {
    "balance": "bakeoff.pipeline.stages.balance.NoBalance",
    "target": "bakeoff.pipeline.stages.target.NoTarget",
    "calibration": "bakeoff.pipeline.stages.calibration.NoCalibration",
    "threshold": "bakeoff.pipeline.stages.threshold.NoThreshold",
}
"""Optional part -> the class that replaces it and does nothing."""
DECISION_PARTS = ("calibration", "threshold")
"""The groups that a job may omit."""
MAKE_PREPROCESSING = "bakeoff.pipeline.stages.preprocessing.make_preprocessing"
AUTO_PREPROCESSING = "bakeoff.pipeline.stages.preprocessing.AutoPreprocessing"
MADE_DATASETS = tuple(
    f"bakeoff.pipeline.stages.dataset.{name}" for name in ("load_bundled", "load_lecture_table", "make_points")
)
"""The functions that load datasets shipped with bakeoff: their kinds of columns are known, and no cell is missing."""
NOT_CHOSEN = "None"
"""What Hydra records for a group without an option."""
STEP_KEYS = ("numeric", "nominal", "ordered", "dates", "text", "columns", "then")
"""The keys of preprocessing that contain steps."""
PRUNING_METHODS_ON_ROWS = ("bottom_up", "best_first")
"""Methods that use validation rows to decide which nodes to prune."""
DEFAULT_MAX_CANDIDATES = 1_000_000


def settle_config(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make the choices that the YAML leaves open, so that they are recorded.

    - Without ``preprocessing=``, it becomes ``none`` for datasets shipped with bakeoff, else ``auto``.
    - ``pruning=auto`` becomes ``best_first`` if the learner can be pruned and ``evaluation.validation`` sets rows aside
      for it, else ``none``.
    - ``tuning.folds=null`` becomes 5 if pruning uses the validation part, else 0, which tunes on that part.
    - ``tuning.budget`` becomes a number of seconds, and is left out if it is null.
    - ``evaluation.reserve=0`` is left out, as is its seed.
    - ``evaluation.validation=null`` becomes 0.2 if pruning or tuning needs rows, else 0.
    - Dotted names in ``evaluation.metrics`` become mappings with a ``_target_``.
    - ``calibration.folds=null`` and ``threshold.folds=null`` become 0, the validation part, if neither pruning nor
      tuning uses it, else 5. They stay null if only the data show whether there is one, for `settle_decision_rows`.
    - ``figures=all`` and names of figures become nodes with a ``_target_``.

    Parameters
    ----------
    spec : mapping
        The configuration returned by `resolve_config`, which is not modified.

    Returns
    -------
    mapping
        The configuration without the search space, which is part of tuning, and without the keys of sweeps.

    Raises
    ------
    UserError
        A part of the experiment is missing, a class or function needs trust, or a named figure does not exist.
    """
    trust = spec.get("trust") or []
    # This check precedes the imports that some of the choices below need.
    require_names(spec, "", trust)
    for part in options.REQUIRED_GROUPS:
        if not isinstance(spec.get(part), Mapping):
            raise UserError(f"{part} must be set to an option: add {part}=NAME; `bakeoff list {part}` shows them.")
    settled = {key: value for key, value in spec.items() if key not in ("space", *words.SWEEP_KEYS)}
    # The other parts are replaced or kept, but not changed.
    settled["evaluation"] = dict(settled["evaluation"])
    if "figures" in settled:
        settled["figures"] = options.settle_figures(settled["figures"], spec.get("space"), trust)
        require_names(settled["figures"], "figures", trust)
    settled["preprocessing"] = _settle_preprocessing(settled)
    evaluation = settled["evaluation"]
    if evaluation.get("metrics"):
        evaluation["metrics"] = options.settle_metrics(evaluation["metrics"])
        require_names(evaluation["metrics"], "evaluation.metrics", trust)
    # Imported before the learner loads scikit-learn and pandas, because skops searches the loaded modules in order for
    # each function of scipy.special; a rejected composition does not reach this import.
    import scipy.special  # noqa: F401

    settled["pruning"] = _settle_pruning(settled, trust)
    # Each of these choices depends on the previous one.
    prunes_on_rows = settled["pruning"].get("method") in PRUNING_METHODS_ON_ROWS
    tuning = settled["tuning"] = _settle_tuning(settled["tuning"], prunes_on_rows=prunes_on_rows)
    _require_few_candidates(tuning, spec.get("max_candidates", DEFAULT_MAX_CANDIDATES))
    if not evaluation.get("reserve") and not evaluation.get("reserve_seed"):
        for key in ("reserve", "reserve_seed"):
            evaluation.pop(key, None)
    tunes_on_rows = "space" in tuning and tuning["folds"] == 0
    if evaluation.get("validation") is None:
        evaluation["validation"] = DEFAULT_VALIDATION_FRACTION if prunes_on_rows or tunes_on_rows else 0
    if prunes_on_rows or tunes_on_rows:
        return settle_decision_rows(settled, has_free_rows=False)
    # The column of parts may assign rows to the validation part.
    is_open = not evaluation["validation"] and settled["dataset"].get("split") is not None
    return settled if is_open else settle_decision_rows(settled, has_free_rows=bool(evaluation["validation"]))


def settle_decision_rows(settled: Mapping[str, Any], *, has_free_rows: bool) -> Mapping[str, Any]:
    """Return a configuration whose calibration and threshold have a number of inner folds: 0 if there are free rows.

    Both are learnt on the same rows: if one of them sets ``folds``, the other gets the same value.

    Parameters
    ----------
    settled : mapping
    has_free_rows : bool
        Whether there is a validation part that neither pruning nor tuning uses.
    """
    parts = {part: settled[part] for part in DECISION_PARTS}
    given = [node["folds"] for node in parts.values() if node.get("folds") is not None]
    default = 0 if has_free_rows else DEFAULT_INNER_FOLDS
    folds = given[0] if given else default
    open_parts = [part for part, node in parts.items() if "folds" in node and node["folds"] is None]
    chosen = {part: {**parts[part], "folds": folds} for part in open_parts}
    return {**settled, **chosen} if chosen else settled


def settle_choices(settled: Mapping[str, Any], choices: Mapping[str, str]) -> dict[str, str]:
    """Return the chosen option of each group; without ``preprocessing=``, ``auto``, ``none`` or ``custom``.

    Parameters
    ----------
    settled : mapping
        The configuration returned by `settle_config`.
    choices : mapping of str to str
        The options given on the command line.
    """
    if choices["preprocessing"] != NOT_CHOSEN:
        return dict(choices)
    node = settled["preprocessing"]
    chosen = "auto" if node["_target_"] == AUTO_PREPROCESSING else "none"
    is_given = node["_target_"] not in (AUTO_PREPROCESSING, MAKE_PREPROCESSING) or any(map(node.get, STEP_KEYS))
    return {**choices, "preprocessing": "custom" if is_given else chosen}


def to_yaml(spec: Mapping[str, Any]) -> str:
    """Return a settled configuration as YAML, in the order of its keys."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # PyYAML may have been built without its faster C code
    return str(yaml.dump(dict(spec), Dumper=dumper, sort_keys=False, allow_unicode=True))


def _settle_preprocessing(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return preprocessing without open choices and without empty lists of steps."""
    given: dict[str, Any] = spec["preprocessing"]
    node = {key: value for key, value in given.items() if value or key not in STEP_KEYS}
    if node.get(TARGET_KEY) is None:
        node[TARGET_KEY] = MAKE_PREPROCESSING
        has_steps = len(node) > 1
        if not has_steps and spec["dataset"].get(TARGET_KEY) not in MADE_DATASETS:
            return options.read_option("preprocessing", "auto")
    if node[TARGET_KEY] != MAKE_PREPROCESSING:
        return node
    # These two keys are recorded even if they are empty.
    return {"_target_": MAKE_PREPROCESSING, "numeric": [], "nominal": [], **node}


def _settle_pruning(spec: Mapping[str, Any], trust: Sequence[str]) -> dict[str, Any]:
    pruning: dict[str, Any] = spec["pruning"]
    if pruning.get("method") != "auto":
        return pruning
    further = {key: value for key, value in pruning.items() if key != "method"}
    has_rows = bool(spec["evaluation"].get("validation"))
    # A learner that prunes during its fit, such as C4.5, is not pruned again by another method.
    prunes_itself = spec["learner"].get("pruning_confidence") is not None
    target = spec["learner"].get(TARGET_KEY)
    is_open = has_rows and not prunes_itself and target is not None
    if is_open and hasattr(build.find_target(target, f"learner.{TARGET_KEY}", trust), "prune"):
        return {TARGET_KEY: "bakeoff.pipeline.stages.pruning.Pruning", "method": "best_first", **further}
    return {TARGET_KEY: "bakeoff.pipeline.stages.pruning.NoPruning", **further}


def _settle_tuning(tuning: Mapping[str, Any], *, prunes_on_rows: bool) -> dict[str, Any]:
    settled = dict(tuning)
    if "space" not in settled:
        return settled
    if settled.get("folds") is None:
        settled["folds"] = DEFAULT_INNER_FOLDS if prunes_on_rows else 0
    seconds = words.read_duration("tuning.budget", settled.pop("budget", None))
    return settled if seconds is None else {**settled, "budget": seconds}


def _require_few_candidates(tuning: Mapping[str, Any], max_candidates: int) -> None:
    """Reject a space with more points than tuning is allowed to try."""
    space = tuning.get("space")
    grids = [grid for grid in (space if isinstance(space, list) else [space]) if isinstance(grid, Mapping)]
    # Values other than lists are rejected elsewhere.
    n_points = sum(math.prod(len(values) for values in grid.values() if isinstance(values, list)) for grid in grids)
    n_drawn = tuning.get("n")
    n_candidates = min(n_points, n_drawn) if isinstance(n_drawn, int) else n_points
    if n_candidates > max_candidates:
        raise UserError(
            f"space: tuning would try {n_candidates:,} candidates, but max_candidates={max_candidates}; remove "
            "values, sample candidates with tuning=default tuning.n=20, or increase max_candidates."
        )
