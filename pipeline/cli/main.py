"""The command: verbs first, all else is Hydra's.

Exit code 0: all done; 1: a job failed; 2: refused before anything ran; 130 and 143: ended by Ctrl-C and SIGTERM.
Heavy packages are imported when a job runs, so that help, ``--cfg job`` and a mistyped key answer at once.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from bakeoff.pipeline.sweep.jobs import JobOutcome

REFUSED = 2

MODES: Mapping[str, Sequence[str]] = {"hydra.mode=MULTIRUN": ["--multirun"], "hydra.mode=RUN": []}
"""Hydra's longer words for a sweep and for a single run, and how they are said here."""


def list_options(words: Sequence[str]) -> int:
    """``bakeoff list [GROUP]``."""
    from bakeoff.pipeline.cli.list import print_options

    return print_options(words)


def predict(words: Sequence[str]) -> int:
    """``bakeoff predict RUN FILE [output=FILE] [tracking.uri=URI]``."""
    from bakeoff.pipeline.cli.predict import predict_file

    return predict_file(words)


def ui(words: Sequence[str]) -> int:
    """``bakeoff ui [tracking.uri=URI] [port=5000]``."""
    from bakeoff.pipeline.cli.ui import open_pages

    return open_pages(words)


def plan(words: Sequence[str]) -> int:
    """``bakeoff plan -m KEY=VALUE,VALUE ...``: the jobs of a sweep, none of which is run."""
    return _hydra(["--multirun", *(word for word in words if word not in ("-m", "--multirun")), "dry_run=true"])


def rerun(words: Sequence[str]) -> int:
    """``bakeoff rerun --failed [sweep=NAME] [KEY=VALUE ...]``: run again what failed and was never finished."""
    from bakeoff.pipeline.cli.rerun import failed_jobs

    jobs, rest = failed_jobs(words)
    if not jobs:
        print("nothing failed that is not finished by now")
        return 0
    return _hydra(["--multirun", *rest], jobs)


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "list": list_options, "plan": plan, "predict": predict, "rerun": rerun, "ui": ui
}  # fmt: skip


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised like Ctrl-C so that a run ends KILLED on its way out."""


def main() -> None:
    """Run the command and exit."""
    gc.set_threshold(500_000)  # imports make many objects and no garbage: looking often costs a fifth of a short run
    signal.signal(signal.SIGTERM, _terminate)
    sys.path.append(os.getcwd())  # an installed command does not look there, and one's own learners may lie there
    words = sys.argv[1:]
    try:
        status = VERBS[words[0]](words[1:]) if words and words[0] in VERBS else _hydra(words)
    except UserError as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        status = REFUSED
    except Terminated:
        status = 128 + signal.SIGTERM
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    gc.freeze()  # nor is there anything to collect on the way out
    sys.exit(status)


@dataclass
class Task:
    """What Hydra calls for each job, and where the outcomes of a command are gathered.

    Attributes
    ----------
    tracebacks : bool
        Print them.
    arguments : list of str
        What a sweep's jobs are made of.
    jobs : list of tuple of str, optional
        The overrides of each job of a sweep, where they are not to be made of arguments.
    outcomes : list of JobOutcome
    """

    tracebacks: bool = False
    arguments: list[str] = field(default_factory=list)
    jobs: list[tuple[str, ...]] | None = None
    outcomes: list[JobOutcome] = field(default_factory=list)

    def __call__(self, composed: DictConfig) -> float:
        """Run one job and keep its failure; returns its headline score."""
        import scipy.special  # noqa: F401 - before pandas: skops looks for each of its functions in all modules in turn

        from bakeoff.pipeline.cli.run import run_alone
        from bakeoff.pipeline.config.invocation import discard_output_folder, read_invocation
        from bakeoff.pipeline.config.settle import resolve_config

        try:
            outcome = run_alone(resolve_config(composed), read_invocation(), self.tracebacks)
        except UserError:
            discard_output_folder()
            raise
        if outcome.kind == "refused":
            discard_output_folder()
        self.outcomes.append(outcome)
        return outcome.score


def _hydra(words: Sequence[str], jobs: list[tuple[str, ...]] | None = None) -> int:
    """Compose and run what the overrides describe, once or as a sweep."""
    first = words[0] if words else ""
    if first and not first.startswith(("-", "~", "+")) and "=" not in first:
        raise UserError(f"{first!r} is neither a verb nor KEY=VALUE. {did_you_mean(first, VERBS)}")
    words = [plain for word in words for plain in MODES.get(word.lstrip("+"), [word])]
    if is_sweep := bool({"-m", "--multirun"} & {*words}):
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(variable, "1")  # before NumPy is loaded: jobs, not matrices, share the processors

    from bakeoff.pipeline.config.explain_error import explain_error
    from bakeoff.pipeline.config.invocation import split_sweep_words
    from bakeoff.pipeline.config.schema import register_schema
    from bakeoff.pipeline.sweep.jobs import exit_code

    register_schema()
    task = Task(tracebacks=os.environ.get("HYDRA_FULL_ERROR") == "1", jobs=jobs)
    if is_sweep:
        words, task.arguments = split_sweep_words(words)
    sys.argv[1:] = words
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    try:
        _compose_and_run(task, words, "MULTIRUN" if is_sweep else "RUN")
    except Exception as error:
        if task.tracebacks:
            traceback.print_exc()
        raise explain_error(error) from None
    for outcome in task.outcomes if not is_sweep else ():
        if outcome.reason:
            print(f"{outcome.kind}: {outcome.reason}", file=sys.stderr)
    return exit_code(task.outcomes)


def _compose_and_run(task: Task, words: Sequence[str], mode: str) -> None:
    """Let Hydra compose and call the task, once or as a sweep.

    Hydra's own main composes everything once more, only to learn whether the configuration asks for a sweep; so it gets
    what it alone understands, which is its flags, and the others are composed once.
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    from bakeoff.pipeline.config.options import CONF

    overrides = [word for word in words if word not in ("-m", "--multirun")]
    if any(word.startswith("-") or word.lstrip("+").startswith("hydra.mode") for word in overrides):
        hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(task)()
        return
    with hydra.initialize_config_dir(str(CONF), job_name="bakeoff", version_base="1.3"):
        engine = GlobalHydra.instance().hydra
        assert engine is not None
        begin = engine.run if mode == "RUN" else engine.multirun
        begin("config", task, [*overrides, f"hydra.mode={mode}"])


def _terminate(number: int, frame: Any) -> None:
    raise Terminated
