"""The audit: whether scores come from rows on which nothing was fitted or chosen.

`audit` decides between refusal and warning; `parts` examines the splits and duplicate rows, and `columns` the columns
that reveal the target.
"""

from bakeoff.pipeline.audit.audit import LEAK, Audit, AuditVerdict, LeakError, NoAudit, describe_audit, make_audit_tags

__all__ = ["LEAK", "Audit", "AuditVerdict", "LeakError", "NoAudit", "describe_audit", "make_audit_tags"]
