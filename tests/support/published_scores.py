"""Scores that were published together with what tests say about them."""

from __future__ import annotations

import numpy as np

DEMSAR_AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        # The published ranks tell the last two apart, in digits that the table does not print.
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)  # (14, 4)
"""Demšar (2006), table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 datasets."""

GARCIA_HERRERA_LEARNERS = ("C4.5", "1-NN", "naive Bayes", "Kernel", "CN2")
GARCIA_HERRERA_ACCURACY = np.array(
    [
        [0.219, 0.202, 0.249, 0.165, 0.261],  # Abalone
        [0.803, 0.750, 0.813, 0.692, 0.798],  # Adult
        [0.859, 0.814, 0.845, 0.542, 0.816],  # Australian
        [0.809, 0.774, 0.673, 0.275, 0.785],  # Autos
        [0.768, 0.790, 0.727, 0.872, 0.706],  # Balance
        [0.759, 0.654, 0.734, 0.703, 0.714],  # Breast
        [0.693, 0.611, 0.572, 0.689, 0.572],  # Bupa
        [0.544, 0.531, 0.558, 0.439, 0.541],  # Cleveland
        [0.945, 0.954, 0.978, 0.541, 0.858],  # Dermatology
        [0.725, 0.705, 0.739, 0.625, 0.717],  # German
        [0.674, 0.736, 0.721, 0.356, 0.704],  # Glass
        [0.801, 0.357, 0.520, 0.309, 0.520],  # Hayes-Roth
        [0.785, 0.770, 0.841, 0.659, 0.759],  # Heart
        [0.710, 0.402, 0.728, 0.120, 0.674],  # Led7Digit
        [0.691, 0.827, 0.667, 0.527, 0.638],  # Letter
        [0.743, 0.739, 0.830, 0.549, 0.746],  # Lymphography
        [0.990, 0.482, 0.941, 0.857, 0.990],  # Mushrooms
        [0.867, 0.098, 0.915, 0.986, 0.784],  # OptDigits
        [0.821, 0.872, 0.815, 0.885, 0.778],  # Satimage
        [0.893, 0.824, 0.902, 0.739, 0.885],  # SpamBase
        [0.799, 0.655, 0.925, 0.517, 0.755],  # Splice
        [0.845, 0.731, 0.693, 0.653, 0.704],  # Tic-tac-toe
        [0.741, 0.701, 0.591, 0.663, 0.619],  # Vehicle
        [0.799, 0.994, 0.603, 0.269, 0.621],  # Vowel
        [0.949, 0.955, 0.989, 0.770, 0.954],  # Wine
        [0.555, 0.505, 0.569, 0.312, 0.556],  # Yeast
        [0.928, 0.928, 0.945, 0.419, 0.897],  # Zoo
        [0.915, 0.857, 0.860, 0.700, 0.777],  # Car
        [0.855, 0.796, 0.857, 0.607, 0.809],  # Crx
        [0.906, 0.359, 0.895, 0.641, 0.918],  # Ion
    ]
)  # (30, 5)
"""García and Herrera (2008), An extension on "Statistical comparisons of classifiers over multiple data sets" for all
pairwise comparisons, JMLR 9, 2677-2694: accuracy on 30 datasets, also ``data.gh.2008`` of the R package scmamp."""

SONAR_NAIVE_BAYES = np.array([94.203, 92.754, 95.652, 91.176, 92.647, 91.176, 92.647, 92.647, 86.765, 91.176])
SONAR_J48 = np.array([92.754, 92.754, 89.855, 89.706, 95.588, 89.706, 95.588, 94.118, 91.176, 92.647])
"""Accuracies (10,) in percent, of 10 folds: the example on one dataset of baycomp's documentation."""
