"""The work of a job: how it is counted, and what is shown of it on a terminal and elsewhere."""

from __future__ import annotations

from io import StringIO
from threading import Event

import pytest
from doubles import experiment
from sklearn.naive_bayes import GaussianNB

from bakeoff.pipeline.experiment import evaluate_splits, fit_final_model
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.stages.threshold import TunedThreshold
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.sweep import job_runner, run_screen
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.job_runner import Meter
from bakeoff.pipeline.sweep.jobs import FINISHED, JobOutcome, Work
from bakeoff.pipeline.sweep.run_screen import WorkBar, announce_long
from bakeoff.pipeline.text.wording import make_console

TUNED = experiment(tuning=GridTuning({"mark": [1, 2]}, folds=3), splitter=KFold(folds=2))
SPLITS = TUNED.make_splits()
N_FITS = 7 * 3
"""Two candidates on three inner folds and the chosen one, on two folds and on all rows."""


class Lines(StringIO):
    """A stream that is not a terminal, and reports that something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = Event()

    def write(self, text: str) -> int:
        """Write the text."""
        n = super().write(text)
        self.written.set()
        return n


@pytest.fixture
def reports_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a meter report each change."""
    monkeypatch.setattr(job_runner, "REPORT_SECONDS", 0)


@pytest.mark.usefixtures("reports_all")
def test_candidates_folds_and_the_model_of_all_rows_are_counted() -> None:
    shown: list[Work] = []
    meter = Meter(TUNED, SPLITS, shown.append)
    folds = list(meter.count_folds(evaluate_splits(meter.experiment, SPLITS.folds)))
    fit_final_model(meter.experiment, SPLITS, folds[-1])
    assert shown[0] == Work(0, N_FITS, 0, 2)
    assert [each.fits for each in shown if each.folds == 0] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert shown[-1] == Work(N_FITS, N_FITS, 2, 2)
    assert shown[-1].text == "21 of 21 fits, 2 of 2 folds"
    assert folds[0].model.n_fits == 7


@pytest.mark.usefixtures("reports_all")
def test_the_inner_fits_of_a_threshold_are_counted() -> None:
    shown: list[Work] = []
    chosen = experiment(learner=GaussianNB(), threshold=TunedThreshold(folds=4))
    splits = chosen.make_splits()
    meter = Meter(chosen, splits, shown.append)
    list(evaluate_splits(meter.experiment, splits.folds))
    assert shown[-1] == Work(5, 5, 0, 1)


@pytest.mark.usefixtures("reports_all")
def test_fits_in_other_processes_are_counted_with_their_fold() -> None:
    shown: list[Work] = []
    folds = list(evaluate_splits(TUNED, SPLITS.folds))
    list(Meter(TUNED, SPLITS, shown.append).count_folds(folds))
    assert shown == [Work(0, N_FITS, 0, 2), Work(7, N_FITS, 1, 2), Work(14, N_FITS, 2, 2)]


def test_a_short_job_reports_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_runner, "REPORT_SECONDS", 60)
    shown: list[Work] = []
    meter = Meter(TUNED, SPLITS, shown.append)
    list(meter.count_folds(evaluate_splits(meter.experiment, SPLITS.folds)))
    assert shown == [Work(0, N_FITS, 0, 2)]


def test_lines_without_a_terminal_say_what_is_done_of_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_screen.LINE_SECONDS == 60  # one line a minute
    monkeypatch.setattr(run_screen, "LINE_SECONDS", 0.001)
    lines = Lines()
    bar = WorkBar(make_console(file=lines))
    bar.show_work(Work(203, 606, 2, 5))
    with bar:
        assert lines.written.wait(60)
    assert lines.getvalue().startswith("203 of 606 fits, 2 of 5 folds, ")


@pytest.mark.parametrize(("is_terminal", "is_quiet"), [(False, False), (True, False), (False, True), (True, True)])
def test_only_a_terminal_shows_a_bar(is_terminal: bool, is_quiet: bool) -> None:
    stream = Lines()
    console = make_console(file=stream, quiet=is_quiet, force_terminal=is_terminal, width=120)
    with WorkBar(console) as bar:
        bar.show_work(Work(1, 2, 0, 1))
    assert ("1 of 2 fits, 0 of 1 fold" in stream.getvalue()) == (is_terminal and not is_quiet)


def test_a_sweep_shows_its_jobs_and_the_work_of_those_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    display = SweepDisplay(20, quiet=True)
    shown: list[tuple[float, str]] = []
    monkeypatch.setattr(display.bar, "show", lambda n_done, text: shown.append((n_done, text)))
    display.show_work(0, Work(303, 606, 2, 5))
    display.show_work(1, Work(0, 606, 0, 5))
    display.show_outcome(JobOutcome(0, "first", FINISHED))
    display.show_outcome(JobOutcome(1, "second", FINISHED))
    assert shown == [
        (0.5, "0 of 20 jobs; running: 303 of 606 fits, 2 of 5 folds"),
        (0.5, "0 of 20 jobs; running: 303 of 1212 fits, 2 of 10 folds"),
        (1.0, "1 of 20 jobs; running: 0 of 606 fits, 0 of 5 folds"),
        (2.0, "2 of 20 jobs"),
    ]


@pytest.mark.parametrize(
    ("silent", "between", "said"),
    [
        (60, 60, []),
        (0, 60, ["checking 4 jobs: 0 done"]),
        (0, 0, [f"checking 4 jobs: {n} done" for n in range(4)]),
    ],
)
def test_a_long_check_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, silent: float, between: float, said: list[str]
) -> None:
    monkeypatch.setattr(run_screen, "SILENT_SECONDS", silent)
    monkeypatch.setattr(run_screen, "LINE_SECONDS", between)
    announced: list[str] = []
    assert list(announce_long("abcd", "checking", announced.append)) == list("abcd")
    assert announced == said
