"""The JSON Schema for editors: it accepts each shipped file, and underlines what is misspelled."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
import yaml
from command import Bakeoff
from jsonschema import Draft7Validator

from bakeoff.pipeline.commands.init.json_schema import make_schema
from bakeoff.pipeline.config.engine import Schema
from bakeoff.pipeline.config.options import CONF, list_own_names
from bakeoff.version import PACKAGE_FOLDER

ROOT = PACKAGE_FOLDER.parent
OF_OTHER_PROGRAMS = {"from_hydra", "course"}
EXAMPLES = [file for file in (ROOT / "examples").rglob("*.yaml") if OF_OTHER_PROGRAMS.isdisjoint(file.parts)]
SHIPPED = [*sorted(CONF.rglob("*.yaml")), *sorted(EXAMPLES)]
KNN = "_target_: bakeoff.learners.KNeighborsClassifier\n"
TREE = "_target_: bakeoff.learners.DecisionTreeClassifier\n"
FILE = "defaults: [file, _self_]\npath: my.csv\ntarget: y\n"
TYPOS = [
    # options
    "defaults:\n  - override /learner: knnn",
    "defaults:\n  - override /lerner: knn",
    "defaults:\n  - override /dataset: irs",
    "defaults:\n  - evaluation: kfolds",
    "figures: [rocc]",
    "figures: rocks",
    # keys
    "sead: 3",
    "lerner: {n_neighbors: 3}",
    "learner: {n_neighbours: 3}",
    "evaluation: {fold: 10}",
    "dataset: {separater: semicolon}",
    "tracking: {modles: false}",
    "space: {n_neighbours: [1, 3]}",
    "preprocessing: {numerics: []}",
    "search: {methods: grid}",
    "hydra: {sweap: {dir: x}}",
    f"{KNN}n_neighbours: 3",
    f"{FILE}nominl: [a]",
    f"{FILE}decimals: comma",
    # classes
    "_target_: bakeoff.learners.KNeighborsClasifier",
    "learner: {_target_: bakeoff.learners.KNearest}",
    "_target_: bakeoff.pipeline.stages.preprocessing.make_preprocessing\n"
    "numeric: [{_target_: sklearn.impute.SimpleImputer, stratgy: median}]",
    # types
    "seed: one",
    "resume: maybe",
    "trust: mine",
    f"{KNN}n_neighbors: many",
    f"{KNN}metric: euclidian",
    f"{FILE}strip: perhaps",
    "evaluation: {folds: ten}",
    f"{TREE}average_gain: often",
    # ranges
    "seed: -1",
    "workers: 0",
    "timeout: 10 min",
    "budget: soon",
    "on_error: stopp",
    "learner: {n_neighbors: 0}",
    "learner: {C: -1.0}",
    f"{KNN}leaf_size: 0",
    f"{KNN}n_neighbors: 2.5",
    f"{TREE}pruning_confidence: 0.7",
    f"{TREE}criterion: ginni",
]
VALID = [
    "learner: {_target_: mine.learners.Mine, gamma: 1}",
    "_target_: mine.learners.Mine\ngamma: 1",
    f"{FILE}units: {{size: kg}}\nnominal: [a]",
    "learner: {n_neighbors: 3, weights: distance}\nspace: {n_neighbors: [1, 3]}",
    "tuning: {budget: 10m}\ntimeout: 2h\nbudget: 30m\nseed: 3",
    "learner: {C: .inf}",
    "learner: {n_neighbors: '${oc.env:K}'}",
    "figures: [roc, {learning_curve: {sizes: [0.5, 1]}}]",
    "defaults:\n  - override /dataset: iris\n  - override /hydra/sweeper: optuna\n  - _self_",
]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    made = make_schema()
    Draft7Validator.check_schema(made)
    return made


def is_valid(text: str, schema: dict[str, Any]) -> bool:
    return bool(Draft7Validator(schema).is_valid(yaml.safe_load(text) or {}))


def test_each_shipped_file_is_valid(schema: dict[str, Any]) -> None:
    assert len(SHIPPED) > 150
    assert [str(file) for file in SHIPPED if not is_valid(file.read_text(), schema)] == []


def test_typos_are_underlined_and_their_corrections_are_not(schema: dict[str, Any]) -> None:
    assert len(TYPOS) > 30
    assert [text for text in TYPOS if is_valid(text, schema)] == []
    assert [text for text in VALID if not is_valid(text, schema)] == []


def test_the_keys_of_an_experiment_are_those_of_its_schema(schema: dict[str, Any]) -> None:
    keys = schema["definitions"]["experiment"]["properties"]
    assert {*keys} == {field.name for field in fields(Schema)} | {"defaults", "hydra"}
    assert keys["seed"]["description"] == "the source of all randomness"


def test_a_key_has_its_comment_or_the_sentence_of_its_class(schema: dict[str, Any]) -> None:
    learner = schema["definitions"]["bakeoff.learners.KNeighborsClassifier"]["properties"]
    assert learner["n_neighbors"]["description"] == "an integer from 1; with sample weights, a sum of weights"
    assert {"type": "integer", "minimum": 1} in learner["n_neighbors"]["anyOf"]
    figure = schema["definitions"]["figure_arguments"]["properties"]["importances"]["properties"]
    assert "repeats" in figure
    assert figure["file"]["description"]


def test_the_options_of_a_project_are_known_and_its_code_is_not_run(bakeoff: Bakeoff) -> None:
    learners = bakeoff.folder / "conf" / "learner"
    learners.mkdir(parents=True)
    (learners / "mine.yaml").write_text("_target_: mine.Mine\ngamma: 1.0  # the width\n")
    (bakeoff.folder / "mine.py").write_text("raise SystemExit")
    assert bakeoff("schema", "output=bakeoff.schema.json").status == 0
    assert list_own_names("learner") == ["mine"]
    written = json.loads((bakeoff.folder / "bakeoff.schema.json").read_text(), parse_constant=pytest.fail)
    assert is_valid("defaults:\n  - override /learner: mine\nlearner: {gamma: 2}", written)
    assert not is_valid("learner: {gama: 2}", written)
    assert json.loads(bakeoff("schema").out) == written
