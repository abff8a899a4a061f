"""What bakeoff needs of Hydra's private modules: a version that differs fails here, and names what has changed."""

from __future__ import annotations

import inspect

import pytest
from hydra._internal.callbacks import Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser

METHODS = {
    (ConfigLoaderImpl, "load_configuration"): (
        "config_name", "overrides", "run_mode", "from_shell", "validate_sweep_overrides",
    ),
    (ConfigLoaderImpl, "load_sweep_config"): ("master_config", "sweep_overrides"),
    (ConfigLoaderImpl, "compute_defaults_list"): ("config_name", "overrides", "run_mode"),
    (ConfigLoaderImpl, "_apply_overrides_to_config"): ("overrides", "cfg"),
    (CachingConfigRepository, "load_config"): ("config_path",),
    (Hydra, "compose_config"): (
        "config_name", "overrides", "run_mode", "with_log_configuration", "from_shell", "validate_sweep_overrides",
    ),
    (Hydra, "show_cfg"): ("config_name", "overrides", "cfg_type", "package", "resolve"),
}  # fmt: skip
"""Methods that are called or replaced, with their parameters."""
FLAGS = ("multirun", "cfg", "package", "resolve", "config_path", "config_name", "config_dir", "experimental_rerun")


@pytest.mark.parametrize(("owner", "name"), METHODS, ids=lambda part: getattr(part, "__name__", part))
def test_methods_have_the_parameters_that_are_given(owner: type, name: str) -> None:
    parameters = [parameter for parameter in inspect.signature(getattr(owner, name)).parameters if parameter != "self"]
    assert tuple(parameters) == METHODS[owner, name]


def test_flags_and_callbacks_are_there() -> None:
    arguments = get_args_parser().parse_args(["learner=knn"])
    assert arguments.overrides == ["learner=knn"]
    assert all(hasattr(arguments, flag) for flag in FLAGS)
    assert Callbacks().callbacks == []
    assert create_config_search_path("/tmp").get_path()
