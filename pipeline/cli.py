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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.refusal import Refusal, did_you_mean

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from pipeline.request import Request

DONE, FAILED, REFUSED = 0, 1, 2


def list_options(words: Sequence[str]) -> int:
    """``bakeoff list [GROUP]``."""
    from pipeline.listing import print_options

    return print_options(words)


def predict(words: Sequence[str]) -> int:
    """``bakeoff predict RUN FILE [output=FILE] [tracking.uri=URI]``."""
    from pipeline.prediction import predict_file

    return predict_file(words)


def ui(words: Sequence[str]) -> int:
    """``bakeoff ui [tracking.uri=URI] [port=5000]``."""
    from pipeline.pages import open_pages

    return open_pages(words)


VERBS: dict[str, Callable[[Sequence[str]], int]] = {"list": list_options, "predict": predict, "ui": ui}


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised like Ctrl-C so that a run ends KILLED on its way out."""


def main() -> None:
    """Run the command and exit."""
    gc.disable()  # imports make many objects and no garbage: collecting meanwhile costs a fifth of a short run
    signal.signal(signal.SIGTERM, _terminate)
    sys.path.append(os.getcwd())  # an installed command does not look there, and one's own learners may lie there
    words = sys.argv[1:]
    try:
        status = VERBS[words[0]](words[1:]) if words and words[0] in VERBS else _hydra(words)
    except Refusal as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        status = REFUSED
    except Terminated:
        status = 128 + signal.SIGTERM
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    gc.freeze()  # nor is there anything to collect on the way out
    sys.exit(status)


@dataclass(frozen=True)
class Outcome:
    """What became of a job; it comes back from another process by pickle.

    Attributes
    ----------
    kind : {"done", "refused", "failed"}
    name : str
    reason : str
    score : float
    """

    kind: str
    name: str
    reason: str = ""
    score: float = float("nan")


@dataclass
class Task:
    """What Hydra calls for each job, here or in another process, and where outcomes are gathered here.

    Attributes
    ----------
    swept : tuple of str
        Keys that vary.
    tracebacks : bool
        Print them.
    outcomes : list of Outcome
    """

    swept: tuple[str, ...]
    tracebacks: bool
    outcomes: list[Outcome] = field(default_factory=list)

    def __call__(self, composed: DictConfig) -> Outcome:
        """Run one job and keep its failure to itself: the sweep goes on."""
        from pipeline import config

        gc.enable()
        request = config.request(self.swept)
        outcome = _run(composed, request, " ".join(config.overrides()) or "default", self.tracebacks)
        if outcome.kind == "refused":
            config.discard_folder()
        if request.sweep is None:
            self.outcomes.append(outcome)
        return outcome

    @property
    def status(self) -> int:
        """The exit code."""
        kinds = {outcome.kind for outcome in self.outcomes}
        if "failed" in kinds or kinds >= {"refused", "done"}:
            return FAILED
        return REFUSED if "refused" in kinds else DONE


def _hydra(words: Sequence[str]) -> int:
    """Compose and run what the overrides describe, once or as a sweep."""
    first = words[0] if words else ""
    if first and not first.startswith(("-", "~", "+")) and "=" not in first:
        raise Refusal(f"{first!r} is neither a verb nor KEY=VALUE. {did_you_mean(first, VERBS)}")

    import hydra

    from pipeline import config

    config.register()
    task = Task(config.swept_keys(words), tracebacks=os.environ.get("HYDRA_FULL_ERROR") == "1")
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    try:
        hydra.main(version_base="1.3", config_path=str(config.CONF), config_name="config")(task)()
    except Exception as error:
        if task.tracebacks:
            traceback.print_exc()
        raise config.explain(error) from None
    if task.status != DONE:
        _complain(task.outcomes)
    return task.status


def _run(composed: DictConfig, request: Request, name: str, tracebacks: bool) -> Outcome:
    from pipeline import config
    from pipeline.job import execute
    from pipeline.screen import Screen

    try:
        result = execute(config.resolve(composed), request, Screen())
    except Refusal as refusal:
        return Outcome("refused", name, str(refusal))
    except (Exception, SystemExit) as error:
        if tracebacks:
            traceback.print_exc()
        return Outcome("failed", name, f"{type(error).__name__}: {error}")
    return Outcome("done", name, score=result.score)


def _complain(outcomes: Sequence[Outcome]) -> None:
    """Say what did not work, and why: a sentence for one job, a table for a sweep."""
    wrong = sorted((outcome for outcome in outcomes if outcome.reason), key=lambda each: each.kind != "refused")
    if len(outcomes) == 1:
        print(f"{wrong[0].kind}: {wrong[0].reason}", file=sys.stderr)
        return
    print(f"{len(wrong)} of {len(outcomes)} jobs did not finish:", file=sys.stderr)
    for outcome in wrong:
        print(f"  {outcome.kind}  {outcome.name}\n           {outcome.reason}", file=sys.stderr)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated
