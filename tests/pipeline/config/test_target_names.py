"""What ``_target_`` may name without trust, compared with conf/ and the libraries, and where trust comes from."""

from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from sklearn import metrics, model_selection
from sklearn.utils.discovery import all_displays, all_estimators, all_functions

from bakeoff.pipeline.config.build import TRUE_VALUES, find_target
from bakeoff.pipeline.config.engine import Schema
from bakeoff.pipeline.config.options import CONF, DRAW_TREE, FIGURES
from bakeoff.pipeline.config.settle import NULL_PARTS
from bakeoff.pipeline.config.targets import OWN_MODULES, PLACED_KEYS, is_known, require_name, require_names
from bakeoff.pipeline.config.trust import OWN_PLUGINS, TRUST_VARIABLE, add_trust_of_environment, read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import provenance

FOREIGN = [
    "os.system", "builtins.eval", "subprocess.Popen", "hydra.utils.get_method", "hydra.utils.instantiate",
    "numpy.f2py.compile", "pandas.read_pickle", "joblib.load", "importlib.import_module", "mlflow.pyfunc.load_model",
    "pipeline.provenance._git", "pipeline.tracking.provenance._git", "learners.SVC.fit", "yaml.unsafe_load",
    "skops.io.load", "torch.nn.Module",
]  # fmt: skip
OURS_AND_PRIVATE = [
    "bakeoff.pipeline.sweep.launcher.slurm.LocalLauncher",
    "bakeoff.pipeline.tracking.provenance._git", "bakeoff.pipeline.cli.main.main", "bakeoff.run", "bakeoff.load",
    "bakeoff.pipeline.tracking.provenance.subprocess.run", "bakeoff.pipeline.x.subprocess.Popen",
    "bakeoff.pipeline.config.build.import_module", "bakeoff.pipeline.model.estimator_file.write_own_code",
    "bakeoff.learners.SVC.__init__", "bakeoff.learners.definitions.knn.predict", "bakeoff.learners.base.estimator.np",
    "bakeoff.pipeline.stages.dataset.read_file", "bakeoff.pipeline.sweep.compose.pickle.loads",
    "sklearn.utils._testing.assert_run_python_script_without_output", "sklearn.datasets.fetch_file",
    "sklearn.datasets.load_files", "sklearn.datasets._base._fetch_remote", "sklearn.utils.os.system",
    "sklearn.externals.array_api_compat.numpy.fromfile", "sklearn.svm._base.np.save", "sklearn.svm._classes.SVC",
    "sklearn.utils.discovery.all_estimators", "sklearn.base.clone", "sklearn.base.BaseEstimator.set_params",
    "sklearn.pipeline.make_pipeline", "sklearn.pipeline.Pipeline.from_estimators", "sklearn.metrics._scorer.x",
    "sklearn.show_versions", "sklearn.model_selection.ParameterGrid.x", "sklearn.linear_model._base.sp.io.loadmat",
    "imblearn.FunctionSampler", "imblearn.utils._show_versions.subprocess.Popen", "imblearn.datasets.fetch_datasets",
    "optuna.integration.SklearnStudy", "optuna.storages.RDBStorage", "optuna.samplers._base.np.load",
]  # fmt: skip
MISSPELLED = [
    " os.system", "os.system ", "sklearn.svm.SVC\n", "sklearn.svm .SVC", ".os.system", "..os.system", "os..system",
    "os.system()", "sklearn", "", "sklearn.svm.", "sklearn/svm/SVC", "sklearn.svm:SVC", "sklearn.svm.SVC;os.system",
    "bakeoff\u200b.learners.SVC", "__import__('os').system", 7, True, ["os.system"], {"a": 1},
]  # fmt: skip
LOOKALIKES = [
    "ѕklearn.svm.SVC",
    "ｓｋｌｅａｒｎ.svm.SVC",
    "sklearn.svm.SVС",
    "Sklearn.svm.SVC",
    "bakeoff\u200b.learners.SVC",
]


def iter_targets(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each ``_target_`` of a YAML file with its key."""
    if isinstance(node, Mapping):
        for name, child in node.items():
            inner = f"{key}.{name}" if key else str(name)
            if name == "_target_" and child is not None:
                yield inner, child
            yield from iter_targets(child, inner)
    elif isinstance(node, list):
        for position, child in enumerate(node):
            yield from iter_targets(child, f"{key}[{position}]")


def shipped() -> list[tuple[str, str]]:
    """Return the targets of all files in conf/, with the keys at which they stand in a configuration."""
    found = []
    for file in sorted(CONF.rglob("*.yaml")):
        group = file.relative_to(CONF).parts[0]
        node = yaml.safe_load(file.read_text())
        if group == "hydra":
            key = ".".join(file.relative_to(CONF).parts[:-1])
        else:
            key = "" if group in ("experiment", "config.yaml") else group
        found += list(iter_targets(node, key))
    return found


def public_name(found: Any) -> str:
    """Return the name of a class of scikit-learn under the public module around its private one."""
    parts = [part for part in found.__module__.split(".") if not part.startswith("_")]
    return f"{'.'.join(parts)}.{found.__name__}"


def is_metric(function: Any) -> bool:
    """Return whether a function of scikit-learn compares true with predicted values."""
    first = next(iter(inspect.signature(function).parameters), "")
    return first in TRUE_VALUES and function.__name__ in metrics.__all__


def test_what_the_shipped_files_name_needs_no_trust() -> None:
    named = [(key, target) for key, target in shipped() if not target.startswith(OWN_PLUGINS)]
    assert len(named) > 150
    assert [(key, target) for key, target in named if not is_known(target, key)] == []


def test_a_name_of_bakeoff_that_no_file_has_needs_trust() -> None:
    targets = {target for _, target in shipped()}
    for module, (group, keys) in OWN_MODULES.items():
        home = import_module(module)
        public = {f"{module}.{name}" for name in vars(home) if not name.startswith("_")}
        assert {name for name in public if is_known(name, keys[0])} == public & targets, group
    assert not is_known("bakeoff.pipeline.stages.splitting.Splitter", "evaluation._target_")


def test_figures_and_absent_parts_need_no_trust() -> None:
    figures = {f"bakeoff.pipeline.commands.figures.{class_name}" for class_name, _ in FIGURES.values()}
    assert all(is_known(name, "figures[0]._target_") for name in figures)
    assert all(is_known(name, f"{part}._target_") for part, name in NULL_PARTS.items())
    assert is_known(DRAW_TREE["_target_"], "figures[0].draw_tree._target_")


def test_every_key_of_the_schema_has_its_names() -> None:
    keys = {field.name for field in fields(Schema) if field.type == "Any"}
    assert "learner" in keys
    # Durations, excluded combinations and reasons for the doctor contain no parts.
    assert keys - {"timeout", "budget", "exclude", "doctor"} <= set(PLACED_KEYS)


@pytest.mark.parametrize(("name", "estimator"), all_estimators())
def test_each_estimator_of_scikit_learn_needs_no_trust(name: str, estimator: type) -> None:
    target = public_name(estimator)
    private_homes = {"hdbscan": "cluster", "gradient_boosting": "ensemble", "glm": "linear_model"}
    for home, public in private_homes.items():
        target = re.sub(rf"\.{public}\.{home}\.", f".{public}.", target)
    assert find_target(target, "tuning.space.x[0]._target_", []) is estimator


def test_splitters_and_kernels_of_scikit_learn_need_no_trust() -> None:
    splitters = [name for name in model_selection.__all__ if name.endswith(("Fold", "Split", "Out"))]
    kernel_names = ["RBF", "Matern", "WhiteKernel", "Sum", "Product", "DotProduct", "ExpSineSquared", "CompoundKernel"]
    targets = [f"sklearn.model_selection.{name}" for name in splitters]
    targets += [f"sklearn.gaussian_process.kernels.{name}" for name in kernel_names]
    targets.append("sklearn.compose.make_column_selector")
    assert len(splitters) > 10
    assert all(inspect.isclass(find_target(target, "learner.cv._target_", [])) for target in targets)


def test_metrics_of_scikit_learn_need_no_trust_as_metrics_alone() -> None:
    scores = [name for name in metrics.__all__ if name.endswith(("_score", "_loss", "_error"))]
    assert len(scores) > 35
    unlike = {"silhouette_score", "calinski_harabasz_score", "davies_bouldin_score", "consensus_score"}
    for name in set(scores) - unlike:
        target = f"sklearn.metrics.{name}"
        assert find_target(target, "evaluation.metrics[0]._target_", []) is getattr(metrics, name)
        with pytest.raises(UserError, match="is allowed only in evaluation"):
            require_name(target, "learner._target_", [])


@pytest.mark.parametrize("key", ["learner._target_", "evaluation.metrics[0]._target_", "dataset._target_"])
def test_displays_and_other_functions_of_scikit_learn_need_trust(key: str) -> None:
    others = [function for _, function in all_functions() if not is_metric(function)]
    others += [cls for _, cls in all_displays()]
    assert len(others) > 100
    for found in others:
        with pytest.raises(UserError):
            find_target(public_name(found), key, [])


@pytest.mark.parametrize("target", [*FOREIGN, *OURS_AND_PRIVATE, *LOOKALIKES])
@pytest.mark.parametrize("key", ["learner", "dataset", "preprocessing.then[0]", "evaluation.metrics[0]", "figures[0]"])
def test_a_name_that_is_not_in_the_list_is_refused(target: str, key: str) -> None:
    with pytest.raises(UserError, match=r"trust|Did you mean|Allowed|must be a dotted name") as refused:
        require_names({"_target_": target}, key, ["mine"])
    assert f"{key}._target_={target!r}" in str(refused.value)


@pytest.mark.parametrize("target", MISSPELLED)
def test_what_is_no_dotted_name_is_refused_whatever_is_trusted(target: Any) -> None:
    with pytest.raises(UserError, match="must be a dotted name"):
        require_names({"learner": {"_target_": target}}, "", ["os", "sklearn", "a", ""])


GRID_SEARCH = {
    "_target_": "sklearn.model_selection.GridSearchCV",
    "estimator": {"_target_": "sklearn.pipeline.Pipeline", "steps": []},
}
SEARCH_IN_A_MAPPING = {
    "_target_": "sklearn.model_selection.RandomizedSearchCV",
    "param_distributions": {"outer": {"inner": [{"a__b__memory": {"deep": ["cache"]}}]}},
}


@pytest.mark.parametrize(
    "spec",
    [
        {"tuning": {"space": {"memory": [None, "cache"]}}},
        {"tuning": {"space": [{"estimator__memory": ["cache"]}]}},
        {"figures": [{"variants": {"a": {"learner__memory": "cache"}}}]},
        {"learner": {**GRID_SEARCH, "param_grid": {"memory": ["cache"]}}},
        {"learner": {**GRID_SEARCH, "param_grid": [{"C": [1]}, {"pipe__memory": [None, "cache"]}]}},
        {"learner": {"_target_": "sklearn.pipeline.Pipeline", "steps": [["search", SEARCH_IN_A_MAPPING]]}},
    ],
)
def test_a_folder_of_pickles_is_no_parameter(spec: Any) -> None:
    with pytest.raises(UserError, match=r"would load Python objects from a folder.*trust=\[sklearn\]"):
        require_names(spec, "", ["mine"])
    require_names(spec, "", ["sklearn"])


@pytest.mark.parametrize(
    "spec",
    [
        {"learner": {"_target_": "mine.Network", "memory": "long"}},
        {"preprocessing": {"ordered": {"memory": ["small", "large"]}}},
        {"dataset": {"nominal": {"memory": ["a", "b"]}}},
        {"learner": {"_target_": "sklearn.pipeline.Pipeline", "memory": None}},
        {"learner": {**GRID_SEARCH, "param_grid": {"memory": [None], "memory_size": ["small"]}}},
        {"figures": [{"labels": {"memory": "Memory in GB"}}]},
    ],
)
def test_a_column_or_parameter_of_ones_own_may_have_that_name(spec: Any) -> None:
    require_names(spec, "", ["mine"])


def test_words_and_the_environment_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert add_trust_of_environment(["seed=1", "trust=[mine]"]) == ["trust=[mine]", "seed=1"]
    assert add_trust_of_environment(["trust=mine", "-m"]) == ["trust=[mine]", "-m"]
    monkeypatch.setenv(TRUST_VARIABLE, "theirs, mine")
    assert read_trust("[mine]") == read_trust(["mine"]) == ("mine", "theirs")
    assert add_trust_of_environment(["seed=1", "trust=[mine]", "-m"]) == ["trust=[mine,theirs]", "seed=1", "-m"]
    with pytest.raises(UserError, match="is not the name of a package"):
        add_trust_of_environment(["trust=[a],[b]"])


def git(folder: Path, *words: str) -> None:
    """Run a git command as somebody who has a name."""
    named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *named, *words], cwd=folder, check=True)


def make_repository(folder: Path, filter_name: str = "theirs") -> Path:
    """Make a repository with a file that has a filter, and return a path that its programs may create."""
    folder.mkdir(exist_ok=True)
    (folder / "table.csv").write_text("x,y\n")
    (folder / ".gitattributes").write_text(f"*.csv filter={filter_name}\n", errors="surrogateescape")
    git(folder, "init", "-q", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "tables")
    return folder / ".git" / "trace"


def is_dirty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether files of a repository are taken to differ from its commit."""
    monkeypatch.chdir(folder)
    provenance.read_git_state.cache_clear()
    try:
        state = provenance.read_git_state()
    finally:
        provenance.read_git_state.cache_clear()
    assert state is not None
    return state[1]


def test_git_runs_no_monitor_and_no_hook_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit and the state of the files are asked for in whatever folder a command starts."""
    trace = make_repository(tmp_path)
    git(tmp_path, "config", "core.fsmonitor", f"touch {trace}")
    hook = tmp_path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trace}\n")
    hook.chmod(0o755)
    (tmp_path / "table.csv").write_text("x,z\n")
    assert is_dirty(tmp_path, monkeypatch)  # files differ from the commit
    assert not trace.exists()
    git(tmp_path, "status")
    assert trace.exists()  # it would have run


@pytest.mark.parametrize("name", ["theirs", "a=b", "a\u2028b", "a\x0cb", "a\udcff", "A.b"])
@pytest.mark.parametrize("file", ["config", "included"])
def test_git_runs_no_filter_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: str
) -> None:
    trace = make_repository(tmp_path, name)
    git(tmp_path, "config", "include.path", "included")
    with open(trace.parent / file, "a", errors="surrogateescape") as config:
        config.write(f'[filter "{name}"]\n\tclean = "touch {trace}; cat"\n\trequired = true\n')
    (tmp_path / "table.csv").write_text("x,z\n")
    assert is_dirty(tmp_path, monkeypatch)
    assert not trace.exists()
    git(tmp_path, "status")
    assert trace.exists()


def test_git_runs_no_filter_of_a_submodule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path / "inner")
    trace = make_repository(tmp_path / "outer")
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    git(outer, "submodule", "--quiet", "add", str(tmp_path / "inner"), "inner")
    git(outer, "commit", "-q", "-m", "submodule")
    git(inner, "config", "filter.theirs.clean", f"touch {trace}; cat")
    (inner / "table.csv").write_text("x,z\n")
    assert not is_dirty(outer, monkeypatch)
    assert not trace.exists()
    git(outer, "status")
    assert trace.exists()
    git(inner, "commit", "-q", "--allow-empty", "-m", "more")
    assert is_dirty(outer, monkeypatch)  # the commit of the submodule differs


def test_git_fetches_nothing_for_a_partial_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that lacks a file names the program that would fetch it."""
    trace = make_repository(tmp_path)
    tree = subprocess.check_output(["git", "rev-parse", "HEAD^{tree}"], cwd=tmp_path, text=True).strip()
    (tmp_path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(tmp_path),
        "remote.origin.uploadpack": f"touch {trace}; git-upload-pack",
    }
    for name, value in settings.items():
        git(tmp_path, "config", name, value)
    assert is_dirty(tmp_path, monkeypatch)  # the state of the files is not known
    assert not trace.exists()
    subprocess.run(["git", "status"], cwd=tmp_path, check=False, capture_output=True)
    assert trace.exists()
