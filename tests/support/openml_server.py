"""OpenML without the network: the answers that scikit-learn's wheel stores, as scikit-learn's own tests give them."""

from __future__ import annotations

import pytest
from sklearn.datasets.tests import test_openml


def serve_openml(patch: pytest.MonkeyPatch, number: int) -> None:
    """Let ``fetch_openml`` receive the stored answers about one dataset instead of asking openml.org.

    Parameters
    ----------
    patch : MonkeyPatch
    number : int
        The number of the dataset at OpenML.
    """
    test_openml._monkey_patch_webbased_functions(patch, number, gzip_response=True)
