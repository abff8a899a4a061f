"""``bakeoff serve`` and ``mlflow models serve``: real HTTP, and the predictions that ``bakeoff predict`` writes."""

from __future__ import annotations

import csv
import json
import resource
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from command import Bakeoff, command_in
from damage import draw_damaged
from pyarrow import parquet
from serving import Reply, ask, serving, wait_for_answer
from warm_process import OUTPUT, Command, Start

from bakeoff.pipeline.commands.serve import answer as answers
from bakeoff.pipeline.commands.serve import server as app
from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.model.pyfunc import Model, predict_table
from bakeoff.pipeline.tables.document import format_json, make_records
from bakeoff.pipeline.tracking.models import load_model

TITANIC = Path(__file__).parents[2] / "examples" / "titanic" / "titanic.csv"
FEATURES = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked"]
N_ROWS = 60
JSON = "application/json"
CSV = "text/csv"
STOP_SECONDS = 10
DEADLINE_SECONDS = 60
N_LARGE = 300_000
MAX_KEPT_BYTES = 80_000_000
"""Without a return of memory, 130 MB remain."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run on raw Titanic, rows in CSV, and their predictions by ``bakeoff predict``."""
    path = tmp_path_factory.mktemp("served")
    table = pd.read_csv(TITANIC, dtype=str, keep_default_na=False)
    table.to_csv(path / "titanic.csv", index=False)
    table[FEATURES].tail(N_ROWS).to_csv(path / "rows.csv", index=False)
    with command_in(path) as bakeoff:
        words = ("dataset=file", "dataset.path=titanic.csv", "dataset.target=survived", "dataset.drop=[boat,body]")
        assert bakeoff(*words, "learner=logistic_regression", "figures=[]").status == 0
        answer = bakeoff("predict", "latest", "rows.csv", "output=predictions.csv")
        assert answer.status == 0, answer.err
    return path


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    """Return the model of the run."""
    return load_model(RunRequest(run="latest", tracking__uri=f"sqlite:///{folder}/outputs/mlflow.db"))


@pytest.fixture(scope="module")
def address(model: Model) -> Iterator[str]:
    """Return the address of a server of the model in this process."""
    with serving(model) as found:
        yield found


def predicted(folder: Path) -> list[dict[str, Any]]:
    """Return what ``bakeoff predict`` wrote, each float as it is spelled."""
    with (folder / "predictions.csv").open() as file:
        return [{name: json.loads(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def typed_rows(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "rows.csv")


def post_records(address: str, **cells: Any) -> Reply:
    return ask(address, "/invocations", json.dumps({"dataframe_records": [cells]}), content_type=JSON)


ROW = {"pclass": 3, "sex": "male", "age": 22, "sibsp": 1, "parch": 0, "fare": 7.25, "embarked": "S"}


def test_csv_is_answered_with_the_file_that_predict_writes(folder: Path, address: str) -> None:
    body = (folder / "rows.csv").read_bytes()
    reply = ask(address, "/invocations", body, content_type=CSV, accept=CSV)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert reply.text == (folder / "predictions.csv").read_text()


@pytest.mark.parametrize("layout", ["dataframe_split", "dataframe_records", "instances", "inputs"])
@pytest.mark.parametrize("are_text", [False, True])
def test_json_is_answered_with_the_same_numbers(folder: Path, address: str, layout: str, are_text: bool) -> None:
    rows = pd.read_csv(folder / "rows.csv", dtype=str, keep_default_na=False) if are_text else typed_rows(folder)
    records = list(make_records(rows))
    contents = {
        "dataframe_split": {"columns": FEATURES, "data": [list(record.values()) for record in records]},
        "inputs": {name: [record[name] for record in records] for name in FEATURES},
    }
    body = format_json({layout: contents.get(layout, records)})
    reply = ask(address, "/invocations", body, content_type=f"{JSON}; charset=utf-8")
    assert reply.status == 200, reply.text
    assert reply.json["predictions"] == predicted(folder)


def test_notes_say_what_training_did_not_have_in_json_and_beside_csv(address: str) -> None:
    reply = post_records(address, **ROW | {"sex": "MALE", "fare": 600, "pclass": None})
    assert reply.json["notes"] == [
        "pclass: 1 of 1 cells are missing; none was missing in training.",
        "sex: 1 of 1 rows have values not seen in training: MALE",
        "fare: 1 of 1 cells lies outside the range of training, 0 to 512.3292.",
    ]
    assert reply.json["differences"] == {
        "pclass": {"missing": 1},
        "sex": {"unseen": {"MALE": 1}},
        "fare": {"above_maximum": 1},
    }
    body = "pclass,sex,age,sibsp,parch,fare,embarked\n3,Ø,22,1,0,7.25,S\n"
    beside = ask(address, "/invocations", body, content_type=CSV, accept=CSV)
    assert json.loads(beside.headers["x-bakeoff-notes"]) == ["sex: 1 of 1 rows have values not seen in training: Ø"]


def test_keys_that_some_objects_lack_are_missing_cells(address: str) -> None:
    short = {name: cell for name, cell in ROW.items() if name != "age"}
    both = ask(address, "/invocations", json.dumps({"dataframe_records": [ROW, short]}), content_type=JSON).json
    alone = post_records(address, **short | {"age": None}).json
    assert both["predictions"][1] == alone["predictions"][0]


def test_notes_that_do_not_fit_into_a_header_are_left_out() -> None:
    notes = [f"column {number}: {'x' * 300}" for number in range(40)]
    kept = json.loads(answers.format_notes(notes))
    assert 0 < len(kept) < 40
    assert kept == notes[: len(kept)]


REFUSED: dict[str, tuple[str, str | bytes, int, str]] = {
    "no JSON": (JSON, "{", 400, "the body is not JSON: Expecting property name"),
    "no object": (JSON, "[1]", 400, "the body must be an object with one of dataframe_split"),
    "two layouts": (JSON, '{"inputs": {}, "instances": []}', 400, "the body must be an object with one of"),
    "a misspelled layout": (JSON, '{"dataframe_record": []}', 400, "Did you mean 'dataframe_records'?"),
    "a short row": (JSON, '{"dataframe_split": {"columns": ["sex", "age"], "data": [[1]]}}', 400, "does not hold rows"),
    "a cell in place of a row": (JSON, '{"instances": [3]}', 400, "instances does not hold rows"),
    "columns of two lengths": (JSON, '{"inputs": {"sex": [1], "age": []}}', 400, "inputs does not hold rows"),
    "deep JSON": (JSON, "[" * 100_000, 400, "the body is not JSON"),
    "no rows": (JSON, '{"dataframe_records": []}', 422, "there are no rows to predict."),
    "no rows in CSV": (CSV, "pclass,sex\n", 400, "path='body.csv' has column names but no rows; add rows."),
    "an empty body": (CSV, "", 400, "path='body.csv' is empty"),
    "an open quotation": (CSV, 'pclass,sex\n"1,male\n', 400, "body.csv"),
    "another type": ("text/plain", "1", 415, "the header Content-Type is 'text/plain'. Allowed: application/json"),
    "no Parquet": ("application/vnd.apache.parquet", "1", 400, "path='body.parquet' cannot be read as a table"),
    "half a surrogate pair": (JSON, r'{"instances": [{"sex": "\ud800"}]}', 400, "the body is not JSON: 'utf-8' codec"),
    "half a pair in bytes": (JSON, b'{"instances": [{"sex": "\xed\xa0\x80"}]}', 400, "the body is not JSON: 'utf-8'"),
    "half a pair in CSV": (CSV, b"sex\n\xed\xa0\x80\n", 400, "line 2 of body.csv is not UTF-8"),
    "a string for a row": (JSON, '{"dataframe_split": {"columns": ["sex", "age"], "data": ["ab"]}}', 400,
                           "dataframe_split does not hold rows (TypeError: a row is not a list)"),
    "a lacking column": (CSV, "pclass,sex,age,sibsp,parch,embarked\n1,male,2,0,0,S\n", 422,
                         "the rows have no column 'fare', which the model needs."),
    "an unknown column": (JSON, '{"instances": [{"Fare": 7, "sex": "male"}]}', 422,
                          "the rows have columns that are absent from training: Fare; leave them out or correct their "
                          "names. Did you mean 'fare'?"),
    "an unknown column in CSV": (CSV, "pclass,sex,age,sibsp,parch,Fare,embarked\n1,male,2,0,0,7,S\n", 422,
                                 "absent from training: Fare; leave them out or correct their names. Did you mean"),
    "text for a number": (JSON, json.dumps({"instances": [ROW | {"age": "old"}]}), 422,
                          "'age' was numeric in training, but 'old' in row 1 is not a number."),
    "a list for a cell": (JSON, json.dumps({"instances": [ROW | {"age": [2]}]}), 422, "'age'"),
    "a list for a value": (JSON, json.dumps({"instances": [ROW | {"sex": ["male"]}]}), 422, "'sex'"),
    "a column twice": (JSON, '{"dataframe_split": {"columns": ["sex", "sex"], "data": [["a", "b"]]}}', 422, "sex"),
}  # fmt: skip


@pytest.mark.parametrize("cause", REFUSED)
def test_bad_rows_are_refused_with_a_status_and_one_sentence(address: str, cause: str) -> None:
    content_type, body, status, message = REFUSED[cause]
    headers = {"content_type": content_type} if content_type else {}
    reply = ask(address, "/invocations", body, **headers)
    assert reply.status == status, reply.text
    assert set(reply.json) == {"error_code", "message"}
    assert message in reply.json["message"]
    assert "dataset." not in reply.json["message"]
    assert len(reply.json["message"].splitlines()) == 1


def test_a_body_that_is_too_large_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_BODY_BYTES", 1_000_000)
    reply = ask(address, "/invocations", b"x" * 1_000_001, content_type=CSV)
    assert (reply.status, reply.json["error_code"]) == (413, "REQUEST_TOO_LARGE")
    assert reply.json["message"] == "the body is larger than 1 MB; use bakeoff predict for files."


N_WIDE = 200_000
WIDE = [f"c{number}" for number in range(N_WIDE)]


def write_wide_parquet() -> bytes:
    body = BytesIO()
    parquet.write_table(pa.table({name: [1] for name in WIDE[:2000]}), body)
    return body.getvalue()


WIDE_BODIES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "records": (JSON, lambda: format_json({"instances": [dict.fromkeys(WIDE, 1)]}).encode()),
    "columns": (JSON, lambda: format_json({"inputs": {name: [1] for name in WIDE}}).encode()),
    "split": (JSON, lambda: format_json({"dataframe_split": {"columns": WIDE, "data": [[1] * N_WIDE]}}).encode()),
    "CSV": (CSV, lambda: f"{','.join(WIDE)}\n{','.join('1' * N_WIDE)}\n".encode()),
    "CSV below blank lines": (CSV, lambda: f"\n\n{','.join(WIDE)}\n".encode()),
    "Parquet": ("application/vnd.apache.parquet", write_wide_parquet),
}


@pytest.mark.parametrize(("content_type", "write"), WIDE_BODIES.values(), ids=WIDE_BODIES)
def test_unknown_columns_are_refused_before_a_frame_is_made(
    address: str, content_type: str, write: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = write()

    def fail(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("a frame is made")

    monkeypatch.setattr(pd, "DataFrame", fail)
    monkeypatch.setattr(answers, "read_rows", fail)
    reply = ask(address, "/invocations", body, content_type=content_type)
    assert reply.status == 422, reply.text
    assert reply.json["message"].startswith("the rows have")
    assert len(reply.text) < 1000


def connect(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=DEADLINE_SECONDS)


def head_of(n_bytes: int) -> bytes:
    """Return the header of a request with a body of a given size."""
    lines = ["POST /invocations HTTP/1.1", "Host: localhost", f"Content-Type: {CSV}", f"Content-Length: {n_bytes}"]
    return "\r\n".join([*lines, "", ""]).encode()


def receive_all(client: socket.socket, trickle: bytes = b"") -> bytes:
    """Return what a server sends until it closes the connection; send some bytes after each timeout of the client."""
    received = b""
    with suppress(ConnectionError):
        while True:
            try:
                piece = client.recv(65536)
            except TimeoutError:
                client.sendall(trickle)
                continue
            if not piece:
                break
            received += piece
    return received


def test_bodies_are_limited_in_sum(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = app.Bodies()
    monkeypatch.setattr(app, "Bodies", lambda: bodies)
    monkeypatch.setattr(app, "MAX_BODY_BYTES", 1_000_000)
    with serving(model) as address:
        with connect(address) as other:
            other.sendall(head_of(800_000) + b"x" * 700_000)
            wait_until(lambda: bodies.n_bytes == 700_000)
            reply = ask(address, "/invocations", b"x" * 400_000, content_type=CSV)
            assert reply.status == 503
            assert reply.json == {
                "error_code": "TEMPORARILY_UNAVAILABLE",
                "message": "the bodies of all current requests exceed 1 MB; send the request again later.",
            }
        wait_until(lambda: bodies.n_bytes == 0)
        assert ask(address, "/invocations", b"x" * 400_000, content_type=CSV).status == 400


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return when a condition holds."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("beginning", [b"", b"GET /ping HTTP/1.1\r\nHost: local", head_of(9)[:-2]])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_client_that_does_not_complete_its_header_is_disconnected(
    model: Model, beginning: bytes, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A header that is sent at once arrives in time, also on a machine with much to do.
    monkeypatch.setattr(app, "HEADER_SECONDS", 0.3 if is_first else 3)
    with serving(model) as address, connect(address) as client:
        client.sendall(b"" if is_first else b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.sendall(beginning)
        client.settimeout(0.05)
        received = receive_all(client, trickle=b"x" if beginning else b"")
    assert received.startswith(b"" if is_first else b"HTTP/1.1 200")
    assert received.count(b"HTTP/1.1") == (0 if is_first else 1)


def test_a_client_that_does_not_complete_its_body_is_disconnected(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "BODY_SECONDS", 0.3)
    with connect(address) as client:
        client.sendall(head_of(100) + b"pclass,sex")
        head, _, body = receive_all(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408")
    assert json.loads(body) == {
        "error_code": "REQUEST_TIMEOUT",
        "message": "the body did not arrive within 0.3 seconds.",
    }


def test_a_foreign_host_is_refused_on_loopback(address: str) -> None:
    body = json.dumps({"instances": [ROW]})
    port = address.rpartition(":")[2]
    for host in ("localhost", "127.0.0.1", f"LOCALHOST:{port}"):
        assert ask(address, "/invocations", body, content_type=JSON, host=host).status == 200
    for host in ("example.org", f"example.org:{port}", "127.0.0.1.example.org", "localhost.example.org", ""):
        assert ask(address, "/invocations", body, content_type=JSON, host=host).status == 400


@pytest.mark.parametrize(("host", "hosts"), [("::1", ["localhost", "[::1]"]), ("0.0.0.0", ["*"])])
def test_the_allowed_hosts_are_names_of_the_socket(host: str, hosts: list[str]) -> None:
    with app.open_socket(host, 0) as opened:
        assert app.list_hosts(opened) == hosts


def test_a_response_is_sent_at_once() -> None:
    with app.open_socket("127.0.0.1", 0) as opened, socket.create_connection(opened.getsockname()):
        accepted, _ = opened.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def start_server(folder: Path, start: Start, *words: str) -> tuple[Command, str]:
    """Start a server in a process of its own, and return the process and its address."""
    log = folder / OUTPUT
    log.unlink(missing_ok=True)
    command = start(folder, ["serve", "latest", "port=0", *words])
    return command, wait_for_answer(log, lambda: command.poll() is None)


@pytest.mark.external
def test_the_memory_of_a_large_body_is_given_back(folder: Path, start: Start) -> None:
    rows = [ROW | {"age": number % 80} for number in range(N_LARGE)]
    command, address = start_server(folder, start)
    # The first request imports modules.
    for sent in (rows[:100], rows):
        before = measure_memory(command.pid)
        body = json.dumps({"instances": sent})
        assert ask(address, "/invocations", body, content_type=JSON, accept=CSV).status == 200
    end = time.monotonic() + DEADLINE_SECONDS
    while measure_memory(command.pid) > before + MAX_KEPT_BYTES:
        assert time.monotonic() < end, f"{measure_memory(command.pid):,} bytes, {before:,} before"
        time.sleep(0.1)


def measure_memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.external
def test_clients_that_hang_up_leave_no_traceback(folder: Path, start: Start) -> None:
    command, address = start_server(folder, start)
    whole = (folder / "rows.csv").read_bytes()
    for sent in (b"POST /inv", head_of(100), head_of(100) + b"pclass", head_of(len(whole)) + whole):
        for linger in (0, 1):
            with connect(address) as client:
                client.sendall(sent)
                # With this option, the connection is reset instead of closed.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", linger, 0))
    assert post_records(address, **ROW).status == 200
    command.send_signal(signal.SIGTERM)
    assert command.wait(STOP_SECONDS) == 143
    assert "Traceback" not in (folder / OUTPUT).read_text()


def test_the_server_goes_on_after_an_unexpected_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise MemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(answers, "predict_table", fail)
        assert post_records(address, **ROW).status == 500
    assert post_records(address, **ROW).status == 200


def test_other_requests_are_answered_while_a_prediction_takes_long(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    has_begun = threading.Event()
    predict = predict_table

    def wait(*arguments: Any) -> Any:
        has_begun.set()
        assert may_end.wait(60)
        return predict(*arguments)

    replies: list[Reply] = []
    monkeypatch.setattr(answers, "predict_table", wait)
    asking = threading.Thread(target=lambda: replies.append(post_records(address, **ROW)))
    asking.start()
    assert has_begun.wait(60)
    assert ask(address, "/ping").status == 200
    assert replies == []
    may_end.set()
    asking.join(60)
    assert replies[0].status == 200


def test_a_port_in_use_is_one_sentence(folder: Path) -> None:
    with command_in(folder) as bakeoff, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        answer = bakeoff("serve", "latest", f"port={port}")
    assert answer.status == 2
    assert answer.err.startswith(f"refused: serve: port={port} of host=127.0.0.1 cannot be used (")
    assert f"such as port={port + 1}, port=0 for a free one" in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("port=65536", "port=65536 must be at least 0 and at most 65535"),
        ("host=nowhere.invalid", "host=nowhere.invalid cannot be used"),
        ("host=192.0.2.1", "host=192.0.2.1 cannot be used"),
    ],
)
def test_a_wrong_address_is_one_sentence(bakeoff: Bakeoff, word: str, message: str) -> None:
    answer = bakeoff("serve", "latest", word)
    assert answer.status == 2
    assert message in answer.err
    assert list(bakeoff.folder.iterdir()) == []


@pytest.mark.external
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_says_what_it_serves_and_ends_at_once(folder: Path, start: Start, number: int, status: int) -> None:
    is_open = number == signal.SIGINT
    command, address = start_server(folder, start, *(["host=0.0.0.0"] if is_open else []))
    local = address.replace("0.0.0.0", "127.0.0.1")
    body = (folder / "rows.csv").read_bytes()
    reply = ask(local, "/invocations", body, content_type=CSV, accept=CSV)
    assert reply.text == (folder / "predictions.csv").read_text()
    host, port = local.removeprefix("http://").split(":")
    # A client that keeps its connection does not keep the server.
    with socket.create_connection((host, int(port))) as idle:
        idle.sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        command.send_signal(number)
        assert command.wait(STOP_SECONDS) == status
    said = (folder / OUTPUT).read_text()
    assert "logistic_regression" in said
    assert "fitted on 785 of 1,309 rows" in said
    assert ("anyone who can reach this machine" in said) == is_open
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("extension", "kind"),
    [(".csv", "text/csv"), (".json", "application/json"), (".parquet", "application/vnd.apache.parquet")],
)
def test_a_damaged_body_is_answered_with_the_cause(model: Model, extension: str, kind: str) -> None:
    statuses = set()
    for body in draw_damaged(extension, 200):
        try:
            statuses.add(app.predict_body(model, body, kind, "application/json").status_code)
        except answers.RequestError as error:
            statuses.add(error.status)
    assert statuses <= {200, 400, 422}
    assert 400 in statuses
