"""The changes between two configurations, and the hybrids that take some keys from one and some from the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from operator import getitem
from typing import Any

from bakeoff.pipeline.sweep.compose import override_text

KeyPath = tuple[str, ...]
"""The keys that lead to a value of a settled configuration."""

DATA = "dataset"
LEARNER = "learner"
EVALUATION = "evaluation"
MIXED_PARTS = (
    DATA, "preprocessing", LEARNER, "tuning", "pruning", "balance", "target", "calibration", "threshold",
)  # fmt: skip
"""The parts that hybrids take from either configuration."""
MIXED_KEYS = ((EVALUATION, "validation"),)
"""Keys of other parts that leave the test rows of each fold as they are."""
COLUMNS_KEY = "drop"
"""The key of a dataset with the columns to leave out."""
NOT_SET = "not set"
NONE = "none"
TARGET_KEY = "_target_"


@dataclass(frozen=True)
class Variant:
    """A settled configuration, with the words from which it was composed.

    Attributes
    ----------
    spec : mapping
        The settled configuration.
    choices : mapping of str to str
        The chosen option of each group.
    overrides : tuple of str
    """

    spec: Mapping[str, Any]
    choices: Mapping[str, str]
    overrides: tuple[str, ...] = ()

    def describe_option(self, part: str) -> str:
        """Return the chosen option of a part with the keys that were given, such as ``knn n_neighbors=9``."""
        prefix = f"{part}."
        given = [word.lstrip("+") for word in self.overrides]
        keys = [word.removeprefix(prefix) for word in given if word.startswith(prefix)]
        return " ".join([self.choices.get(part, NONE), *keys])

    def find_words(self, key: str) -> list[str]:
        """Return the overrides that set a key, or a key below it."""
        return [word for word in self.overrides if _is_about(word, key)]

    def drop_words(self, key: str) -> list[str]:
        """Return the other overrides."""
        return [word for word in self.overrides if not _is_about(word, key)]


@dataclass(frozen=True)
class Change:
    """A difference between two configurations that a hybrid may contain or not.

    Attributes
    ----------
    key : str
        An option or a key, such as ``learner`` or ``learner.C``; several that belong together are separated by commas.
    before, after : str
    paths : tuple of KeyPath
        The places that change.
    columns : tuple of str
        The columns that are left out of the dataset.
    """

    key: str
    before: str
    after: str
    paths: tuple[KeyPath, ...] = ()
    columns: tuple[str, ...] = ()


def find_changes(a: Variant, b: Variant) -> list[Change]:
    """Return the changes from one configuration to another, in the order in which the parts are used.

    Another option is one change together with its keys; otherwise each key is a change.
    """
    found = [change for part in MIXED_PARTS for change in _find_part_changes(part, a, b)]
    others = [path for path in MIXED_KEYS if _look_up(a.spec, path) != _look_up(b.spec, path)]
    return [*found, *(_describe_change(path, a, b) for path in others)]


def _find_part_changes(part: str, a: Variant, b: Variant) -> Iterator[Change]:
    before, after = a.spec[part], b.spec[part]
    if before == after:
        return
    has_other_option = part != DATA and a.choices.get(part) != b.choices.get(part)
    if has_other_option or before.get(TARGET_KEY) != after.get(TARGET_KEY):
        yield Change(part, a.describe_option(part), b.describe_option(part), ((part,),))
        return
    for path in _find_paths(before, after, (part,)):
        yield _describe_change(path, a, b)


def _find_paths(before: Any, after: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the keys whose values differ; mappings are compared key by key, and a list is one value."""
    if before == after:
        return
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield path
        return
    for key in {**before, **after}:
        yield from _find_paths(before.get(key, NOT_SET), after.get(key, NOT_SET), (*path, key))


def _describe_change(path: KeyPath, a: Variant, b: Variant) -> Change:
    before, after = (_write_value(_look_up(variant.spec, path)) for variant in (a, b))
    return Change(".".join(path), before, after, (path,))


def _look_up(spec: Mapping[str, Any], path: KeyPath) -> Any:
    try:
        return reduce(getitem, path, spec)
    except (KeyError, TypeError):
        return NOT_SET


def _write_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


@dataclass(frozen=True)
class Mixture:
    """Two configurations, and the changes that hybrids of them may contain.

    Attributes
    ----------
    start, end : Variant
    changes : sequence of Change
    """

    start: Variant
    end: Variant
    changes: Sequence[Change]

    def make_hybrid(self, chosen: Iterable[int]) -> Variant:
        """Return the first configuration with the changes of some numbers."""
        return mix_variants(self.start, self.end, [self.changes[i] for i in sorted(chosen)])


def mix_variants(a: Variant, b: Variant, changes: Sequence[Change]) -> Variant:
    """Return the first configuration with some of the changes that lead to the second."""
    mixed = Variant(deepcopy(dict(a.spec)), dict(a.choices), a.overrides)
    for path in [path for change in changes for path in change.paths]:
        mixed = _replace_key(mixed, b, path)
    columns = [name for change in changes for name in change.columns]
    return _drop_columns(mixed, columns) if columns else mixed


def _replace_key(variant: Variant, other: Variant, path: KeyPath) -> Variant:
    """Return a configuration with the value, or the absence, of a key in another one."""
    *parents, last = path
    key = ".".join(path)
    value = _look_up(other.spec, path)
    node: Any = variant.spec
    for parent in parents:
        node = node[parent]
    was_set = node.pop(last, NOT_SET) is not NOT_SET
    if value is not NOT_SET:
        node[last] = deepcopy(value)
    if not parents:
        choices = {**variant.choices, last: other.choices.get(last, NONE)}
        return Variant(variant.spec, choices, (*variant.drop_words(last), *other.find_words(last)))
    word = f"~{key}" if value is NOT_SET else f"{'' if was_set else '+'}{key}={override_text(value)}"
    # A key that a word has added is absent without that word.
    is_added = any(each.startswith("+") for each in variant.find_words(key))
    words = [] if is_added and value is NOT_SET else [word]
    return replace(variant, overrides=(*variant.drop_words(key), *words))


def _drop_columns(variant: Variant, columns: Sequence[str]) -> Variant:
    """Return a configuration that leaves out some columns of its dataset."""
    dataset = {key: _leave_out(value, columns) for key, value in variant.spec[DATA].items()}
    dataset[COLUMNS_KEY] = [*variant.spec[DATA][COLUMNS_KEY], *columns]
    key = f"{DATA}.{COLUMNS_KEY}"
    word = f"{key}={override_text(dataset[COLUMNS_KEY])}"
    return replace(variant, spec={**variant.spec, DATA: dataset}, overrides=(*variant.drop_words(key), word))


def _leave_out(value: Any, columns: Sequence[str]) -> Any:
    """Return the value of a key of a dataset without the names of some columns."""
    if isinstance(value, list):
        return [name for name in value if name not in columns]
    return {name: each for name, each in value.items() if name not in columns} if isinstance(value, dict) else value


def _is_about(word: str, key: str) -> bool:
    """Return whether an override sets a key, or a key below it."""
    given = re.split("[=@]", word.lstrip("+~"))[0]
    return given == key or given.startswith(f"{key}.")


def join_changes(changes: Sequence[Change], keys: set[str]) -> list[Change]:
    """Return the changes, of which those with some keys are joined into one."""
    joined = [change for change in changes if change.key in keys]
    first = joined[0]
    whole = Change(
        key=", ".join(change.key for change in joined),
        before=", ".join(change.before for change in joined),
        after=", ".join(change.after for change in joined),
        paths=tuple(path for change in joined for path in change.paths),
    )
    return [whole if change is first else change for change in changes if change is first or change not in joined]
