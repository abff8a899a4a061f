"""Names in models that version 0.1.0 stored, before the import name became ``bakeoff``.

A skops file holds a schema that names the class of each object and its attributes. `translate_model` replaces the names
of the closed tables below, so that a model that was stored then is read now. Nothing is imported under an old name, and
a model that a later version stored is never translated: a package of the user may have one of these names.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

RENAMED_CLASSES: Mapping[str, str] = {
    "learners.decision_tree.classifier.DecisionTreeClassifier": "bakeoff.learners.DecisionTreeClassifier",
    "learners.decision_tree.regressor.DecisionTreeRegressor": "bakeoff.learners.DecisionTreeRegressor",
    "learners.decision_tree.tree.Tree": "bakeoff.learners.trees.tree.Tree",
    "learners.knn.brute_force.BruteForce": "bakeoff.learners.knn.search.brute_force.BruteForce",
    "learners.knn.callable_metric.CallableSpace": "bakeoff.learners.knn.metric.callable_metric.CallableMetric",
    "learners.knn.estimators.KNeighborsClassifier": "bakeoff.learners.KNeighborsClassifier",
    "learners.knn.estimators.KNeighborsRegressor": "bakeoff.learners.KNeighborsRegressor",
    "learners.knn.kd_tree.KDTree": "bakeoff.learners.knn.search.kd_tree.KDTree",
    "learners.knn.metrics.NormSpace": "bakeoff.learners.knn.metric.minkowski.MinkowskiMetric",
    "learners.knn.nominal_search.NominalSearch": "bakeoff.learners.knn.search.simple_matching.SimpleMatchingSearch",
    "learners.knn.scipy_tree.SciPyTree": "bakeoff.learners.knn.search.scipy_kd_tree.SciPyKDTree",
    "learners.linear_regression.LinearRegression": "bakeoff.learners.LinearRegression",
    "learners.linear_regression.Ridge": "bakeoff.learners.Ridge",
    "learners.logistic_regression.LogisticRegression": "bakeoff.learners.LogisticRegression",
    "learners.majority.MajorityClassifier": "bakeoff.learners.MajorityClassifier",
    "learners.majority.MeanRegressor": "bakeoff.learners.MeanRegressor",
    "learners.mlp.estimators.MLPClassifier": "bakeoff.learners.MLPClassifier",
    "learners.mlp.estimators.MLPRegressor": "bakeoff.learners.MLPRegressor",
    "learners.naive_bayes.classifier.NaiveBayesClassifier": "bakeoff.learners.NaiveBayesClassifier",
    "learners.perceptron.Perceptron": "bakeoff.learners.Perceptron",
    "learners.random_forest.classifier.RandomForestClassifier": "bakeoff.learners.RandomForestClassifier",
    "learners.random_forest.regressor.RandomForestRegressor": "bakeoff.learners.RandomForestRegressor",
    "learners.svm.classifier.SVC": "bakeoff.learners.SVC",
    "pipeline.preprocessing.AsNominal": "bakeoff.pipeline.stages.preprocessing.AsNominal",
}
"""Every class of bakeoff whose objects a stored model could hold: its former name, and its current name."""

RENAMED_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "learners.knn.brute_force.BruteForce": {
        "space": "metric",
        "filtered": "can_prefilter",
        "_filter": "_prefilter",
    },
    "learners.knn.estimators.KNeighborsClassifier": {
        "_space": "_fitted_metric",
        "_row": "_row_positions",
        "_equal": "_unit_weights",
        "_lightest": "_cumulative_weight",
        "_given": "_n_rows_given",
    },
    "learners.knn.estimators.KNeighborsRegressor": {
        "_space": "_fitted_metric",
        "_row": "_row_positions",
        "_equal": "_unit_weights",
        "_lightest": "_cumulative_weight",
        "_given": "_n_rows_given",
    },
    "learners.knn.kd_tree.KDTree": {"space": "metric"},
    "learners.knn.metrics.NormSpace": {
        "share": "column_weight",
        "_scaled": "_has_scale",
        "_moved": "_has_offset",
        "_mixed": "_has_nominal",
    },
    "learners.knn.nominal_search.NominalSearch": {
        "space": "metric",
        "filtered": "can_prefilter",
        "_filter": "_prefilter",
        "_sizes": "_codes_per_column",
        "_right": "_key_matrix",
        "_distance": "_distance_by_mismatches",
    },
    "learners.knn.scipy_tree.SciPyTree": {"space": "metric"},
}
"""Attributes that were renamed, by the former name of their class."""

OLD_REQUIREMENT = "bakeoff==0.1.0"
"""The line of a model's requirements that tells which version stored it."""
SCHEMA = "schema.json"
"""The member of a skops archive that names classes and attributes."""


def has_old_names(folder: Path) -> bool:
    """Return whether version 0.1.0 stored the model in a folder."""
    requirements = folder / "requirements.txt"
    return requirements.is_file() and OLD_REQUIREMENT in requirements.read_text().splitlines()


def translate_model(dumped: bytes) -> bytes:
    """Rename the classes and attributes in a stored model to their current names.

    Parameters
    ----------
    dumped : bytes
        A fitted model in the skops format.

    Returns
    -------
    bytes
        The same model.
    """
    archive = ZipFile(io.BytesIO(dumped))
    schema = json.loads(archive.read(SCHEMA))
    _translate_node(schema)
    translated = io.BytesIO()
    with ZipFile(translated, "w", ZIP_DEFLATED) as target:
        for name in archive.namelist():
            content = json.dumps(schema).encode() if name == SCHEMA else archive.read(name)
            target.writestr(name, content)
    return translated.getvalue()


def translate_types(types: Sequence[str]) -> list[str]:
    """Return the current names of the types that a stored model lists."""
    return [RENAMED_CLASSES.get(name, name) for name in types]


def _translate_node(node: Any) -> None:
    """Rename in a node of the schema, in place, and in all nodes below it."""
    if isinstance(node, list):
        for child in node:
            _translate_node(child)
    if not isinstance(node, dict):
        return
    for child in node.values():
        _translate_node(child)
    old_name = f"{node.get('__module__')}.{node.get('__class__')}"
    if old_name not in RENAMED_CLASSES:
        return
    node["__module__"], _, node["__class__"] = RENAMED_CLASSES[old_name].rpartition(".")
    attributes = node.get("content", {}).get("content", {})
    for old_attribute, new_attribute in RENAMED_ATTRIBUTES.get(old_name, {}).items():
        if old_attribute in attributes:
            attributes[new_attribute] = attributes.pop(old_attribute)
