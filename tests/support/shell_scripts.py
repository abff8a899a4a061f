"""Scripts of bash whose command ``bakeoff`` is answered by this process, which has imported everything."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Mapping
from pathlib import Path

from command import Bakeoff

CLIENT = """#!/bin/bash
mkfifo "$SERVED/reply"
printf '%s\\0' "$@" > "$SERVED/words.part"
mv "$SERVED/words.part" "$SERVED/words"
echo asked > "$SERVED/requests"
read -r status < "$SERVED/reply"
rm "$SERVED/reply"
cat "$SERVED/out"
cat "$SERVED/err" >&2
exit "$status"
"""
"""A script that gives its words to this process, and prints and returns what it answers."""
LOOK_SECONDS = 0.05


def run_script(
    bakeoff: Bakeoff, served: Path, command: list[str], variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command of the shell in the folder of bakeoff, one of whose ``bakeoff`` runs at a time.

    Parameters
    ----------
    bakeoff : Bakeoff
        What answers.
    served : Path
        A folder for the script ``bakeoff``, and for words and answers.
    command : list of str
    variables : mapping of str to str
        Variables of the environment beside those of this process.
    """
    client = served / "bakeoff"
    client.write_text(CLIENT)
    client.chmod(0o755)
    os.mkfifo(served / "requests")
    path = f"{served}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **variables, "SERVED": str(served), "PATH": path}
    requests = os.open(served / "requests", os.O_RDWR | os.O_NONBLOCK)
    with (served / "shell.out").open("w+") as out, (served / "shell.err").open("w+") as err:
        shell = subprocess.Popen(command, cwd=bakeoff.folder, env=environment, stdout=out, stderr=err, text=True)
        while shell.poll() is None:
            if select.select([requests], [], [], LOOK_SECONDS)[0]:
                os.read(requests, 100)
                answer_request(bakeoff, served)
        os.close(requests)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, shell.returncode, out.read(), err.read())


def answer_request(bakeoff: Bakeoff, served: Path) -> None:
    """Do what the script was asked for, and let it end."""
    words = (served / "words").read_text().split("\0")[:-1]
    answer = bakeoff(*words)
    (served / "out").write_text(answer.out)
    (served / "err").write_text(answer.err)
    (served / "reply").write_text(f"{answer.status}\n")
