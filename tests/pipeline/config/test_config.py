"""Configuration: open choices are settled, targets are trusted or rejected, and errors name the key and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from doubles import Recorder, composed
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier

from bakeoff.learners import DecisionTreeClassifier, MajorityClassifier, NaiveBayesClassifier
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.compose_job import compose_job, own_hydra_state, resolve_config
from bakeoff.pipeline.config.engine import open_engine
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.config.settle import NULL_PARTS, settle_choices, settle_config, to_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.pruning import METHODS, Pruning
from bakeoff.pipeline.tracking.description import PARTS

NO_PRUNING = {"_target_": "bakeoff.pipeline.stages.pruning.NoPruning"}
PRUNABLE, FIXED = {"_target_": "doubles.Recorder"}, {"_target_": "bakeoff.learners.MajorityClassifier"}
NONE, GRID = (
    {"_target_": "bakeoff.pipeline.stages.tuning.NoTuning"},
    {"_target_": "bakeoff.pipeline.stages.tuning.GridTuning", "space": {"mark": [1]}},
)


def spec(
    learner: Mapping[str, Any] = PRUNABLE, pruning: str = "none", tuning: Mapping[str, Any] = NONE, **evaluation: Any
) -> dict[str, Any]:
    return {
        "dataset": {"_target_": "bakeoff.pipeline.stages.dataset.load_bundled", "name": "iris"},
        "preprocessing": {"_target_": "bakeoff.pipeline.stages.preprocessing.make_preprocessing"},
        "learner": dict(learner),
        "space": {"mark": [1]},
        "tuning": dict(tuning),
        "pruning": NO_PRUNING if pruning == "none" else {"method": pruning},
        **{part: {"_target_": target} for part, target in NULL_PARTS.items()},
        "evaluation": {"_target_": "bakeoff.pipeline.stages.splitting.KFold", "validation": None, **evaluation},
        "audit": {"_target_": "bakeoff.pipeline.audit.NoAudit"},
        "tracking": {"_target_": "bakeoff.pipeline.tracking.NoTracker"},
        "seed": 0,
        "trust": ["doubles"],
    }


# Members of ensembles


def compose_learner(*words: str) -> dict[str, Any]:
    """Return the learner's part of a composed configuration."""
    return dict(resolve_config(composed(*words))["learner"])


def test_an_ensemble_names_learners_whose_options_become_its_members() -> None:
    words = ("learner=sklearn_voting", "learner.estimators=[random_forest,{knn: {n_neighbors: 1}},knn]", "seed=3")
    members = compose_learner(*words)["estimators"]
    assert [name for name, _ in members] == ["random_forest", "knn_1", "knn_2"]
    forest = compose_learner("learner=random_forest", "seed=3")
    one, five = (compose_learner("learner=knn", f"learner.n_neighbors={k}", "seed=3") for k in (1, 5))
    assert [node for _, node in members] == [forest, one, five]


def test_a_vote_of_options_predicts_as_the_one_that_is_made_of_their_classes() -> None:
    X, y = load_iris(return_X_y=True)
    words = ("learner=sklearn_voting", "learner.estimators=[naive_bayes,decision_tree]", "seed=3")
    vote = build_object(compose_learner(*words), "learner", [])
    members = [("a", NaiveBayesClassifier()), ("b", DecisionTreeClassifier(random_state=3))]
    expected = VotingClassifier(members, voting="soft").fit(X, y).predict_proba(X)
    assert np.array_equal(vote.fit(X, y).predict_proba(X), expected)


# Open choices


@pytest.mark.parametrize(
    ("learner", "validation", "expected"),
    [
        (PRUNABLE, 0.2, "best_first"),
        (PRUNABLE, None, None),
        (PRUNABLE, 0, None),
        ({**PRUNABLE, "pruning_confidence": None}, 0.2, "best_first"),
        ({**PRUNABLE, "pruning_confidence": 0.25}, 0.2, None),
        (FIXED, 0.2, None),
        ({}, 0.2, None),
    ],
)
def test_auto_prunes_what_can_be_pruned_where_there_are_rows(learner: Any, validation: Any, expected: Any) -> None:
    settled = settle_config(spec(learner, "auto", validation=validation))
    assert settled["pruning"].get("method") == expected
    name = "NoPruning" if expected is None else "Pruning"
    assert settled["pruning"]["_target_"] == f"bakeoff.pipeline.stages.pruning.{name}"
    assert settled["evaluation"]["validation"] == (validation or 0)


@pytest.mark.parametrize(
    ("pruning", "tuning", "validation", "folds"),
    [
        ("none", NONE, 0, None),
        ("best_first", NONE, 0.2, None),
        ("bottom_up", NONE, 0.2, None),
        ("pessimistic", NONE, 0, None),
        ("none", GRID, 0.2, 0),
        ("pessimistic", GRID, 0.2, 0),
        ("best_first", GRID, 0.2, 5),
        ("none", GRID | {"folds": 3}, 0, 3),
        ("best_first", GRID | {"folds": 3}, 0.2, 3),
        ("best_first", GRID | {"folds": 0}, 0.2, 0),  # preflight rejects it
    ],
)
def test_rows_and_inner_folds_follow_from_what_chooses(
    pruning: str, tuning: Any, validation: float, folds: Any
) -> None:
    settled = settle_config(spec(pruning=pruning, tuning=tuning))
    assert settled["evaluation"]["validation"] == validation
    assert settled["tuning"].get("folds") == folds


def test_settle_and_the_stage_agree_on_who_needs_rows() -> None:
    for method in METHODS:
        needs = settle_config(spec(pruning=method))["evaluation"]["validation"] > 0
        assert needs == Pruning(method).needs_rows


def test_what_is_given_is_kept_and_the_argument_too() -> None:
    given = spec(pruning="best_first", tuning=GRID, validation=0.3)
    before = to_yaml(given)
    settled = settle_config(given)
    assert settled["evaluation"]["validation"] == 0.3
    assert "space" not in settled
    assert to_yaml(given) == before
    assert settle_config(settled) == settled


@pytest.mark.parametrize("part", [*PARTS, *NULL_PARTS, "audit"])
def test_a_part_that_is_not_there_is_refused(part: str) -> None:
    with pytest.raises(UserError, match=f"{part} must be set to an option: add {part}=NAME"):
        settle_config(spec() | {part: None})


# Building


def test_build_gives_what_is_described_with_plain_lists() -> None:
    node = {"_target_": "bakeoff.learners.MajorityClassifier", "categorical_features": ["a"]}
    learner = build_object(node, "learner", [])
    assert type(learner) is MajorityClassifier
    assert type(learner.categorical_features) is list


def test_what_has_no_target_or_holds_one_that_is_not_trusted_is_refused() -> None:
    with pytest.raises(UserError, match="learner has no _target_: choose an option with learner=NAME"):
        build_object({}, "learner", [])
    node = {"_target_": "bakeoff.learners.MajorityClassifier", "categorical_features": [PRUNABLE]}
    with pytest.raises(UserError, match=r"learner.categorical_features\[0\]._target_='doubles.Recorder' is outside"):
        build_object(node, "learner", [])


def test_trust_admits_a_package() -> None:
    assert isinstance(build_object({"_target_": "doubles.Recorder", "mark": 2}, "learner", ["doubles"]), Recorder)


def test_a_value_that_looks_like_an_interpolation_stays_text() -> None:
    values = ["${oc.decode:HOME}", "${oc.create:{_target_: os.getcwd}}"]
    node = {"_target_": "bakeoff.learners.MajorityClassifier", "class_order": values}
    assert build_object(node, "learner", []).class_order == values


def test_all_classes_are_checked_before_the_first_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(Recorder, "__init__", lambda self, **given: called.append(given))
    inner = {"_target_": "doubles.Recorder"}
    for outer in ({"_target_": "doubles.Lost"}, {"_target_": "sklearn.preprocessing.StandardScaler"}, {"wrong": 1}):
        with pytest.raises(UserError):
            build_object({"_target_": "sklearn.svm.SVC", "kernel": inner, **outer}, "learner", ["doubles"])
    assert called == []


# Resolving and recording


def test_a_record_can_be_read_again() -> None:
    settled = settle_config(spec(pruning="best_first"))
    assert OmegaConf.to_container(OmegaConf.create(to_yaml(settled))) == settled


# Hydra


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("dataset=data/a.csv", r"dataset=data/a.csv is not an option; .*dataset=file dataset.path=data/a.csv"),
        ("trust=os", "^trust: Invalid value"),
    ],
)
def test_what_no_option_and_no_list_can_be_is_refused(word: str, message: str) -> None:
    with own_hydra_state(), pytest.raises(UserError, match=message):
        compose_job([word])


def test_words_have_the_letters_of_all_languages_while_bakeoff_composes() -> None:
    parse = OverridesParser.create().parse_override
    with open_engine():
        assert parse("dataset.target=größe").value() == "größe"
    # A program that uses Hydra itself has Hydra's own parser.
    with pytest.raises(HydraException):
        parse("dataset.target=größe")


OWN_FILE = {"_target_": "bakeoff.pipeline.stages.dataset.read_table", "path": "my.csv", "target": "y"}
STEP = {"_target_": "sklearn.preprocessing.PowerTransformer", "method": "box-cox"}
NOT_GIVEN: dict[str, Any] = {"_target_": None, "numeric": [], "nominal": [], "ordered": None}
MAKE: dict[str, Any] = {
    "_target_": "bakeoff.pipeline.stages.preprocessing.make_preprocessing", "numeric": [], "nominal": []
}  # fmt: skip
AUTO = {
    "_target_": "bakeoff.pipeline.stages.preprocessing.AutoPreprocessing", "max_values": 100, "max_terms": 100
}  # fmt: skip


@pytest.mark.parametrize(
    ("dataset", "given", "node", "option"),
    [
        (OWN_FILE, NOT_GIVEN, AUTO, "auto"),
        ({"_target_": "doubles.load", "name": "iris"}, NOT_GIVEN, AUTO, "auto"),
        (spec()["dataset"], NOT_GIVEN, MAKE, "none"),
        (OWN_FILE, NOT_GIVEN | {"then": [STEP]}, MAKE | {"then": [STEP]}, "custom"),
        (OWN_FILE, NOT_GIVEN | STEP, STEP, "custom"),
        (OWN_FILE, MAKE | {"text": [], "ordered": None}, MAKE, "none"),
    ],
    ids=["file", "function of the user", "bundled", "steps", "a transformer", "none for a file"],
)
def test_preprocessing_that_is_not_chosen_is_auto_where_columns_are_inferred(
    dataset: dict[str, Any], given: dict[str, Any], node: dict[str, Any], option: str
) -> None:
    settled = settle_config(spec() | {"dataset": dataset, "preprocessing": given})
    assert settled["preprocessing"] == node
    chosen = {"preprocessing": "none" if "text" in given else "None", "learner": "knn"}
    assert settle_choices(settled, chosen) == {"preprocessing": option, "learner": "knn"}


# The space: what is written replaces the default

DEFAULT_SPACE: Any = OmegaConf.to_container(OmegaConf.load(CONF / "space" / "knn.yaml"))
del DEFAULT_SPACE["simpler"]


@pytest.mark.parametrize("tuning", ["grid", "default"])
def test_what_is_written_under_space_replaces_the_default_space(tuning: str) -> None:
    def searched(*words: str) -> Any:
        spec = resolve_config(composed("learner=knn", f"tuning={tuning}", *words))
        assert spec["tuning"]["space"] == spec["space"]
        assert "default_space" not in spec
        return spec["space"]

    assert searched() == DEFAULT_SPACE
    assert searched("space.n_neighbors=[1,5]") == {"n_neighbors": [1, 5]}
    assert searched("space.n_neighbors=[1,5]", "+space.p=[1,2]") == {"n_neighbors": [1, 5], "p": [1, 2]}
    # A parameter that the default space does not have needs no plus sign.
    assert searched("space.leaf_size=[2,30]") == {"leaf_size": [2, 30]}
    assert searched("~default_space.metric") == {
        name: values for name, values in DEFAULT_SPACE.items() if name != "metric"
    }


def test_a_space_that_is_chosen_by_name_is_changed_by_what_is_written() -> None:
    spec = resolve_config(composed("learner=sklearn_knn", "space=knn", "space.metric=[hamming]", "tuning=grid"))
    assert spec["tuning"]["space"] == {**DEFAULT_SPACE, "metric": ["hamming"]}


def test_values_and_keys_in_letters_of_any_language_are_read() -> None:
    words = [
        "dataset=file",
        "dataset.path=haus.csv",
        "dataset.target=Straße",
        "dataset.units={Wohnfläche: m²,Preis: €}",
    ]
    dataset = composed(*words, "dataset.keep=[Größe,'Länge (cm)']")["dataset"]
    assert dataset["target"] == "Straße"
    assert dataset["units"] == {"Wohnfläche": "m²", "Preis": "€"}
    assert dataset["keep"] == ["Größe", "Länge (cm)"]


@pytest.mark.parametrize(
    ("given", "simpler"),
    [([], "greater"), (["space.n_neighbors=[1,3]", "space.simpler={n_neighbors: smaller}"], "smaller")],
)
def test_what_is_simpler_is_a_part_of_tuning_if_the_choice_depends_on_it(given: list[str], simpler: str) -> None:
    words = ["dataset=iris", "learner=knn", "tuning=grid", *given]
    with own_hydra_state():
        plain, cautious = compose_job(words).spec, compose_job([*words, "tuning.select=one_standard_error"]).spec
    assert not {"select", "simpler"} & set(plain["tuning"])
    assert cautious["tuning"]["simpler"] == {"n_neighbors": simpler}
    assert "simpler" not in cautious["tuning"]["space"]
