"""The description of a run before it starts: its name, and the params and tags by which runs are compared."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import reduce
from operator import getitem
from typing import Any

from bakeoff.pipeline.audit import ACCEPTED_TAG, AuditVerdict, make_audit_tags
from bakeoff.pipeline.config.settle import NULL_PARTS, to_yaml
from bakeoff.pipeline.config.targets import Path, walk
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.identity.config_hash import DECISIVE_KEYS, hash_config_code
from bakeoff.pipeline.identity.source_code import hash_text
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.table import GUESSED_TAG
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.secrets import find_references, is_secret_name
from bakeoff.pipeline.tracking import RunDescription

PARTS = ("dataset", "preprocessing", "learner", "tuning", "pruning", "evaluation")
"""The parts of a configuration that a run's params describe."""
OPTIONAL_PARTS = tuple(NULL_PARTS)
"""Parts described only if they have an effect, so that runs of versions without them remain comparable."""
DATASET_PARAMETERS = ("path", "rows", "url", "data_home", "options")
"""Keys of datasets that are read from a source or generated; other datasets are described by their option's name."""
PREPROCESSING_CHOSEN = "preprocessing.chosen"
"""The param that describes the effect of preprocessing=auto."""
WHOLE_KEYS = ("evaluation.costs",)
"""Keys stored as a single param, because they contain user-defined labels, which may not be valid param names."""
UNNAMED_KEYS = ("tracking", "trust", "hydra", "dataset", "default_space", "figures", "n_jobs", "audit")
"""Parts whose keys never appear as KEY=VALUE in a run's name."""
LONG_KEYS = ("evaluation.metrics", "space")
"""Keys whose values are too long for a run's name."""
ENVIRONMENT_TAG = "environment"
"""A fingerprint of the environment variables that affect results: runs with other values are not repeats."""
SPACE_PREFIX = "space."
LEARNER_PREFIX = "learner."


def describe_run(
    spec: Mapping[str, Any],
    invocation: Invocation,
    experiment: Experiment,
    splits: Splits,
    audit: AuditVerdict,
    job_hash: str,
) -> RunDescription:
    """Return the run's name, params and tags.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation
    experiment : Experiment
    splits : Splits
    audit : AuditVerdict
    job_hash : str
        The ``config_hash``.
    """
    choices = {part: invocation.choices.get(part, "custom") for part in PARTS}
    choices["dataset"] = experiment.dataset.name
    choices["pruning"] = str(spec["pruning"].get("method", "none"))
    for part in OPTIONAL_PARTS:
        if spec[part].get("_target_") != NULL_PARTS[part]:
            choices[part] = invocation.choices.get(part, "custom")
    template = invocation.choices.get("experiment", "none")
    params = dict(choices)
    if template != "none":
        params["experiment"] = template
    params["seed"] = str(spec["seed"])
    for part in (*PARTS, *(part for part in OPTIONAL_PARTS if part in choices)):
        is_described_by_option = part == "dataset" and not any(key in spec[part] for key in DATASET_PARAMETERS)
        if not is_described_by_option:
            params |= dict(_flatten(part, spec[part]))
    if experiment.preprocessing_summary:
        params[PREPROCESSING_CHOSEN] = experiment.preprocessing_summary
    return RunDescription(
        name=name_run({**invocation.choices, **choices, "experiment": template}, spec, invocation.varying),
        params=params,
        tags={
            "config_hash": job_hash,
            **_make_tags(spec, invocation, experiment.dataset, splits),
            **make_audit_tags(audit),
        },
        config=to_yaml(spec),
        trust=tuple(spec["trust"]),
        dataset=spec["dataset"],
    )


def name_run(choices: Mapping[str, str], spec: Mapping[str, Any], varying: Sequence[str]) -> str:
    """Name a run by its distinguishing keys, then learner and dataset; pages truncate names at about 20 characters.

    Parameters
    ----------
    choices : mapping of str to str
        The chosen option of each group.
    spec : mapping
        The settled configuration.
    varying : sequence of str
        Keys that distinguish the run from others.

    Examples
    --------
    >>> choices = {"learner": "knn", "dataset": "iris"}
    >>> name_run(choices, {"learner": {"n_neighbors": 5}}, ("learner.n_neighbors", "learner"))
    'knn n_neighbors=5 iris'
    >>> name_run(choices, {"seed": 3}, ("seed",))
    'seed=3 knn iris'
    >>> name_run(choices, {"tuning": {"space": {"n_neighbors": [1, 5]}}}, ("learner", "space.n_neighbors"))
    'knn n_neighbors=[1, 5] iris'
    """
    return f"{name_configuration(choices, spec, varying)} {choices['dataset']}"


def name_configuration(choices: Mapping[str, str], spec: Mapping[str, Any], varying: Sequence[str]) -> str:
    """Return the name of a run without its dataset; for the arguments see `name_run`."""
    # An option "none" is written with its group, because "pruning=none" is clearer than "none".
    named = {**spec, **{key: option for key, option in choices.items() if option == "none"}}
    values: dict[str, Any] = {}
    for key in varying:
        with suppress(KeyError, TypeError):  # it belongs to another option
            values[key] = reduce(getitem, _find_path(key), named)
    # The order in which readers compare runs: experiment, learner, the learner's parameters, and the rest.
    keys = sorted(
        (key for key in varying if _is_named(key, values)),
        key=lambda key: (key != "experiment", key != "learner", not key.startswith(LEARNER_PREFIX)),
    )
    words = []
    for key in keys:
        if key in OPTIONAL_PARTS and key in choices:
            words.append(f"{key}={choices[key]}")
        elif choices.get(key, "none") != "none":
            words.append(choices[key])
        else:
            words.append(f"{key.split('.')[-1]}={_name_value(values.get(key))}")
    return " ".join(words if "learner" in keys else [*words, choices["learner"]])


def _name_value(value: Any) -> Any:
    """Return a value as it is named: a part by its class, and the members of an ensemble by their names."""
    if isinstance(value, Mapping) and "_target_" in value:
        return value["_target_"].rpartition(".")[2]
    if isinstance(value, list) and all(isinstance(each, list) and isinstance(each[-1], Mapping) for each in value):
        return f"[{','.join(str(name) for name, *_ in value)}]"
    return value


def _is_named(key: str, values: Mapping[str, Any]) -> bool:
    """Return whether a key may appear in a run's name: it belongs to the run and, if in the space, is searched."""
    if key.startswith(SPACE_PREFIX):
        return values.get(key) is not None
    # In a sweep over several learners, a key that varies may belong to another learner.
    if key.startswith(LEARNER_PREFIX) and key not in values:
        return False
    return key.split(".")[0] not in UNNAMED_KEYS and key not in LONG_KEYS


def _find_path(key: str) -> Path:
    """Return the path of a key in a settled configuration: the searched space is part of tuning."""
    stored_key = f"tuning.{key}" if key.startswith(SPACE_PREFIX) else key
    return tuple(stored_key.split("."))


def _make_tags(spec: Mapping[str, Any], invocation: Invocation, dataset: Dataset, splits: Splits) -> dict[str, str]:
    tags = {
        "code_hash": hash_config_code(spec),
        "dataset_digest": dataset.digest(),
        # A comparison uses these two to pair runs fold by fold, and to correct its tests for overlapping training
        # parts.
        "splits_digest": splits.digest(),
        "rows_per_fold": json.dumps(splits.mean_rows),
        "overrides": json.dumps(invocation.overrides),
    }
    # The values of variables that affect results are not among the params of the run.
    names = find_references(json.dumps({key: spec[key] for key in DECISIVE_KEYS}, default=str))
    settings = {name: os.environ.get(name, "") for name in names if not is_secret_name(name)}
    if settings:
        tags[ENVIRONMENT_TAG] = hash_text(json.dumps(settings, sort_keys=True))
    if invocation.sweep:
        tags["sweep"] = invocation.sweep
    if invocation.study:
        tags["study"] = invocation.study
    if accepted := (spec.get("doctor") or {}).get("ignore"):
        tags[ACCEPTED_TAG] = json.dumps({code: f"{reason} ({date.today()})" for code, reason in accepted.items()})
    if dataset.remarks:
        tags["dataset_remarks"] = "\n".join(dataset.remarks)
    if dataset.guessed:  # the keys of its file
        tags[GUESSED_TAG] = json.dumps(dict(dataset.guessed))
    return tags


def _flatten(part: str, node: Any) -> Iterator[tuple[str, str]]:
    """Yield dotted keys and their values as text, except ``_target_``, which is implied by the chosen option."""
    yielded: Path | None = None
    for path, value in walk(node, (part,)):
        key = ".".join(map(str, path))
        is_inside = yielded is not None and path[: len(yielded)] == yielded
        if is_inside or (isinstance(value, Mapping) and key not in WHOLE_KEYS):
            continue
        yielded = path
        if path[-1] != "_target_":
            yield key, value if isinstance(value, str) else json.dumps(value, default=str)
