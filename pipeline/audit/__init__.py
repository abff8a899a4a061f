"""The audit: does a score come from rows that nothing was fitted or chosen on?

`audit` decides what is refused and what gives a warning; `parts` examines the splits, `copies` the rows that occur more
than once, and `columns` the columns that give the target away.
"""

from bakeoff.pipeline.audit.audit import Audit, AuditVerdict, LeakError, NoAudit

__all__ = ["Audit", "AuditVerdict", "LeakError", "NoAudit"]
