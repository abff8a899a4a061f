"""An MLflow server on a PostgreSQL of its own, as docs/sweeps.md sets one up, for tests and benchmarks.

Database, artifacts and logs are in one folder. PostgreSQL listens on loopback only, with a password of its own; started
by root it runs as the user `postgres`, since it refuses to run as root. The server has one worker: with more of them
each request of a single client takes some 40 ms longer.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

START_SECONDS = 180
STOP_SECONDS = 30
USER = "bakeoff"
SERVER_COMMAND = ("mlflow", "server", "--workers", "1", "--artifacts-destination", "artifacts")
"""The command of docs/sweeps.md, without host and port."""


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest release's; None where there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: float(file.parts[-3]))
    found = shutil.which("initdb")
    return debian[-1].parent if debian else Path(found).resolve().parent if found else None


def missing() -> str:
    """Return why there is no PostgreSQL on this machine; empty if there is one."""
    if programs() is None:
        return "no PostgreSQL on this machine: install Debian's postgresql"
    if importlib.util.find_spec("psycopg") is None:
        return 'no driver of PostgreSQL: pip install ".[postgres]"'
    return ""


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes
    ----------
    uri : str
        For ``tracking.uri``.
    pid : int
        The process of MLflow, which leads a process group.
    postgres : str or None
        The folder of the database; None for SQLite.
    process : Popen, optional
        The process of MLflow, if this process started it.
    """

    uri: str
    pid: int
    postgres: str | None
    process: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """End MLflow, then the database."""
        _end_group(self.pid, self.process)
        if self.postgres is not None:
            _control(Path(self.postgres), "stop", "--mode=fast")


@contextmanager
def running(folder: Path, database: str = "postgres", port: int | None = None) -> Iterator[Server]:
    """Run a server on loopback for as long as the block lasts.

    Parameters
    ----------
    folder : Path
        As root: one that `postgres` may enter.
    database : {"postgres", "sqlite"}
    port : int, optional
        A free one is taken.
    """
    server = start(folder, database, port=port)
    try:
        yield server
    finally:
        server.stop()


def start(folder: Path, database: str = "postgres", host: str = "127.0.0.1", port: int | None = None) -> Server:
    """Start the database, made if it is not there, and MLflow on it; return when MLflow answers."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    data = folder / "postgres" if database == "postgres" else None
    uri = start_postgres(data) if data is not None else f"sqlite:///{folder / 'mlflow.db'}"
    try:
        process = _start_mlflow(folder, uri, host, port)
        return Server(f"http://{host}:{port}", process.pid, str(data) if data else None, process)
    except BaseException:
        if data is not None:
            _control(data, "stop", "--mode=fast")
        raise


def start_postgres(data: Path) -> str:
    """Start PostgreSQL on a free port of loopback; return the URI of its database."""
    secret = data.parent / "password"
    if not (data / "PG_VERSION").exists():
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(16))
        data.mkdir(mode=0o700)
        if user := _user():
            for path in (data, secret):
                shutil.chown(path, user)
        access = ("--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}")
        _postgres("initdb", f"--pgdata={data}", "--encoding=UTF8", "--no-locale", *access)
    port = free_port()
    _control(data, "start", "-w", f"--log={data / 'log'}", "-o",
             f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories=''")  # fmt: skip
    return f"postgresql://{USER}:{secret.read_text()}@127.0.0.1:{port}/postgres"


@contextmanager
def running_postgres(data: Path) -> Iterator[str]:
    """Run a PostgreSQL of its own for as long as the block lasts; gives the URI of its database.

    Parameters
    ----------
    data : Path
        Where the database will lie, in a folder that is there.
    """
    uri = start_postgres(data)
    try:
        yield uri
    finally:
        _control(data, "stop", "--mode=fast")


def _start_mlflow(folder: Path, uri: str, host: str, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", *SERVER_COMMAND, "--host", host, "--port", str(port)]
    settings = {
        "MLFLOW_BACKEND_STORE_URI": uri,  # not among the arguments, which all users of a machine can read
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # starts about five times faster
    }
    with (folder / "mlflow.log").open("a") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with urlopen(f"http://{host}:{port}/health", timeout=5):
                return process
        except (URLError, OSError) as error:
            if process.poll() is not None or time.monotonic() > end:
                _end_group(process.pid, process)
                raise RuntimeError(f"MLflow did not start; see {folder / 'mlflow.log'}") from error
            time.sleep(0.2)


def _end_group(leader: int, process: subprocess.Popen[bytes] | None) -> None:
    """Ask a group of processes to end, and make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        end = time.monotonic() + STOP_SECONDS
        try:
            os.killpg(leader, number)
            while time.monotonic() < end:
                if process is not None:
                    process.poll()  # else it stays, dead, in the group
                os.killpg(leader, 0)
                time.sleep(0.1)
        except ProcessLookupError:
            return


def _control(data: Path, *words: str) -> None:
    _postgres("pg_ctl", words[0], f"--pgdata={data}", *words[1:])


def _postgres(program: str, *words: str) -> None:
    """Run a program of PostgreSQL's, as a user who is not root."""
    folder = programs()
    if folder is None:
        raise RuntimeError("PostgreSQL is not installed: apt-get install postgresql")
    user = _user()
    ended = subprocess.run(
        [folder / program, *words], cwd="/", user=user, group=user and pwd.getpwnam(user).pw_gid,
        extra_groups=[] if user else None, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        raise RuntimeError(f"{program} failed: {ended.stderr.strip()}")


def _user() -> str | None:
    """Return whom PostgreSQL runs as if we are root; None: as ourselves."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def free_port() -> int:
    """Return a port of loopback that nobody listens on now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
