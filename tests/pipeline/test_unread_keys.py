"""Keys that nothing reads are refused, and so is the removal of values that every job needs."""

from __future__ import annotations

import pandas as pd
import pytest
from command import Bakeoff

NOMINAL = "dataset=file dataset.path=table.csv dataset.target=y preprocessing=none evaluation=kfold evaluation.folds=2"
REFUSED = {
    "+foo=1": "foo is not a key. Allowed: audit, balance",
    "++seeed=1": "seeed is not a key. Did you mean 'seed'?",
    "+foo.bar=1": "foo is not a key",
    "~seed": "seed cannot be removed",
    "-m +foo=1": "foo is not a key",
    "-m ~workers": "workers cannot be removed",
    "~balance": "balance must be set to an option: add balance=NAME",
    "-m ~audit": "audit must be set to an option",
    "-m +hydra.foo=1": "hydra.foo is not a key",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_key_that_nothing_reads_is_refused(bakeoff: Bakeoff, words: str) -> None:
    answer = bakeoff(*words.split(), "learner=majority", "dataset=iris")
    assert answer.status == 2
    assert REFUSED[words] in answer.err
    assert not list(bakeoff.folder.rglob("mlflow.db"))


def test_a_key_of_the_users_own_may_stand_in_other_values(bakeoff: Bakeoff) -> None:
    answer = bakeoff("+k=3", "learner=knn", "learner.n_neighbors=${k}", "dataset=iris", "evaluation.validation=0")
    assert answer.status == 0, answer.err
    assert bakeoff.runs()[0].data.params["learner.n_neighbors"] == "3"


def test_gradient_boosting_on_nominal_columns_is_stored_and_predicts(bakeoff: Bakeoff) -> None:
    cells = {"sort": ["red", "green", "blue", "red"] * 12, "size": [i * 7 % 13 + 0.5 for i in range(48)]}
    table = pd.DataFrame(cells)
    table["y"] = ["p" if sort == "red" else "q" for sort in table["sort"]]
    table.to_csv("table.csv", index=False)
    answer = bakeoff(*NOMINAL.split(), "learner=sklearn_hist_gradient_boosting", "learner.min_samples_leaf=5")
    assert answer.status == 0, answer.err
    answer = bakeoff("predict", "latest", "table.csv", "output=answers.csv")
    assert answer.status == 0, answer.err
    assert pd.read_csv("answers.csv")["prediction"].tolist() == table["y"].tolist()
