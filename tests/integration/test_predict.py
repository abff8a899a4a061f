"""``bakeoff predict``: rows are read as those of training were, and what training did not have is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff

from bakeoff.pipeline.stages.dataset.files import read_file
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.tables.output_file import WRITERS

ROWS = [("true", "1", f"{number}.5", "red", "a") for number in range(20)]
ROWS += [("false", "2", f"{number}.25", "blue", "b") for number in range(20)]
NAMES = ("flag", "code", "size", "colour", "y")


def train(bakeoff: Bakeoff, *words: str, **layout: str) -> None:
    """Fit a tree on rows that each of two columns tells apart."""
    table = pd.DataFrame(ROWS, columns=list(NAMES))
    table.to_csv(bakeoff.folder / "table.csv", index=False, **layout)  # type: ignore[call-overload]
    shared = ("dataset=file", "dataset.path=table.csv", "dataset.target=y", "learner=decision_tree")
    answer = bakeoff(*shared, "dataset.nominal=[code]", *words)
    assert answer.status == 0, answer.err


def predictions(folder: Path, name: str = "new") -> list[str]:
    return pd.read_csv(folder / f"{name}.predictions.csv")["prediction"].tolist()


@pytest.mark.parametrize("drop", ["[code,size,colour]", "[flag,size,colour]"])
def test_a_value_means_the_same_in_every_spelling_and_file(bakeoff: Bakeoff, drop: str) -> None:
    train(bakeoff, f"dataset.drop={drop}", "dataset.nominal=[]" if "code" in drop else "dataset.nominal=[code]")
    rows = {"size": [1.0, 2.0], "colour": ["red", "blue"]}
    typed = pd.DataFrame({"flag": [True, False], "code": [1.0, 2.0], **rows})
    typed.to_parquet(bakeoff.folder / "typed.parquet")
    typed.astype({"code": "Int64", "flag": "category"}).to_parquet(bakeoff.folder / "codes.parquet")
    pd.DataFrame({"flag": ["True", "FALSE"], "code": ["1.0", "2"], **rows}).to_csv(bakeoff.folder / "text.csv")
    typed.to_json(bakeoff.folder / "lines.jsonl", orient="records", lines=True)
    for name in ("typed.parquet", "codes.parquet", "text.csv", "lines.jsonl"):
        answer = bakeoff("predict", "latest", name)
        assert answer.status == 0, answer.err
        assert "not seen" not in answer.err
        assert predictions(bakeoff.folder, Path(name).stem) == ["a", "b"]


def test_rows_are_read_as_the_training_file_was(bakeoff: Bakeoff) -> None:
    words = (
        "dataset.separator=semicolon",
        "dataset.decimal=comma",
        "dataset.encoding=cp1252",
        "dataset.na_values=[-999]",
    )
    train(bakeoff, *words, sep=";", decimal=",", encoding="cp1252")
    new = "flag;code;size;colour\ntrue;1;2,5;red\nfalse;2;-999;grün\n"
    (bakeoff.folder / "new.csv").write_text(new, encoding="cp1252")
    answer = bakeoff("predict", "latest", "new.csv")
    assert answer.status == 0, answer.err
    assert answer.err.splitlines()[1:] == [
        "predict: size: 1 of 2 cells are missing; none was missing in training.",
        "predict: colour: 1 of 2 rows have values not seen in training: grün",
        "2 predictions in new.predictions.csv",
    ]
    (bakeoff.folder / "comma.csv").write_text("flag,code,size,colour\ntrue,1,2.5,red\n")
    other = bakeoff("predict", "latest", "comma.csv", "separator=comma", "decimal=point", "encoding=utf-8")
    assert other.status == 0, other.err
    assert predictions(bakeoff.folder, "comma") == ["a"]


SIGNS = {
    "output.decimal=comma": (";", ","),
    "output.separator=tab": ("\t", "."),
    "output.separator=semicolon": (";", "."),
}


@pytest.mark.parametrize("word", SIGNS)
def test_predictions_have_the_signs_that_are_given_whatever_those_of_the_rows(bakeoff: Bakeoff, word: str) -> None:
    table = pd.DataFrame({"id": [f"n{row}" for row in range(40)], "x": [row / 4 for row in range(40)]})
    table.assign(y=table["x"] * 2.5).to_csv(bakeoff.folder / "table.csv", index=False)
    words = ("dataset=file", "dataset.path=table.csv", "dataset.target=y", "learner=linear_regression")
    assert bakeoff(*words).status == 0
    answer = bakeoff("predict", "latest", "table.csv", word, "keep=[x]")
    assert answer.status == 0, answer.err
    separator, decimal = SIGNS[word]
    found = pd.read_csv(bakeoff.folder / "table.predictions.csv", sep=separator, decimal=decimal)
    assert [*found] == ["id", "x", "prediction"]
    np.testing.assert_allclose(found["prediction"], table["x"] * 2.5, atol=1e-9)
    assert bakeoff("predict", "latest", "table.csv", word, "output=table.predictions.csv").status == 0


def test_predictions_may_be_a_workbook(bakeoff: Bakeoff) -> None:
    train(bakeoff)
    for _ in range(2):
        answer = bakeoff("predict", "latest", "table.csv", "keep=[size,y]", "ids=[]", "output=out.xlsx")
        assert answer.status == 0, answer.err
    found = pd.read_excel(bakeoff.folder / "out.xlsx")
    assert ([*found][:3], found["prediction"].tolist()) == (["size", "y", "prediction"], found["y"].tolist())


def test_values_that_training_did_not_have_are_said_for_each_column(bakeoff: Bakeoff) -> None:
    train(bakeoff)
    rows = [("yes", "1", "1", "RED"), ("true", "3", "?", "red "), ("true", "1", "", "red"), ("no", "1", "2", "RED")]
    pd.DataFrame(rows, columns=list(NAMES[:-1])).to_csv(bakeoff.folder / "new.csv", index=False)
    answer = bakeoff("predict", "latest", "new.csv")
    assert answer.status == 0, answer.err
    assert answer.err.splitlines()[1:-1] == [
        "predict: flag: 2 of 4 rows have values not seen in training: no, yes",
        "predict: code: 1 of 4 rows have values not seen in training: 3",
        "predict: size: 2 of 3 cells are numbers; the others, '?', are treated as missing.",
        "predict: size: 2 of 4 cells are missing; none was missing in training.",
        "predict: colour: 3 of 4 rows have values not seen in training: RED, 'red '",
    ]
    assert len(predictions(bakeoff.folder)) == len(rows)


def test_cells_of_another_kind_are_refused_and_nothing_is_written(bakeoff: Bakeoff) -> None:
    train(bakeoff)
    (bakeoff.folder / "new.csv").write_text("flag,code,size,colour\ntrue,1,2,red\ntrue,1,12 mm,red\n")
    answer = bakeoff("predict", "latest", "new.csv")
    assert answer.status == 2
    assert "predict: 'size' was numeric in training, but '12 mm' in row 2 is not a number" in answer.err
    assert not (bakeoff.folder / "new.predictions.csv").exists()
    cured = bakeoff("predict", "latest", "new.csv", "na_values=['12 mm']")
    assert cured.status == 0, cured.err
    assert "size: 1 of 2 cells are missing; none was missing in training" in cured.err


def test_columns_without_names_have_those_of_training_by_their_number(bakeoff: Bakeoff) -> None:
    rows = "".join(f"{'ab'[number % 2]},{number},{number % 2}.5\n" for number in range(40))
    (bakeoff.folder / "bare.csv").write_text(rows)
    words = ("dataset=file", "dataset.path=bare.csv", "dataset.target=column_1", "dataset.header=false")
    answer = bakeoff(*words, "learner=decision_tree")
    assert "Left out as identifiers: column_2" in answer.err
    (bakeoff.folder / "all.csv").write_text("a,0,1.5\n")
    assert bakeoff("predict", "latest", "all.csv").status == 0
    assert predictions(bakeoff.folder, "all") == ["b"]
    (bakeoff.folder / "rest.csv").write_text("7,1.5\n")  # all but the target
    assert bakeoff("predict", "latest", "rest.csv").status == 0
    assert predictions(bakeoff.folder, "rest") == ["b"]
    (bakeoff.folder / "more.csv").write_text("a,0,1.5,9\n")
    refused = bakeoff("predict", "latest", "more.csv")
    assert refused.status == 2
    assert "more.csv has 4 columns and no header, but the training file has 3; add the other" in refused.err


def test_dates_and_text_that_were_taken_in_are_predicted_from(bakeoff: Bakeoff) -> None:
    rows = [
        f"{1 + number % 28}.{1 + number % 2}.2020,{'good' if number % 2 else 'bad'} one {number}"
        for number in range(40)
    ]
    cells = "".join(f"{row},{'ab'[number % 2]}\n" for number, row in enumerate(rows))
    (bakeoff.folder / "table.csv").write_text(f"day,note,y\n{cells}")
    words = ("dataset=file", "dataset.path=table.csv", "dataset.target=y", "learner=logistic_regression")
    answer = bakeoff(*words, "dataset.dates=[day]", "dataset.text=[note]")
    assert answer.status == 0, answer.err
    pd.DataFrame({"day": pd.to_datetime(["2020-02-20"]), "note": ["good one 3"]}).to_parquet(
        bakeoff.folder / "new.parquet"
    )
    answer = bakeoff("predict", "latest", "new.parquet")
    assert answer.status == 0, answer.err
    assert predictions(bakeoff.folder) == ["b"]


def read_table(path: Path) -> pd.DataFrame:
    return read_file(path, FileLayout()).frame


def test_identifiers_are_copied_and_rows_keep_their_order_in_every_format(bakeoff: Bakeoff) -> None:
    rows = [(f"00{number}-{'xyz'[number % 3]}", *ROWS[number]) for number in range(40)]
    pd.DataFrame(rows, columns=["id", *NAMES]).to_csv(bakeoff.folder / "table.csv", index=False)
    words = ("dataset=file", "dataset.path=table.csv", "dataset.target=y", "learner=decision_tree")
    trained = bakeoff(*words, "dataset.nominal=[code]")
    assert "Left out as identifiers: id" in trained.err
    new = pd.DataFrame(rows[::-1][:30], columns=["id", *NAMES]).drop(columns="y")
    new[["size", "id", "flag", "code", "colour"]].to_csv(bakeoff.folder / "new.csv", index=False)
    expected = [row[-1] for row in rows[::-1][:30]]
    for extension in WRITERS:
        answer = bakeoff("predict", "latest", "new.csv", f"output=out{extension}")
        assert answer.status == 0, answer.err
        assert f"30 predictions in out{extension}, with id copied from the file" in answer.err
        written = read_table(bakeoff.folder / f"out{extension}")
        assert list(written) == ["id", "prediction", "probability_a", "probability_b"]
        assert written["id"].tolist() == new["id"].tolist()
        assert written["prediction"].tolist() == expected
    chosen = bakeoff("predict", "latest", "new.csv", "ids=[colour,id]", "output=chosen.csv")
    assert chosen.status == 0, chosen.err
    assert list(pd.read_csv(bakeoff.folder / "chosen.csv"))[:3] == ["colour", "id", "prediction"]
    assert bakeoff("predict", "latest", "new.csv", "ids=[]", "output=none.csv").status == 0
    assert list(pd.read_csv(bakeoff.folder / "none.csv")) == ["prediction", "probability_a", "probability_b"]


def test_the_model_is_named_and_shifted_columns_are_said(bakeoff: Bakeoff) -> None:
    train(bakeoff)
    run_id = bakeoff.runs()[0].info.run_id
    shifted = pd.DataFrame(ROWS, columns=list(NAMES))
    shifted.assign(colour="red").sample(400, replace=True, random_state=0).to_csv(
        bakeoff.folder / "new.csv", index=False
    )
    few = bakeoff("predict", run_id[:8], "new.csv").err.splitlines()
    assert few[0].startswith(
        f"predict: run {run_id[:8]}, decision_tree table: fitted on 24 of 40 rows (8 for validation, 8 for the test); "
    )
    # 24 training rows are too few for a verdict.
    assert "distributed differently" not in " ".join(few)
    pd.concat([shifted] * 5).to_csv(bakeoff.folder / "table.csv", index=False)
    words = ("dataset=file", "dataset.path=table.csv", "dataset.target=y", "learner=decision_tree")
    assert bakeoff(*words, "dataset.nominal=[code]").status == 0
    said = bakeoff("predict", "latest", "new.csv").err.splitlines()
    (sentence,) = [line for line in said if "distributed differently" in line]
    assert sentence.startswith("predict: colour: distributed differently than in training (a large shift: ")
