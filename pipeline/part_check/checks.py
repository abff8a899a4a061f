"""Which checks belong to a part, and their order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.part_check import (
    dataset_check,
    figure_check,
    learner_check,
    metric_check,
    parameter_check,
    splitter_check,
    transformer_check,
)
from bakeoff.pipeline.part_check.conformance import check_conformance
from bakeoff.pipeline.part_check.finding import OK, UNCHECKED, WRONG, Finding, describe_error
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.part_check.speed import check_speed


@dataclass(frozen=True)
class Check:
    """One check of a part.

    Attributes
    ----------
    subject : str
        What is checked.
    run : callable
        (part) -> findings; an error that it raises is a finding.
    is_required : bool
        Whether the checks after it make no sense if it finds something wrong.
    """

    subject: str
    run: Callable[[Part], list[Finding]]
    is_required: bool = False


def check_building(part: Part) -> list[Finding]:
    """Build the part."""
    return [Finding(OK, "part", f"{type(part.build()).__name__} is built from the file")]


def check_learner_conformance(part: Part) -> list[Finding]:
    """Run scikit-learn's checks on a learner."""
    return check_conformance(part.build())


FIRST_CHECKS = (
    Check("target", parameter_check.check_target, is_required=True),
    Check("parameters", parameter_check.check_parameters, is_required=True),
)
CHECKS: Mapping[str, tuple[Check, ...]] = {
    "learner": (
        Check("estimator", learner_check.check_estimator_type, is_required=True),
        Check("fit", learner_check.check_fit, is_required=True),
        Check("seed", learner_check.check_seed),
        Check("saving", learner_check.check_saving),
        Check("cells", learner_check.check_cells),
        Check("space", parameter_check.check_space),
        Check("conformance", check_learner_conformance),
        Check("speed", check_speed),
    ),
    "preprocessing": (
        Check("tables", transformer_check.check_tables, is_required=True),
        Check("rows", transformer_check.check_rows),
        Check("cells", transformer_check.check_cells),
        Check("saving", transformer_check.check_saving),
        Check("conformance", transformer_check.check_own_steps),
    ),
    "metric": (
        Check("targets", metric_check.check_targets, is_required=True),
        Check("sign", metric_check.check_sign),
        Check("repetition", metric_check.check_order),
        Check("weights", metric_check.check_weights),
    ),
    "evaluation": (
        Check("splits", splitter_check.check_splitter, is_required=True),
        Check("parts", splitter_check.check_parts),
        Check("coverage", splitter_check.check_coverage),
        Check("seed", splitter_check.check_seed),
        Check("promises", splitter_check.check_promises),
    ),
    "dataset": (
        Check("dataset", dataset_check.check_dataset, is_required=True),
        Check("target", dataset_check.check_target),
        Check("cells", dataset_check.check_cells),
        Check("repetition", dataset_check.check_repetition),
    ),
    "figure": (
        Check("figure", figure_check.check_figure, is_required=True),
        Check("picture", figure_check.check_pictures),
    ),
}
"""Each group of parts that has checks of its own."""
LIMITS: Mapping[str, str] = {
    "learner": "whether it suits your data, tables of more than 10,000 rows, and other values of its parameters",
    "preprocessing": "columns of dates and of text, and tables of more than 120 rows",
    "metric": "whether it measures what you mean by it, and rows where it is not defined",
    "evaluation": "whether the parts suit your rows: the audit of each run checks them for leaks",
    "dataset": "what each column is taken for: `bakeoff inspect dataset=NAME` shows it",
    "figure": "what the picture shows: look at it",
}
"""What the checks of a group leave open."""


def check_part(part: Part) -> Iterator[Finding]:
    """Yield the findings of each check, as they come; after a required check that fails, the others are left out.

    Parameters
    ----------
    part : Part
    """
    own_checks = CHECKS.get(part.group, (Check("part", check_building, is_required=True),))
    checks = (*FIRST_CHECKS, *own_checks)
    for number, check in enumerate(checks):
        findings = _run_check(check, part)
        yield from findings
        is_wrong = any(finding.status == WRONG for finding in findings)
        if is_wrong and check.is_required:
            rest = ", ".join(dict.fromkeys(other.subject for other in checks[number + 1 :]))
            if rest:
                yield Finding(UNCHECKED, check.subject, f"{rest}, until that is right")
            return
    limit = LIMITS.get(part.group, f"whether it works: there are no checks of its own for {part.group}")
    yield Finding(UNCHECKED, part.group, limit)


def _run_check(check: Check, part: Part) -> list[Finding]:
    """Return the findings of a check; the code that it calls is the user's, and any error in it is a finding."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check.run(part)
    except UserError as error:
        return [Finding(WRONG, check.subject, str(error))]
    except Exception as error:
        return [Finding(WRONG, check.subject, describe_error(error))]
