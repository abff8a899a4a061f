"""A reference as a file, whose runs join a comparison as if their jobs had been run here.

The file may come from anybody: it is limited in size, two of its files are checked by their digests before they are
used, and its code is never run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.analysis import tabulate_means
from bakeoff.pipeline.commands.compare.run_grid import RunFacts, describe_differences, group_by
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.paper.carried_runs import FORMAT, MANIFEST, RUNS, SCORES, read_runs
from bakeoff.pipeline.commands.significance.folds import compute_corrected_t_test
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import count_nouns, cut_text, expand_home, format_percent, format_score, name_first
from bakeoff.pipeline.tracking.store import Store
from bakeoff.version import PACKAGE_FOLDER

EXTENSION = ".reference.zip"
"""The end of the name of a reference."""
SHIPPED = Path(PACKAGE_FOLDER) / "references"
"""The folder of the references that are installed with bakeoff."""
MAX_BYTES = 1 << 26
"""The maximum size of a reference, and of each file that is read from it."""
MAX_LETTERS = 200
VERIFIED_TAG = "reference."
"""The beginning of the tag of an experiment that says how often a reference was verified with this store."""


@dataclass(frozen=True)
class Reference:
    """The runs of a capsule by which others compare theirs.

    Attributes
    ----------
    name : str
    digest : str
        The SHA-256 of the file.
    facts : sequence of RunFacts
    """

    name: str
    digest: str
    facts: Sequence[RunFacts]

    @property
    def tag(self) -> str:
        """The tag of an experiment that says how often this file was verified."""
        return f"{VERIFIED_TAG}{self.digest}"

    def read_verification(self, store: Store) -> str:
        """Return a clause on the last verification with a store; empty if there is none."""
        return store.client.get_experiment(store.experiment_id).tags.get(self.tag, "")

    def summarize(self, n_read: int, store: Store | None) -> str:
        """Return a sentence on the reference, and on its last verification with a store, if there is one."""
        verified = (store and self.read_verification(store)) or "not verified with this store"
        return f"Reference {self.name} {self.digest[:8]}: {count_nouns(n_read, 'job')}, none is run; {verified}."

    def join(self, own: Sequence[RunFacts]) -> list[RunFacts]:
        """Return runs together with those of the reference on the same datasets.

        Raises
        ------
        UserError
            No run of the reference can be paired with them.
        """
        datasets = {each.dataset for each in own if not each.reason}
        joined = join_runs(own, [each for each in self.facts if each.dataset in datasets])
        reasons = [each.reason for each in joined if each.series is not None]
        if all(reasons):
            known = name_first(dict.fromkeys(each.dataset for each in self.facts))
            reason = reasons[0] if reasons else f"it has {known}, and you have no run on them, or the same ones"
            raise UserError(
                f"no run of reference {self.name} can be compared with yours: {reason}; run yours with its data, "
                "evaluation and seed."
            )
        return joined

    def describe(self, comparison: Comparison, own: Sequence[RunFacts], store: Store) -> Comparison:
        """Return a comparison whose notes name the reference, and how far the user's runs are from the best ones.

        Parameters
        ----------
        comparison : Comparison
        own : sequence of RunFacts
            The runs in the store.
        store : Store
        """
        stored = {each.run.run_id for each in own}
        rows = [cell.configuration for cell in comparison.cells if stored & {*cell.run_ids}]
        names = {dataset.name for dataset in comparison.datasets}
        n_read = sum(each.dataset in names for each in self.facts)
        n_others = len({each.dataset for each in self.facts} - names)
        notes = [self.summarize(n_read, store)]
        if n_others:
            notes.append(f"Left out: {count_nouns(n_others, 'dataset')} of the reference, on which you have no run.")
        notes += describe_distances(comparison, dict.fromkeys(rows))
        run_ids = tuple(run_id for run_id in comparison.run_ids if run_id in stored)
        return replace(
            comparison,
            run_ids=run_ids,
            notes=(*notes, *comparison.notes),
            improvability=measure_improvability(comparison),
        )


def find_reference(word: str) -> Path:
    """Return the file of a reference: a path, or a name in the current folder or among those that are installed.

    Raises
    ------
    UserError
    """
    places = [expand_home(word), Path(f"{word}{EXTENSION}"), SHIPPED / f"{word}{EXTENSION}"]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise UserError(
            f"reference={word} is neither a file nor a name that `bakeoff reference list` shows (looked in "
            f"{Path.cwd()}); `bakeoff reference make` writes one."
        )
    return file


def open_reference(word: str) -> Reference:
    """Read a reference, given by its file or its name, and check each file that is used by its digest.

    Raises
    ------
    UserError
        There is no such file, or it is not a reference, is damaged, or has a later format.
    """
    file = find_reference(word)
    name = file.name.removesuffix(EXTENSION).removesuffix(".zip")
    if file.stat().st_size > MAX_BYTES:
        raise UserError(f"reference={word} has more than {MAX_BYTES:,} bytes; give a file of `bakeoff reference make`.")
    try:
        with ZipFile(file) as archive:
            manifest = json.loads(_read_member(archive, MANIFEST))
            if manifest["format"] != FORMAT:
                raise ValueError(f"format {manifest['format']}, and this version of bakeoff reads format {FORMAT}")
            files = [_read_member(archive, member) for member in (RUNS, SCORES)]
        for member, content in zip((RUNS, SCORES), files, strict=True):
            if hashlib.sha256(content).hexdigest() != manifest["files"][member]:
                raise ValueError(f"{member} does not match its digest")
        facts = read_runs(*files)
    except Exception as error:  # a damaged archive raises errors of many kinds
        reason = cut_text(str(error) or repr(error), MAX_LETTERS)
        raise UserError(
            f"reference={word} cannot be read: {reason}. It is no file of `bakeoff reference make`, or was changed; "
            "ask its authors for the file."
        ) from error
    return Reference(name, hashlib.sha256(file.read_bytes()).hexdigest(), facts)


def _read_member(archive: ZipFile, name: str) -> bytes:
    """Return a file of an archive; reject one that is larger than a reference may be."""
    content = archive.open(name).read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} has more than {MAX_BYTES:,} bytes")
    return content


def join_runs(own: Sequence[RunFacts], carried: Sequence[RunFacts]) -> list[RunFacts]:
    """Return runs and carried ones, of which those have a reason that cannot be paired with the former.

    A carried run is left out if its configuration has a run on the same dataset.
    """
    finished = [each for each in own if not each.reason]
    done = {(each.configuration, each.dataset) for each in finished}
    on_dataset = group_by(finished, lambda each: each.dataset)
    cells = group_by(carried, lambda each: (each.configuration, each.dataset))
    joined = list(own)
    for key, runs in cells.items():
        if key not in done:
            reason = _explain_other_rows(on_dataset[key[1]], runs)
            joined += [replace(each, reason=each.reason or reason) for each in runs]
    return joined


def _explain_other_rows(own: Sequence[RunFacts], carried: Sequence[RunFacts]) -> str:
    """Return why the carried runs of a cell cannot be paired with the user's runs; empty if they can."""
    first, other = own[0], carried[0]
    if first.digest != other.digest:
        return f"the reference has other rows (digest {other.digest} and not {first.digest})"
    if {each.splits_digest for each in own} == {each.splits_digest for each in carried}:
        return ""
    seeds = [",".join(dict.fromkeys(each.seed for each in runs)) for runs in (own, carried)]
    settings = describe_differences(first, other) or f"seed ({seeds[0]} and {seeds[1]})"
    return f"the reference has other folds: {settings}"


def measure_improvability(comparison: Comparison) -> dict[str, float]:
    """Return TabArena's improvability over the datasets that are ranked, by configuration; see `describe_distances`."""
    metric, overall = comparison.metrics[0], comparison.results[0].overall
    if overall is None:
        return {}
    means = tabulate_means(comparison.results[0].datasets, [*overall.mean_ranks]).loc[[*overall.datasets]]
    errors = metric.bounds[1] - means if metric.greater_is_better else means
    # Where no error is left, there is nothing to improve.
    shares = (1 - errors.rdiv(errors.min(axis=1), axis=0)).mask(errors == 0, 0).mean()
    return {str(name): float(share) for name, share in shares.items()}


def describe_distances(comparison: Comparison, rows: Collection[str]) -> Iterator[str]:
    """Yield how far rows are from the best one of each dataset, with Student's t intervals over datasets.

    Shares are those of the way from the last row of the comparison, which should be a baseline, to the best. TabArena's
    improvability is the gap as a share of the row's own error.

    References
    ----------
    Erickson, N. et al. (2025). TabArena: a living benchmark for machine learning on tabular data. NeurIPS.
    """
    last = comparison.configurations[-1].name
    means = tabulate_means(comparison.results[0].datasets, [row.name for row in comparison.configurations])
    scores = means if comparison.metrics[0].greater_is_better else -means
    gaps = scores.rsub(scores.max(axis=1), axis=0)
    shares = gaps.div(gaps[last], axis=0).replace(np.inf, np.nan)
    level = 1 - comparison.settings.alpha
    for row in rows:
        distance = _write_mean(gaps[row], level, format_score)
        share = _write_mean(shares[row], level, format_percent)
        datasets = count_nouns(int(gaps[row].count()), "dataset")
        yield (
            f"Over {datasets}, {row} is {distance} in {comparison.metrics[0].label} from the best: {share} of the way "
            f"from {last} to the best."
        )


def _write_mean(values: pd.Series[float], level: float, write: Callable[[float], str]) -> str:
    """Return the mean of the values of datasets in words, with its interval if there are several."""
    given = values.dropna().to_numpy()
    if len(given) < 2:
        return write(float(given[0])) if len(given) else "an unknown share"
    test = compute_corrected_t_test(given, 0, level)
    return f"{write(test.mean)} ({level:.0%} interval {write(max(test.lower, 0))} to {write(test.upper)})"
