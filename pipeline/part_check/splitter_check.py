"""A splitter tried on made rows: with classes and numbers, with groups, with times, and with other seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.part_check.finding import NOTE, OK, WRONG, Finding, describe_error
from bakeoff.pipeline.part_check.made_tables import CLASSIFICATION, REGRESSION, make_numbers
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.stages.splitting import SplitInput, Splits, Splitter

N_ROWS = 120
N_GROUPS = 24
N_FOLDS = 5
SEED = 0
OTHER_SEED = 1
PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class SplitRows:
    """Splits of made rows.

    Attributes
    ----------
    data : SplitInput
    splits : Splits
    """

    data: SplitInput
    splits: Splits


def check_splitter(part: Part) -> list[Finding]:
    """Require a splitter, and splits of rows of at least one kind."""
    splitter = part.build()
    if not isinstance(splitter, Splitter):
        raise UserError(
            f"{part.target} is not a splitter; inherit from bakeoff.pipeline.stages.splitting.Splitter, as a frozen "
            "dataclass, and write iter_outer_splits(self, data, seed)."
        )
    findings = []
    first_error = None
    for name, data in _make_inputs(splitter).items():
        try:
            splits = splitter.make_splits(data, SEED)
        except Exception as error:  # the code is the user's
            first_error = first_error or error
            findings.append(Finding(NOTE, "splits", f"of {name}: {describe_error(error)}"))
            continue
        sizes = ", ".join(f"{size:g} {name}" for name, size in splits.mean_rows.items() if size)
        findings.append(Finding(OK, "splits", f"{len(splits.folds)} of {name}, of {N_ROWS} rows on average {sizes}"))
    if not any(finding.status == OK for finding in findings):
        assert first_error is not None
        raise first_error
    return findings


def check_parts(part: Part) -> list[Finding]:
    """Require parts that hold rows of the dataset, do not overlap, and do not repeat rows."""
    made = _split_any(part)
    for number, split in enumerate(made.splits.folds):
        rows = {name: np.asarray(getattr(split, name)) for name in PARTS}
        if not len(rows["train"]) or not len(rows["test"]):
            return [Finding(WRONG, "parts", f"split {number} has no rows to train on, or none to test")]
        joined = np.concatenate(list(rows.values()))
        if joined.min() < 0 or joined.max() >= N_ROWS:
            return [Finding(WRONG, "parts", f"split {number} holds row numbers that the dataset of {N_ROWS} has not")]
        sets = {name: set(numbers.tolist()) for name, numbers in rows.items()}
        for first, second in (("train", "test"), ("train", "validation"), ("validation", "test")):
            n_shared = len(sets[first] & sets[second])
            if n_shared:
                text = f"split {number}: {n_shared} rows are in the {first} and the {second} part"
                return [Finding(WRONG, "parts", text)]
        repeated = len(rows["train"]) - len(sets["train"])
        if repeated and not part.build().repeats_rows:
            text = f"split {number} repeats {repeated} training rows; set the class variable repeats_rows = True"
            return [Finding(WRONG, "parts", text)]
    return [Finding(OK, "parts", "no row is in two parts of a split")]


def check_coverage(part: Part) -> list[Finding]:
    """Say how often each row is tested, and which rows are in no part."""
    splits = _split_any(part).splits
    tested = np.bincount(np.concatenate([split.test for split in splits.folds]), minlength=N_ROWS)  # (n,)
    used = np.zeros(N_ROWS, dtype=bool)
    for split in splits.folds:
        used[np.concatenate([split.train, split.validation, split.test])] = True
    findings = []
    if not used.all():
        findings.append(Finding(NOTE, "coverage", f"{N_ROWS - used.sum()} of {N_ROWS} rows are in no part"))
    if tested.min() == tested.max():
        return [*findings, Finding(OK, "coverage", f"each row is tested {_count(tested.max())}")]
    text = f"{np.count_nonzero(tested == 0)} of {N_ROWS} rows are never tested, others up to {_count(tested.max())}"
    return [*findings, Finding(NOTE, "coverage", text)]


def check_seed(part: Part) -> list[Finding]:
    """Require the same splits for the same seed."""
    made = _split_any(part)
    splitter = part.build()
    first = made.splits.digest()
    if splitter.make_splits(made.data, SEED).digest() != first:
        text = "the same seed gives other splits; draw from numpy.random.default_rng(seed) alone"
        return [Finding(WRONG, "seed", text)]
    if splitter.make_splits(made.data, OTHER_SEED).digest() == first:
        return [Finding(NOTE, "seed", "every seed gives the same splits")]
    return [Finding(OK, "seed", "the same seed gives the same splits, another seed others")]


def check_promises(part: Part) -> list[Finding]:
    """Require that groups, order, given parts and given folds are kept where the class says so."""
    splitter = part.build()
    made = {name: data for name, data in _make_inputs(splitter).items() if name.startswith("rows")}
    findings = []
    for name, data in made.items():
        try:
            splits = splitter.make_splits(data, SEED)
        except Exception:  # it was reported among the splits
            continue
        broken = _find_broken_promise(splitter, data, splits)
        findings.append(Finding(WRONG, name, broken) if broken else Finding(OK, name, "kept as the class says"))
    refused = [name for name, keeps in _list_promises(splitter).items() if not keeps]
    if refused:
        text = f"a dataset with {', '.join(refused)} is refused with this evaluation, because it does not keep them"
        findings.append(Finding(NOTE, "promises", text))
    return findings


def _find_broken_promise(splitter: Splitter, data: SplitInput, splits: Splits) -> str:
    """Return how a split breaks what its class says; empty if none does."""
    for number, split in enumerate(splits.folds):
        rest = np.concatenate([split.train, split.validation])
        if data.groups is not None and set(data.groups[rest]) & set(data.groups[split.test]):
            return f"keeps_groups is true, but split {number} divides a group"
        if data.times is not None and data.times[rest].max() > data.times[split.test].min():
            return f"keeps_order is true, but split {number} trains on rows that are later than some of its test rows"
        if data.parts is not None and not (data.parts[split.test] == "test").all():
            return f"keeps_parts is true, but split {number} tests rows of another part"
        if data.folds is not None and len(np.unique(data.folds[split.test])) > 1:
            return f"keeps_folds is true, but split {number} tests rows of several given folds"
    return ""


def _list_promises(splitter: Splitter) -> dict[str, bool]:
    return {
        "groups": splitter.keeps_groups,
        "times": splitter.keeps_order,
        "given parts": splitter.keeps_parts,
        "given folds": splitter.keeps_folds,
    }


def _make_inputs(splitter: Splitter) -> dict[str, SplitInput]:
    """Return the rows to split: of both tasks, and with whatever the splitter says that it keeps."""
    labels = make_numbers(CLASSIFICATION, N_ROWS).y  # (n,)
    numbers = make_numbers(REGRESSION, N_ROWS).y  # (n,)
    rows = np.arange(N_ROWS)  # (n,)
    shuffled = np.random.default_rng(SEED).permutation(N_ROWS)  # (n,)
    inputs = {
        "classes": SplitInput(labels, is_classification=True),
        "numbers": SplitInput(numbers, is_classification=False),
    }
    if splitter.keeps_groups:
        inputs["rows with groups"] = SplitInput(labels, is_classification=True, groups=shuffled % N_GROUPS)
    if splitter.keeps_order:
        inputs["rows with times"] = SplitInput(labels, is_classification=True, times=shuffled.astype(float))
    if splitter.keeps_parts:
        parts = np.where(rows % 4 == 0, "test", "train")  # (n,)
        inputs["rows with given parts"] = SplitInput(labels, is_classification=True, parts=parts)
    if splitter.keeps_folds:
        inputs["rows with given folds"] = SplitInput(labels, is_classification=True, folds=shuffled % N_FOLDS)
    return inputs


def _split_any(part: Part) -> SplitRows:
    """Return the splits of the first made rows that can be split; raises the last error if there are none."""
    splitter = part.build()
    error: Exception | None = None
    for data in _make_inputs(splitter).values():
        try:
            return SplitRows(data, splitter.make_splits(data, SEED))
        except Exception as raised:  # the code is the user's
            error = raised
    assert error is not None
    raise error


def _count(times: int) -> str:
    return "once" if times == 1 else f"{times} times"
