"""The kinds of classes that look for one fault each, and what they find.

A check has a code, which stays the same for ever, and a page: its docstring, with the pitfall, the test and the cure.
`bakeoff.pipeline.audit.columns` has the checks of a table, which run before the first fit.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

SEVERE = "severe"
WARNING = "warning"
TIP = "tip"
SEVERITIES = (TIP, WARNING, SEVERE)


@dataclass(frozen=True)
class Finding:
    """A fault that a check has found.

    Attributes
    ----------
    code, severity : str
    text : str
        What was found, with its numbers.
    cure : str
        The key or the command that removes the fault.
    p_value : float
        The p-value of the test; 0 if the fault is counted rather than tested.
    accepted : str
        The reason and the date if the user has accepted the finding.
    """

    code: str
    severity: str
    text: str
    cure: str
    p_value: float = 0.0
    accepted: str = ""

    def __str__(self) -> str:
        return f"{self.code} {self.text}"


class Check:
    """Abstract: looks for one fault in a subject: a table, a run, or a study of several runs.

    Attributes
    ----------
    code : str
    severity : {"tip", "warning", "severe"}
    key : str
        The key of ``audit`` that determines the consequence of a finding before the first fit; empty for none.
    figure : str
        The name of the figure that shows the fault; empty for none.
    cure : str
        The key or the command that removes the fault, unless it depends on the subject.
    """

    code: ClassVar[str]
    severity: ClassVar[str] = WARNING
    key: ClassVar[str] = ""
    figure: ClassVar[str] = ""
    cure: ClassVar[str] = ""

    @property
    def page(self) -> str:
        """The description of the check: a title, and paragraphs on pitfall, test and cure."""
        return inspect.getdoc(type(self)) or ""

    def applies(self, subject: Any) -> str:
        """Return why the check cannot examine a subject; empty if it can."""
        return ""

    def find(self, subject: Any) -> Iterator[Finding]:
        """Yield findings; of a test each of its results, with p-values that are not yet corrected."""
        if text := self.describe(subject):
            yield self.report(text)

    def describe(self, subject: Any) -> str:
        """Return what was found, with its numbers; empty if there is nothing."""
        return ""

    def report(self, text: str, cure: str = "", p_value: float = 0.0) -> Finding:
        """Return a finding of this check."""
        return Finding(self.code, self.severity, text, cure or self.cure, p_value)
