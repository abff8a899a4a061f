"""From Hydra's and OmegaConf's exceptions to sentences that name the key and the nearest valid name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError

from bakeoff.pipeline.config.own_options import explain_yaml_error
from bakeoff.pipeline.errors import UserError, did_you_mean

UNDELETED = "Could not delete from config."
"""How Hydra's message begins if a key that is to be deleted does not exist."""
SEARCH_PATH = "\nConfig search path"
"""How the lines of Hydra's messages begin that list folders."""
DATASET_GROUP = "dataset"
LISTS_OF_OWN = {"metric": "evaluation.metrics", "figure": "figures"}
"""Groups of the user's options alone -> the key whose list takes their names."""


def explain_error(error: Exception) -> UserError:
    """Translate an exception that was raised while a configuration was composed.

    Parameters
    ----------
    error : Exception
        Of Hydra or OmegaConf; a `UserError` is returned unchanged.

    Returns
    -------
    UserError
    """
    if isinstance(error, UserError):
        return error
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        return _explain_option(str(error.missing_cfg_file), error.options)
    if isinstance(error, YAMLError):
        return UserError(explain_yaml_error(error))
    if isinstance(error, OverrideParseException):
        first_line = str(error).splitlines()[0]
        return UserError(f"{first_line}: it must be KEY=VALUE, with special characters of VALUE in quotes.")
    if str(error).startswith(f"{UNDELETED} 'space."):
        return UserError(
            "~space.PARAMETER has nothing to leave out, because no space is written; write the parameters to search, "
            "as in space.PARAMETER=[1,2], or leave one out of the default space with ~default_space.PARAMETER."
        )
    # Hydra wraps OmegaConf's exceptions, and only the wrapped one knows the key.
    cause = error.__cause__
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and isinstance(cause.parent_node, DictConfig):
        known = [str(key) for key in cause.parent_node if key != "_target_"]
        return UserError(f"{cause.full_key} is not a key. {did_you_mean(str(cause.key), known)}")
    if isinstance(cause, OmegaConfBaseException):
        return UserError(f"{cause.full_key}: {str(cause).splitlines()[0]}.")
    message = str(error).split(SEARCH_PATH)[0]
    of_list = re.match(rf"Could not override '({'|'.join(LISTS_OF_OWN)})'", message)
    if of_list is not None:
        group = of_list[1]
        return UserError(f"{group}= is not a key; name your {group} in the list {LISTS_OF_OWN[group]}=[NAME].")
    return UserError(" ".join(message.split()))


def _explain_option(given: str, options: Sequence[str]) -> UserError:
    """Name the nearest option of a group, or the keys of a file that was given in place of one."""
    group, _, option = given.partition("/")
    is_file = group == DATASET_GROUP and (Path(option).suffix or Path(option).is_file())
    if is_file:
        return UserError(
            f"{group}={option} is not an option; a file is given by dataset=file dataset.path={option} "
            "dataset.target=COLUMN."
        )
    group, _, option = given.rpartition("/")
    return UserError(f"{group}={option} is not an option. {did_you_mean(option, options)}")
