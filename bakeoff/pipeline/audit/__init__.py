"""The audit, which checks that scores come from rows on which nothing was fitted or chosen.

Its checks lead to a refusal before the first fit, a warning, or an internal error. `columns` has the findings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bakeoff.pipeline.audit.columns import (
    TABLE_CHECKS,
    Suspicion,
    Table,
    find_broken_order,
    find_columns,
    find_shared_rows,
)
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import count_nouns

if TYPE_CHECKING:  # an inspection examines columns without scikit-learn, which the loop over folds loads
    from bakeoff.pipeline.experiment import Experiment, FoldResult
    from bakeoff.pipeline.stages.dataset import Dataset
    from bakeoff.pipeline.stages.splitting import Splits

REFUSE = "refuse"
WARN = "warn"
IGNORE = "ignore"
ACTIONS = (REFUSE, WARN, IGNORE)
LEAK = "leak"
ACCEPTED_TAG = "accepted_findings"
"""The tag with the findings that the user has accepted: the code -> the reason, with the date."""


class LeakError(RuntimeError):
    """A stage has used test rows, which is an error in the code rather than a mistake of the user."""


@dataclass(frozen=True)
class AuditVerdict:
    """The result of the checks before the first fit.

    Attributes
    ----------
    warnings : tuple of str
        The warnings as sentences.
    is_on : bool
        Whether anything was checked.
    """

    warnings: tuple[str, ...] = ()
    is_on: bool = True

    @property
    def state(self) -> str:
        """The state in one or two words: ``passed``, ``1 warning``, ``2 warnings`` or ``off``."""
        if not self.is_on:
            return "off"
        return count_nouns(len(self.warnings), "warning") if self.warnings else "passed"


@dataclass(frozen=True)
class NoAudit:
    """An audit that checks nothing."""

    def check(self, experiment: Experiment, splits: Splits) -> AuditVerdict:
        """Return a verdict without warnings."""
        return AuditVerdict(is_on=False)

    def check_fold(self, fold: FoldResult) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Audit:
    """Refuses splits whose test rows are also used for fitting, and reports other causes of optimistic scores.

    Parameters
    ----------
    groups : {"refuse", "warn", "ignore"}
        The consequence if rows of one group are in several parts.
    duplicates : {"refuse", "warn", "ignore"}
        The consequence if test rows are copies of training or validation rows.
    columns : {"refuse", "warn", "ignore"}
        The consequence if a column reveals the target, looks like a group identifier, or contains dates that a
        chronological evaluation does not use to order the rows.
    classes : {"refuse", "warn", "ignore"}
        The consequence if some folds have no test rows, or no training rows, of a class.
    """

    groups: str = WARN
    duplicates: str = WARN
    columns: str = WARN
    classes: str = WARN
    # Suspicions are keyed by the digest of a dataset, because the jobs of a sweep share datasets.
    _found: dict[str, list[Suspicion]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key in ("groups", "duplicates", "columns", "classes"):
            action = getattr(self, key)
            if action not in ACTIONS:
                raise UserError(f"audit.{key}={action!r} is not an action. {did_you_mean(str(action), ACTIONS)}")

    def check(self, experiment: Experiment, splits: Splits) -> AuditVerdict:
        """Check the data and the splits of an experiment; nothing is fitted.

        Parameters
        ----------
        experiment : Experiment
        splits : Splits

        Returns
        -------
        AuditVerdict

        Raises
        ------
        UserError
            A row would be both fitted on and tested, a chronological evaluation would test the past, or a finding must
            be refused.
        """
        # This check has no key: a score on fitted rows is wrong, while other findings may be harmless.
        broken = find_shared_rows(splits) or find_broken_order(experiment, splits)
        if broken:
            raise UserError(f"{broken} Correct the splitter, or set audit=none to accept this.")
        warnings: list[str] = []
        table = Table(experiment.dataset, self._find_suspicions(experiment.dataset), experiment, splits)
        for check in TABLE_CHECKS:
            action = getattr(self, check.key)
            for finding in check.find(table) if action != IGNORE else ():
                if action == REFUSE:
                    raise UserError(f"{finding} To accept this, set audit.{check.key}=warn.")
                warnings.append(str(finding))
        return AuditVerdict(tuple(warnings))

    def check_fold(self, fold: FoldResult) -> None:
        """Check that no stage of an evaluated fold has used its test rows or a row of the reserve.

        Raises
        ------
        LeakError
        """
        from bakeoff.pipeline.experiment.stage_log import find_leaks

        for stage, count in find_leaks(fold.seen).items():
            raise LeakError(
                f"fold {fold.number}: {stage} has used {count} of the {len(fold.split.test)} test rows and "
                f"{len(fold.split.reserve)} reserved rows, so the score is not measured on new rows"
            )

    def _find_suspicions(self, dataset: Dataset) -> list[Suspicion]:
        """Return the suspicions about the columns of a dataset, unless they are ignored."""
        key = dataset.digest()
        if self.columns != IGNORE and key not in self._found:
            self._found[key] = list(find_columns(dataset))
        return self._found.get(key, [])


def make_audit_tags(verdict: AuditVerdict) -> dict[str, str]:
    """Return the tag ``audit``, such as ``2 warnings``, and ``audit_warnings``, a JSON list, if there are any."""
    tags = {"audit": verdict.state}
    if verdict.warnings:
        tags["audit_warnings"] = json.dumps(verdict.warnings, ensure_ascii=False)
    return tags


def describe_accepted(tags: Mapping[str, str]) -> list[str]:
    """Return the findings that the user has accepted for a run, with reason and date, as sentences."""
    accepted = json.loads(tags.get(ACCEPTED_TAG, "{}"))
    return [f"Accepted: {code}, {reason}." for code, reason in accepted.items()]


def describe_audit(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Return the verdict of a run's audit, and the number of looks at its test rows, as sentences.

    Parameters
    ----------
    tags : mapping of str to str
        The tags of the run: ``audit``, ``audit_warnings`` and ``looks``, each of which may be missing.

    Examples
    --------
    >>> describe_audit({"audit": "passed", "looks": "41"})
    ('Audit: passed.', 'When the run ended, 41 configurations, including this one, had been scored on these test rows.')
    """
    sentences = []
    if "audit" in tags:
        warnings = json.loads(tags.get("audit_warnings", "[]"))
        sentences.append(" ".join([f"Audit: {tags['audit']}.", *warnings]))
    sentences += describe_accepted(tags)
    looks = int(tags.get("looks", 0))
    if looks > 1:
        sentences.append(
            f"When the run ended, {looks} configurations, including this one, had been scored on these test rows."
        )
    return tuple(sentences)
