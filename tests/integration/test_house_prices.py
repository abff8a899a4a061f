"""House prices with units, from the raw file to the same numbers over HTTP as a pipeline of pandas and scikit-learn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff
from serving import ask, serving
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bakeoff as package
from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.tracking.models import load_model

N_ROWS = 558
N_PLACES = 91
NAMED_KEY = re.compile(r"dataset\.\w+=(?:\{[^}]*\}|\w+)")
FEATURES = ["Ort", "Wohnfläche", "Zimmer", "Rendite"]


def write_number(number: float, n_decimals: int) -> str:
    """Write a number as in German."""
    return f"{number:,.{n_decimals}f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def make_houses() -> pd.DataFrame:
    """Return houses whose price depends on the place, which has 91 values, the area and the rooms."""
    rng = np.random.default_rng(24)
    place = rng.permutation(np.arange(N_ROWS) % N_PLACES)
    area = rng.uniform(30, 1400, N_ROWS).round(1)
    rooms = rng.integers(1, 9, N_ROWS)
    noise = rng.normal(0, 20_000, N_ROWS)
    price = (50_000 + 900 * area + 1000 * (place % 13) * rooms + 500 * place + noise).round(-2)
    returns = rng.uniform(2, 9, N_ROWS).round(1)
    names = [f"Ort {each}" for each in place]
    return pd.DataFrame({"Ort": names, "Wohnfläche": area, "Zimmer": rooms, "Rendite": returns, "Preis": price})


def write_houses(houses: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Write houses as a German program does, and return the written cells."""
    cells = houses.astype(str).assign(
        Wohnfläche=[f"{write_number(each, 1)} m²" for each in houses["Wohnfläche"]],
        Rendite=[f"{write_number(each, 1)} %" for each in houses["Rendite"]],
        Preis=[f"{write_number(each, 2)} €" for each in houses["Preis"]],
    )
    cells.to_csv(file, index=False, sep=";")
    return cells


def fit_by_hand(houses: pd.DataFrame) -> Pipeline:
    """Return a linear regression on one-hot columns of the place and the other columns."""
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["Ort"]), remainder="passthrough", sparse_threshold=0
    )
    return make_pipeline(encode, LinearRegression()).fit(houses[FEATURES], houses["Preis"])


@pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning")
def test_house_prices_go_from_the_raw_file_to_http_with_the_keys_that_are_named(bakeoff: Bakeoff) -> None:
    houses = make_houses()
    cells = write_houses(houses, bakeoff.folder / "houses.csv")
    seen = bakeoff("inspect", "houses.csv", "target=Preis")
    assert seen.status == 0, seen.err
    named = NAMED_KEY.findall(seen.out + seen.err)
    assert "dataset.units={Wohnfläche: m²,Rendite: %,Preis: €}" in named
    assert {"dataset.decimal=comma", "dataset.thousands=point", "dataset.separator=semicolon"} <= {*named}

    words = ("dataset=file", "dataset.path=houses.csv", "dataset.target=Preis", "learner=linear_regression")
    run = package.run(*words, *named, "evaluation=kfold")
    for _, fold in run.predictions.groupby("fold"):
        test = fold["row"].to_numpy()
        fitted = fit_by_hand(houses[~houses.index.isin(test)])
        np.testing.assert_allclose(fold["predicted"], fitted.predict(houses.loc[test, FEATURES]), rtol=1e-8)
        np.testing.assert_array_equal(fold["truth"], houses.loc[test, "Preis"])

    assert bakeoff("ship", "latest", "as=houses@champion").status == 0
    cells[FEATURES].head(40).to_csv(bakeoff.folder / "new.csv", index=False, sep=";")
    answer = bakeoff("predict", "houses@champion", "new.csv", "output=answers.csv")
    assert answer.status == 0, answer.err
    predicted = pd.read_csv(bakeoff.folder / "answers.csv")["prediction"].to_numpy()
    np.testing.assert_allclose(predicted, fit_by_hand(houses).predict(houses[FEATURES].head(40)), rtol=1e-8)

    model = load_model(RunRequest(run="houses@champion"))
    without_units = cells[FEATURES].head(40).replace(" (m²|%)$", "", regex=True)
    records = [cells[FEATURES].head(40), without_units, houses[FEATURES].head(40)]
    bodies = [(each.to_json(orient="records"), "application/json") for each in records]
    with serving(model) as address:
        for body, kind in bodies:
            reply = ask(address, "/invocations", f'{{"dataframe_records": {body}}}', content_type=kind)
            assert [each["prediction"] for each in reply.json["predictions"]] == predicted.tolist()
            assert reply.json["notes"] == []
        file = (bakeoff.folder / "new.csv").read_bytes()
        reply = ask(address, "/invocations", file, content_type="text/csv", accept="text/csv")
        assert reply.text == (bakeoff.folder / "answers.csv").read_text()
        wrong = json.dumps(
            {"dataframe_records": [{**houses.iloc[0].to_dict(), "Wohnfläche": "327,0 ft²"}]}, default=str
        )
        reply = ask(address, "/invocations", wrong, content_type="application/json")
        assert reply.status == 422
        assert "'327,0 ft²' in row 1 is not a number" in reply.text
