"""Keys that the user adds, and the store of a learner that takes nominal columns as they are."""

from __future__ import annotations

import pandas as pd
from command import Bakeoff

NOMINAL = "dataset=file dataset.path=table.csv dataset.target=y preprocessing=none evaluation=kfold evaluation.folds=2"


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
