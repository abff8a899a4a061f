"""``bakeoff figures``: draw figures of a finished run, which is fitted again for it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.cli.output_file import require_apart_from_store
from bakeoff.pipeline.config.named_parts import ALL, settle_figures
from bakeoff.pipeline.config.trust.trusted_packages import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.paths import expand_home
from bakeoff.pipeline.text.terminal import show_controls
from bakeoff.pipeline.whole_file import replace_whole
from bakeoff.pipeline.yaml_bounds import load_bounded_yaml

if TYPE_CHECKING:
    from bakeoff.pipeline.figure_choice import FigureChoice
    from bakeoff.pipeline.refit import LoadedRun
    from bakeoff.pipeline.tracking.store import Store

KEYS = ("output", "dataset", "trust", "tracking.uri", "tracking.experiment")


def draw_figures(words: Sequence[str]) -> int:
    """Draw figures of a finished run, and add them to its artifacts or write them into a folder.

    Parameters
    ----------
    words : sequence of str
        ``RUN [NAME ...] [output=FOLDER] [dataset=NAME] [trust=[PACKAGE]] [tracking.uri=URI]
        [tracking.experiment=NAME]``; RUN is the id of a run, ``latest`` or ``best`` (of a dataset). Without names, all
        figures are drawn that apply to the run. A name may have arguments, as in
        ``"{learning_curve: {sizes: [0.5, 1]}}"``.

    Raises
    ------
    UserError
        There is no such run, no such figure, or a figure cannot show the run; the dataset has changed; or the run,
        fitted again, has other scores than those stored.
    """
    (word, *names), values = parse_arguments("figures", words, ["RUN"], KEYS, rest="NAME")
    wanted = [_parse_name(name) for name in names] or [ALL]
    # Names are checked first: the packages that read the store take a second to load.
    settle_figures(wanted)
    target = _find_target(values.get("output"), values.get("tracking.uri"))

    from bakeoff.pipeline.figure_choice import choose_figures
    from bakeoff.pipeline.refit import load_run
    from bakeoff.pipeline.tracking.find_run import find_run_id
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(values.get("tracking.uri"), values.get("tracking.experiment", "bakeoff"), create=False)
    run_id = find_run_id(store, word, "figures", values.get("dataset", ""))
    trust = read_trust(values.get("trust", ""))
    run = load_run(store, run_id, trust)
    nodes = settle_figures(wanted, _find_space(run), trust)
    choice = choose_figures(nodes, run.experiment, run.splits, trust)
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        drawn = _draw_into(Path(folder), run, choice)
        _keep_files(drawn, target, store, run_id)
    for name, reason in choice.left_out.items():
        print(f"not drawn: {name}: {show_controls(reason)}")
    place = f"in {target}" if target is not None else f"added to the artifacts of run {run_id}"
    print(f"drawn: {', '.join(file.name for file in drawn)}\n{place}")
    return 0


def _parse_name(word: str) -> Any:
    """Return a name, or the mapping of a name with arguments."""
    if not word.startswith("{"):
        return word
    import yaml

    try:
        return load_bounded_yaml(word, "figures")
    except yaml.YAMLError as error:
        raise UserError(f"figures: {word!r} is not YAML; write {{NAME: {{ARGUMENT: VALUE}}}}.") from error


def _find_target(output: str | None, store: str | None) -> Path | None:
    """Return the folder to write into; None for the artifacts of the run."""
    if output is None:
        return None
    target = expand_home(output)
    if target.exists() and not target.is_dir():
        raise UserError(f"figures: output={output!r} is a file; name a folder.")
    require_apart_from_store("figures", target, store)
    return target


def _draw_into(folder: Path, run: LoadedRun, choice: FigureChoice) -> list[Path]:
    """Fit the run again, draw its figures into a folder, and return the files."""
    from bakeoff.pipeline.refit import refit_run
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    if not choice.figures:
        raise UserError(f"figures: no figure applies to run {run.stored.run_id}.")
    n_folds = len(run.splits.folds)
    folds_text = f"{n_folds} folds" if n_folds > 1 else "one split"
    print(f"fitting run {run.stored.run_id} ({run.stored.name}, {folds_text}) again", file=sys.stderr)
    folds, model = refit_run(run, RunScreen().track_folds)
    for figure in choice.figures:
        figure.save(folder, run.experiment, folds, model)
    return sorted(folder.iterdir())


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
        raise UserError(f"figures: {target or 'the artifacts'} cannot be written: {reason}") from error


def _find_space(run: LoadedRun) -> Any:
    """Return the search space of the run's learner: the one that it was tuned in, else that of its option."""
    from bakeoff.pipeline.config.options import read_option, read_own_option

    tuned: Any = run.spec["tuning"].get("space")
    if tuned:
        return tuned
    name = run.stored.params.get("learner", "")
    option: Mapping[str, Any] = read_option("learner", name) or read_own_option("learner", name)
    # A learner of the user may have the name of an option, and other parameters.
    if option.get("_target_") != run.spec["learner"].get("_target_"):
        return None
    return read_option("space", name) or read_own_option("space", name) or None
