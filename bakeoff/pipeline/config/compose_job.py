"""Compose the settled configuration of a job from its arguments, without running anything.

Plain values keep references to environment variables, whose values are neither stored nor hashed.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobRuntime, configure_log
from hydra.types import RunMode
from hydra.version import VersionBase
from omegaconf import MISSING, DictConfig, OmegaConf, open_dict, read_write
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import OmegaConfBaseException
from omegaconf.resolvers import oc

from bakeoff.pipeline.config.engine import (
    KEYS,
    ROOT_NAME,
    SHIPPED_FILES,
    ConfigSource,
    open_engine,
    register_resolver,
    suggest_key,
)
from bakeoff.pipeline.config.options import list_own_names, read_option, read_options
from bakeoff.pipeline.config.settle import settle_choices, settle_config
from bakeoff.pipeline.config.targets import TARGET_KEY, name_key, walk
from bakeoff.pipeline.config.words import (
    Invocation,
    check_overrides,
    read_invocation,
    reject_sweep_values,
    reject_unread_space,
)
from bakeoff.pipeline.errors import UnknownKeys, UserError, did_you_mean
from bakeoff.pipeline.tables.output_file import require_output_folder, write_private
from bakeoff.pipeline.text.secrets import REFERENCE, expand_references, find_secrets, hide_secrets


class ComposedRun(NamedTuple):
    """A single job, composed from the words of a command.

    Attributes
    ----------
    spec : dict
        The settled configuration.
    invocation : Invocation
    composed : DictConfig
        The composed configuration, without Hydra's own settings.
    own : DictConfig
        Hydra's own settings, under the key ``hydra``.
    """

    spec: Mapping[str, Any]
    invocation: Invocation
    composed: DictConfig
    own: DictConfig


def compose_job(words: Sequence[str], source: ConfigSource = SHIPPED_FILES) -> ComposedRun:
    """Compose a single job and settle it.

    Parameters
    ----------
    words : sequence of str
        Overrides.
    source : ConfigSource, optional
        The files; by default those of bakeoff, and ``conf/`` of the current folder.

    Raises
    ------
    UserError
        An override is invalid, a mandatory value is missing, or a file describes a sweep.
    """
    check_overrides(words)
    with open_engine(source) as engine:
        composed = engine.compose_config(source.root, list(words), RunMode.RUN, with_log_configuration=True)
        reject_sweep_values(composed.hydra)
        with read_write(composed.hydra), open_dict(composed.hydra):
            composed.hydra.mode = RunMode.RUN
            composed.hydra.runtime.output_dir = os.path.abspath(str(composed.hydra.run.dir))
        # Values of the configuration may refer to Hydra's own settings.
        HydraConfig.instance().set_config(composed)
        invocation = read_invocation(composed.hydra)
        # A copy, because Hydra's settings refer to keys of the whole configuration.
        composed = deepcopy(composed)
        with open_dict(composed):
            del composed["hydra"]
        settled = settle_config(resolve_config(composed))
        reject_unread_space(invocation.overrides, [settled])
    invocation = replace(invocation, choices=settle_choices(settled, invocation.choices))
    own: Any = HydraConfig.instance().cfg
    return ComposedRun(settled, invocation, composed, own)


def compose_parts(words: Sequence[str], keys: Iterable[str]) -> dict[str, Any]:
    """Return parts of the configuration composed from words, as plain values; missing values are ``???``.

    Parameters
    ----------
    words : sequence of str
        Overrides.
    keys : iterable of str
        Top-level keys of the configuration that have parts.

    Raises
    ------
    UserError
        A word is invalid, or refers to a missing value.
    """
    with open_engine() as engine:
        composed = engine.compose_config(ROOT_NAME, list(words), RunMode.RUN)
        with open_dict(composed):
            del composed["hydra"]
        values = _resolve_values(composed, throw_on_missing=False)
        return {key: expand_references(values[key]) for key in keys}


@contextmanager
def run_folder(run: ComposedRun) -> Iterator[None]:
    """Write the folder of a run as Hydra does, and set up the log and the current folder for the block.

    The recorded composition is readable by the current user only.

    Raises
    ------
    UserError
        The folder cannot be written.
    """
    own = run.own.hydra
    folder = Path(own.runtime.output_dir)
    files = {"config.yaml": run.composed, "hydra.yaml": run.own, "overrides.yaml": own.overrides.task}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        configure_log(own.job_logging, own.verbose)
        for name, content in files.items() if own.output_subdir is not None else ():
            file = folder / own.output_subdir / name
            require_output_folder(file.parent, "hydra.run.dir")
            file.parent.mkdir(parents=True, exist_ok=True)
            write_private(file, OmegaConf.to_yaml(content))
    except OSError as error:
        raise UserError(f"the folder of the run, {str(folder)!r}, cannot be written: {error.strerror}.") from None
    with chdir(folder) if own.job.chdir else nullcontext():
        yield


@contextmanager
def own_hydra_state() -> Iterator[None]:
    """Run a block with a separate Hydra state, and restore the state of the calling program afterwards.

    Hydra keeps its state in global objects. A program may use Hydra itself, and call bakeoff from
    the function that Hydra runs.
    """
    kinds: tuple[type, ...] = (GlobalHydra, HydraConfig, JobRuntime, VersionBase)
    theirs = {kind: Singleton._instances.pop(kind) for kind in kinds if kind in Singleton._instances}
    resolvers = dict(BaseContainer._resolvers)
    try:
        yield
    finally:
        for kind in kinds:
            Singleton._instances.pop(kind, None)
        Singleton._instances.update(theirs)
        BaseContainer._resolvers = resolvers


DEFAULT_SPACE_KEY = "default_space"
MEMBERS_KEY = "estimators"
MEMBER_KEYS = ("estimator", "final_estimator")
"""The parameters of scikit-learn's ensembles that are learners; `MEMBERS_KEY` is a list of them."""
SIMPLER_KEY = "simpler"
"""The only key of a space that is not a parameter: it declares which values are simpler."""
DEFAULT_SELECT = "best"
RESOLVER = "oc.env"
RESOLVED = re.compile(
    r"(trust|search|space|default_space|figures|on_error|on_invalid|exclude|pruning\.method|tuning\.space|"
    r"threshold\.metric|tracking\.experiment|evaluation\.(metrics|costs|train_metrics))([.\[]|$)"
)
"""Keys whose texts are not secret: those used here, and the names of choices and runs."""
CELLS = re.compile(r"dataset\.(query|parameters|ordered)([.\[]|$)")
"""Keys whose texts become cells, which are stored."""


def resolve_config(composed: DictConfig) -> dict[str, Any]:
    """Return a composed configuration as plain dicts and lists, with its interpolations resolved.

    Texts keep references to environment variables.

    Values under ``space``, including those from a file chosen by ``space=NAME``, replace the learner's default space.

    Raises
    ------
    OmegaConfBaseException
        A mandatory value is missing, or an interpolation refers to itself or to a key that does not exist.
    UserError
        A key is unused, or a value contains a secret.
    """
    if DEFAULT_SPACE_KEY in composed and not composed.get("space"):
        with read_write(composed):  # a copy would be slower than all other steps
            composed.space = f"${{{DEFAULT_SPACE_KEY}}}"
    if isinstance(composed.get("learner"), DictConfig):
        _insert_members(composed.learner)
    spec = _resolve_values(composed)
    check_keys(composed)
    tuning: Any = spec.get("tuning")
    searches = isinstance(tuning, dict) and "space" in tuning
    # Values under space replace the default space, but not the order of its parameters, which is not a parameter.
    spaces = [tuning["space"] if searches else None, spec.get("space"), spec.get(DEFAULT_SPACE_KEY)]
    found = [space.pop(SIMPLER_KEY) for space in spaces if isinstance(space, dict) and SIMPLER_KEY in space]
    # The default is not recorded, so hashes are the same as before there was a choice.
    if searches and tuning.get("select") == DEFAULT_SELECT:
        del tuning["select"]
    elif searches and "select" in tuning and found:
        tuning[SIMPLER_KEY] = found[0]
    return {str(key): value for key, value in spec.items() if key != DEFAULT_SPACE_KEY}


def _insert_members(learner: DictConfig) -> None:
    """Replace names of learners among the parameters of a learner, such as the members of a vote, by their options."""
    given: Any = OmegaConf.to_container(learner, resolve=False)
    with read_write(learner), open_dict(learner):
        if isinstance(given.get(MEMBERS_KEY), list):
            members = [_make_member(item) for item in given[MEMBERS_KEY]]
            names = [str(name) for name, *_ in members]
            # Options that occur several times are numbered, because scikit-learn needs distinct names.
            learner[MEMBERS_KEY] = [
                [f"{name}_{names[:place].count(name) + 1}" if names.count(name) > 1 else name, *further]
                for place, (name, *further) in enumerate(members)
            ]
        for key in MEMBER_KEYS:
            if isinstance(given.get(key), str | dict) and TARGET_KEY not in given[key]:
                learner[key] = _make_member(given[key])[1]


def _make_member(item: Any) -> Any:
    """Return the name and the keys of an option of ``learner``, as in ``knn`` or ``{knn: {n_neighbors: 3}}``."""
    if isinstance(item, list) and len(item) == 2 and isinstance(item[1], dict):
        return item
    name, further = next(iter(item.items())) if isinstance(item, dict) and len(item) == 1 else (item, {})
    if not isinstance(name, str) or not isinstance(further, dict):
        raise UserError(
            f"learner: {item!r} must be the name of a learner, such as knn, or a name with values, such as "
            "{knn: {n_neighbors: 3}}."
        )
    keys = read_option("learner", name)
    if not keys:
        names = [*read_options("learner"), *list_own_names("learner")]
        raise UserError(f"learner={name} is not an option. {did_you_mean(name, names)}")
    return [name, {**keys, **further}]


def _resolve_values(composed: DictConfig, *, throw_on_missing: bool = True) -> dict[str, Any]:
    """Return a composed configuration as plain dicts and lists.

    Texts contain ``${oc.env:NAME}`` instead of the value of an environment variable; numbers and Booleans, which affect
    results, are resolved.
    """
    read: list[str] = []

    def record_variable(*arguments: Any) -> Any:
        read.append(str(arguments[0]))
        return oc.env(*arguments)

    try:
        register_resolver(RESOLVER, record_variable, replace=True)
        values: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=throw_on_missing)
        if read:
            register_resolver(
                RESOLVER,
                lambda name, *default: f"${{oc.env:{name}}}" if name in os.environ else oc.env(name, *default),
                replace=True,
            )
            _keep_references(values, composed)
    finally:
        register_resolver(RESOLVER, oc.env, replace=True)
    for path, value in walk(values):
        if isinstance(value, int) and abs(value) >= 2**63:
            raise UserError(
                f"{name_key(path)}={value} must be a number of at most 64 bits; write '\"{value}\"' if it is text."
            )
        if isinstance(value, str) and find_secrets(value):
            raise UserError(
                f"{name_key(path)} contains a password or a signature, which would be stored with the run; write "
                "${oc.env:NAME} in its place, and export the environment variable NAME."
            )
        if isinstance(value, str) and CELLS.match(name_key(path)) and REFERENCE.search(value):
            raise UserError(
                f"{name_key(path)}={value!r} would store the value of an environment variable with the cells; write "
                "the value itself, in a query as :NAME with dataset.parameters={NAME: VALUE}."
            )
    return values


def _keep_references(values: dict[str, Any], composed: DictConfig) -> None:
    """Restore references in the texts of resolved values, as in the composed configuration."""
    for path, node in walk(values):
        if isinstance(node, dict | list):
            for name, child in node.items() if isinstance(node, dict) else enumerate(node):
                if isinstance(child, str) and name != TARGET_KEY:
                    node[name] = _keep_text(child, composed, (*path, name))


def _keep_text(text: str, composed: DictConfig, path: tuple[Any, ...]) -> str:
    """Return a text with references, unless it is used here or is the name of a choice."""
    key = name_key(path)
    if RESOLVED.match(key) or text == MISSING:
        if hide_secrets(text) != text:
            raise UserError(f"{key} is stored with the run, but contains the value of a secret; leave it out.")
        return text
    try:
        kept = reduce(getitem, path, composed)
    except (OmegaConfBaseException, TypeError):
        kept = None
    if not isinstance(kept, str) or expand_references(kept) != text:
        raise UserError(
            f"{key} contains the value of an environment variable, which would be stored with the run; write "
            "${oc.env:NAME} in place of the value, and export the variable NAME with this value."
        )
    return kept


def check_keys(composed: DictConfig) -> None:
    """Reject a composed configuration with an unused key or without a mandatory value.

    A user-defined key is used if an interpolation refers to it, as in ``+k=3 learner.n_neighbors=${k}``.

    Parameters
    ----------
    composed : DictConfig

    Raises
    ------
    UserError
    """
    unknown = [str(key) for key in composed if key not in KEYS]
    text = OmegaConf.to_yaml(composed) if unknown else ""
    unused = [key for key in unknown if not re.search(rf"\$\{{{re.escape(key)}[}}.\[]", text)]
    if unused:
        raise UnknownKeys(*(f"{key} is not a key. {suggest_key(key, composed)}" for key in unused))
