"""Options of the user wherever a configuration is composed: runs, sweeps, plans, help and listings."""

from __future__ import annotations

import pytest
from command import Bakeoff

LEARNER = '''
from sklearn.neighbors import NearestCentroid


class NearestMean(NearestCentroid):
    """The class whose mean is nearest."""
'''
FILES = {
    "own_parts.py": LEARNER,
    "conf/learner/nearest_mean.yaml": (
        "# The class whose mean is nearest.\n_target_: own_parts.NearestMean\nshrink_threshold: null\n"
    ),
    "conf/space/nearest_mean.yaml": "shrink_threshold: [null, 0.5]\n",
    "conf/dataset/two_blobs.yaml": (
        "# Two blobs.\n_target_: bakeoff.pipeline.stages.dataset.make_points\nname: blobs\nn: 60\nseed: 1\n"
    ),
    "conf/experiment/quick.yaml": (
        "# @package _global_\n# My comparison.\ndefaults:\n  - override /learner: nearest_mean\n"
        "  - override /dataset: wine\n"
    ),
}


@pytest.fixture
def command(bakeoff: Bakeoff) -> Bakeoff:
    """Return the command in a folder with options of the user."""
    for name, text in FILES.items():
        file = bakeoff.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return bakeoff


def test_an_experiment_of_the_user_chooses_and_the_command_trusts(command: Bakeoff) -> None:
    assert command("experiment=quick", "tracking=none").status == 2
    answer = command("experiment=quick", "tracking=none", "trust=[own_parts]")
    assert answer.status == 0, answer.err
    assert answer.out.startswith("quick nearest_mean wine")


@pytest.mark.slow
def test_patterns_spaces_and_workers_take_the_users_learners(command: Bakeoff) -> None:
    words = ["-m", "learner=glob([near*,majority])", "dataset=iris", "search=grid", "trust=[own_parts]"]
    answer = command(*words, "workers=2")
    assert answer.status == 0, answer.err
    names = {run.info.run_name for run in command.runs()}
    assert any("nearest_mean" in name and "0.5" in name for name in names)
    assert len(names) == 3


@pytest.mark.parametrize(
    ("name", "text", "answer"),
    [
        ("learner/broken.yaml", "_target_: [mine\nb: 1\n", "conf/learner/broken.yaml is not YAML: "),
        ("learner/broken.yaml", "defaults:\n  - nowhere\n", "learner=nowhere is not an option. "),
        (
            "learner/knn.yaml",
            "_target_: own_parts.NearestMean\n",
            "conf/learner/knn.yaml has the name of a built-in option",
        ),
    ],
)
@pytest.mark.parametrize("words", [["learner=broken"], ["learner=broken", "--cfg", "job"]], ids=["run", "flag"])
def test_a_file_that_cannot_be_read_is_named(
    command: Bakeoff, name: str, text: str, answer: str, words: list[str]
) -> None:
    (command.folder / "conf" / name).write_text(text)
    given = command(*words)
    assert given.status == 2
    assert given.err.startswith(f"refused: {answer}")


OWN_LISTS = {
    "own_parts.py": (
        LEARNER + "\n\ndef profit(y_true, y_pred, gain=2.0):\n    return gain * (y_true == y_pred).mean() - 1.0\n"
    ),
    "own_figures.py": """
from dataclasses import dataclass
from matplotlib.figure import Figure
from bakeoff.pipeline.commands.figures.run_figure import RunFigure


@dataclass(frozen=True, kw_only=True)
class ScoresByFold(RunFigure):
    def draw(self, run):
        figure = Figure()
        figure.subplots().plot([fold.scores["test_" + run.experiment.headline] for fold in run.folds])
        return figure
""",
    "conf/metric/profit.yaml": ("# Profit of a row.\n_target_: own_parts.profit\ngreater_is_better: true\ngain: 3.0\n"),
    "conf/figure/by_fold.yaml": "# Scores of folds.\n_target_: own_figures.ScoresByFold\nfile: by_fold.png\n",
}


@pytest.fixture
def listing(command: Bakeoff) -> Bakeoff:
    """Return the command in a folder with a metric and a figure of the user."""
    for name, text in OWN_LISTS.items():
        file = command.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return command


def test_lists_take_metrics_and_figures_of_the_user_by_name(listing: Bakeoff) -> None:
    words = ["learner=majority", "dataset=iris", "trust=[own_parts,own_figures]", "figures=[by_fold]"]
    answer = listing(*words, "evaluation.metrics=[accuracy,profit]", "tracking.models=false")
    assert answer.status == 0, answer.err
    (run,) = listing.runs()
    assert run.data.metrics["test_profit"] == pytest.approx(3 * run.data.metrics["test_accuracy"] - 1)
    assert [artifact.path for artifact in listing.client().list_artifacts(run.info.run_id, "figures")] or (
        listing.client().download_artifacts(run.info.run_id, "by_fold.png")
    )
    answer = listing("report", "latest", "output=page.html", "trust=[own_parts,own_figures]")
    assert answer.status == 0, answer.err
    assert '<figure class="by_fold">' in (listing.folder / "page.html").read_text()


def test_all_figures_are_those_of_the_user_too_if_their_package_is_trusted(listing: Bakeoff) -> None:
    words = ["learner=majority", "dataset=iris", "figures=all", "--cfg", "job"]
    assert listing(*words).status == 0
    from bakeoff.pipeline.config.options import settle_figures

    targets = [[node["_target_"] for node in settle_figures("all", None, trust)] for trust in ([], ["own_figures"])]
    assert set(targets[1]) - set(targets[0]) == {"own_figures.ScoresByFold"}
