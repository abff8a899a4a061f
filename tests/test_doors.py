"""The doors of the house: who may import what, read from the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from bakeoff.learners import BUILT_ON, trees
from bakeoff.pipeline.commands import MAY_IMPORT
from bakeoff.pipeline.identity.config_hash import BASE, SHARED_PLACES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bakeoff"
LEARNERS = sorted((PACKAGE / "learners").rglob("*.py"))
DEFINITIONS = [file for file in LEARNERS if "definitions" in file.parts]
PIPELINE = sorted((PACKAGE / "pipeline").rglob("*.py"))
SHIPPED = sorted(PACKAGE.rglob("*.py"))
ROOM_TESTS = sorted((ROOT / "tests" / "pipeline").rglob("test_*.py"))
COMMAND_FILES = sorted((PACKAGE / "pipeline" / "commands").rglob("*/*.py"))
STAGES = (
    "dataset", "preprocessing", "splitting", "tuning", "pruning", "balance", "target", "calibration", "threshold",
    "scoring",
)  # fmt: skip
LAYERS = (
    {"text", "system"},
    {"errors"},
    {"tables"},
    {"identity"},
    {"config", "stages"},
    {"experiment"},
    {"model"},
    {"audit"},
    {"tracking"},
    {"checks"},
    {"sweep"},
    {"python"},
    {"commands"},
    {"cli"},
)
"""The rooms of the pipeline, the lowest first: a room imports from the layers below it alone. Nothing imports cli."""
OUTSIDE = {
    "bakeoff.pipeline.errors": "refusals, which end a run",
    "bakeoff.pipeline.system": "how a file is opened, and to whom it belongs",
    "bakeoff.pipeline.text": "spelling of what is shown, names of secrets, where a file lies",
    "bakeoff.pipeline.config.build": "builds what the settled configuration names, with the arguments that it names",
    "bakeoff.pipeline.identity.source_code": "where processes that share folds find user-defined modules",
    "bakeoff.pipeline.config.options": "names of the user's own metrics, which are settled into the configuration",
}
"""What the code that decides a number may import besides itself, and why it decides none."""
VALIDATION_HELPERS = ("sklearn.base", "sklearn.utils", "sklearn.exceptions")
ONE_DOOR = {
    "mlflow": ("tracking",),
    "hydra": ("config", "sweep", "commands/search"),
    "omegaconf": ("config", "sweep"),
    "optuna": ("commands/search",),
    "matplotlib": ("commands/drawing", "commands/figures", "commands/comparison_report"),
    "ray": ("sweep/launcher",),
    "submitit": ("sweep/launcher",),
    "jinja2": ("tables",),
    "arff": ("stages",),
    "openpyxl": ("stages",),
    "sqlalchemy": ("stages", "commands/search", "tracking"),
    "starlette": ("commands/serve",),
    "uvicorn": ("commands/serve",),
}
"""A package of others -> the folders that import it."""
TABLE = ("PARTS", "load_part")
"""What a command imports of the table of commands, to find the parts in other folders without which it works."""
LOADED_LATE = {
    "mlflow",
    "skops",
    "ray",
    "submitit",
    "starlette",
    "uvicorn",
}
"""Packages that take long to load, or may be missing: they are imported where they are used."""


def imports(file: Path, *, when_loaded: bool = False) -> tuple[str, ...]:
    """Return the dotted modules that a file imports; of ``from a import b`` both a and a.b.

    With ``when_loaded`` those alone that loading the file executes: none inside functions or for type checkers.
    """
    return _read_imports(file, when_loaded)


@cache
def _read_imports(file: Path, when_loaded: bool) -> tuple[str, ...]:
    return tuple(_find_imports(file, when_loaded))


def _find_imports(file: Path, when_loaded: bool) -> Iterator[str]:
    for node in _statements(ast.parse(file.read_text()), when_loaded):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: imports are absolute"
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _statements(tree: ast.AST, when_loaded: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if when_loaded and (isinstance(node, ast.FunctionDef | ast.Lambda) or for_types):
            continue
        yield node
        yield from _statements(node, when_loaded)


def packages(file: Path, *, when_loaded: bool = False) -> set[str]:
    return {name.split(".")[0] for name in imports(file, when_loaded=when_loaded)}


def room(file: Path) -> str:
    """Return the module of the pipeline that a file is, or is a part of."""
    return file.relative_to(PACKAGE / "pipeline").parts[0].removesuffix(".py")


def stage(file: Path) -> str:
    """Return the stage that a file is, or is a part of."""
    return file.relative_to(PACKAGE / "pipeline" / "stages").parts[0].removesuffix(".py")


def command(file: Path) -> str:
    """Return the folder of ``commands/`` that holds a file, or the name of the table."""
    return file.relative_to(PACKAGE / "pipeline" / "commands").parts[0].removesuffix(".py")


def in_each(files: list[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a rule for files, which names every file that breaks it."""

    def make_test(require: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            broken = [reason for file in files if (reason := find_reason(require, file))]
            assert not broken, "\n".join(broken)

        test.__name__ = require.__name__
        return test

    return make_test


def find_reason(require: Callable[[Path], None], file: Path) -> str:
    """Return how a file breaks a rule; empty if it does not."""
    try:
        require(file)
    except AssertionError as error:
        return f"{file.relative_to(ROOT)}: {error}"
    return ""


@in_each(LEARNERS)
def test_learners_import_numpy_and_scikit_learns_base_and_validation_alone(file: Path) -> None:
    forms = (
        {"sklearn.tree._tree", "sklearn.tree._tree.Tree", "sklearn.tree._tree.NODE_DTYPE"}
        if file.name == "sklearn_tree.py"
        else set()
    )
    assert packages(file) <= {"numpy", "sklearn", "scipy", "bakeoff", *sys.stdlib_module_names}
    theirs = {name for name in imports(file) if name.split(".")[0] == "sklearn" and name.count(".") >= 1}
    assert all(name.startswith(VALIDATION_HELPERS) for name in theirs - forms)


@in_each(DEFINITIONS)
def test_definitions_import_numpy_and_one_another_alone(file: Path) -> None:
    assert packages(file) <= {"numpy", "bakeoff", *sys.stdlib_module_names}
    ours = {name for name in imports(file) if name.split(".")[0] == "bakeoff"}
    assert all(name.startswith("bakeoff.learners.definitions.") for name in ours)


@in_each([file for file in SHIPPED if file not in DEFINITIONS and file.parent.name not in ("work", "grade")])
def test_nothing_but_calculations_tests_and_documentation_imports_definitions(file: Path) -> None:
    # Steps are plain data, which pictures are drawn from.
    allowed = ("bakeoff.learners.definitions.steps",) if file.parent.name in ("drawing", "python") else ()
    found = [name for name in imports(file) if name.startswith("bakeoff.learners.definitions")]
    assert not [name for name in found if not name.startswith(allowed)]


@in_each([file for file in LEARNERS if file not in DEFINITIONS])
def test_docstrings_refer_to_definitions_that_exist(file: Path) -> None:
    referred = re.findall(r"\bdefinitions\.(\w+)", file.read_text())
    assert set(referred) <= {definition.stem for definition in DEFINITIONS}


def test_the_lectures_page_links_to_every_definition_and_to_no_other() -> None:
    linked = re.findall(r"\(\.\./bakeoff/learners/definitions/(\w+\.py)\)", (ROOT / "docs" / "lectures.md").read_text())
    assert set(linked) == {file.name for file in DEFINITIONS} - {"__init__.py"}


@in_each(PIPELINE)
def test_each_foreign_house_has_one_door(file: Path) -> None:
    place = file.relative_to(PACKAGE / "pipeline").as_posix()
    for package, doors in ONE_DOOR.items():
        assert package not in packages(file) or place.startswith(doors)


@in_each(PIPELINE)
def test_nothing_needs_an_oracle_of_the_tests(file: Path) -> None:
    assert not packages(file) & {"statsmodels", "scikit_posthocs", "baycomp"}


@in_each(PIPELINE)
def test_mlflow_and_matplotlib_are_loaded_late(file: Path) -> None:
    is_figure = file.parent.name in ("drawing", "figures") and file.name != "command.py"
    is_picture = is_figure or file.name == "pictures.py"
    late = LOADED_LATE | (set() if is_picture else {"matplotlib"})
    assert not packages(file, when_loaded=True) & late
    pictures = "bakeoff.pipeline.commands.drawing."
    assert is_picture or not any(name.startswith(pictures) for name in imports(file, when_loaded=True))


@in_each([file for file in SHIPPED if file != PACKAGE / "pipeline" / "config" / "engine.py"])
def test_private_modules_of_hydra_are_imported_in_one_file(file: Path) -> None:
    assert not [name for name in imports(file) if name.startswith("hydra._internal")]


@in_each([file for file in PIPELINE if room(file) == "stages"])
def test_stages_do_not_import_one_another(file: Path) -> None:
    stages = {f"bakeoff.pipeline.stages.{name}" for name in STAGES if name != stage(file)}
    above = {f"bakeoff.pipeline.{name}" for name in ("experiment", "tracking", "config")}
    assert not [name for name in imports(file) if name.startswith((*stages, *above))]


@in_each([file for file in PIPELINE if room(file) != "__init__"])
def test_the_rooms_of_the_pipeline_import_downwards_alone(file: Path) -> None:
    (layer,) = (number for number, rooms in enumerate(LAYERS) if room(file) in rooms)
    below = {name for rooms in LAYERS[:layer] for name in rooms}
    parts = [name.split(".") for name in imports(file)]
    imported = {names[2] for names in parts if names[:2] == ["bakeoff", "pipeline"] and len(names) > 2}
    assert imported <= below | {room(file)}


@in_each(COMMAND_FILES)
def test_a_command_imports_of_other_commands_what_the_table_allows(file: Path) -> None:
    parts = [name.split(".") for name in imports(file) if name.startswith("bakeoff.pipeline.commands.")]
    allowed = {command(file), *MAY_IMPORT.get(command(file), ()), *TABLE}
    assert {names[3] for names in parts} <= allowed


@in_each(ROOM_TESTS)
def test_the_tests_of_a_room_import_no_command_and_those_of_a_command_no_other(file: Path) -> None:
    *_, folder = file.relative_to(ROOT / "tests" / "pipeline").parent.parts or ("",)
    of_command = (folder, *MAY_IMPORT.get(folder, ())) if file.parts[-3] == "commands" else ()
    imported = [name.split(".") for name in imports(file) if name.startswith("bakeoff.pipeline.commands.")]
    assert {names[3] for names in imported} <= {*of_command}


@in_each([file for file in PIPELINE if room(file) != "cli"])
def test_nothing_imports_the_command(file: Path) -> None:
    assert not [name for name in imports(file) if name.startswith("bakeoff.pipeline.cli")]


@in_each(PIPELINE)
def test_the_pipeline_knows_no_learner_by_name(file: Path) -> None:
    known = {name for name in imports(file) if name.startswith("bakeoff.learners")}
    calculations = {name for name in known if name.startswith("bakeoff.learners.definitions")}
    assert known - calculations <= {"bakeoff.learners", "bakeoff.learners.REGISTRY"}


@in_each([file for file in LEARNERS if file.parent.name in ("decision_tree", "random_forest")])
def test_the_tree_engine_has_one_door(file: Path) -> None:
    door = {"bakeoff.learners.trees", *(f"bakeoff.learners.trees.{name}" for name in trees.__all__)}
    assert {name for name in imports(file) if name.startswith("bakeoff.learners.trees")} <= door


@pytest.mark.parametrize(
    "folder", [path.parent for path in (*LEARNERS, *PIPELINE) if path.name == "__init__.py"], ids=lambda path: path.name
)
def test_no_folder_holds_a_circle(folder: Path) -> None:
    TopologicalSorter(imports_between_children(folder)).prepare()  # raises CycleError


def imports_between_children(folder: Path) -> dict[str, set[str]]:
    """Return, for each module or folder in a folder, the others in the same folder that it imports."""
    children = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    package = f"{folder.relative_to(ROOT).as_posix().replace('/', '.')}."
    found: dict[str, set[str]] = {}
    for file in sorted(folder.rglob("*.py")):
        child = file.relative_to(folder).parts[0].removesuffix(".py")
        if child == "__init__":
            continue
        named = {name.removeprefix(package).split(".")[0] for name in imports(file) if name.startswith(package)}
        found.setdefault(child, set()).update(named & children - {child})
    return found


def test_the_code_that_decides_a_number_imports_nothing_else_of_bakeoff_that_decides_a_number() -> None:
    own = {f"bakeoff.{place.replace('/', '.')}" for place in SHARED_PLACES}
    files = [file for place in SHARED_PLACES for file in sorted((PACKAGE / place).rglob("*.py"))]
    imported = {name for file in files for name in imports(file) if name.startswith("bakeoff.pipeline.")}
    unlisted = {name for name in imported if not name.startswith((*own, *OUTSIDE))}
    assert not unlisted
    unused = {door for door in OUTSIDE if not any(name.startswith(door) for name in imported)}
    assert not unused
    assert not [file for file in files if any(name.startswith("bakeoff.learners") for name in imports(file))]


def test_the_table_of_families_says_what_each_is_built_on() -> None:
    for family, imported in imports_between_children(PACKAGE / "learners").items():
        assert imported <= {BASE, *BUILT_ON.get(family, ())}, family


@in_each(LEARNERS)
def test_learners_keep_no_state_in_the_module(file: Path) -> None:
    assert not [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Global | ast.Nonlocal)]


def test_the_command_is_there_before_anything_heavy() -> None:
    heavy = "'numpy', 'pandas', 'sklearn', 'mlflow', 'hydra', 'matplotlib', 'rich'"
    loaded = f"' '.join(name for name in ({heavy}) if name in sys.modules)"
    code = f"import sys, bakeoff.pipeline.cli.main; sys.exit({loaded} or 0)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.strip()) == (0, "")
