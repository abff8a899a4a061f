"""Being taken for scikit-learn's class of the same name by tools that look at the type."""

from __future__ import annotations

import sys
from abc import ABCMeta
from typing import ClassVar, Self


class SklearnCounterpart:
    """Mixin: ``isinstance`` with scikit-learn's class holds as soon as that class has been imported.

    ``plot_tree``, SHAP and dtreeviz accept models of scikit-learn's classes only. Registering a virtual subclass needs
    that class, whose package takes a quarter of a second to load. Programs that use such a tool have loaded it,
    possibly after the model was fitted. ``isinstance`` asks an object for its class: at that moment it is registered.
    """

    _counterpart: ClassVar[tuple[str, str]]
    """The package, and the name of the class in it."""

    @property  # type: ignore[misc]
    def __class__(self) -> type[Self]:
        """The class of the object."""
        own = type(self)
        package, name = own._counterpart
        theirs = getattr(sys.modules.get(package), name, None)
        if isinstance(theirs, ABCMeta) and not issubclass(own, theirs):
            theirs.register(own)
        return own
