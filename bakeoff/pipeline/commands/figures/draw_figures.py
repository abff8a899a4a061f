"""The figures of a finished run, which is fitted again to draw them."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.checks import FigureChoice, choose_figures
from bakeoff.pipeline.commands.repetition.refit import LoadedRun, load_run, refit_run
from bakeoff.pipeline.config.compose_job import SIMPLER_KEY
from bakeoff.pipeline.config.options import ALL, load_yaml, read_option, settle_figures
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.jobs import ShowWork
from bakeoff.pipeline.tables.output_file import FIGURE, replace_file, require_apart_from_store
from bakeoff.pipeline.tracking import artifacts, sqlite_file
from bakeoff.pipeline.tracking.store import Store, list_store_paths
from bakeoff.pipeline.tracking.stored_runs import StoredRun


def draw_run(
    request: RefitRequest,
    figures: Sequence[str],
    output: Path | None,
    show_work: ShowWork,
    announce: Callable[[str], None],
) -> tuple[list[str], Mapping[str, str]]:
    """Draw figures of a run, and add them to its artifacts or write them to a folder.

    Parameters
    ----------
    request : RefitRequest
    figures : sequence of str
        Names of figures, optionally with arguments; all that apply to the run if there are none.
    output : Path or None
        The folder for the files; None for the artifacts of the run.
    show_work : callable
    announce : callable
        Receives a sentence before the fit, which may take long.

    Returns
    -------
    files : list of str
        The paths of the files.
    left_out : mapping of str to str
        Figure -> the reason why it cannot show the run.

    Raises
    ------
    UserError
        The run or the figure does not exist, a figure cannot show the run, the dataset has changed, or the refitted run
        has different scores from those stored.
    """
    wanted = [_parse_name(name) for name in figures] or [ALL]
    # Names are checked first, because reading a run is slow.
    settle_figures(wanted)
    if output is not None:
        require_apart_from_store(output, list_store_paths(request.tracking__uri))
    store, run = load_run(request)
    run_id = run.stored.run_id
    nodes = settle_figures(wanted, find_space(run), request.trust)
    choice = choose_figures(nodes, run.experiment, run.splits, request.trust)
    if not choice.figures:
        raise UserError(f"no figure applies to run {run_id}.")
    n_folds = len(run.splits.folds)
    folds_text = f"{n_folds} folds" if n_folds > 1 else "one split"
    announce(f"fitting run {run_id} ({run.stored.name}, {folds_text}) again")
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        files = _draw_into(Path(folder), run, choice, show_work)
        _keep_files(files, output, store, run.stored)
    place = output or sqlite_file.name_folder(run.stored.address)
    return [f"{place}/{file.name}" for file in files], choice.left_out


def _parse_name(word: str) -> Any:
    """Return a name, or a mapping of a name to its arguments."""
    return load_yaml(word, word) if word.startswith("{") else word


def _draw_into(folder: Path, run: LoadedRun, choice: FigureChoice, show_work: ShowWork) -> list[Path]:
    """Fit the run again, draw its figures into a folder, and return the files."""
    folds, model = refit_run(run, show_work)
    for figure in choice.figures:
        figure.save(folder, run.experiment, folds, model)
    return sorted(folder.iterdir())


def _keep_files(files: Sequence[Path], target: Path | None, store: Store, run: StoredRun) -> None:
    """Copy the files to a folder, or add them to the artifacts of the run."""
    own_folder = artifacts.run_folder(store, run.address, run.run_id)
    try:
        with own_folder if target is None else nullcontext(target) as folder:
            folder.mkdir(parents=True, exist_ok=True)
            # A table belongs to the picture beside it.
            for path in [target / file.name for file in reversed(files)] if target else ():
                FIGURE.require_own(path, path.with_suffix(".png"))
            for file in files:
                with replace_file(folder / file.name) as temporary:
                    shutil.copyfile(file, temporary)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{target or 'the artifacts'} cannot be written: {reason}") from error


def find_space(run: LoadedRun) -> Any:
    """Return the search space of the run's learner: the one in which it was tuned, or the default of its option."""
    tuned: Any = run.spec["tuning"].get("space")
    if tuned:
        return tuned
    name = run.stored.params.get("learner", "")
    option: Mapping[str, Any] = read_option("learner", name)
    # A user-defined learner may have the name of an option but different parameters.
    if option.get("_target_") != run.spec["learner"].get("_target_"):
        return None
    return {key: values for key, values in read_option("space", name).items() if key != SIMPLER_KEY} or None
