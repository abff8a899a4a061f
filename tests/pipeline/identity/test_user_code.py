"""Identity of the user's code: what it imports counts; what it reads or a notebook defines is named in a line."""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.pipeline.config.compose_job import compose_job, own_hydra_state
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity import config_hash, source_code
from bakeoff.pipeline.identity.config_hash import (
    DECISIVE_KEYS,
    describe_unidentified,
    hash_config,
    hash_config_code,
    require_current_code,
)

DIGEST = "0123456789abcdef"
LEARNER = "class Floor:\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with a package of the user, from which Python imports, and which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "ours"
    for place in (package, package / "parts"):
        place.mkdir()
        (place / "__init__.py").touch()
    (package / "floor.py").write_text(LEARNER)
    # That of bakeoff counts as well, and takes long to read.
    monkeypatch.setattr(config_hash, "hash_own_code", lambda families: " ".join(sorted(families)))
    yield tmp_path
    _forget()


def describe_job(**learner: Any) -> dict[str, Any]:
    """Return a configuration with keys of a learner."""
    return dict.fromkeys(DECISIVE_KEYS) | {"learner": learner, "trust": []}


def _forget() -> None:
    """Behave like a new process."""
    for name in [name for name in sys.modules if name.split(".")[0] in {"ours", "beside", "plugin"}]:
        del sys.modules[name]
    importlib.invalidate_caches()
    source_code.forget_code()
    config_hash.get_package_version.cache_clear()


def digest_of(target: str = "ours.floor.Floor") -> str:
    """Return the digest of the code of a learner, as a new process finds it."""
    _forget()
    return hash_config_code(describe_job(_target_=target))


def write(folder: Path, file: str, text: str) -> None:
    """Write a file below the folder."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_code_counts_and_its_comments_docstrings_and_formatting_do_not(folder: Path) -> None:
    code = "{comment}class Floor:\n    {docstring}\n    def fit(self, X, y):\n        return 1 {operator} 1\n"
    variants = [("", '""', "+"), ("# A remark.\n\n\n", '"""Says more.\n\n    And more."""', "+"), ("", '""', "-")]
    digests = []
    for comment, docstring, operator in variants:
        write(folder, "ours/floor.py", code.format(comment=comment, docstring=docstring, operator=operator))
        digests.append(digest_of())
    assert digests[0] == digests[1] != digests[2]


def test_code_of_a_scorer_of_the_user_counts(folder: Path) -> None:
    digests = set()
    for beta in (1, 2):
        code = "from sklearn.metrics import fbeta_score, make_scorer\nscorer = make_scorer(fbeta_score, beta={})\n"
        write(folder, "ours/scores.py", code.format(beta))
        digests.add(digest_of("ours.scores.scorer"))
    assert len(digests) == 2


IMPORTS = {
    "from .inner import HALF": "ours/inner.py",
    "from . import inner": "ours/inner.py",
    "from .parts.deep import HALF": "ours/parts/deep.py",
    "from .parts import deep": "ours/parts/deep.py",
    "from .parts import *": "ours/parts/__init__.py",
    "from ours import inner": "ours/inner.py",
    "from ours.inner import HALF": "ours/inner.py",
    "import ours.parts.deep": "ours/parts/__init__.py",
    "import ours": "ours/__init__.py",
    "from beside import HALF": "beside.py",
    "def fit():\n    from .inner import HALF": "ours/inner.py",
    "try:\n    pass\nexcept ImportError:\n    import beside": "beside.py",
    "import importlib\nlate = importlib.import_module('ours.inner')": "ours/inner.py",
    "late = __import__('beside')": "beside.py",
    "from .parts.deep import Base\nclass Middle(Base): pass": "ours/parts/deep.py",
}
"""A statement in the module of a learner, and a file that it makes part of the learner's code."""


def test_every_way_of_importing_code_of_the_user_is_followed(folder: Path) -> None:
    forgotten = []
    for statement, file in IMPORTS.items():
        for known in ("ours/inner.py", "ours/parts/deep.py", "beside.py"):
            write(folder, known, "HALF = 0.5\nclass Base: pass\n")
        write(folder, "ours/floor.py", f"{statement}\n{LEARNER}")
        before = digest_of()
        write(folder, file, "HALF = 0.25\nclass Base: size = 1\n")
        if digest_of() == before:
            forgotten.append(statement)
        write(folder, file, "")
    assert not forgotten


def test_relative_imports_of_a_package_and_of_a_parent_are_followed(folder: Path) -> None:
    write(folder, "ours/__init__.py", "from .floor import Floor\n")
    write(folder, "ours/parts/__init__.py", "from .deep import Deep\n")
    write(folder, "ours/parts/deep.py", f"from ..inner import HALF\n{LEARNER.replace('Floor', 'Deep')}")
    digests = []
    for half in ("0.5", "0.25"):
        write(folder, "ours/inner.py", f"HALF = {half}\n")
        digests.append((digest_of("ours.parts.Deep"), digest_of("ours.Floor")))
    assert digests[0][0] != digests[1][0]
    assert digests[0][1] == digests[1][1]


def test_files_that_the_configuration_names_count_with_their_content(folder: Path) -> None:
    spec = describe_job(vocabulary="data/words.txt")
    digests = {hash_config(spec, DIGEST)}  # no such file: the name alone
    for words in ("one", "two"):
        write(folder, "data/words.txt", words)
        digests.add(hash_config(spec, DIGEST))
    assert len(digests) == 3
    before = hash_config(describe_job(weights="uniform"), DIGEST)
    write(folder, "uniform", "the name of an option is not that of a file")
    assert hash_config(describe_job(weights="uniform"), DIGEST) == before


def test_yaml_files_of_the_user_count_with_their_values_and_variables_and_without_their_comments(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# {comment}\n_target_: bakeoff.learners.KNeighborsClassifier\nn_neighbors: {k}\np: ${{oc.env:OURS_P}}\n"

    def digest(comment: str, k: int, p: str) -> str:
        write(folder, "conf/learner/ours.yaml", text.format(comment=comment, k=k))
        monkeypatch.setenv("OURS_P", p)
        with own_hydra_state():
            spec = compose_job(["learner=ours", "dataset=iris"]).spec
        return hash_config(spec, DIGEST)

    assert digest("One.", 3, "2") == digest("Another.", 3, "2")
    assert len({digest("One.", k, p) for k in (3, 5) for p in ("1", "2")}) == 4


def define_main(monkeypatch: pytest.MonkeyPatch, text: str, file: Path | None = None) -> None:
    """Define classes as a script does, or a notebook if there is no file."""
    main = types.ModuleType("__main__")
    exec(text, vars(main))
    if file is not None:
        file.write_text(text)
        main.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "__main__", main)


def test_the_file_of_a_script_that_defines_a_learner_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for half in ("0.5", "0.5", "0.25"):
        define_main(monkeypatch, f"HALF = {half}\n{LEARNER}", folder / "script.py")
        digests.append(digest_of("__main__.Floor"))
    assert digests[0] == digests[1] != digests[2]


def test_code_of_a_notebook_has_no_identity_which_a_line_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    define_main(monkeypatch, LEARNER)
    spec = describe_job(_target_="__main__.Floor")
    assert digest_of("__main__.Floor") != digest_of("__main__.Floor")
    assert hash_config(spec, DIGEST) != hash_config(spec, DIGEST)
    (sentence,) = describe_unidentified(spec)
    assert sentence.startswith("Floor is defined in a notebook, so changes to its code cannot be detected")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("from bakeoff.learners import KNeighborsClassifier as Near, SVC", {"base", "knn", "svm"}),
        ("from bakeoff.learners.random_forest import RandomForestClassifier", {"base", "trees", "decision_tree"}),
        ("import bakeoff", {"base", "knn", "majority", "naive_bayes"}),
        ("from bakeoff.pipeline.errors import UserError", set()),
    ],
)
def test_the_learners_that_code_of_the_user_imports_count(
    folder: Path, statement: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    def record(families: frozenset[str]) -> str:
        counted.extend(families)
        return ""

    monkeypatch.setattr(config_hash, "hash_own_code", record)
    write(folder, "ours/floor.py", f"{statement}\n{LEARNER}")
    digest_of()
    assert expected <= set(counted)
    assert bool(expected) is bool(counted)
    assert "definitions" not in counted


def install_plugin(folder: Path, version: str) -> None:
    """Write a distribution as pip installs it."""
    site = folder / "site-packages"
    write(site, "plugin/__init__.py", LEARNER)
    for old in site.glob("plugin_of_ours-*"):
        (old / "METADATA").unlink()
        (old / "top_level.txt").unlink()
        old.rmdir()
    write(
        site,
        f"plugin_of_ours-{version}.dist-info/METADATA",
        f"Metadata-Version: 2.1\nName: plugin-of-ours\nVersion: {version}\n",
    )
    write(site, f"plugin_of_ours-{version}.dist-info/top_level.txt", "plugin\n")
    # Python lists a folder anew if its time differs, which two writes within a tick of the clock do not change.
    os.utime(site, (0, float(version)))


def test_the_version_of_an_installed_plugin_counts_for_what_uses_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder / "site-packages")
    write(folder, "ours/user.py", f"from plugin import Floor as Theirs\n{LEARNER}")
    digests = []
    for version in ("1.0", "1.1"):
        install_plugin(folder, version)
        digests.append([digest_of(target) for target in ("plugin.Floor", "ours.user.Floor", "ours.floor.Floor")])
    changes = [one != other for one, other in zip(*digests, strict=True)]
    assert changes == [True, True, False]


def test_compiled_code_and_code_in_another_encoding_count(folder: Path) -> None:
    digests = set()
    for content in (b"\x7fELF one", b"\x7fELF two"):
        (folder / "ours" / "fast.abi3.so").write_bytes(content)
        source_code.forget_code()
        digests.add(source_code.follow_imports(frozenset({"ours.fast"}))["ours.fast"].digest)
    assert len(digests) == 2
    (folder / "ours" / "inner.py").write_bytes("# -*- coding: latin-1 -*-\nNAME = 'é'\n".encode("latin-1"))
    write(folder, "ours/floor.py", f"from . import inner\n{LEARNER}")
    assert len(digest_of()) == 16


def test_code_that_could_not_be_imported_at_first_counts_once_it_can(folder: Path) -> None:
    code = (folder / "ours" / "floor.py").read_text()
    write(folder, "ours/floor.py", f"import nothing_of_this_name\n{code}")
    missing = digest_of()
    write(folder, "ours/floor.py", code)
    importlib.invalidate_caches()
    mended = hash_config_code(describe_job(_target_="ours.floor.Floor"))
    assert missing != mended == digest_of()


def test_code_that_was_changed_after_it_was_loaded_is_refused_until_it_is_loaded_again(folder: Path) -> None:
    spec = describe_job(_target_="ours.floor.Floor")
    _forget()
    before = hash_config(spec, DIGEST)
    require_current_code(spec)
    write(folder, "ours/floor.py", "class Floor:\n    size = 1000\n")
    os.utime(folder / "ours" / "floor.py", ns=(1, 1))
    # A job that runs meanwhile has the code that was loaded.
    assert hash_config(spec, DIGEST) == before
    with pytest.raises(UserError, match=r"floor\.py was changed after this process imported it"):
        require_current_code(spec)
    importlib.reload(sys.modules["ours.floor"])
    require_current_code(spec)
    assert hash_config(spec, DIGEST) != before
