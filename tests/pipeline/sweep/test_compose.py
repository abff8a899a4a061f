"""Jobs whose words differ in integers alone have the configurations that Hydra composes from their words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from hydra.types import RunMode

from bakeoff.pipeline.config.compose_job import compose_job, own_hydra_state
from bakeoff.pipeline.config.engine import ROOT_NAME, ConfigSource, open_engine
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.config.words import SWEEP_WORD
from bakeoff.pipeline.sweep.compose import Composer
from bakeoff.pipeline.sweep.jobs import INVALID


@pytest.fixture(scope="module")
def composer() -> Iterator[Composer]:
    with own_hydra_state(), open_engine() as engine:
        master = engine.compose_config(ROOT_NAME, [SWEEP_WORD], RunMode.MULTIRUN, with_log_configuration=True)
        yield Composer(engine.config_loader, master)


@pytest.mark.parametrize(
    ("jobs", "n_patterns"),
    [
        # The seed is referred to by learners.
        ([["learner=knn", "seed=4", "learner.n_neighbors=3"], ["learner=knn", "seed=-7", "learner.n_neighbors=9"]], 1),
        ([["learner=svm", "learner.C=0.5"], ["learner=svm", "learner.C=007"], ["learner=svm", "learner.C=2"]], 1),
        ([["tuning=default", "tuning.n=2", "+k=3", "learner.max_depth=${k}"]], 1),
        # A reference to a whole part leads to its integers.
        ([["tuning=default", f"space.max_depth={n}"] for n in (3, 4)], 1),
        # Hydra composes what refers through another reference.
        ([[f"+k.k={n}", "+a=${k}", "learner.max_depth=${a.k}"] for n in (2, 3)], 0),
        # An integer within a text, and one that another value is chosen by, are composed by Hydra.
        ([["seed=2", "experiment=none", "tracking.experiment=e${seed}"]], 0),
        ([["seed=1", "learner=knn", "learner.n_neighbors='${oc.select:a${seed},7}'"]], 0),
    ],
)
def test_integers_are_set_where_hydra_sets_them(composer: Composer, jobs: list[list[str]], n_patterns: int) -> None:
    composer._patterns.clear()
    for words in jobs:
        found = settle_config(composer.compose(words)[0])
        with own_hydra_state():
            expected = compose_job(words).spec
        assert repr(found) == repr(expected)
    assert len([pattern for pattern in composer._patterns.values() if pattern is not None]) == n_patterns


def test_an_integer_of_more_than_64_bits_is_refused_in_every_job(composer: Composer) -> None:
    for number in ("3", str(2**63)):
        job = composer.compose_job(0, ["learner=knn", f"learner.n_neighbors={number}"], ())
    assert (job.state, "at most 64 bits" in job.reason) == (INVALID, True)


def test_a_number_of_the_wrong_kind_is_refused_as_hydra_refuses_it(composer: Composer) -> None:
    for word in ("seed=1", "seed=1.0"):
        job = composer.compose_job(0, [word], ("seed",))
    assert (job.state, "must be a whole number" in job.reason) == (INVALID, True)


NAMED = [
    [f"learner={learner}", f"dataset={name}"] for learner in ("majority", "svm", "knn") for name in ("iris", "cars")
]


@pytest.mark.parametrize(
    ("jobs", "n_composed"),
    [
        # One of these learners has no default space.
        (NAMED, 1),
        ([["tuning=default", "tracking=none"], ["tuning=none", "tracking=mlflow"]], 1),
        # Hydra composes options that consist of several files, or set several keys.
        ([["preprocessing=pca"], ["preprocessing=none"]], 2),
        ([["dataset=iris"], ["dataset=file", "dataset.path=x.csv", "dataset.target=y"], ["dataset=wine"]], 3),
        ([["experiment=none"], ["experiment=kernels"]], 2),
    ],
)
def test_options_are_exchanged_where_only_their_own_keys_differ(
    composer: Composer, jobs: list[list[str]], n_composed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = Mock(wraps=composer.loader.load_sweep_config)
    monkeypatch.setattr(composer.loader, "load_sweep_config", compose)
    monkeypatch.setattr(composer.loader, "_composed", {})
    for words in jobs:
        job = composer.compose_job(0, words, ())
        with own_hydra_state():
            expected = compose_job(words)
        assert repr(job.spec) == repr(expected.spec)
        assert job.invocation.choices == expected.invocation.choices
    assert compose.call_count == n_composed


@pytest.mark.parametrize(
    ("root", "files", "datasets", "part", "expected"),
    [
        (
            "mine",
            {
                "mine.yaml": "defaults: [config, {optional space@doctor.more: '${learner}_${dataset}'}, _self_]",
                "space/knn_wine.yaml": "marked: [1, 2]",
            },
            ("iris", "wine"),
            "doctor",
            [False, True],
        ),
        # The option of an earlier job has set a key of another part.
        (
            "config",
            {
                "dataset/iris_more.yaml": "# @package _global_\n"
                "dataset: {_target_: bakeoff.pipeline.stages.dataset.load_bundled, name: iris}\n"
                "audit: {more: 1}",
            },
            ("iris_more", "wine"),
            "audit",
            [True, False],
        ),
    ],
)
def test_an_option_on_which_a_file_of_the_user_depends_is_not_exchanged(
    tmp_path: Path, root: str, files: dict[str, str], datasets: tuple[str, ...], part: str, expected: list[bool]
) -> None:
    for file, text in files.items():
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with own_hydra_state(), open_engine(ConfigSource(folder=str(tmp_path), root=root)) as engine:
        master = engine.compose_config(root, [SWEEP_WORD], RunMode.MULTIRUN, with_log_configuration=True)
        composer = Composer(engine.config_loader, master)
        specs = [composer.compose(["learner=knn", f"dataset={name}"])[0] for name in datasets]
    assert ["more" in spec[part] for spec in specs] == expected
