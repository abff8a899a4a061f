"""From Hydra's and OmegaConf's exceptions to sentences that name the key and the nearest valid name."""

from __future__ import annotations

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from bakeoff.pipeline.errors import UserError, did_you_mean

UNDELETED = "Could not delete from config."
"""How Hydra's message begins if a key that is to be deleted does not exist."""


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
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        return UserError(f"{group}={option} is not an option. {did_you_mean(option, error.options)}")
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
    return UserError(" ".join(str(error).split()))
