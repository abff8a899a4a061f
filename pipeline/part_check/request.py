"""What the user asks to be checked."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """Files of parts of the user.

    Attributes
    ----------
    files : tuple of str
        Files such as conf/learner/NAME.yaml; a folder stands for the files of options in it.
    trust : tuple of str
        Packages of yours whose code may be called.
    """

    files: tuple[str, ...] = field(metadata={"word": "FILE"})
    trust: tuple[str, ...] = ()
