"""Three parallel trees agree: a learner's row in the registry, its YAML in conf/learner, its space in conf/space."""

from __future__ import annotations

import inspect
import re
import sys
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from doubles import composed
from omegaconf import OmegaConf
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils._param_validation import validate_parameter_constraints

from bakeoff import learners
from bakeoff.learners import PRESETS, REGISTRY
from bakeoff.pipeline.checks.learner import check_parameters
from bakeoff.pipeline.config.build import EXTRAS, build_object
from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.options import CONF, GROUPS, read_options
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.stages.tuning.candidates import require_order

YAMLS = sorted(file.stem for file in (CONF / "learner").glob("*.yaml"))
BASELINES = [name for name in YAMLS if name.removeprefix("sklearn_") in set(REGISTRY) - {name}]
"""scikit-learn's counterparts of learners of ours."""
ADDITIONS = sorted(set(YAMLS) - set(REGISTRY) - set(PRESETS) - set(BASELINES))
"""Learners of other libraries that have no counterpart here."""
ENSEMBLES = {f"sklearn_{name}{task}" for name in ("voting", "stacking") for task in ("", "_regressor")}
FLOORS = {"majority", "mean", "sklearn_majority", "sklearn_mean", *ENSEMBLES}
"""They have nothing to choose, or only what their members have."""
DEPARTURES = {
    "sklearn_adaboost": {"estimator"},
    "sklearn_adaboost_regressor": {"estimator"},
    "sklearn_gaussian_process": {"kernel"},
    "sklearn_gaussian_process_regressor": {"kernel", "normalize_y"},
    "sklearn_qda": {"shrinkage", "solver"},
    "sklearn_stacking": {"estimators", "final_estimator"},
    "sklearn_stacking_regressor": {"estimators", "final_estimator"},
    "sklearn_voting": {"estimators", "voting"},
    "sklearn_voting_regressor": {"estimators"},
}
"""Parameters whose value in the YAML is not the library's default; a comment there says why."""
SPACES = sorted(file.stem for file in (CONF / "space").glob("*.yaml"))


def spec(name: str) -> dict[str, Any]:
    """Return the learner's part of the composed configuration."""
    return deepcopy(_compose_learner(name))


@cache
def _compose_learner(name: str) -> dict[str, Any]:
    return dict(resolve_config(composed(f"learner={name}", "seed=3"))["learner"])


def learner(name: str) -> BaseEstimator:
    made: BaseEstimator = build_object(spec(name), "learner", [])
    return made


def defaults(target: type) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(target).parameters.items()}


def test_every_row_has_a_yaml_and_every_yaml_of_ours_a_row() -> None:
    assert sorted(REGISTRY) == [name for name in YAMLS if name not in (*BASELINES, *ADDITIONS, *PRESETS)]
    assert {name.split("_")[0] for name in ADDITIONS} == {"sklearn"}


def test_every_class_is_exported_and_there_once() -> None:
    classes = list(REGISTRY.values())
    assert len(set(classes)) == len(classes)
    assert {cls.__name__ for cls in classes} <= set(learners.__all__)


@pytest.mark.parametrize("cls", REGISTRY.values())
def test_the_defaults_of_a_learner_are_valid(cls: type[BaseEstimator]) -> None:
    validate_parameter_constraints(cls._parameter_constraints, defaults(cls), caller_name=cls.__name__)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_yaml_of_ours_names_the_class_and_each_parameter_with_its_default(name: str) -> None:
    given, expected = spec(name), defaults(REGISTRY[name])
    assert given.pop("_target_") == f"bakeoff.learners.{REGISTRY[name].__name__}"
    if "random_state" in expected:
        expected["random_state"] = 3  # the one seed
    as_yaml = OmegaConf.to_container(OmegaConf.create({key: _plain(value) for key, value in expected.items()}))
    assert given == as_yaml


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_names_a_class_of_the_registry_and_each_parameter_with_a_value_that_holds(name: str) -> None:
    given = spec(name)
    assert PRESETS[name] in REGISTRY.values()
    assert name not in REGISTRY
    assert given.pop("_target_") == f"bakeoff.learners.{PRESETS[name].__name__}"
    assert given.keys() == defaults(PRESETS[name]).keys()
    check_parameters(learner(name), "learner")
    assert given != {key: _plain(value) for key, value in defaults(PRESETS[name]).items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", YAMLS)
def test_every_yaml_builds_a_learner_whose_parameters_hold(name: str) -> None:
    made = learner(name)
    check_parameters(made, "learner")
    assert clone(made).get_params().keys() == made.get_params().keys()


@pytest.mark.parametrize("name", REGISTRY)
def test_every_learner_of_ours_has_its_counterpart_with_the_parameters_that_both_have(name: str) -> None:
    given = spec(f"sklearn_{name}")
    theirs = type(learner(f"sklearn_{name}"))
    shared = set(defaults(REGISTRY[name])) & set(defaults(theirs))
    assert shared <= set(given)


@pytest.mark.parametrize("name", ADDITIONS)
def test_an_addition_has_the_defaults_of_its_library_and_one_seed(name: str) -> None:
    given = spec(name)
    expected = defaults(type(learner(name)))
    home = "bakeoff" if name.split("_")[0] in EXTRAS else "sklearn"
    assert given.pop("_target_").split(".")[0] == home
    assert given.pop("random_state", 3) == 3
    assert ("random_state" in expected) <= ("random_state" in spec(name))
    differing = {parameter for parameter, value in given.items() if value != expected[parameter]}
    assert differing == DEPARTURES.get(name, set())


def opening(cls: type) -> list[str]:
    """Return how the learner's own file opens, then those of the learners that it is made of."""
    modules = dict.fromkeys(base.__module__ for base in cls.__mro__ if base.__module__.startswith("bakeoff.learners."))
    return [
        inspect.getdoc(sys.modules[module]) or "" for module in modules if module != "bakeoff.learners.base.estimator"
    ]


@pytest.mark.parametrize("name", REGISTRY)
def test_a_learner_opens_with_a_sentence_an_equation_its_cost_and_the_reference(name: str) -> None:
    own, *_ = openings = opening(REGISTRY[name])
    assert re.match(r"(k|[A-Z]).{20,}", own)
    text = "\n".join(openings)
    assert re.search(r"^    .*[=≤←]", text, flags=re.MULTILINE), "no equation"
    assert re.search(r"Cost.*O\(", text, flags=re.DOTALL)
    assert re.search(r"O\([^)]*\bm", text), "no cost of m query rows"
    assert re.search(r"References?(: |\n-+\n).*\b(19|20)\d\d\b", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_learner_shows_itself_at_work_and_names_shapes(name: str) -> None:
    cls = REGISTRY[name]
    assert ">>> " in (inspect.getdoc(cls) or "")
    assert "Attributes\n---" in (inspect.getdoc(cls) or "")
    public = [member for member, _ in inspect.getmembers(cls, inspect.isfunction) if not member.startswith("_")]
    ours = [member for member in public if getattr(cls, member).__module__.startswith("bakeoff.learners.")]
    assert {"fit", "predict"} <= set(ours)
    for member in ours:
        text = inspect.getdoc(getattr(cls, member)) or ""
        assert text, member
        assert member.startswith("get_") or re.search(r"shape|ndarray|`fit`|see `", text), member
    for parameter in defaults(cls):
        assert re.search(rf"\b{parameter}\b", inspect.getdoc(cls) or ""), parameter


def test_every_learner_that_has_something_to_choose_has_a_space() -> None:
    assert set(SPACES) == set(YAMLS) - FLOORS


@pytest.mark.parametrize("name", SPACES)
def test_a_space_names_parameters_that_exist_and_values_that_hold(name: str) -> None:
    space: Any = OmegaConf.to_container(OmegaConf.load(CONF / "space" / f"{name}.yaml"))
    made = learner(name)
    simpler = space.pop("simpler", {})
    assert set(simpler) <= set(space)
    # The candidates of a string or a choice have no order.
    assert simpler or name == "sklearn_lda"
    if simpler:
        require_order([space], simpler, folds=5)
    for grid in GridTuning(space).grids:
        for candidate in ParameterGrid(dict(grid)):
            check_parameters(clone(made).set_params(**candidate), "space")


@pytest.mark.parametrize("group", GROUPS)
def test_every_option_is_listed_with_its_sentence(group: str) -> None:
    listed = read_options(group)
    assert list(listed) == sorted(file.stem for file in (CONF / group).glob("*.yaml"))
    assert all(listed.values())


def test_every_folder_of_options_is_listed() -> None:
    assert {folder.name for folder in CONF.iterdir() if folder.is_dir()} - {"hydra"} == set(GROUPS)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
