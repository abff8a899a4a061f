"""How many of scikit-learn's own tests pass with our learners in place of scikit-learn's.

    python benchmarks/sklearn_tests.py                       # all modules, a table of failures and a table of totals
    python benchmarks/sklearn_tests.py test_tree test_forest # these modules
    python benchmarks/sklearn_tests.py test_tree -k importances --trace
    python benchmarks/sklearn_tests.py test_tree --reference # scikit-learn's own classes: what passes at all

The tests are those of the installed package; none is copied. `sklearn_tests.toml` names the classes that are replaced,
and the tests that are left out, each with a reason: several outputs, sparse input, classes that we do not have, and the
like. A function counts as passed if every combination of its parameters that is not left out passes.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Self
from unittest.mock import patch

import numpy as np
import pytest
import sklearn
from sklearn.utils import fixes

import bakeoff.learners

PLAN = Path(__file__).with_suffix(".toml")
SECONDS_PER_TEST = 120
REASON_CHARACTERS = 110
SPARSE_CONTAINERS = ("bsr_", "coo_", "csc_", "csr_", "dia_", "dok_", "lil_", "sparse")
"""In the id of a test: its input is sparse."""
IMPORTED_FIRST = ("sklearn.calibration", "sklearn.ensemble", "sklearn.linear_model", "sklearn.neighbors", "sklearn.svm")
"""Packages that derive classes from those that are replaced, and must be given the original ones."""


@dataclass(frozen=True)
class TestModule:
    """A module of scikit-learn's tests, and what is run of it.

    Parameters
    ----------
    name, module, package : str
        The package holds the classes.
    classes : tuple of str
        Each a name in the package and in `bakeoff.learners`.
    left_out_ids : tuple of str
        A test is left out if its id holds one of these.
    run_with_sparse_input : frozenset of str
        Functions that are run although their input is sparse, because it is to be refused.
    reasons : mapping of str to str
        From the functions that are left out to the reason.
    values : mapping of str to tuple of str
        Names in the module whose values are replaced, such as the solvers that a test tries.
    bases : mapping of str to tuple of str
        Names in the module of classes, and those of our classes that count as derived from them.
    is_dense : bool
        Whether the containers of sparse tables are replaced by arrays, so that the rest of such tests is run.
    unsupervised : str or None
        A class without targets, for which ours with any targets stands.
    """

    __test__ = False

    name: str
    module: str
    package: str
    classes: tuple[str, ...]
    left_out_ids: tuple[str, ...]
    run_with_sparse_input: frozenset[str]
    reasons: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]]
    bases: Mapping[str, tuple[str, ...]]
    is_dense: bool
    unsupervised: str | None


@dataclass
class Recorder:
    """A plugin of pytest: leaves tests out, and records for each function why it failed, or None if it passed."""

    plan: TestModule
    functions: set[str] = field(default_factory=set)
    outcomes: dict[str, str | None] = field(default_factory=dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that are run."""
        self.functions = {item.name.partition("[")[0] for item in items}
        _replace_values(items[0].module, self.plan)  # type: ignore[attr-defined]
        items[:] = [item for item in items if self._is_run(item)]

    def _is_run(self, item: pytest.Item) -> bool:
        name, _, parameters = item.name.partition("[")
        if name in self.plan.reasons or _has_several_outputs(item):
            return False
        left_out_ids = self.plan.left_out_ids
        if name not in self.plan.run_with_sparse_input:
            left_out_ids += SPARSE_CONTAINERS
        return not any(part in parameters for part in left_out_ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test that takes too long."""
        signal.signal(signal.SIGALRM, _end_test)
        signal.alarm(SECONDS_PER_TEST)
        try:
            return (yield)
        finally:
            signal.alarm(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the first failure of a function."""
        name = report.location[2].partition("[")[0]
        if report.when == "call" and report.passed:
            self.outcomes.setdefault(name, None)
        if report.failed and self.outcomes.get(name) is None:
            self.outcomes[name] = _describe_failure(report)

    def count_left_out(self) -> Counter[str]:
        """Return the number of functions that are left out for each reason."""
        unnamed = "unsuitable parameters"
        return Counter(self.plan.reasons.get(name, unnamed) for name in self.functions - set(self.outcomes))

    def count_passed(self) -> int:
        """Return the number of functions that passed."""
        return sum(reason is None for reason in self.outcomes.values())


def _end_test(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS_PER_TEST} s")


def _has_several_outputs(item: pytest.Item) -> bool:
    """Return whether a parameter ``y`` of the test is a table."""
    y = getattr(getattr(item, "callspec", None), "params", {}).get("y")
    return isinstance(y, np.ndarray) and y.ndim > 1


def _describe_failure(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    message = str(report.longrepr) if crash is None else crash.message
    words = " ".join(message.split())
    return words[:REASON_CHARACTERS]


def read_plan(path: Path = PLAN) -> dict[str, TestModule]:
    """Return the modules of the plan by name."""
    modules = {}
    for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        reasons = {function: reason for reason, functions in table["left_out"].items() for function in functions}
        modules[name] = TestModule(
            name,
            table["module"],
            table["package"],
            tuple(table["classes"]),
            tuple(table["left_out_ids"]),
            frozenset(table.get("run_with_sparse_input", [])),
            reasons,
            {name: tuple(values) for name, values in table.get("values", {}).items()},
            {name: tuple(classes) for name, classes in table.get("bases", {}).items()},
            table.get("is_dense", False),
            table.get("unsupervised"),
        )
    return modules


def run_module(plan: TestModule, options: list[str], *, replace: bool) -> Recorder:
    """Run the tests of a module, with our classes unless ``replace`` is false.

    Parameters
    ----------
    plan : TestModule
    options : list of str
        Further options of pytest.
    replace : bool

    Returns
    -------
    Recorder
    """
    recorder = Recorder(plan)
    path = Path(sklearn.__file__).parent.joinpath(*plan.module.split(".")[1:]).with_suffix(".py")
    fixed = ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={path.parent}"]
    with ExitStack() as stack:
        if replace:
            # A test module must be imported while the classes are replaced, since it takes their names on import.
            sys.modules.pop(plan.module, None)
            _replace_classes(stack, plan)
        pytest.main([str(path), *fixed, *options], plugins=[recorder])
    return recorder


def _replace_classes(stack: ExitStack, plan: TestModule) -> None:
    package = import_module(plan.package)
    for name in plan.classes:
        ours = getattr(bakeoff.learners, name)
        stack.enter_context(patch.object(package, name, ours))
    if plan.package.rpartition(".")[2].startswith("_"):
        parent = import_module(plan.package.rpartition(".")[0])
        for name in plan.classes:
            stack.enter_context(patch.object(parent, name, getattr(bakeoff.learners, name)))

    if plan.unsupervised:
        stack.enter_context(patch.object(package, plan.unsupervised, UnsupervisedNeighbors))
    if plan.is_dense:
        stack.enter_context(patch.object(fixes, "CSR_CONTAINERS", [np.asarray]))


def _replace_values(module: ModuleType, plan: TestModule) -> None:
    for name, values in plan.values.items():
        setattr(module, name, values)
    for name, classes in plan.bases.items():
        setattr(module, name, tuple(getattr(bakeoff.learners, cls) for cls in classes))


class UnsupervisedNeighbors(bakeoff.learners.KNeighborsRegressor):
    """Our search for neighbours under the name of a class without targets."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Store the rows."""
        return super().fit(X, np.zeros(len(X)), sample_weight)


def print_failures(recorder: Recorder, write: Callable[[str], Any]) -> None:
    """Print the functions that failed, with the reason."""
    for name, reason in recorder.outcomes.items():
        if reason is not None:
            write(f"| {name} | {reason.replace('|', '¦')} |\n")


def print_totals(recorders: list[Recorder], write: Callable[[str], Any]) -> None:
    """Print a row for each module, the sum, and why functions are left out."""
    write("\n| module | functions | left out | run | passed |\n| --- | --- | --- | --- | --- |\n")
    totals = Counter[str]()
    reasons = Counter[str]()
    for recorder in recorders:
        left_out = recorder.count_left_out()
        counts = {
            "functions": len(recorder.functions),
            "left out": left_out.total(),
            "run": len(recorder.outcomes),
            "passed": recorder.count_passed(),
        }
        write(f"| {recorder.plan.name} | {' | '.join(map(str, counts.values()))} |\n")
        totals.update(counts)
        reasons.update(left_out)
    write(f"| sum | {' | '.join(map(str, totals.values()))} |\n")
    listed = "; ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    if listed:
        write(f"\n{totals['left out']} of {totals['functions']} functions are left out: {listed}.\n")


def main() -> None:
    """Run the modules that the command line names."""
    plans = read_plan()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(plans)}; all by default")
    parser.add_argument("-k", default="", help="run the tests whose names match this expression of pytest")
    parser.add_argument("--reference", action="store_true", help="run scikit-learn's own classes")
    parser.add_argument("--trace", action="store_true", help="print tracebacks")
    words = parser.parse_args()
    unknown = set(words.modules) - set(plans)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: modules are {', '.join(plans)}")
    options = ["-k", words.k] if words.k else []
    options += ["--tb=short"] if words.trace else ["-p", "no:terminal"]
    for package in IMPORTED_FIRST:
        import_module(package)
    warnings.simplefilter("ignore")
    recorders = []
    for name in words.modules or plans:
        recorder = run_module(plans[name], options, replace=not words.reference)
        print_failures(recorder, sys.stdout.write)
        sys.stdout.flush()
        recorders.append(recorder)
    print_totals(recorders, sys.stdout.write)


if __name__ == "__main__":
    main()
