"""A Slurm of one node on loopback: Debian's slurm-wlm and munge, all files in one folder, ended with the test."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "srun", "scancel")
ARRAY_SIZE = 20
"""The most jobs in an array; by default, Slurm allows 1,001."""
START_SECONDS = 300
CONFIGURATION = """
ClusterName=bakeoff
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MaxArraySize={array_size}
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=60 State=UP
"""


def missing() -> str:
    """Say why no Slurm can be started here; empty if one can."""
    absent = [name for name in PROGRAMS if _program(name) is None]
    if absent:
        return f"no {', '.join(absent)} on this machine: install Debian's slurm-wlm and munge"
    return "" if os.geteuid() == 0 else "only root can start Slurm's daemons"


@contextmanager
def running(folder: Path) -> Iterator[Path]:
    """Run a cluster for as long as the block lasts; gives the configuration, for ``SLURM_CONF``.

    Raises
    ------
    RuntimeError
        It did not start; with the ends of its logs.
    """
    for part in ("state", "spool"):
        (folder / part).mkdir(parents=True)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    conf = folder / "slurm.conf"
    values = {"host": socket.gethostname().split(".")[0], "folder": folder, "cpus": min(os.cpu_count() or 1, 2)}
    values["array_size"] = ARRAY_SIZE
    conf.write_text(CONFIGURATION.format(**values, controller=_free_port(), node=_free_port()))
    (folder / "cgroup.conf").touch()
    files = {"key": key, "socket": folder / "munge.socket", "log": folder / "munged.log"}
    files |= {"pid": folder / "munged.pid", "seed": folder / "munged.seed"}
    options = [f"--{name}{'' if name == 'socket' else '-file'}={file}" for name, file in files.items()]
    with ExitStack() as daemons:
        daemons.enter_context(daemon(folder, "munged", "--foreground", "--force", *options))
        _wait(folder, lambda: files["socket"].exists())
        daemons.enter_context(daemon(folder, "slurmctld", "-D", "-f", str(conf)))
        daemons.enter_context(daemon(folder, "slurmd", "-D", "-f", str(conf)))
        _wait(folder, lambda: "idle" in _nodes(conf))
        yield conf
        subprocess.run(["scancel", "--quiet", "--user=root"], env={**os.environ, "SLURM_CONF": str(conf)}, check=False)


@contextmanager
def daemon(folder: Path, name: str, *words: str) -> Iterator[None]:
    """Run one of the programs for as long as the block lasts."""
    program = _program(name)
    assert program is not None
    with (folder / f"{name}.out").open("w") as out:
        process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _nodes(conf: Path) -> str:
    asked = ["sinfo", "--noheader", "--format=%T"]
    return subprocess.run(
        asked, env={**os.environ, "SLURM_CONF": str(conf)}, capture_output=True, text=True, check=False
    ).stdout


def _wait(folder: Path, is_ready: object) -> None:
    assert callable(is_ready)
    end = time.monotonic() + START_SECONDS
    while not is_ready():
        if time.monotonic() > end:
            ends = [f"{file.name}: {file.read_text()[-800:]}" for file in folder.glob("*.[lo][ou][gt]")]
            raise RuntimeError("Slurm did not start\n" + "\n".join(ends))
        time.sleep(0.2)


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
