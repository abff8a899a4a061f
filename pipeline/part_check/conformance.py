"""scikit-learn's own suite of checks, summarized."""

from __future__ import annotations

import warnings
from typing import Any

from bakeoff.pipeline.part_check.finding import OK, UNCHECKED, WRONG, Finding, describe_error

FAILED = "failed"
SKIPPED = "skipped"
XFAIL = "xfail"


def check_conformance(estimator: Any, subject: str = "conformance") -> list[Finding]:
    """Run scikit-learn's checks of estimators, and name those that fail with the first line of each error.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    subject : str
        Of the findings.

    References
    ----------
    scikit-learn, Developing scikit-learn estimators: `sklearn.utils.estimator_checks.check_estimator`.
    """
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = [outcome for outcome in outcomes if outcome["status"] == FAILED]
    skipped = [outcome["check_name"] for outcome in outcomes if outcome["status"] in (SKIPPED, XFAIL)]
    findings = [Finding(OK, subject, f"all {len(outcomes) - len(skipped)} checks of scikit-learn pass")]
    if failed:
        lines = [f"{outcome['check_name']}: {describe_error(outcome['exception'])}" for outcome in failed]
        distinct = tuple(dict.fromkeys(lines))
        text = f"{len(failed)} of {len(outcomes)} checks of scikit-learn fail"
        findings = [Finding(WRONG, subject, text, distinct)]
    if skipped:
        names = ", ".join(dict.fromkeys(skipped))
        findings.append(Finding(UNCHECKED, subject, f"scikit-learn skips {names}"))
    return findings
