"""Very many splits are made one by one: nothing is kept for each of them that grows with all rows."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from doubles import check_and_split, experiment
from sklearn.dummy import DummyClassifier

from bakeoff.pipeline.audit import Audit
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_splits
from bakeoff.pipeline.stages.splitting import Bootstrap, KFold, LeaveOneOut, Split, SplitInput, Splitter, splitter
from bakeoff.pipeline.stages.splitting.splits import FoldStream

MANY = SplitInput(np.arange(100_000) % 2, is_classification=True)
FEW = SplitInput(np.arange(40) % 2, is_classification=True)


def rows_of(split: Split) -> list[list[int]]:
    return [split.train.tolist(), split.validation.tolist(), split.test.tolist()]


def test_leave_one_out_on_a_hundred_thousand_rows_makes_splits_as_they_are_read() -> None:
    splits = LeaveOneOut().make_splits(MANY, seed=0)
    assert len(splits.folds) == 100_000
    assert not splits.is_listed
    assert len(splits.checked) == 100
    first, second = islice(splits.folds, 2)
    assert (first.test.tolist(), second.test.tolist()) == ([0], [1])
    assert splits.min_train_rows == 99_999
    assert splits.mean_rows == {"train": 99_999.0, "validation": 0.0, "test": 1.0}
    assert splits.n_bytes < 200_000_000
    assert splits.digest() == LeaveOneOut().make_splits(MANY, seed=0).digest()


@pytest.mark.parametrize("made", [LeaveOneOut(), KFold(folds=4, repeats=3), Bootstrap(repeats=5, validation=0.2)])
def test_a_stream_gives_the_same_splits_as_a_list(made: Splitter, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = made.make_splits(FEW, seed=3)
    monkeypatch.setattr(splitter, "MAX_LISTED_ROWS", 10)
    streamed = made.make_splits(FEW, seed=3)
    assert isinstance(streamed.folds, FoldStream)
    assert list(map(rows_of, streamed.folds)) == list(map(rows_of, listed.folds))
    assert rows_of(streamed.folds[-1]) == rows_of(listed.folds[-1])
    assert list(map(rows_of, streamed.folds[1:3])) == list(map(rows_of, listed.folds[1:3]))
    assert made.count_splits(FEW) == len(listed.folds)


def test_the_fingerprint_of_a_stream_is_that_of_what_decides_its_test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitter, "MAX_LISTED_ROWS", 10)
    digest = KFold(folds=4).make_splits(FEW, seed=3).digest()
    assert digest == KFold(folds=4, validation=0.2).make_splits(FEW, seed=3).digest()
    assert digest != KFold(folds=4).make_splits(FEW, seed=4).digest()
    assert digest != KFold(folds=5).make_splits(FEW, seed=3).digest()
    other = SplitInput(FEW.y[::-1], is_classification=True)
    assert digest != KFold(folds=4).make_splits(other, seed=3).digest()


def test_a_splitter_that_does_not_count_is_stopped_at_the_limit() -> None:
    class Endless(Splitter):
        """Yields splits without end."""

        def iter_outer_splits(self, data, seed):  # type: ignore[no-untyped-def]
            while True:
                yield np.arange(30), np.arange(30, 40)

    with pytest.raises(UserError, match=r"evaluation would fit 51 folds .* max_folds=50"):
        Endless().make_splits(FEW, seed=0, max_folds=50)


def test_a_fold_without_its_model_keeps_what_the_reports_need() -> None:
    built = experiment(learner=DummyClassifier())
    fold = next(iter(evaluate_splits(built, check_and_split(built).folds)))
    kept = fold.without_model()
    assert kept.scores == fold.scores
    assert kept.summarize_rows() == fold.summarize_rows()
    assert len(kept.summarize_rows()) == len(fold.seen)
    assert (kept.model.pipeline, kept.model.predictor) == (None, None)
    assert len(kept.split.train) == 0
    assert kept.split.test is fold.split.test


def test_the_audit_says_that_not_all_splits_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitter, "MAX_LISTED_ROWS", 10)
    built = experiment(splitter=KFold(folds=2, repeats=60))
    verdict = Audit().check(built, built.make_splits())
    assert any("the 120 splits are made one by one" in warning for warning in verdict.warnings)
