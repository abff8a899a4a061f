"""``bakeoff inspect``: what each column of a file or dataset is taken for and why, and what looks wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.config.passwords import reject_passwords
from bakeoff.pipeline.config.request_words import names_file, reject_repeated_keys
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import name_file, replace_file, require_output
from bakeoff.pipeline.text.given import MISSING_VALUE, expand_home, quote_text

if TYPE_CHECKING:
    from bakeoff.pipeline.inspection.profile import TableProfile

USAGE = "bakeoff inspect FILE [target=COLUMN] [KEY=VALUE ...], or bakeoff inspect dataset=NAME [dataset.KEY=VALUE ...]"
OWN_KEYS = ("output",)
COMPOSED_KEYS = ("dataset", "trust", "experiment")
"""Keys that are not those of the dataset; all other keys without a dot are."""
NO_PAGE = "none"


def inspect_data(words: Sequence[str]) -> int:
    """Print what each column is taken for, and write a page with histograms.

    Parameters
    ----------
    words : sequence of str
        ``FILE`` or ``dataset=NAME``; then the keys of the dataset, with or without ``dataset.`` before them, and
        ``output=FILE``, the page, or ``output=none``.

    Raises
    ------
    UserError
        There is no such file or column, or the page cannot be written.
    """
    reject_passwords(words)
    pairs = [word for word in words if "=" in word and not names_file(word, OWN_KEYS)]
    files = [word for word in words if word not in pairs]
    reject_repeated_keys(pairs)
    values = dict(word.split("=", 1) for word in pairs)
    output = values.pop("output", None)
    _require_words(files, values)
    node, trust = _compose_dataset(files, values)
    if output not in (None, NO_PAGE):
        from bakeoff.pipeline.stages.dataset.reading.several_files import list_dataset_files
        from bakeoff.pipeline.tracking.store import list_store_paths

        require_output(str(output), list_dataset_files(node), list_store_paths(None))
    profile = _inspect_node(node, trust)

    from bakeoff.pipeline.inspection.terminal import print_profile

    print_profile(profile)
    if output != NO_PAGE:
        _write_page(profile, expand_home(output or f"{name_file(profile.name)}.inspection.html"))
    return 0


def inspect_words(files: Sequence[str], values: Mapping[str, str]) -> TableProfile:
    """Inspect files, or the dataset that ``dataset`` names.

    Parameters
    ----------
    files : sequence of str
    values : mapping of str to str
        Of the keys of the dataset, with or without ``dataset.`` before them.

    Raises
    ------
    UserError
        There is no such file, option, key or column.
    """
    node, trust = _compose_dataset(files, values)
    return _inspect_node(node, trust)


def _require_words(files: Sequence[str], values: Mapping[str, str]) -> None:
    for word in files:
        if word.startswith("-"):
            raise UserError(f"inspect: {word} is not an option of this verb; usage: {USAGE}")
    if not files and "dataset" not in values:
        raise UserError(f"inspect: neither a file nor a dataset was named; usage: {USAGE}")
    if files and "dataset" in values:
        raise UserError(f"inspect: {files[0]} and dataset={values['dataset']} were given; name one of them.")


def _compose_dataset(files: Sequence[str], values: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the configuration of the dataset, in which a mandatory value may be missing, and the trusted packages."""
    from omegaconf import OmegaConf

    from bakeoff.pipeline.config.engine import compose_plainly
    from bakeoff.pipeline.config.messages import explain_error
    from bakeoff.pipeline.config.schema import register_schema
    from bakeoff.pipeline.config.words import check_overrides

    register_schema()
    overrides = []
    if files:
        quoted = ",".join(quote_text(file) for file in files)
        path = quoted if len(files) == 1 else f"[{quoted}]"
        overrides = ["dataset=file", f"dataset.path={path}"]
    for key, value in values.items():
        is_short = "." not in key and key not in COMPOSED_KEYS
        overrides.append(f"dataset.{key}={value}" if is_short else f"{key}={value}")
    check_overrides(overrides)
    try:
        composed = compose_plainly(add_trust_of_environment(overrides))
        node = OmegaConf.to_container(composed.dataset, resolve=True)
        trust = OmegaConf.to_container(composed.trust, resolve=True)
    except Exception as error:
        raise explain_error(error, overrides) from None
    assert isinstance(node, dict)
    assert isinstance(trust, list)
    return {str(key): value for key, value in node.items()}, [str(package) for package in trust]


def _inspect_node(node: Mapping[str, Any], trust: Sequence[str]) -> TableProfile:
    """Inspect the dataset that a configuration describes."""
    from bakeoff.pipeline.config.build import build_object, find_target
    from bakeoff.pipeline.config.targets import require_names
    from bakeoff.pipeline.inspection.inspect_table import inspect_dataset, inspect_source
    from bakeoff.pipeline.stages.dataset.loaders import COLLECTORS

    require_names(node, "dataset", trust)
    function = find_target(str(node.get("_target_")), "dataset._target_", trust)
    has_target = node.get("target") != MISSING_VALUE
    missing = [key for key, value in node.items() if value == MISSING_VALUE and key != "target"]
    if missing:
        raise UserError(f"dataset.{missing[0]} must be given: add {missing[0]}=VALUE.")
    if function not in COLLECTORS:
        return inspect_dataset(build_object(node, "dataset", list(trust)))
    keys = {key: value for key, value in node.items() if not key.startswith("_")}
    source = COLLECTORS[function](**keys)
    # OpenML and scikit-learn name a target themselves.
    target = source.roles.target if has_target else None
    return inspect_source(*source, target)


def _write_page(profile: TableProfile, path: Path) -> None:
    from bakeoff.pipeline.inspection.page import write_page

    with replace_file(path) as temporary:
        write_page(profile, temporary)
    print(f"page  {path}")
