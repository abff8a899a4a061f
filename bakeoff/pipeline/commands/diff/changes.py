"""The changes between two configurations, and the hybrids that take some keys from one and some from the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
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
VALIDATION = (EVALUATION, "validation")
"""The only key of other parts that hybrids take from either: it leaves the test rows of each fold as they are."""
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

    def look_up(self, path: KeyPath) -> Any:
        """Return a value of the configuration, or `NOT_SET`."""
        try:
            return reduce(getitem, path, self.spec)
        except (KeyError, TypeError):
            return NOT_SET

    def describe_option(self, part: str) -> str:
        """Return the chosen option of a part with the keys that were given, such as ``knn n_neighbors=9``."""
        prefix = f"{part}."
        given = [word.lstrip("+") for word in self.overrides]
        keys = [word.removeprefix(prefix) for word in given if word.startswith(prefix)]
        return " ".join([self.choices.get(part, NONE), *keys])

    def find_words(self, *keys: str) -> list[str]:
        """Return the overrides that set some keys, or keys below them."""
        return [word for word in self.overrides if sets_key(word, *keys)]

    def drop_words(self, *keys: str) -> list[str]:
        """Return the other overrides."""
        return [word for word in self.overrides if not sets_key(word, *keys)]


def sets_key(word: str, *keys: str) -> bool:
    """Return whether an override sets one of some keys, or a key below one."""
    given = re.split("[=@/]", word.lstrip("+~"))[0]
    return f"{given}.".startswith(tuple(f"{key}." for key in keys))


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
    changes = [change for part in MIXED_PARTS for change in _find_part_changes(part, a, b)]
    return [*changes, *_find_key_changes(VALIDATION, a, b)]


def _find_part_changes(part: str, a: Variant, b: Variant) -> list[Change]:
    has_other_option = part != DATA and a.choices.get(part) != b.choices.get(part)
    has_other_class = a.spec[part].get(TARGET_KEY) != b.spec[part].get(TARGET_KEY)
    if a.spec[part] != b.spec[part] and (has_other_option or has_other_class):
        return [Change(part, a.describe_option(part), b.describe_option(part), ((part,),))]
    return _find_key_changes((part,), a, b)


def _find_key_changes(path: KeyPath, a: Variant, b: Variant) -> list[Change]:
    """Return a change for each key whose values differ; mappings are compared key by key, and a list is one value."""
    before, after = a.look_up(path), b.look_up(path)
    if before == after:
        return []
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return [change for key in {**before, **after} for change in _find_key_changes((*path, key), a, b)]
    return [Change(".".join(path), _write_value(before), _write_value(after), (path,))]


def _write_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def join_changes(changes: Sequence[Change], keys: set[str]) -> list[Change]:
    """Return the changes, of which those with some keys are joined into one."""
    joined = [change for change in changes if change.key in keys]
    whole = Change(
        key=", ".join(change.key for change in joined),
        before=", ".join(change.before for change in joined),
        after=", ".join(change.after for change in joined),
        paths=tuple(path for change in joined for path in change.paths),
    )
    others = [change for change in changes if change not in joined]
    others.insert(changes.index(joined[0]), whole)
    return others


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
        changes = [self.changes[i] for i in sorted(chosen)]
        hybrid = self.start
        for path in [path for change in changes for path in change.paths]:
            hybrid = _replace_key(hybrid, self.end, path)
        columns = [name for change in changes for name in change.columns]
        return _drop_columns(hybrid, columns) if columns else hybrid


def _replace_key(variant: Variant, other: Variant, path: KeyPath) -> Variant:
    """Return a configuration with the value, or the absence, of a key in another one."""
    *parents, last = path
    spec = deepcopy(dict(variant.spec))
    node = reduce(getitem, parents, spec)
    node.pop(last, None)
    value = other.look_up(path)
    if value is not NOT_SET:
        node[last] = value
    if parents:
        words = (*variant.drop_words(".".join(path)), *_write_key(variant, other, path))
        return replace(variant, spec=spec, overrides=words)
    choices = {**variant.choices, last: other.choices.get(last, NONE)}
    return Variant(spec, choices, (*variant.drop_words(last), *other.find_words(last)))


def _write_key(variant: Variant, other: Variant, path: KeyPath) -> list[str]:
    """Return the override that gives a configuration the value, or the absence, of a key in another one."""
    key = ".".join(path)
    value = other.look_up(path)
    if value is not NOT_SET:
        sign = "+" if variant.look_up(path) is NOT_SET else ""
        return [f"{sign}{key}={override_text(value)}"]
    # A key that a word has added is absent without that word.
    is_added = any(word.startswith("+") for word in variant.find_words(key))
    return [] if is_added else [f"~{key}"]


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
