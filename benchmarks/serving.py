"""Measure what `bakeoff serve` adds to a plain application with the same model.

    python benchmarks/serving.py            about two minutes
    python benchmarks/serving.py --docs     also writes docs/benchmarks.md

The plain application is written in Starlette as a user would: it loads the stored pipeline with MLflow, reads the rows
of the body into a DataFrame, and answers with the prediction and the probabilities of each row. It checks nothing. Both
run in uvicorn, each in a process of its own, and answer the same requests alternately on connections that stay open.

Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))  # the tests start servers alike
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd
from serving import ask, started
from sklearn.datasets import load_iris, load_wine

import bakeoff
from bakeoff.pipeline.model.pyfunc import Model
from benchmarks.tables import machine, replace_part

ROOT = Path(__file__).resolve().parents[1]
TITANIC = ROOT / "examples" / "titanic" / "titanic.csv"


def read_titanic() -> pd.DataFrame:
    """Return the columns that the model of the third row needs."""
    return pd.read_csv(TITANIC, usecols=["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked"])


TITANIC_WORDS = ("dataset=file", f"dataset.path={TITANIC}", "dataset.target=survived", "dataset.drop=[boat,body]")
MODELS: dict[str, tuple[tuple[str, ...], Callable[[], pd.DataFrame]]] = {
    "iris-knn": (("dataset=iris", "learner=knn"), lambda: load_iris(as_frame=True).data),
    "wine-tree": (("dataset=wine", "learner=decision_tree"), lambda: load_wine(as_frame=True).data),
    "titanic-logistic": ((*TITANIC_WORDS, "learner=logistic_regression"), read_titanic),
}
"""Name -> the words of the run, and the function that returns rows."""
REQUESTS = {1: 200, 10_000: 15}
"""Number of rows -> number of requests."""
START_SECONDS = 60
PLAIN = """
import json, sys
import mlflow, pandas as pd, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

store, run_id, port, values = sys.argv[1:]
mlflow.set_tracking_uri(store)
model = mlflow.sklearn.load_model(f"runs:/{run_id}/model")
types = {name: pd.CategoricalDtype(known) if known else "float64" for name, known in json.loads(values).items()}


async def predict(request):
    rows = pd.DataFrame((await request.json())["dataframe_records"]).astype(types)
    answer = pd.DataFrame({"prediction": model.predict(rows)})
    for label, column in zip(model.classes_, model.predict_proba(rows).T):
        answer[f"probability_{label}"] = column
    return JSONResponse({"predictions": answer.to_dict("records")})


app = Starlette(routes=[Route("/invocations", predict, methods=["POST"])])
uvicorn.run(app, port=int(port), access_log=False, log_level="warning")
"""
HEADERS = {"Content-Type": "application/json"}


@contextmanager
def plain(store: str, model: Model) -> Iterator[str]:
    """Start the plain application; yields its address when it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    values = {column.name: list(column.values) for column in model.record.feature_columns}
    words = [store, model.record.run_id, str(port), json.dumps(values)]
    process = subprocess.Popen([sys.executable, "-c", PLAIN, *words])
    address = f"http://127.0.0.1:{port}"
    try:
        wait(address)
        yield address
    finally:
        process.kill()
        process.wait()


def wait(address: str) -> None:
    """Wait until a server answers."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            ask(address, "/ping")
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def make_body(rows: pd.DataFrame, m: int) -> bytes:
    """Return a request with m rows, drawn with replacement."""
    drawn = rows.sample(m, replace=True, random_state=0)
    records = drawn.astype(object).where(drawn.notna(), None).to_dict("records")
    return json.dumps({"dataframe_records": records}).encode()


def post(connection: HTTPConnection, body: bytes) -> float:
    """Send a request on an open connection; return the seconds until its answer has been read."""
    began = time.perf_counter()
    connection.request("POST", "/invocations", body, HEADERS)
    response = connection.getresponse()
    text = response.read()
    taken = time.perf_counter() - began
    if response.status != 200:
        raise RuntimeError(text.decode())
    return taken


def measure(addresses: list[str], body: bytes, n_requests: int) -> list[float]:
    """Return the median milliseconds of a request to each address, measured alternately."""
    connections = [HTTPConnection(str(urlsplit(each).hostname), urlsplit(each).port) for each in addresses]
    taken: list[list[float]] = [[] for _ in addresses]
    for connection in connections:
        post(connection, body)
    for _ in range(n_requests):
        for connection, times in zip(connections, taken, strict=True):
            times.append(post(connection, body))
    return [1000 * statistics.median(times) for times in taken]


def compare(name: str, factor: float) -> Iterator[str]:
    """Fit a model and serve it in both ways; yield a line of the table for each number of rows."""
    words, table = MODELS[name]
    with TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "bakeoff", *words, "figures=[]"], cwd=folder, capture_output=True, check=True
        )
        store = f"sqlite:///{folder}/outputs/mlflow.db"
        model = bakeoff.load("latest", tracking__uri=store)
        rows = table().set_axis(model.record.features, axis=1)
        with started(Path(folder), "serve", "latest", "port=0") as ours, plain(store, model) as theirs:
            for m, n_requests in REQUESTS.items():
                own, other = measure([ours, theirs], make_body(rows, m), max(1, int(factor * n_requests)))
                yield f"| {name} | {m:,} | {own:.1f} ms | {other:.1f} ms | {own / other:.2f} |"


def main() -> None:
    """Measure all models and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"{', '.join(MODELS)}; all if left out")
    parser.add_argument("--requests", type=float, default=1.0, help="factor on the number of requests")
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    lines = ["| model | rows | `bakeoff serve` | plain application | ratio |", "| --- | --: | --: | --: | --: |"]
    print(*lines, sep="\n")
    for name in given.names or MODELS:
        for line in compare(name, given.requests):
            lines.append(line)
            print(line, flush=True)
    if given.docs:
        command = f"python benchmarks/serving.py {' '.join(sys.argv[1:])}"
        replace_part("serving", "\n".join([machine(command), "", *lines]))


if __name__ == "__main__":
    main()
