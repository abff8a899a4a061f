"""Hydra's engine, as used by every command: files are checked before Hydra composes them, and its errors are explained.

Hydra configures its log and creates callbacks and folders as soon as it has composed a configuration, before it calls
any function of the program. Only this module imports private modules of Hydra. Exceptions of Hydra and OmegaConf become
sentences that name the key, the word, and the nearest valid name.
"""

from __future__ import annotations

import os
import pickle
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, final

import hydra
import omegaconf
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, IConfigRepository
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser import overrides_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, MissingConfigException, OverrideParseException
from hydra.types import HydraContext, RunMode
from hydra.utils import get_class
from omegaconf import BooleanNode, Container, DictConfig, IntegerNode, Node, OmegaConf, ValueNode, open_dict
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    ConfigTypeError,
    GrammarParseError,
    InterpolationKeyError,
    InterpolationResolutionError,
    MissingMandatoryValue,
    OmegaConfBaseException,
    ValidationError,
)
from omegaconf.resolvers import oc

from bakeoff.pipeline.config.options import (
    CONF,
    GROUPS,
    ROOT_FILE,
    SUFFIX,
    find_own_folder,
    list_own_names,
    load_option_file,
    read_notes,
    read_options,
    require_own_names,
)
from bakeoff.pipeline.config.targets import TARGET_KEY
from bakeoff.pipeline.config.trust import leave_out_current_folder, require_allowed_files, require_own_classes
from bakeoff.pipeline.errors import StoreError, UnknownKeys, UserError, did_you_mean, first_line
from bakeoff.pipeline.text.wording import MISSING_VALUE, name_first

JOB_NAME = "bakeoff"
ROOT_NAME = "config"
VERSION_BASE = "1.3"
SCHEMA_GROUP = "schema"
IS_OLD_OMEGACONF = omegaconf.__version__.startswith("2.3.")
register_resolver: Callable[..., None] = (
    OmegaConf.register_new_resolver if IS_OLD_OMEGACONF else OmegaConf.register_resolver
)
"""The function has this name since OmegaConf 2.4; in 2.3 it is that of another function."""
SEARCH_PATH_KEY = "hydra.searchpath"
FILE_SCHEME = "file://"
STRUCTURED_SCHEME = "structured://"
make_flag_parser = get_args_parser
"""Returns Hydra's parser of the flags of a command line."""


def _decode_text(text: str, _parent_: Container, _node_: Node) -> Any:
    """Return what ``oc.decode`` does; ``???`` remains text, as in OmegaConf 2.3, although 2.4 would refuse it."""
    value = oc.decode(text, _parent_, _node_)
    return f"\\{value}" if value == MISSING_VALUE else value


if not IS_OLD_OMEGACONF:
    register_resolver("oc.decode", _decode_text, replace=True)


@dataclass
class Schema:
    """Types and defaults of the top-level keys; each part checks its own keys in its constructor."""

    dataset: Any = None
    preprocessing: Any = None
    learner: Any = None
    space: Any = field(default_factory=dict)
    default_space: Any = None
    tuning: Any = None
    pruning: Any = None
    balance: Any = None
    target: Any = None
    calibration: Any = None
    threshold: Any = None
    evaluation: Any = None
    audit: Any = None
    tracking: Any = None
    search: Any = None
    seed: int = 0
    n_jobs: int = 1
    max_folds: int = 100_000
    max_candidates: int = 1_000_000
    figures: Any = field(default_factory=list)  # a list, or one name; `settle_figures` checks it
    doctor: Any = field(default_factory=dict)  # findings that are accepted, which has no effect on the run
    trust: list[str] = field(default_factory=list)
    resume: bool = True
    workers: int = 1
    timeout: Any = None  # a duration, which `read_duration` checks
    budget: Any = None  # a duration as well
    on_error: str = "continue"
    on_invalid: str = "stop"
    dry_run: bool = False
    exclude: Any = field(default_factory=list)  # a list of mappings, which `SweepOptions` checks
    max_jobs: int = 100_000


KEYS = tuple(field.name for field in fields(Schema))
KEYS_OF_FILES = (*KEYS, "defaults", "hydra")
HYDRA_GROUPS = "hydra/"


@dataclass
class PlanningSweeperSchema:
    """The keys of ``hydra.sweeper`` for plain sweeps: further overrides, as in Hydra's own sweeper."""

    _target_: str = "bakeoff.pipeline.sweep.plugin.PlanningSweeper"
    params: Any = None  # a mapping, or a list of mappings, which `read_grids` checks


@dataclass
class OptunaSweeperSchema:
    """The types of the keys in ``conf/hydra/sweeper/optuna.yaml``."""

    _target_: str = "bakeoff.pipeline.commands.search.command.OptunaSweeper"
    sampler: dict[str, Any] = field(default_factory=dict)
    pruner: dict[str, Any] = field(default_factory=dict)
    n_trials: int = 20
    objectives: Any = None
    storage: str | None = None
    params: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ConfigSource:
    """The files from which a configuration is composed.

    Attributes
    ----------
    root_folder : str
        The folder of the root file; empty for the one shipped with bakeoff.
    root : str
        The name of the root file.
    folder : str or None
        A folder with user-defined options, in addition to those of the root folder.
    """

    root_folder: str = ""
    root: str = ROOT_NAME
    folder: str | None = None


SHIPPED_FILES = ConfigSource()


@contextmanager
def open_engine(source: ConfigSource = SHIPPED_FILES) -> Iterator[Any]:
    """Provide Hydra's engine to a block whose errors are explained, and restore the previous one afterwards.

    Parameters
    ----------
    source : ConfigSource

    Raises
    ------
    UserError
        A folder of files does not exist, an option in it has the name of a built-in one, or Hydra would interpolate the
        name of the current folder and write elsewhere. Any error of the block but `StoreError` becomes one.
    """
    from hydra import version
    from hydra._internal.hydra import Hydra
    from hydra.core.config_search_path import SearchPathQuery
    from hydra.core.global_hydra import GlobalHydra
    from hydra.initialize import get_gh_backup, restore_gh_from_backup

    if "${" in os.getcwd():
        raise UserError(f"{os.getcwd()} has ${{ in its name, which Hydra would interpolate; rename the folder.")
    for folder in filter(None, (source.root_folder, source.folder)):
        if not os.path.isdir(folder):
            raise UserError(f"{folder}: this folder of options does not exist.")
    leave_out_current_folder()
    register_schema()
    backup = get_gh_backup()
    if hydra.__version__.startswith(VERSION_BASE):  # later versions have no other behaviour to choose
        version.setbase(VERSION_BASE)
    search_path = create_config_search_path(source.root_folder or str(CONF))
    before_schemas = SearchPathQuery(provider="schema")  # Hydra requires that they come last
    for provider, own_folder in (("own options", find_own_folder()), ("command-line", source.folder)):
        if own_folder is not None:
            require_own_names(Path(own_folder))
            search_path.prepend(provider, f"{FILE_SCHEME}{os.path.abspath(own_folder)}", before_schemas)
    engine = Hydra(JOB_NAME, GuardedLoader(search_path))
    GlobalHydra.instance().initialize(engine)
    try:
        with accept_all_letters():
            yield engine
    except StoreError:
        raise
    except Exception as error:
        raise explain_error(error) from None
    finally:
        restore_gh_from_backup(backup)


PARSER: Any = overrides_parser
"""Hydra's module, whose lexer accepts only ASCII letters."""
OPEN_ASCII_WORD = PARSER.InputStream


@contextmanager
def accept_all_letters() -> Iterator[None]:
    """Let Hydra's lexer accept the letters of all languages while a block runs."""
    theirs = PARSER.InputStream
    PARSER.InputStream = _open_word
    try:
        yield
    finally:
        PARSER.InputStream = theirs


def _open_word(word: str) -> Any:
    """Return an override for Hydra's lexer, which takes characters beyond ASCII, such as ä and €, for the letter x."""
    stream = OPEN_ASCII_WORD(word)
    stream.data = [code if chr(code).isascii() else ord("x") for code in stream.data]
    return stream


def register_schema() -> None:
    """Register with Hydra the schemas and the resolver of the names of folders."""
    schema = OmegaConf.structured(Schema)
    # The parameters of a space are not known here, so they can be given without a plus sign.
    OmegaConf.set_struct(schema.space, False)
    store = ConfigStore.instance()
    if SCHEMA_GROUP not in store.repo:
        store.store(group=SCHEMA_GROUP, name="bakeoff", node=schema)
        store.store(group=SCHEMA_GROUP, name="study", node=OptunaSweeperSchema)
        store.store(group="hydra/sweeper", name="bakeoff", node=PlanningSweeperSchema)
    register_resolver("bakeoff.token", lambda: secrets.token_hex(2), use_cache=True, replace=True)


def make_context(engine: Any) -> HydraContext:
    """Return the context of an engine for Hydra's launchers; bakeoff has no callbacks."""
    from hydra._internal.callbacks import Callbacks

    return HydraContext(engine.config_loader, Callbacks())


def make_named_part(node: DictConfig) -> Any:
    """Return the sweeper or the launcher that a configuration names, whose class `trust` has checked."""
    settings: Any = OmegaConf.to_container(node, resolve=True)
    return get_class(settings.pop(TARGET_KEY))(**settings)


def set_values(composed: DictConfig, values: list[Override]) -> None:
    """Set values in a configuration, like overrides on the command line.

    Raises
    ------
    UserError
        A word cannot be applied; words whose keys are unknown are all named.
    """
    unknown: list[str] = []
    for word in values:
        try:
            ConfigLoaderImpl._apply_overrides_to_config([word], composed)
        except ConfigCompositionException as error:
            if word.is_delete():
                key = word.key_or_group
                raise UserError(
                    f"{word.input_line}: there is no key {key} with this value to remove; leave this word out."
                ) from None
            fault = explain_error(error)
            if not isinstance(fault, UnknownKeys):
                raise fault from None
            unknown += fault.faults
    if unknown:
        raise UnknownKeys(*unknown)


class OptionsOfJob(NamedTuple):
    """What the options of a job compose, without the values of its other words.

    Attributes
    ----------
    words : sequence of str
        The words that choose the options.
    packed : bytes
        The pickled configuration.
    choices : mapping of str to str
        The chosen option of each group.
    shared : set of str
        The keys that several files set.
    """

    words: Sequence[str]
    packed: bytes
    choices: Mapping[str, str]
    shared: Set[str]


@final
class GuardedLoader(ConfigLoaderImpl):
    """Hydra's loader, restricted to files accepted by `read_files` and `require_allowed_files`."""

    repository: Any

    def __init__(self, search_path: Any) -> None:
        super().__init__(search_path)
        self._composed: dict[tuple[str, ...], OptionsOfJob] = {}
        self._defaults: list[ResultDefault] = []

    def compose_options(self, master: DictConfig, words: Sequence[str]) -> OptionsOfJob:
        """Compose the options of a job, by Hydra or, in a tenth of its time, by exchanging those of an earlier job.

        Parameters
        ----------
        master : DictConfig
            The configuration of the sweep.
        words : sequence of str
            The words that choose the options.
        """
        groups = tuple(word.partition("=")[0] for word in words)
        earlier = self._composed.get(groups)
        if earlier and (exchanged := self._exchange_options(earlier, words)):
            return exchanged
        composed = self.load_sweep_config(master, list(words))
        choices = {str(group): str(option) for group, option in composed.hydra.runtime.choices.items()}
        # The settings of Hydra are large, and no job needs them.
        with open_dict(composed):
            del composed["hydra"]
        options = OptionsOfJob(words, pickle.dumps(composed), choices, self._find_shared_keys(composed))
        self._composed[groups] = options
        return options

    def _compose_config_from_defaults_list(self, defaults: list[ResultDefault], repo: IConfigRepository) -> DictConfig:
        self._defaults = defaults
        return super()._compose_config_from_defaults_list(defaults, repo)

    def _find_shared_keys(self, composed: DictConfig) -> Set[str]:
        """Return the keys that several files set; all if the user's files name others, or set keys of other parts."""
        files = [(default, self.repository.load_config(str(default.config_path))) for default in self._defaults]
        own = [file for _, file in files if not _is_shipped(file.provider, file.path)]
        if any(file.defaults_list or file.header["package"] for file in own):
            return {str(key) for key in composed}
        counts = Counter(key for each in files if not each[1].is_schema_source for key in _place_file(*each)[1])
        return {key for key, count in counts.items() if count > 1}

    def _exchange_options(self, job: OptionsOfJob, words: Sequence[str]) -> OptionsOfJob | None:
        """Return a job with the options of other words; None unless each of them is a shipped file for one key."""
        if words == job.words:
            return job
        tree: DictConfig = pickle.loads(job.packed)
        choices = dict(job.choices)
        for group, _, option in (word.partition("=") for word in words if word not in job.words):
            choices[group] = option
            parts = {group: self.repository.load_config(f"{group}/{option}")}
            if group == "learner":  # the root file names a space after it
                choices["space@default_space"] = option
                parts["default_space"] = self.repository.load_config(f"space/{option}")
            for key, file in parts.items():
                is_plain = file is not None and _is_shipped(file.provider, file.path) and not file.defaults_list
                is_missing = file is None and key != group
                if key in job.shared or key not in tree or not (is_plain or is_missing):
                    return None
                tree[key] = file and file.config
        return job._replace(packed=pickle.dumps(tree), choices=choices)

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Check the files, compose them with Hydra's loader, and check the classes that Hydra would create.

        Raises
        ------
        UserError
            A file contains a setting that only the command may contain, or a word adds to the search path.
        """
        for word in overrides:
            if SEARCH_PATH_KEY in word:
                raise UserError(f"{word}: {SEARCH_PATH_KEY} is not supported; set the folder with --config-dir=FOLDER.")
        if config_name is None:  # as for --hydra-help: Hydra runs nothing
            return super().load_configuration(None, overrides, run_mode, from_shell, validate_sweep_overrides)
        try:
            require_allowed_files(self.read_files(config_name, overrides, run_mode), overrides)
            composed = super().load_configuration(
                config_name, overrides, run_mode, from_shell, validate_sweep_overrides
            )
        except ConfigCompositionException:
            self._require_possible(config_name, overrides, run_mode)
            raise
        except RecursionError:
            file = f"{self.repository.newest}{SUFFIX}"
            raise UserError(
                f"{file}: its defaults lead back to this file; remove that entry from its list `defaults`."
            ) from None
        hydra: Any = OmegaConf.to_container(composed.hydra, resolve=False)
        require_own_classes(hydra)
        return composed

    def _require_possible(self, root: str, words: list[str], run_mode: RunMode) -> None:
        """Reject words that Hydra rejects, and unknown keys of a file or of the words, all at once."""
        parsed = OverridesParser.create(config_loader=self).parse_overrides(words)
        for word in parsed:
            given, key = word.input_line, word.key_or_group
            if word.is_sweep_override() and run_mode == RunMode.RUN:
                raise UserError(f"{given} gives one key several values; add -m to sweep over them.")
            if key == EXPERIMENT:
                names: Any = word.value()
                for name in names if isinstance(names, list) else [names]:
                    path = f"{EXPERIMENT}/{name}"
                    experiment = self.repository.load_config(path)
                    if experiment is not None and experiment.header.get("package") != "_global_":
                        raise UserError(
                            f"{path}{SUFFIX}: an experiment must begin with the line `# @package _global_`, before any "
                            "other comment, because it sets keys of the whole configuration."
                        )
            if key in GROUPS:
                if word.is_add() or word.is_force_add():
                    raise UserError(f"{key} has an option already; replace it with {key}=NAME, without a plus sign.")
            elif not key.startswith(HYDRA_GROUPS) and (
                word.package is not None or "/" in key or self.repository.group_exists(key)
            ):
                raise UserError(f"{given}: {key} is not a group of options; `bakeoff list` shows them.")
        for file, content in self.read_files(root, words, run_mode):
            unknown = [str(key) for key in content if key not in KEYS_OF_FILES]
            if unknown:
                raise UserError(
                    f"{file}: {name_first(unknown)} {'is not a key' if len(unknown) == 1 else 'are not keys'}; "
                    "`bakeoff --cfg job` shows them, nested as in `learner: {n_neighbors: 3}`."
                )
        values = [word for word in parsed if not self.repository.group_exists(word.key_or_group)]
        choices = [str(word.input_line) for word in parsed if word not in values]
        set_values(super().load_configuration(root, choices, run_mode), values)

    def read_files(self, root: str, words: list[str], run_mode: RunMode) -> list[tuple[str, Mapping[Any, Any]]]:
        """Return the names and contents of the user's files in the composition, each placed at its keys."""
        path = self.get_search_path().get_path()
        if all(_is_shipped(str(each.provider), str(each.path)) for each in path):
            return []
        # Each file is read once, so that Hydra composes exactly the checked content.
        if not isinstance(self.repository, ConfigFiles):
            self.repository = ConfigFiles(self.repository)
        # Hydra imports the packages of the search path before it composes anything.
        loaded = self.repository.load_config(root)
        if loaded is not None and OmegaConf.select(loaded.config, SEARCH_PATH_KEY) is not None:
            raise UserError(f"{root}: {SEARCH_PATH_KEY} is not supported; set the folder with --config-dir=FOLDER.")
        defaults = self.compute_defaults_list(root, words, run_mode).defaults
        files = [(default, self.repository.load_config(str(default.config_path))) for default in defaults]
        return [_place_file(default, file) for default, file in files if not _is_shipped(file.provider, file.path)]


def _is_shipped(provider: str, folder: str) -> bool:
    """Return whether a folder is shipped with bakeoff or Hydra."""
    folder = folder.removeprefix(FILE_SCHEME)
    is_of_hydra = provider == "hydra" or folder.startswith(STRUCTURED_SCHEME)
    return is_of_hydra or os.path.realpath(folder) == os.path.realpath(CONF)


def _place_file(default: ResultDefault, file: Any) -> tuple[str, Mapping[Any, Any]]:
    """Return the name of a file of the defaults list, and its content from the root of the configuration."""
    name = os.path.relpath(f"{file.path.removeprefix(FILE_SCHEME)}/{default.config_path}.yaml")
    placed = OmegaConf.create()
    package = file.header["package"] if default.package is None else default.package
    if package:
        OmegaConf.update(placed, package, file.config, merge=False)
    content: Any = OmegaConf.to_container(placed if package else file.config, resolve=False)
    return name, content


@final
class ConfigFiles(CachingConfigRepository):
    """Hydra's repository of configuration files, with a cache that is shared by all jobs.

    Hydra's own cache lasts for a single composition, because only a copy of the repository is filled.

    Parameters
    ----------
    delegate : IConfigRepository
        The repository that reads the files.
    """

    def __init__(self, delegate: IConfigRepository) -> None:
        super().__init__(delegate)
        self._packed: dict[str, bytes] = {}
        self.newest = ""

    def __deepcopy__(self, memo: dict[int, Any]) -> ConfigFiles:
        """Return the same object, so that compositions share the cache."""
        return self

    def load_config(self, config_path: str) -> Any:
        """Return a copy of a file's content, because Hydra modifies it; None if there is no such file.

        Raises
        ------
        UserError
            `load_option_file` refuses the file.
        """
        self.newest = config_path
        if config_path not in self._packed:
            name = f"{config_path.removesuffix(SUFFIX)}{SUFFIX}"
            sources = [source for source in self.get_sources() if source.is_config(config_path)]
            files = {Path(source.path, name).resolve() for source in sources if source.scheme() == "file"}
            if len(files) > 1:
                listed = " and ".join(sorted(map(os.path.relpath, files)))
                raise UserError(f"{listed} have the same name; rename one of them.")
            for file in files:
                load_option_file(file)
            self._packed[config_path] = pickle.dumps(self.delegate.load_config(config_path=config_path))
        return pickle.loads(self._packed[config_path])


NEEDS: Mapping[type, str] = {IntegerNode: "a whole number", BooleanNode: "true or false"}
"""Kind of value in `Schema` -> what it must be."""
DATASET_PREFIX = "dataset/"
EXPERIMENT = "experiment"
TARGET = "target"


def explain_error(error: Exception) -> UserError:
    """Translate an exception that was raised while a configuration was composed.

    Parameters
    ----------
    error : Exception
        An exception of Hydra or OmegaConf; a `UserError` is returned unchanged.

    Returns
    -------
    UserError
    """
    # Hydra wraps the errors of the classes that it creates, such as a launcher.
    for each in (error, error.__cause__):
        if isinstance(each, UserError):
            return each
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return UserError(_explain_missing_option(error))
    if isinstance(error, OverrideParseException):
        return UserError(_explain_unread_word(error))
    # Hydra wraps OmegaConf's exceptions, and only the wrapped one contains the key.
    is_wrapped = isinstance(error.__context__, OmegaConfBaseException) and not isinstance(error, OmegaConfBaseException)
    cause = error.__context__ if is_wrapped else error
    found = re.match(r"In '(.*?)': ", str(error))
    file = f"{found[1]}{SUFFIX}: " if found else ""
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and isinstance(cause.parent_node, DictConfig):
        return UnknownKeys(f"{cause.full_key} is not a key. {suggest_key(str(cause.key), cause.parent_node)}")
    if isinstance(cause, MissingMandatoryValue):
        return UserError(f"{cause.full_key} must be given: add {cause.full_key}=VALUE.")
    reason = _find_reason(cause)
    key = getattr(cause, "full_key", None)
    if note := read_notes([CONF / ROOT_FILE]).get(str(key)):
        reason += f" ({note})"
    return UserError(f"{file}{key}: {reason}." if key else f"{file}{reason}.")


def _find_reason(cause: Any) -> str:
    """Return what is wrong with a value or a file, by the type of the exception."""
    message = first_line(cause).rpartition("': ")[2].rstrip(".")
    if isinstance(cause, GrammarParseError):
        return "a reference is written ${KEY}"
    if isinstance(cause, InterpolationKeyError):
        return f"{message}; `bakeoff --cfg job` shows the keys"
    if isinstance(cause, InterpolationResolutionError):
        found = message.rpartition(": ")[2].strip('"')
        return f"{found}; export the variable, or give the key a value"
    if isinstance(cause, ConfigTypeError):
        return "the value must be a list or a mapping, as in the default"
    if isinstance(cause, ConfigCompositionException):
        return f"{message}; an entry of `defaults` that replaces an option is written `- override /GROUP: NAME`"
    if isinstance(cause, ValidationError) and isinstance(cause.child_node, ValueNode):
        if cause.value is None:
            return "null is not allowed; give a value, or leave the key out"
        if need := NEEDS.get(type(cause.child_node)):
            return f"{str(cause.value)!r} must be {need}"
    return message


def _explain_unread_word(error: OverrideParseException) -> str:
    """Return a sentence on a word that Hydra's grammar rejects."""
    # The parser's own messages list grammar tokens; those of Hydra's functions name the error.
    reason = " ".join(str(error).split()).partition(" See http")[0]
    detail = f": {reason}" if "function" in reason else ""
    given, _, text = str(error.override).partition("=")
    return (
        f"{error.override!r} cannot be read{detail}; write KEY=VALUE, several values with commas and no spaces, as in "
        "KEY=A,B, and text with spaces or special characters in two pairs of quotation marks, as in "
        f"'{given}=\"{text or 'TEXT'}\"'."
    )


OTHER_NAMES: Mapping[str, str] = {
    "algorithm": "learner",
    "classifier": "learner",
    "cv": "evaluation (evaluation=kfold evaluation.folds=5)",
    "data": "dataset",
    "estimator": "learner",
    "model": "learner",
    "n_splits": "evaluation.folds",
    "params": "learner.PARAMETER",
    "regressor": "learner",
    "scoring": "evaluation.metrics",
    "train": "dataset.path",
}
"""The names of keys in scikit-learn, SKLL, WEKA and many projects -> the key of bakeoff."""


def suggest_key(key: str, part: DictConfig) -> str:
    """Return a sentence with the keys of this name in the groups of a configuration, else with the nearest key.

    Parameters
    ----------
    key : str
    part : DictConfig
        A configuration, or a part of it, that lacks the key.
    """
    keys: Any = OmegaConf.to_container(part, resolve=False)
    if key in OTHER_NAMES and "learner" in keys:
        return f"Did you mean {OTHER_NAMES[key]}?"
    groups = {group: keys[group] for group in GROUPS if isinstance(keys.get(group), dict)}
    named = [f"{group}.{name}" for group in groups for name in (key, f"{key}s") if name in groups[group]]
    known = [str(name) for name in keys if name not in (key, "_target_")]
    return f"Did you mean {' or '.join(named)}?" if named else did_you_mean(key, known)


def _explain_missing_option(error: MissingConfigException) -> str:
    """Return a sentence with the nearest option of a group, or the keys of a file given in place of an option."""
    given = str(error.missing_cfg_file)
    path = given.removeprefix(DATASET_PREFIX)
    if path != given and Path(path).suffix:
        return f"dataset={path} is not an option; to read a file, use dataset=file dataset.path={path}."
    group, _, option = given.rpartition("/")
    cure = did_you_mean(option, error.options or [*read_options(group), *list_own_names(group)])
    if group == TARGET:
        cure += f" To predict a column, use dataset.target={option}."
    return f"{group or '--config-name'}={option} is not an option. {cure}"
