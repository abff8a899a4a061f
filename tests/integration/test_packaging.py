"""The package is installed as users install it: one import name that carries everything, beside their own files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from bakeoff.version import __version__

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bakeoff"
BUILD = "import sys; from hatchling import build; getattr(build, sys.argv[1])(sys.argv[2])"


def build(kind: str, folder: Path, source: Path = ROOT) -> Path:
    """Build a source, by default this checkout, as a wheel or a source distribution into a folder; return the file."""
    words = [sys.executable, "-c", BUILD, kind, str(folder)]
    subprocess.run(words, cwd=source, check=True, capture_output=True, timeout=600)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    return build("build_wheel", folder)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of packages that holds the wheel and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=600)
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a user's folder whose files have the names of the folders of this repository, and fail when imported."""
    (tmp_path / "pipeline.py").write_text("raise ImportError('pipeline.py of the user was imported')\n")
    for folder in ("learners", "conf"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(f"raise ImportError('{folder} of the user was imported')\n")
    return tmp_path


def run(installed: Path, own: Path, *words: str) -> str:
    """Run Python in the user's folder with the installed wheel and without this checkout; return its output."""
    environment = {**os.environ, "PYTHONPATH": f"{own}{os.pathsep}{installed}"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    command = [sys.executable, "-W", "ignore", *words]
    ended = subprocess.run(command, cwd=own, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_the_wheel_carries_every_file_under_one_import_name(wheel: Path) -> None:
    carried = set(ZipFile(wheel).namelist())
    pipeline = [("pipeline", f"*.{suffix}") for suffix in ("py", "csv", "html", "css", "js", "template")]
    for folder, pattern in (("conf", "*.yaml"), ("learners", "*.py"), *pipeline):
        files = {str(file.relative_to(ROOT)) for file in (PACKAGE / folder).rglob(pattern)}
        assert files
        assert files <= carried
    assert "bakeoff/py.typed" in carried
    folders = {name.split("/")[0] for name in carried}
    assert folders - {"bakeoff"} == {name.split("/")[0] for name in carried if ".dist-info/" in name}


def test_the_package_index_accepts_the_wheel_and_the_source_distribution(wheel: Path, tmp_path: Path) -> None:
    source = build("build_sdist", tmp_path)
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("PASSED") == 2


def test_the_source_distribution_builds_the_same_wheel_without_git(wheel: Path, tmp_path: Path) -> None:
    for folder in ("sdist", "wheel"):
        (tmp_path / folder).mkdir()
    (tmp_path / "source").mkdir()
    archive = build("build_sdist", tmp_path / "sdist")
    subprocess.run(["tar", "-xf", str(archive)], cwd=tmp_path / "source", check=True)
    (source,) = (tmp_path / "source").iterdir()
    built = build("build_wheel", tmp_path / "wheel", source)
    assert built.name == wheel.name == f"bakeoff-{__version__}-py3-none-any.whl"
    assert sorted(ZipFile(built).namelist()) == sorted(ZipFile(wheel).namelist())


def test_the_citation_and_the_newest_changes_are_those_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = (ROOT / "README.md").read_text(encoding="utf-8").partition("@software{bakeoff,")[2]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (author,) = citation["authors"]
    assert citation["version"] == __version__
    assert re.findall(r"(author|title|version) += \{+(.*?)\}+,", entry) == [
        ("author", author["name"]),
        ("title", citation["title"]),
        ("version", __version__),
    ]
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == __version__


@pytest.mark.slow
def test_a_saved_model_loads_beside_a_users_own_pipeline_learners_and_conf(installed: Path, own: Path) -> None:
    run(installed, own, "-m", "bakeoff", "dataset=iris", "learner=knn", "evaluation=kfold")
    (own / "new.csv").write_text(
        "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)\n5,3.4,1.5,.2\n"
    )
    run(installed, own, "-m", "bakeoff", "predict", "latest", "new.csv", "output=answers.csv")
    assert "setosa" in (own / "answers.csv").read_text()
    load = (
        "import mlflow, bakeoff; mlflow.set_tracking_uri('sqlite:///outputs/mlflow.db');"
        "experiment = mlflow.get_experiment_by_name('bakeoff').experiment_id;"
        "[found] = mlflow.search_logged_models([experiment], output_format='list');"
        "print(mlflow.sklearn.load_model(found.model_uri)[-1].__class__.__module__, bakeoff.__file__)"
    )
    module, file = run(installed, own, "-c", load).split()
    assert module.startswith("bakeoff.learners.")
    assert Path(file).is_relative_to(installed)


def test_no_module_is_loaded_under_two_names() -> None:
    sources = {file.resolve() for file in PACKAGE.rglob("*.py")}
    loaded: dict[Path, list[str]] = {}
    for name, module in sys.modules.items():
        file = Path(getattr(module, "__file__", None) or os.devnull).resolve()
        if file in sources:
            loaded.setdefault(file, []).append(name)
    assert any(name.startswith("bakeoff.learners") for names in loaded.values() for name in names)
    assert {file: names for file, names in loaded.items() if len(names) > 1} == {}
