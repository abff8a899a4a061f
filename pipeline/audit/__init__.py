"""The audit: does a score come from rows that nothing was fitted or chosen on?

`audit` decides what is refused and what gives a warning; `parts` examines the splits and rows that occur more
than once, and `columns` the columns that give the target away.
"""

from bakeoff.pipeline.audit.audit import LEAK, Audit, AuditVerdict, LeakError, NoAudit, describe_audit, make_audit_tags

__all__ = ["LEAK", "Audit", "AuditVerdict", "LeakError", "NoAudit", "describe_audit", "make_audit_tags"]
