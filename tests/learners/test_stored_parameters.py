"""A learner that was stored by an earlier version has the defaults of the parameters that came later."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone

from bakeoff.learners import REGISTRY


@pytest.mark.parametrize("name", REGISTRY)
def test_a_stored_learner_without_a_newer_parameter_has_its_default(name: str) -> None:
    learner: Any = REGISTRY[name]()
    expected = learner.get_params()
    newest = list(expected)[-1] if expected else None
    state = {key: value for key, value in learner.__getstate__().items() if key != newest}
    restored: Any = object.__new__(REGISTRY[name])
    restored.__setstate__(state)
    assert restored.get_params() == expected
    assert clone(restored).get_params() == expected
    assert repr(restored) == repr(learner)
