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

    from pipeline.experiment import Judge
    from pipeline.job import Result
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


@dataclass
class Tally:
    """What became of the jobs of one command.

    Attributes
    ----------
    done : int
    refused, failed : list of (name, reason)
    """

    done: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def status(self) -> int:
        """The exit code."""
        if self.failed or (self.refused and self.done):
            return FAILED
        return REFUSED if self.refused else DONE


def _hydra(words: Sequence[str]) -> int:
    """Compose and run what the overrides describe, once or as a sweep."""
    first = words[0] if words else ""
    if first and not first.startswith(("-", "~", "+")) and "=" not in first:
        raise Refusal(f"{first!r} is neither a verb nor KEY=VALUE. {did_you_mean(first, VERBS)}")

    import hydra

    from pipeline import config

    config.register()
    tally = Tally()
    wants_traceback = os.environ.get("HYDRA_FULL_ERROR") == "1"
    swept = config.swept_keys(words)

    def task(composed: DictConfig, *judge: Judge) -> Result:
        return _job(composed, config.request(swept, words), tally, wants_traceback, *judge)

    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    try:
        hydra.main(version_base="1.3", config_path=str(config.CONF), config_name="config")(task)()
    except Exception as error:
        if wants_traceback:
            traceback.print_exc()
        raise config.explain(error) from None
    if tally.refused or tally.failed:
        _complain(tally)
    return tally.status


def _job(composed: DictConfig, request: Request, tally: Tally, wants_traceback: bool, *judge: Judge) -> Result:
    """Run one job and keep its failure to itself: the sweep goes on."""
    from pipeline import config
    from pipeline.job import Result, execute
    from pipeline.screen import Screen

    gc.enable()
    name = " ".join(config.overrides()) or "default"
    try:
        result = execute(config.resolve(composed), request, Screen(), *judge)
    except Refusal as refusal:
        config.discard_folder()
        tally.refused.append((name, str(refusal)))
        return Result(name, None, float("nan"), error=str(refusal))
    except (Exception, SystemExit) as error:
        if wants_traceback:
            traceback.print_exc()
        tally.failed.append((name, f"{type(error).__name__}: {error}"))
        return Result(name, None, float("nan"), error=f"{type(error).__name__}: {error}")
    tally.done += 1
    return result


def _complain(tally: Tally) -> None:
    """Say what did not work, and why: a sentence for one job, a table for a sweep."""
    wrong = [("refused", *row) for row in tally.refused] + [("failed", *row) for row in tally.failed]
    if len(wrong) + tally.done == 1:
        print(f"{wrong[0][0]}: {wrong[0][2]}", file=sys.stderr)
        return
    print(f"{len(wrong)} of {len(wrong) + tally.done} jobs did not finish:", file=sys.stderr)
    for kind, name, reason in wrong:
        print(f"  {kind}  {name}\n           {reason}", file=sys.stderr)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated
