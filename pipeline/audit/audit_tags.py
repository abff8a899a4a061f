"""The verdict of an audit in the tags of a run, and as lines for the page of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping

from bakeoff.pipeline.audit.audit import AuditVerdict


def make_audit_tags(verdict: AuditVerdict) -> dict[str, str]:
    """Return the tag ``audit``, such as ``2 warnings``, and ``audit_warnings``, a JSON list, if there are any."""
    tags = {"audit": verdict.state}
    if verdict.warnings:
        tags["audit_warnings"] = json.dumps(verdict.warnings, ensure_ascii=False)
    return tags


def describe_audit(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Return the verdict of the audit of a run, and the number of looks at its test rows, as sentences.

    Parameters
    ----------
    tags : mapping of str to str
        Those of the run: ``audit``, ``audit_warnings`` and ``looks``, of which each may be missing.

    Examples
    --------
    >>> describe_audit({"audit": "passed", "looks": "41"})
    ('Audit: passed.', 'At its end, 41 configurations had been scored on these test rows, this one included.')
    """
    sentences = []
    if "audit" in tags:
        warnings = json.loads(tags.get("audit_warnings", "[]"))
        sentences.append(" ".join([f"Audit: {tags['audit']}.", *warnings]))
    looks = int(tags.get("looks", 0))
    if looks > 1:
        sentences.append(f"At its end, {looks} configurations had been scored on these test rows, this one included.")
    return tuple(sentences)
