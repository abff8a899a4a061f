"""A line of tries: what is kept, what counts as a try, and each way to cheat, which is refused by name or counted."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import Bakeoff, command_in, enter
from scipy import stats
from written_runs import write_run

from bakeoff import accept
from bakeoff.pipeline.commands.accept.added_folds import AddedFolds
from bakeoff.pipeline.commands.accept.line import FILE, NEXT_DIGEST_TAG, find_lines
from bakeoff.pipeline.commands.comparison_report.kept_report import DIGEST_TAG
from bakeoff.pipeline.tracking.store import open_store

ROWS = ("dataset=iris", "evaluation.reserve=0.2")
WORDS = (*ROWS, "evaluation=kfold")
LEARNERS = ("majority", "naive_bayes", "knn")
OPEN = ("line=iris", "tries=20")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a line whose base is the majority, and runs of two better learners, which were not tried."""
    folder = tmp_path_factory.mktemp("line")
    with command_in(folder) as command:
        assert command("learner=majority", *WORDS).status == 0
        opened = command("accept", "base=latest", *OPEN)
        assert opened.status == 0, opened.err
        for learner in LEARNERS[1:]:
            assert command(f"learner={learner}", *WORDS).status == 0
    return folder


@pytest.fixture
def line(
    prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Bakeoff:
    """Return the command in a copy of that folder."""
    folder = tmp_path / "copy"
    shutil.copytree(prepared, folder)
    enter(folder, monkeypatch)
    return Bakeoff(folder, capsys, monkeypatch)


def find(command: Bakeoff, learner: str) -> str:
    """Return the newest run of a learner."""
    return str(next(run.info.run_id for run in command.runs() if run.data.params["learner"] == learner))


def offer(command: Bakeoff, learner: str) -> tuple[int, dict[str, Any]]:
    answer = command("accept", find(command, learner), "line=iris", "to=json")
    assert answer.status in (0, 1), answer.err
    return answer.status, json.loads(answer.out)


def read(command: Bakeoff) -> dict[str, Any]:
    """Return the line, which is listed."""
    answer = command("accept", "line=iris", "to=json")
    assert answer.status == 0, answer.err
    return dict(json.loads(answer.out))


def change(command: Bakeoff, statement: str, *values: Any) -> None:
    """Change rows of the store behind the back of the command."""
    with closing(sqlite3.connect(command.folder / "outputs" / "mlflow.db")) as database:
        assert database.execute(statement, values).rowcount > 0
        database.commit()


def set_tag(key: str, value: str) -> Callable[[Bakeoff], None]:
    statement = "UPDATE tags SET value = ? WHERE key = ? AND run_uuid = ?"
    return lambda command: change(command, statement, value, key, find(command, "knn"))


def edit(name: str, old: str, new: str) -> Callable[[Bakeoff], None]:
    """Return a function that edits a file of the offered run; the whole file is deleted if nothing is to be found."""

    def apply(command: Bakeoff) -> None:
        (file,) = (command.folder / "outputs").rglob(f"{find(command, 'knn')}/artifacts/{name}")
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1)) if old else file.unlink()

    return apply


def run(*words: str) -> Callable[[Bakeoff], None]:
    def apply(command: Bakeoff) -> None:
        answer = command(*words)
        assert answer.status == 0, answer.err

    return apply


def test_a_gain_is_kept_and_becomes_the_champion(line: Bakeoff) -> None:
    answer = line("accept", find(line, "naive_bayes"), "line=iris")
    assert answer.status == 0
    assert answer.out.startswith("try 2 of 20 on these rows: naive_bayes")
    assert "KEEP  +0." in answer.out
    assert "a keep in this line needs p < .0025" in answer.out
    assert "reserved rows: untouched" in answer.out
    listed = read(line)
    assert listed["line"]["champion"]["run_id"] == find(line, "naive_bayes")
    assert (listed["verdict"], listed["n_counted"], listed["n_left"], listed["level"]) == ("open", 2, 18, 0.0025)


def test_the_numbers_are_those_of_the_one_sided_corrected_t_test(line: Bakeoff) -> None:
    _, said = offer(line, "knn")
    compared = line("compare", find(line, "majority"), find(line, "knn"), "keep=false", "to=json")
    (pair,) = json.loads(compared.out)["results"][0]["datasets"][0]["pairs"]
    decision = said["decision"]
    assert decision["p"] == pytest.approx(pair["p_value"] / 2)
    assert decision["difference"] == pytest.approx(abs(pair["difference"]))
    ends = sorted([abs(pair["low"]), abs(pair["high"])])
    assert [decision["lower"], decision["upper"]] == pytest.approx(ends)


def test_a_margin_asks_for_more_than_any_gain(line: Bakeoff) -> None:
    base = find(line, "majority")
    for margin, status in ((0.4, 0), (0.9, 1)):
        words = (f"line=by{margin}", f"base={base}", "tries=9", f"margin={margin}")
        assert line("accept", find(line, "naive_bayes"), *words).status == status


def test_python_gives_the_same_document(line: Bakeoff) -> None:
    answer = accept(find(line, "naive_bayes"), line="iris")
    assert answer.is_accepted
    assert "KEEP" in repr(answer)
    document = json.loads(line("accept", find(line, "naive_bayes"), "line=iris", "to=json").out)
    assert {**document, **answer.to_dict(), "notes": document["notes"]} == document


def test_a_keep_moves_an_alias_and_a_no_does_not(line: Bakeoff) -> None:
    for learner, n_versions in (("naive_bayes", 1), ("knn", 1)):
        answer = line("accept", find(line, learner), "line=iris", "as=flowers@champion")
        assert answer.status in (0, 1), answer.err
        client = line.client()
        assert len(client.search_model_versions("name = 'flowers'")) == n_versions
        assert client.get_model_version_by_alias("flowers", "champion").run_id == find(line, "naive_bayes")


def test_the_gain_that_can_be_found_is_said_before_anything_is_tried(line: Bakeoff) -> None:
    answer = line("accept", "line=other", f"base={find(line, 'knn')}", "tries=5")
    found = re.search(r"a gain of (\S+) is found four times of five", answer.err)
    assert found is not None
    assert 0.01 < float(found[1]) < 0.5


REFUSED: Mapping[str, tuple[Callable[[Bakeoff], None], str]] = {
    "other data": (run("learner=knn", "dataset=wine", *WORDS[1:]), "has other data than line iris"),
    "other folds": (run("learner=knn", *WORDS, "seed=1"), "has other folds than line iris"),
    "another reserve": (run("learner=knn", *WORDS, "evaluation.reserve_seed=1"), "has other reserve than line iris"),
    "another metric": (run("learner=knn", *WORDS, "evaluation.metrics=[mcc]"), "metric=accuracy: run"),
    "other versions": (set_tag("versions", '{"numpy": "1.0"}'), "has other versions than line iris"),
    "another identity in the store": (set_tag("config_hash", "0123456789abcdef"), "does not have the identity"),
    "other folds in the store": (set_tag("splits_digest", "0123456789abcdef"), "does not have the identity"),
    "other rows in the store": (
        set_tag("dataset_digest", "0123456789abcdef"),
        "the rows of dataset iris are not those",
    ),
    "a better score in the store": (
        lambda command: change(
            command,
            "UPDATE metrics SET value = 1.0 WHERE key = 'fold/test_accuracy' AND value < 1 AND run_uuid = ?",
            find(command, "knn"),
        ),
        "is stored as 1, but its predictions give",
    ),
    "better predictions": (
        edit("predictions.csv", "virginica,versicolor", "virginica,virginica"),
        "its predictions give",
    ),
    "other targets": (
        edit("predictions.csv", "virginica,versicolor", "versicolor,versicolor"),
        "has other rows, targets or labels",
    ),
    "no predictions": (edit("predictions.csv", "", ""), "its predictions.csv is missing"),
    "a record of other rows": (edit("audit.csv", "0,reserve,30,", "0,reserve,30,f"), "does not show that it left"),
    "no record of the rows": (edit("audit.csv", "", ""), "does not show that it left"),
    "a run that was deleted": (lambda command: command.client().delete_run(find(command, "knn")), "was deleted"),
    "a run that failed": (
        lambda command: change(command, "UPDATE runs SET status = 'FAILED' WHERE run_uuid = ?", find(command, "knn")),
        "is FAILED",
    ),
    "a single split": (run("learner=knn", *ROWS, "evaluation=holdout"), "has a single split"),
    "a champion that was deleted": (
        lambda command: command.client().delete_run(find(command, "majority")),
        "the champion of line iris, run",
    ),
}
"""What somebody does with the run of knn or with its store -> what the line answers when the run is offered."""


@pytest.mark.parametrize("cheat", REFUSED)
def test_a_run_that_breaks_the_rules_is_refused_by_name(line: Bakeoff, cheat: str) -> None:
    offered = find(line, "knn")
    act, said = REFUSED[cheat]
    act(line)
    active = [each.info.run_id for each in line.runs()]
    offered = find(line, "knn") if offered in active else offered
    answer = line("accept", offered, "line=iris")
    assert answer.status == 2, answer.out
    assert said in answer.err
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(line.folder)
        assert read(line)["line"]["decisions"] == []


MISTAKES = (
    "{setosa: {versicolor: PRICE, virginica: 1}, versicolor: {setosa: 1, virginica: 1}, "
    "virginica: {setosa: 1, versicolor: 1}}"
)
COSTS = ("evaluation.metrics=[cost]", f"evaluation.costs={MISTAKES}")
METRIC = """
import numpy as np


def mistakes(y_true, y_pred, price=1.0):
    return FACTORprice * np.mean(y_true != y_pred)
"""
OWN = ("evaluation.metrics=[{_target_: priced.mistakes, greater_is_better: false, price: PRICE}]", "trust=[priced]")


@pytest.mark.parametrize("words", [COSTS, OWN])
def test_other_costs_of_a_score_are_refused_and_smaller_ones_are_better(
    bakeoff: Bakeoff, words: tuple[str, ...]
) -> None:
    write_metric(bakeoff)
    trust = words[1:] if words is OWN else ()
    for learner, price in (("majority", "1"), ("naive_bayes", "1"), ("knn", "2")):
        run(f"learner={learner}", *WORDS, *(word.replace("PRICE", price) for word in words))(bakeoff)
    assert bakeoff("accept", f"base={find(bakeoff, 'majority')}", *OPEN, *trust).status == 0
    answer = bakeoff("accept", find(bakeoff, "knn"), "line=iris", *trust)
    assert answer.status == 2
    assert "has other definition than line iris" in answer.err
    answer = bakeoff("accept", find(bakeoff, "naive_bayes"), "line=iris", *trust)
    assert answer.status in (0, 1), answer.err
    assert re.search(r"(KEEP|NO)  \+", answer.out)


def write_metric(command: Bakeoff, factor: str = "") -> None:
    """Write a package with a metric of the user."""
    (command.folder / "priced").mkdir(exist_ok=True)
    (command.folder / "priced" / "__init__.py").write_text(METRIC.replace("FACTOR", factor))


def find_file(command: Bakeoff) -> Path:
    (file,) = (command.folder / "outputs").rglob(FILE)
    return file


def copy_line(command: Bakeoff) -> None:
    """Copy the run of the line."""
    client = command.client()
    (own,) = client.search_runs([client.get_experiment_by_name("bakeoff-comparisons").experiment_id])
    copied = client.create_run(own.info.experiment_id, tags=own.data.tags)
    client.set_terminated(copied.info.run_id)


EDITED: Mapping[str, tuple[Callable[[Bakeoff], Any], tuple[str, ...], str]] = {
    "its file edited": (
        lambda command: find_file(command).write_text(find_file(command).read_text().replace("20", "2000", 1)),
        (),
        "its file was changed or is missing",
    ),
    "its file deleted": (lambda command: find_file(command).unlink(), (), "its file was changed or is missing"),
    "copied": (copy_line, (), "has two runs"),
    "more tries": (lambda _: None, ("tries=1000",), "tries=1000: line iris was opened with tries=20"),
    "a weaker base": (lambda _: None, ("base=latest",), "which is fixed; leave base= out"),
}
"""What somebody does with the line, the words that are given -> what is answered."""


@pytest.mark.parametrize("cheat", EDITED)
def test_the_rules_of_a_line_cannot_be_changed(line: Bakeoff, cheat: str) -> None:
    act, words, said = EDITED[cheat]
    act(line)
    answer = line("accept", find(line, "naive_bayes"), "line=iris", *words)
    assert answer.status == 2, answer.out
    assert said in answer.err


def write_tries(command: Bakeoff, n_tries: int, **options: Any) -> None:
    """Store runs of other seeds on the rows of the line, which are not offered."""
    tags = command.client().get_run(find(command, "majority")).data.tags
    store = open_store(None, options.pop("experiment", "bakeoff"))
    for seed in range(n_tries):
        kept = {"dataset_digest": tags["dataset_digest"], "config_hash": f"{seed:016x}"}
        write_run(store, "knn", "iris", [0.9, 0.8], seed=seed, tags=kept, **options)


def delete_tries(command: Bakeoff) -> None:
    write_tries(command, 3)
    for each in command.runs()[:3]:
        command.client().delete_run(each.info.run_id)


def remove_tries(command: Bakeoff) -> None:
    write_tries(command, 3)
    run("rm", *(each.info.run_id for each in command.runs()[:3]))(command)


def repeat_try(command: Bakeoff) -> None:
    run("learner=knn", *WORDS)(command)


COUNTED: Mapping[str, tuple[Callable[[Bakeoff], None], int]] = {
    "seeds run beside": (lambda command: write_tries(command, 3), 3),
    "runs that were stopped when their first folds were bad": (
        lambda command: write_tries(command, 3, status="KILLED"),
        3,
    ),
    "runs that still run": (lambda command: write_tries(command, 3, status="RUNNING"), 3),
    "runs in another experiment": (lambda command: write_tries(command, 3, experiment="elsewhere"), 3),
    "runs that were deleted": (delete_tries, 3),
    "runs that were removed": (remove_tries, 3),
    "runs without any score": (lambda command: write_tries(command, 0), 0),
    "a run of the same configuration": (repeat_try, 0),
    "a clock that was set back": (lambda command: change(command, "UPDATE runs SET start_time = 1"), 0),
}
"""What somebody does -> the number of tries that it adds to the two of the folder."""


@pytest.mark.parametrize("cheat", COUNTED)
def test_each_configuration_that_was_scored_on_the_rows_counts_once(line: Bakeoff, cheat: str) -> None:
    act, n_added = COUNTED[cheat]
    act(line)
    assert read(line)["n_counted"] == 2 + n_added


def test_a_configuration_has_one_answer_whoever_is_champion(line: Bakeoff) -> None:
    _, first = offer(line, "knn")
    offer(line, "naive_bayes")
    repeat_try(line)
    status, again = offer(line, "knn")
    assert (status, again["decision"]) == (0, first["decision"])
    assert again["n_counted"] == 2
    assert any("judged before" in note for note in again["notes"])


def test_the_base_is_no_change(line: Bakeoff) -> None:
    run("learner=majority", *WORDS)(line)
    answer = line("accept", find(line, "majority"), "line=iris")
    assert answer.status == 2
    assert "has the configuration of the base" in answer.err


def test_what_was_chosen_before_the_line_counts_with_all_it_was_chosen_from(line: Bakeoff) -> None:
    write_tries(line, 4)
    words = ("line=late", f"base={find(line, 'majority')}", "tries=3")
    answer = line("accept", "line=late", *words[1:], "to=json")
    assert (answer.status, json.loads(answer.out)["n_counted"]) == (0, 0)
    assert "6 configurations had been scored on these rows before" in answer.err
    answer = line("accept", find(line, "naive_bayes"), "line=late")
    assert answer.status == 2
    assert "line late has used up its 3 tries: 6 configurations have been scored" in answer.err


def test_the_reserve_is_scored_once_and_ends_the_line(line: Bakeoff) -> None:
    assert offer(line, "naive_bayes")[0] == 0
    answers = [line("accept", "final", "line=iris", "to=json") for _ in range(2)]
    assert [answer.status for answer in answers] == [0, 0]
    first, again = (json.loads(answer.out) for answer in answers)
    assert first == again
    assert first["verdict"] == "better"
    assert (first["line"]["final"]["n_rows"], first["line"]["final"]["unproved"]) == (30, [])
    assert first["line"]["final"]["lower"] > 0
    answer = line("accept", find(line, "knn"), "line=iris")
    assert answer.status == 2
    assert "line iris has ended" in answer.err


def test_rows_that_another_line_has_scored_are_no_reserve(line: Bakeoff) -> None:
    base = find(line, "majority")
    for name in ("iris", "again"):
        assert line("accept", find(line, "naive_bayes"), f"line={name}", f"base={base}", "tries=20").status == 0
    assert line("accept", "final", "line=iris").status == 0
    answer = line("accept", "final", "line=again")
    assert answer.status == 2
    assert "were scored by line iris" in answer.err


def test_a_champion_that_was_removed_can_be_run_again(line: Bakeoff) -> None:
    assert offer(line, "naive_bayes")[0] == 0
    run("rm", find(line, "naive_bayes"))(line)
    run("learner=naive_bayes", *WORDS)(line)
    assert offer(line, "knn")[0] == 1
    assert line("accept", "final", "line=iris").status == 0


def test_a_try_that_may_have_read_the_reserve_is_named(line: Bakeoff) -> None:
    assert offer(line, "naive_bayes")[0] == 0
    run("learner=knn", WORDS[0], WORDS[2])(line)
    answer = line("accept", "final", "line=iris")
    assert "1 of 3 configurations do not show that they left these rows alone" in answer.out


def test_nothing_is_left_of_a_line_whose_first_offer_is_refused(line: Bakeoff) -> None:
    base = find(line, "majority")
    write_tries(line, 5)
    for offered in (base, find(line, "knn")):
        answer = line("accept", offered, "line=new", f"base={base}", "tries=3")
        assert answer.status == 2
        assert "line=new does not exist" in line("accept", "line=new").err


def test_two_processes_at_once_are_both_counted(line: Bakeoff) -> None:
    program = [sys.executable, "-m", "bakeoff", "accept"]
    words = [[find(line, learner), "line=iris"] for learner in LEARNERS[1:]]
    both = [subprocess.Popen([*program, *each], cwd=line.folder, stdout=subprocess.DEVNULL) for each in words]
    assert sorted(each.wait() for each in both) in ([0, 1], [0, 0])
    assert len(read(line)["line"]["decisions"]) == 2


@pytest.mark.parametrize("is_written", [False, True])
def test_a_line_survives_a_process_that_is_killed_while_it_writes(line: Bakeoff, is_written: bool) -> None:
    before = find_file(line).read_text()
    offer(line, "naive_bayes")
    found = find_lines(open_store(None, "bakeoff"), "bakeoff")["iris"]
    first_digest = hashlib.sha256(before.encode()).hexdigest()
    line.client().set_tag(found.run_id, DIGEST_TAG, first_digest)
    assert found.tags[NEXT_DIGEST_TAG] != first_digest
    if not is_written:
        find_file(line).write_text(before)
    assert len(read(line)["line"]["decisions"]) == is_written


@pytest.fixture
def repeatable(bakeoff: Bakeoff) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Return a function that offers scaled neighbours to a new line of at most 4 repeats, whose base does not scale."""
    words = ("learner=knn", "dataset=wine", "evaluation=kfold")
    for own in ((), ("preprocessing=standardize",)):
        assert bakeoff(*words, *own).status == 0
    offered, base = (run.info.run_id for run in bakeoff.runs())

    def offer_until_sure(tries: int) -> tuple[int, dict[str, Any]]:
        line = (f"line=at{tries}", f"tries={tries}", f"base={base}")
        answer = bakeoff("accept", offered, *line, "until=sure", "repeats=4", "to=json")
        assert answer.status in (0, 1), answer.err
        return answer.status, json.loads(answer.out)

    return offer_until_sure


def test_folds_are_repeated_until_a_keep_and_the_p_value_is_corrected_for_all_looks(
    repeatable: Callable[..., tuple[int, dict[str, Any]]], bakeoff: Bakeoff
) -> None:
    status, said = repeatable(100)
    decision = said["decision"]
    assert (status, decision["answer"], decision["n_folds"]) == (0, "keep", 15)
    means: dict[str, list[float]] = {}
    for run in bakeoff.runs():
        means.setdefault(run.data.params["preprocessing"], []).append(run.data.metrics["test_accuracy"])
    scaled, plain = means["standardize"], means["none"]
    assert (len(scaled), len(plain)) == (3, 3)
    assert decision["difference"] == pytest.approx(sum(scaled) / 3 - sum(plain) / 3)
    half = (decision["upper"] - decision["lower"]) / 2
    alone = stats.t.sf(decision["difference"] / half * stats.t.isf(0.025, 14), 14)
    n_looks = 4
    assert alone < decision["p"] <= n_looks * alone * 1.001


def test_repeats_are_no_tries_and_are_not_run_again(
    repeatable: Callable[..., tuple[int, dict[str, Any]]], bakeoff: Bakeoff
) -> None:
    _, said = repeatable(100)
    n_runs = len(bakeoff.runs())
    assert (said["n_counted"], n_runs) == (1, 6)
    answer = bakeoff("accept", "latest", "line=at100", "until=sure")
    assert answer.status == 2
    assert "is a repeat of the folds of another run, which until=sure ran; offer that run, by its id." in answer.err
    assert repeatable(100)[1]["decision"] == said["decision"]
    assert repeatable(1000)[1]["decision"]["n_folds"] == 15
    assert len(bakeoff.runs()) == n_runs


@pytest.mark.parametrize(("tries", "answer", "n_folds"), [(10_000, "undecided", 20), (100_000, "no", 5)])
def test_repeats_end_with_the_largest_number_or_when_no_keep_is_in_reach(
    repeatable: Callable[..., tuple[int, dict[str, Any]]], tries: int, answer: str, n_folds: int
) -> None:
    status, said = repeatable(tries)
    assert (status, said["verdict"], said["decision"]["n_folds"]) == (1, answer, n_folds)


def test_an_interrupted_offer_is_continued_with_its_own_looks(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("learner=knn", "dataset=wine", "evaluation=kfold")
    for own in ((), ("preprocessing=standardize",)):
        assert bakeoff(*words, *own).status == 0
    offered, base = (run.info.run_id for run in bakeoff.runs())
    offer = ("accept", offered, "line=wine")
    with monkeypatch.context() as stopped:
        stopped.setattr(AddedFolds, "_run_repeat", lambda self, number: signal.raise_signal(signal.SIGINT))
        assert bakeoff(*offer, f"base={base}", "tries=100", "until=sure", "repeats=4").status == 130
    for others in ((), ("until=sure", "repeats=3"), ("until=sure", "repeats=5")):
        answer = bakeoff(*offer, *others)
        assert answer.status == 2
        assert "give until=sure repeats=4 again" in answer.err
    assert bakeoff(*offer, "until=sure", "repeats=4").status == 0


def test_words_that_no_longer_give_the_run_are_refused(
    repeatable: Callable[..., tuple[int, dict[str, Any]]], bakeoff: Bakeoff
) -> None:
    run = bakeoff.runs()[0].info.run_id
    words = json.dumps(["learner=naive_bayes", "dataset=wine", "evaluation=kfold"])
    change(bakeoff, "UPDATE tags SET value = ? WHERE key = 'overrides' AND run_uuid = ?", words, run)
    answer = bakeoff("accept", run, "line=new", "base=" + bakeoff.runs()[1].info.run_id, "tries=100", "until=sure")
    assert answer.status == 2
    assert f"the words of run {run} no longer give its configuration" in answer.err
