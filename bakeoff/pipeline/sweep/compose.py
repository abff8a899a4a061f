"""The composition of the jobs of a sweep: each file is read once, and each combination of groups is composed once."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config import engine, settle
from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.targets import Path as KeyPath
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.sweep.jobs import INVALID, Job, VariedSpec
from bakeoff.pipeline.text import secrets, wording

JobWords = tuple[str, ...]
"""The overrides of a job."""
Choices = dict[str, str]
"""Group -> the chosen option."""
YAML_WORDS = ("null", "true", "false", "nan")
"""Strings that would be parsed as other values without quotation marks."""
INTEGER_WORD = re.compile(r"^((?:seed|\+*\w+\.[\w.]+)=)(-?(?:0|[1-9][0-9]{0,17}))\Z", re.ASCII)
"""A word that sets an integer of 64 bits, spelled as Hydra reads it; every key without a dot except the seed names a
part."""
PLAIN_REFERENCE = re.compile(r"\$\{(\w+(?:\.\w+)*)\}")
Shape = tuple[int | str, ...]
"""Which words of a job set an integer, and the words without these integers."""
Pattern = tuple[VariedSpec, Choices]
"""The resolved configuration of the first of the jobs whose words differ only in integers, and the chosen option of
each group."""


@dataclass
class Composer:
    """Composes jobs: reads each file once, composes each combination of groups once, and sets the values for each job.

    Attributes
    ----------
    loader : ConfigLoader
        The loader of Hydra.
    master : DictConfig
        The configuration of the sweep itself.
    """

    loader: Any
    master: DictConfig
    _parsed: dict[str, tuple[Override, bool]] = field(default_factory=dict)
    _patterns: dict[Shape, Pattern | None] = field(default_factory=dict)
    _settled: dict[int, tuple[Mapping[str, Any], Choices]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Hydra would otherwise read the same files again for every job.
        self.loader.repository = engine.ConfigFiles(self.loader.repository)
        self._sweep_name = Path(str(self.master.hydra.sweep.dir)).name
        self._parser = OverridesParser.create()

    def compose(self, words: Sequence[str]) -> tuple[Mapping[str, Any], Choices]:
        """Return the configuration of a job, resolved but not settled, and the chosen option of each group.

        Parameters
        ----------
        words : sequence of str
            The overrides of the job.

        Raises
        ------
        UserError
            An override is invalid.
        """
        found = ((place, INTEGER_WORD.match(word)) for place, word in enumerate(words))
        integers = {place: int(match[2]) for place, match in found if match}
        shape: Shape = (*integers, *(INTEGER_WORD.sub(r"\1", word) for word in words))
        if integers and shape not in self._patterns:
            self._patterns[shape] = self._find_pattern(words, integers)
        pattern = self._patterns.get(shape)
        if pattern is None:
            tree, choices = self._compose_tree(words)
            return resolve_config(tree), choices
        first, choices = pattern
        return replace(first, integers=tuple(integers.values())), choices

    def _find_pattern(self, words: Sequence[str], integers: Mapping[int, int]) -> Pattern | None:
        """Return the pattern of words, or None if their integers may affect more than their own places.

        Parameters
        ----------
        words : sequence of str
            The words of the first job.
        integers : mapping of int to int
            Position of a word that sets an integer -> the integer.
        """
        numbers = tuple(integers.values())
        place_of = {words[place].lstrip("+").partition("=")[0]: at for at, place in enumerate(integers)}
        try:
            tree, choices = self._compose_tree(words)
            spec: Any = resolve_config(tree)
            unresolved = OmegaConf.to_container(tree, resolve=False)
            values = list(_walk_sources(unresolved, unresolved))
            places = [(path, place_of[source]) for path, source, _ in values if source in place_of]
            is_unchanged = all(reduce(getitem, path, spec) == numbers[at] for path, at in places)
        except Exception:  # the words of a job have their own error
            return None
        # A text that contains a reference, and a resolver, may turn an integer into anything.
        has_other_reference = any(isinstance(value, str) and "${" in value for _, _, value in values)
        return (VariedSpec(spec, places, numbers), choices) if is_unchanged and not has_other_reference else None

    def _compose_tree(self, words: Sequence[str]) -> tuple[DictConfig, Choices]:
        """Return the configuration of a job with its references, and the chosen option of each group."""
        try:
            # Options determine which files are composed, which is slow. Jobs that differ only in values share this
            # step.
            group_words = tuple(word for word in words if self.chooses_option(word))
            value_words = [word for word in words if not self.chooses_option(word)]
            values = [self._parse(word)[0] for word in value_words]
            options = self.loader.compose_options(self.master, group_words)
            tree: DictConfig = pickle.loads(options.packed)  # a copy, three times as fast as deepcopy
            engine.set_values(tree, values)
        except Exception as error:
            raise engine.explain_error(error) from None
        return tree, dict(options.choices)

    def compose_job(self, number: int, words: Sequence[str], varying: tuple[str, ...], study: str | None = None) -> Job:
        """Return a job of the sweep with its settled configuration; an invalid job has a reason.

        Parameters
        ----------
        number : int
            The job's number in the sweep, from 0.
        words : sequence of str
            The overrides of the job.
        varying : tuple of str
            The keys that vary over the sweep.
        study : str, optional
            The name of the study that the job belongs to.
        """
        overrides = tuple(words)
        name = " ".join(overrides) or "default"
        given = Invocation({}, varying, self._sweep_name, number, overrides, study)
        try:
            settled, choices = self._settle(*self.compose(overrides))
            return Job(number, name, replace(given, choices=choices), settled)
        except Exception as error:  # one job must not prevent the composition of the others
            return Job(number, name, given, state=INVALID, reason=secrets.describe_error(error))

    def _settle(self, spec: Mapping[str, Any], choices: Choices) -> tuple[Mapping[str, Any], Choices]:
        """Return a settled configuration and its choices, which similar jobs share."""
        if not isinstance(spec, VariedSpec) or spec.changes_choices:
            settled = settle.settle_config(spec)
            return settled, settle.settle_choices(settled, choices)
        if id(spec.shared) not in self._settled:
            settled = settle.settle_config(spec.shared)
            self._settled[id(spec.shared)] = settled, settle.settle_choices(settled, choices)
        settled, choices = self._settled[id(spec.shared)]
        return replace(spec, shared=settled), choices

    def chooses_option(self, word: str) -> bool:
        """Whether an override chooses an option of a group, which determines which files are read."""
        return self._parse(word)[1]

    def _parse(self, word: str) -> tuple[Override, bool]:
        """Return an override, and whether it chooses an option of a group."""
        if word not in self._parsed:
            override = self._parser.parse_override(word)
            is_group = bool(self.loader.repository.group_exists(override.key_or_group))
            self._parsed[word] = override, is_group or override.package is not None
        return self._parsed[word]


def _walk_sources(node: Any, tree: Any, path: KeyPath = (), source: str = "") -> Iterator[tuple[KeyPath, str, Any]]:
    """Yield each value below a node with its path, and with the key at which it is set.

    Path and key differ if a whole value is a reference: the referenced value is yielded in its place.

    Parameters
    ----------
    node : object
    tree : dict
        The composed configuration, with its references.
    path : tuple
        The path of the node.
    source : str
        The key at which the node is set.

    Raises
    ------
    KeyError, TypeError
        A reference leads through another one.

    Examples
    --------
    >>> tree = {"seed": 3, "learner": {"random_state": "${seed}"}}
    >>> list(_walk_sources(tree, tree))
    [(('seed',), 'seed', 3), (('learner', 'random_state'), 'seed', 3)]
    """
    while isinstance(node, str) and (found := PLAIN_REFERENCE.fullmatch(node)):
        source = found[1]
        node = reduce(getitem, source.split("."), tree)
    if isinstance(node, dict | list):
        children = node.items() if isinstance(node, dict) else enumerate(node)
        for name, child in children:
            yield from _walk_sources(child, tree, (*path, name), f"{source}.{name}".lstrip("."))
    else:
        yield path, source, node


def override_text(value: Any) -> str:
    """Return a value in Hydra's grammar, so that a string that looks like a number remains a string.

    Examples
    --------
    >>> [override_text(value) for value in (None, True, 1e-9, "scale", "a b", "1", [50, 50])]
    ['null', 'True', '1e-09', 'scale', "'a b'", "'1'", '[50,50]']
    """
    if isinstance(value, dict):
        value = {str(key): _quote_text(child) for key, child in value.items()}
    elif isinstance(value, list):
        value = [_quote_text(child) for child in value]
    return Override._get_value_element_as_str(_quote_text(value))


def _quote_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if wording.is_missing_value(value):
        value = wording.escape_text(value)
    is_plain = value.isidentifier() and value.lower() not in YAML_WORDS
    return value if is_plain else QuotedString(value, Quote.single)
