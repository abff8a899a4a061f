"""Names of configurations: the learner, and what varies among the configurations that are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from bakeoff.pipeline.comparison.grid.run_facts import RUN_KEY, Params

NAMED_GROUPS = ("balance", "target", "calibration", "threshold")
"""Groups that stand before their option in a name; a run without such an option has no param of it."""
GROUPS = ("preprocessing", "tuning", "pruning", *NAMED_GROUPS)
"""Groups whose chosen option is a param of its own."""
SHARED_GROUPS = ("preprocessing", "tuning", *NAMED_GROUPS)
"""Groups whose option stands in every name if it varies at all; pruning follows from the learner."""
SPACE_PREFIX = "tuning.space."
MAX_VALUE_LETTERS = 28
DIGEST_BYTES = 2


def name_configurations(configurations: Sequence[Params]) -> dict[Params, str]:
    """Name each configuration by its learner and by what distinguishes it from the others of that learner.

    Parameters
    ----------
    configurations : sequence of Params

    Returns
    -------
    dict of Params to str
        Names that are unique: if the varying params do not suffice, because a long value is cut, the name ends with a
        fingerprint.

    Examples
    --------
    >>> one = (("learner", "knn"), ("learner.n_neighbors", "1"), ("preprocessing", "none"))
    >>> five = (("learner", "knn"), ("learner.n_neighbors", "5"), ("preprocessing", "none"))
    >>> tree = (("learner", "decision_tree"), ("preprocessing", "none"))
    >>> list(name_configurations([one, five, tree]).values())
    ['knn n_neighbors=1', 'knn n_neighbors=5', 'decision_tree']
    """
    params = [dict(configuration) for configuration in configurations]
    shared = [group for group in SHARED_GROUPS if _varies(group, params)]
    names: dict[Params, str] = {}
    for configuration, own in zip(configurations, params, strict=True):
        rivals = [other for other in params if other["learner"] == own["learner"]]
        named_run = [RUN_KEY] if RUN_KEY in own else []
        keys = list(dict.fromkeys([*shared, *_find_varying_keys(own, rivals), *named_run]))
        names[configuration] = _write_name(own, keys)
    return _tell_apart(names)


def _find_varying_keys(own: Mapping[str, str], rivals: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys in which a configuration differs from others of its learner, those of the learner first."""
    # What tuning chooses is not a part of the configuration, whatever the learner's own value is.
    tuned = {key.replace(SPACE_PREFIX, "learner.") for key in own if key.startswith(SPACE_PREFIX)}
    keys = {key for rival in rivals for key in rival} - tuned
    varying = []
    for key in sorted(keys, key=lambda key: (not key.startswith("learner."), key)):
        group = key.split(".")[0]
        # Keys of an option exist only where the option is chosen, so they are compared among those alone.
        is_key_of_option = group in GROUPS and "." in key
        compared = [rival for rival in rivals if rival.get(group) == own.get(group)] if is_key_of_option else rivals
        if _varies(key, compared):
            varying.append(key)
    return varying


def _varies(key: str, params: Sequence[Mapping[str, str]]) -> bool:
    return len({each.get(key) for each in params}) > 1


def _write_name(params: Mapping[str, str], keys: Sequence[str]) -> str:
    words = [params["learner"]]
    for key in keys:
        value = params.get(key)
        if value is None:
            continue
        # Options such as "tuned" say what they are of; "one_hot" or "best_first" say enough by themselves.
        is_option = key in GROUPS and key not in NAMED_GROUPS and value != "none"
        if is_option or key == RUN_KEY:
            words.append(value)
        else:
            words.append(f"{_shorten_key(key, keys)}={_shorten_value(key, value)}")
    return " ".join(words)


def _shorten_key(key: str, keys: Sequence[str]) -> str:
    """Return the last part of a key, or all of it if another key ends alike."""
    last = key.split(".")[-1]
    is_unique = sum(other.split(".")[-1] == last for other in keys) == 1
    return last if is_unique else key


def _shorten_value(key: str, value: str) -> str:
    if key.endswith("_target_"):
        value = value.split(".")[-1]
    if len(value) <= MAX_VALUE_LETTERS:
        return value
    return f"{value[: MAX_VALUE_LETTERS - 1]}…"


def _tell_apart(names: Mapping[Params, str]) -> dict[Params, str]:
    """Add a fingerprint to names that several configurations share."""
    taken = list(names.values())
    unique = {}
    for configuration, name in names.items():
        is_shared = taken.count(name) > 1
        unique[configuration] = f"{name} ({_digest(configuration)})" if is_shared else name
    return unique


def _digest(configuration: Params) -> str:
    text = repr(configuration)
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()
