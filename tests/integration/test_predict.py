"""``bakeoff predict``: rows are read as those of training were, and what training did not have is said."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
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
