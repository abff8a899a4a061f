"""Figures of a finished run, which is fitted again for them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bakeoff.pipeline.checks import FigureChoice, choose_figures
from bakeoff.pipeline.config.named_parts import ALL, settle_figures
from bakeoff.pipeline.config.options import read_option
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.results import ShowProgress
from bakeoff.pipeline.replay.refit import LoadedRun, load_run, refit_run
from bakeoff.pipeline.replay.request import FiguresRequest
from bakeoff.pipeline.tables.output_file import replace_whole, require_apart_from_store
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.store import Store, list_store_paths, open_store


@dataclass(frozen=True)
class DrawnFigures:
    """Figures of a run that were drawn.

    Attributes
    ----------
    run_id : str
    files : tuple of str
        Their names.
    left_out : mapping of str to str
        Figure -> why it cannot show the run.
    """

    run_id: str
    files: tuple[str, ...]
    left_out: Mapping[str, str]


def draw_run(
    request: FiguresRequest, show_progress: ShowProgress, announce: Callable[[str], None] = lambda sentence: None
) -> DrawnFigures:
    """Draw figures of a run, and add them to its artifacts or write them into a folder.

    Parameters
    ----------
    request : FiguresRequest
    show_progress : ShowProgress
    announce : callable
        Receives a sentence before the fit, which may take long.

    Raises
    ------
    UserError
        There is no such run, no such figure, or a figure cannot show the run; the dataset has changed; or the run,
        fitted again, has other scores than those stored.
    """
    wanted = [_parse_name(name) for name in request.names] or [ALL]
    # Names are checked first, because a run is read slowly.
    settle_figures(wanted)
    if request.output is not None:
        require_apart_from_store(request.output, list_store_paths(request.tracking__uri))
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    run_id = find_run_id(store, request.run, request.dataset)
    run = load_run(store, run_id, request.trust, request.dataset__path)
    nodes = settle_figures(wanted, _find_space(run), request.trust)
    choice = choose_figures(nodes, run.experiment, run.splits, request.trust)
    if not choice.figures:
        raise UserError(f"no figure applies to run {run_id}.")
    n_folds = len(run.splits.folds)
    folds_text = f"{n_folds} folds" if n_folds > 1 else "one split"
    announce(f"fitting run {run_id} ({run.stored.name}, {folds_text}) again")
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        files = list(_draw_into(Path(folder), run, choice, show_progress))
        _keep_files(files, request.output, store, run_id)
    return DrawnFigures(run_id, tuple(file.name for file in files), choice.left_out)


def _parse_name(word: str) -> Any:
    """Return a name, or the mapping of a name with arguments."""
    if not word.startswith("{"):
        return word
    try:
        return yaml.safe_load(word)
    except yaml.YAMLError as error:
        raise UserError(f"{word!r} is not YAML; write {{NAME: {{ARGUMENT: VALUE}}}}.") from error


def _draw_into(folder: Path, run: LoadedRun, choice: FigureChoice, show_progress: ShowProgress) -> Iterator[Path]:
    """Fit the run again, draw its figures into a folder, and yield the files."""
    folds, model = refit_run(run, show_progress)
    for figure in choice.figures:
        figure.save(folder, run.experiment, folds, model)
    yield from sorted(folder.iterdir())


def _keep_files(files: Sequence[Path], target: Path | None, store: Store, run_id: str) -> None:
    """Copy the files into a folder, or add them to the artifacts of the run."""
    try:
        if target is None:
            for file in files:
                store.client.log_artifact(run_id, str(file))
            return
        target.mkdir(parents=True, exist_ok=True)
        for file in files:
            with replace_whole(target / file.name) as temporary:
                shutil.copyfile(file, temporary)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{target or 'the artifacts'} cannot be written: {reason}") from error


def _find_space(run: LoadedRun) -> Any:
    """Return the search space of the run's learner: the one that it was tuned in, else that of its option."""
    tuned: Any = run.spec["tuning"].get("space")
    if tuned:
        return tuned
    name = run.stored.params.get("learner", "")
    option: Mapping[str, Any] = read_option("learner", name)
    # A learner of the user may have the name of an option, and other parameters.
    if option.get("_target_") != run.spec["learner"].get("_target_"):
        return None
    return read_option("space", name) or None
