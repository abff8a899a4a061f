"""Where trust comes from: the words of a command, a call of Python, and the environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bakeoff.pipeline.config.trust import TRUST_VARIABLE, add_trust_of_environment, read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import provenance


def test_words_and_the_environment_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert add_trust_of_environment(["seed=1", "trust=[mine]"]) == ["trust=[mine]", "seed=1"]
    assert add_trust_of_environment(["trust=mine", "-m"]) == ["trust=[mine]", "-m"]
    monkeypatch.setenv(TRUST_VARIABLE, "theirs, mine")
    assert read_trust("[mine]") == read_trust(["mine"]) == ("mine", "theirs")
    assert add_trust_of_environment(["seed=1", "trust=[mine]", "-m"]) == ["trust=[mine,theirs]", "seed=1", "-m"]
    with pytest.raises(UserError, match="is not the name of a package"):
        add_trust_of_environment(["trust=[a],[b]"])


@pytest.mark.parametrize("given", ["[a b]", "${x}", "[../a]", "a;b", "1a"])
def test_what_is_no_name_of_a_package_is_refused(given: str) -> None:
    with pytest.raises(UserError, match=r"is not the name of a package; write names such as \[mine,theirs\]"):
        read_trust(given)


def test_git_runs_no_program_that_a_repository_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit and the state of the files are asked for in whatever folder a command starts."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    (tmp_path / "table.csv").write_text("x,y\n")
    (tmp_path / ".gitattributes").write_text("*.csv filter=theirs\n")
    git("init", "-q", ".")
    git("add", "-A")
    git("commit", "-q", "-m", "tables")
    traces = [tmp_path / ".git" / name for name in ("of_filter", "of_monitor", "of_hook")]
    git("config", "filter.theirs.clean", f"sh -c 'touch {traces[0]}; cat'")
    git("config", "core.fsmonitor", f"touch {traces[1]}")
    hook = tmp_path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {traces[2]}\n")
    hook.chmod(0o755)
    (tmp_path / "table.csv").write_text("x,z\n")
    monkeypatch.chdir(tmp_path)
    provenance.read_git_state.cache_clear()
    try:
        state = provenance.read_git_state()
    finally:
        provenance.read_git_state.cache_clear()
    assert [trace for trace in traces if trace.exists()] == []
    assert state is not None
    assert state[1]  # files differ from the commit
    subprocess.run(["git", "status"], cwd=tmp_path, check=True, capture_output=True)
    assert traces[1].exists()  # it would have run
