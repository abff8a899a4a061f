"""Splits: the tests that a node of a decision tree can apply, their quality, and the choice of the best one.

If p_m is the fraction of the node's rows that are in class m, the impurity Q of a node is its

    misclassification    1 - max_m p_m
    Gini index           Σ_m p_m (1 - p_m)
    entropy              -Σ_m p_m log2 p_m, in bits
    squared error        Average{(y_i - Average{y_i})²}, for regression

The best split of n rows into parts of n_1, n_2, … rows minimises n_1 Q_1 + n_2 Q_2 + …, and thus maximises the

    gain       = Q - Σ_v n_v/n Q_v                      information gain, where Q is the entropy
    gain ratio = information gain / -Σ_v n_v/n log2 n_v/n

The gain ratio penalises a split with many parts: without the penalty, a feature that identifies each row would have
the largest gain.

A numeric feature x_j is cut at a threshold s, halfway between two neighbouring values (CART):

    R_1(j, s) = {x | x_j < s}        R_2(j, s) = {x | x_j >= s}

A nominal feature is split into as many parts as it has values (a multiway split, as in ID3 and C4.5). It is then
constant in each part and cannot be split again there. C4.5 cuts each numeric feature at the threshold with the largest
gain, and then chooses the feature with the largest gain ratio. Only cuts between rows of different targets can be
optimal, and the lectures consider only these; here all cuts are tried.

Ties are resolved in favour of the first feature, and then of the lowest threshold. Fractions of rows are exact, so that
equally good splits have equal gains. Logarithms and sums of squares are rounded, so gains and gain ratios that differ
by at most `TIE_TOLERANCE` of the larger one, and `ROUND_OFF` of the impurity, tie.

Cost: O(n d) possible splits of n rows with d features, each evaluated in O(n log n).

References: L. Breiman and others, "Classification and Regression Trees", 1984 (Gini index, squared error); J. R.
Quinlan, "Induction of decision trees", Machine Learning 1, 1986 (information gain), and "C4.5", 1993 (gain ratio); U.
M. Fayyad and K. B. Irani, "On the handling of continuous-valued attributes in decision tree generation", Machine
Learning 8, 1992 (which cuts can be the best).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bakeoff.learners.definitions.majority_vote import average
from bakeoff.learners.definitions.steps import Problem, Step, bracket, write_products, write_sum

Number = float | Fraction
Impurity = Callable[[np.ndarray], Number]


def class_fractions(y: np.ndarray) -> list[Fraction]:
    """Return the fraction p_m of labels (n,) for each class."""
    _, counts = np.unique(y, return_counts=True)
    return [Fraction(int(count), len(y)) for count in counts]


def misclassification(y: np.ndarray) -> Number:
    """Return the fraction of labels (n,) that are not in the majority class."""
    return 1 - max(class_fractions(y))


def gini(y: np.ndarray) -> Number:
    """Return the Gini index of labels (n,)."""
    return sum(p * (1 - p) for p in class_fractions(y))


def entropy(y: np.ndarray) -> Number:
    """Return the entropy of labels (n,), in bits.

    >>> round(entropy(np.array([1] * 11 + [0] * 9)), 5)
    0.99277
    """
    return sum(float(p) * math.log2(1 / p) for p in class_fractions(y))


def squared_error(y: np.ndarray) -> Number:
    """Return the mean squared deviation of targets (n,) from their average."""
    return float(np.mean((y - np.mean(y)) ** 2))


def gain(y: np.ndarray, parts: Sequence[np.ndarray], impurity: Impurity) -> Number:
    """Return the decrease of impurity when targets (n,) are split into parts."""
    return impurity(y) - sum(Fraction(len(part), len(y)) * impurity(part) for part in parts)


def gain_ratio(y: np.ndarray, parts: Sequence[np.ndarray], impurity: Impurity = entropy) -> float:
    """Return the information gain divided by the entropy, in bits, of the part sizes.

    >>> parts = [np.array([1] * 4), np.array([1] * 5 + [0] * 11)]
    >>> round(gain_ratio(np.concatenate(parts), parts), 5)
    0.38223
    """
    return float(gain(y, parts, impurity)) / split_information(parts)


def split_information(parts: Sequence[np.ndarray]) -> float:
    """Return the entropy, in bits, of the part sizes."""
    return float(entropy(label_rows([len(part) for part in parts])))


def label_rows(counts: Sequence[int]) -> np.ndarray:
    """Return classes (n,), from 0, in these numbers.

    >>> label_rows([2, 1])
    array([0, 0, 1])
    """
    return np.repeat(np.arange(len(counts)), counts)


IMPURITIES: Mapping[str, Impurity] = {
    "entropy": entropy,
    "gain_ratio": entropy,
    "gini": gini,
    "log_loss": entropy,
    "misclassification": misclassification,
    "squared_error": squared_error,
}
"""The name of a criterion -> its impurity."""

TIE_TOLERANCE = 1e-10
ROUND_OFF = 1e-13

Question = tuple[int, float | None]
"""A feature j and a threshold s; None instead of a threshold asks for the value of a nominal feature."""


def pick_question(
    X: np.ndarray,
    y: np.ndarray,
    features: Iterable[int],
    impurity: Impurity,
    by_ratio: bool = False,
    nominal: Collection[int] = (),
) -> Question | None:
    """Evaluate all splits of rows X (n, d) with targets y (n,) by some of the features, and return the best one.

    Return None if all of these features are constant.
    """
    round_off = ROUND_OFF * float(impurity(y))
    questions: list[Question] = []
    merits: list[Number] = []
    for j in features:
        column = X[:, j]  # (n,)
        # A feature is split where the gain is largest; ties go to the first threshold.
        thresholds = list_thresholds(column, j in nominal)
        if not thresholds:
            continue
        gains = [gain(y, parts_of(y, column, s), impurity) for s in thresholds]
        best_cut = first_of_largest(gains, round_off)
        threshold = thresholds[best_cut]
        # Features compete by gain or by gain ratio; ties go to the first feature.
        merit = gain_ratio(y, parts_of(y, column, threshold), impurity) if by_ratio else gains[best_cut]
        questions.append((j, threshold))
        merits.append(merit)
    if not questions:
        return None
    return questions[first_of_largest(merits, round_off)]


def first_of_largest(merits: Sequence[Number], round_off: float) -> int:
    """Return the index of the first merit that is the largest up to rounding.

    >>> first_of_largest([0.2, 0.3, 0.1 + 0.2], round_off=0.0)
    1
    """
    least_that_ties = float(max(merits)) * (1 - TIE_TOLERANCE) - round_off
    return next(index for index, merit in enumerate(merits) if merit >= least_that_ties)


def list_thresholds(column: np.ndarray, is_nominal: bool) -> Sequence[float | None]:
    """Return the thresholds for a column (n,), None alone if it is nominal; none if it is constant."""
    if is_nominal and len(np.unique(column)) > 1:
        return [None]
    return [] if is_nominal else midpoints(column)


def midpoints(column: np.ndarray) -> list[float]:
    """Return the thresholds halfway between neighbouring values of a column (n,), ascending.

    >>> midpoints(np.array([3.0, 1.0, 1.0, 8.0]))
    [2.0, 5.5]
    """
    # There is no float halfway between neighbouring floats.
    return [max((low + high) / 2, math.nextafter(low, high)) for low, high in pairwise(np.unique(column).tolist())]


def answers(column: np.ndarray, threshold: float | None) -> dict[str, np.ndarray]:
    """Return, for each answer to a question about a column (n,), the mask (n,) of the rows that give it.

    >>> answers(np.array([1.0, 2.0]), 2.0)
    {'< 2.0': array([ True, False]), '≥ 2.0': array([False,  True])}
    """
    if threshold is None:
        return {f"= {value}": column == value for value in np.unique(column).tolist()}
    return {f"< {threshold}": column < threshold, f"≥ {threshold}": column >= threshold}


def parts_of(y: np.ndarray, column: np.ndarray, threshold: float | None) -> list[np.ndarray]:
    """Return the targets y (n,) of the rows that give each answer to a question about a column (n,)."""
    return [y[part] for part in answers(column, threshold).values()]


# The steps of these calculations.


def work_impurity(impurity: Impurity, values: Any) -> Step:
    """Return the impurity of a node with these targets (n,).

    >>> work_impurity(misclassification, ["Red", "Blue", "Red", "Red"]).formula
    'E = 1 - max p = 1 - 3/4 = 0.25'
    """
    n = len(values)
    _, counts = np.unique(values, return_counts=True)
    fractions = [f"{count}/{n}" for count in counts]
    if impurity is entropy:
        formula = f"H = -Σ p log2 p = -{' - '.join(f'{fraction}·log2({fraction})' for fraction in fractions)}"
    elif impurity is gini:
        formula = f"G = Σ p (1 - p) = {write_sum(f'{fraction}·(1 - {fraction})' for fraction in fractions)}"
    elif impurity is misclassification:
        formula = f"E = 1 - max p = 1 - {max(counts)}/{n}"
    else:
        mean = bracket(average(values))
        formula = f"Q = Average{{(y - ȳ)²}} = ({write_sum(f'({value} - {mean})²' for value in values)})/{n}"
    result = float(impurity(np.asarray(values)))
    return Step("Calculate the impurity.", f"{formula} = {result}", values={"impurity": result})


def write_counts(y: np.ndarray, classes: np.ndarray | None) -> str:
    """Return how many targets (n,) are in each of the classes (c,); without classes, their number and mean.

    >>> write_counts(np.array([2, 1, 2]), np.array([0, 1, 2]))
    '0:1:2'
    """
    if classes is None:
        return f"{len(y)} of mean {average(y)}"
    return ":".join(f"{np.count_nonzero(y == label)}" for label in classes)


def name_question(problem: Problem, question: Question) -> str:
    """Return a nominal feature, or a numeric one below its threshold."""
    feature, threshold = question
    name = problem.features[feature]
    return name if threshold is None else f"{name} < {threshold}"


def work_choice(
    problem: Problem, rows: np.ndarray, questions: Sequence[Question], chosen: Question, criterion: str
) -> Step:
    """Return the impurity of these rows of a problem, and the comparison of the questions that could split them."""
    y = problem.y[rows]
    impurity = IMPURITIES[criterion]
    labels = "" if problem.classes is None else f" ({':'.join(map(str, problem.classes))})"
    lines = []
    for question in questions:
        feature, threshold = question
        sides = {answer: y[side] for answer, side in answers(problem.X[rows, feature], threshold).items()}
        parts = list(sides.values())
        terms = write_sum(f"{len(part)}/{len(y)}·{float(impurity(part))}" for part in parts)
        fall = gain(y, parts, impurity)
        line: dict[str, Any] = {
            "split": name_question(problem, question),
            f"parts{labels}": ", ".join(
                f"{answer} ({write_counts(part, problem.classes)})" for answer, part in sides.items()
            ),
            "weighted impurity": f"{terms} = {float(impurity(y) - fall)}",
            "gain": round(float(fall), DECIMALS),
        }
        if criterion == "gain_ratio":
            line["split information"] = split_information(parts)
            line["gain ratio"] = round(gain_ratio(y, parts), DECIMALS)
        lines.append(line)
    *_, merit = line
    names = ", ".join(dict.fromkeys(problem.features[feature] for feature, _ in questions))
    rule = "choose the largest (ties: the first)"
    if merit != "gain":
        rule = f"of the largest gain of each feature, choose the largest {merit} (ties: the first)"
    return replace(
        work_impurity(impurity, y),
        sentence=f"Calculate the impurity of the next node, and the gain of each split by {names}; {rule}.",
        chosen=name_question(problem, chosen),
        table=(tuple(line), *(tuple(line.values()) for line in lines)),
        values={f"{merit} of {line['split']}": line[merit] for line in lines},
    )


DECIMALS = 15
"""A gain of zero is shown as zero."""


def work_counts(impurity: Impurity, counts: Sequence[int]) -> Step:
    """Return the impurity of a node with these numbers of rows in each class."""
    if not all(isinstance(count, int) for count in counts) or not any(counts):
        raise ValueError("counts are whole numbers, not all 0, such as [97,3] instead of [.97,.03]")
    return work_impurity(impurity, label_rows(counts))


def work_information(p: float) -> Step:
    """Return the information, in bits, of an event of probability p."""
    bits = math.log2(1 / p)
    return Step("Calculate the information of the event.", f"I = -log2 p = -log2({p}) = {bits}", values={"I": bits})


def work_gain(parts: Sequence[Sequence[int]], criterion: str = "entropy") -> Step:
    """Return the gain of a split into parts with these numbers of rows in each class."""
    y = np.concatenate([label_rows(part) for part in parts])
    X = label_rows([sum(part) for part in parts])[:, None]  # (n, 1), the part of each row
    problem = Problem(X, y, X, ("part",), "class", classes=np.unique(y))
    step = work_choice(problem, np.arange(len(y)), [(0, None)], (0, None), criterion)
    return replace(step, sentence="Compare the impurity of the whole and of its parts.", chosen="")


def work_cost(parts: Sequence[Sequence[int]], criterion: str = "entropy", logarithm: Any = 2) -> Step:
    """Return the cost of a split, with natural logarithms or those to base 2."""
    unit = math.log(2) if logarithm == "natural" else 1.0
    impurities = [unit * float(IMPURITIES[criterion](label_rows(part))) for part in parts]
    sizes = [sum(part) for part in parts]
    formula = f"Σ n_v Q_v = {write_products(sizes, impurities)}"
    cost = float(np.dot(sizes, impurities))
    return Step("Calculate the cost of the split.", f"{formula} = {cost}", values={"cost": cost})


def work_question(value: float, threshold: float) -> Step:
    """Return the side of a threshold that a value is on."""
    chosen = next(answer for answer, side in answers(np.array([value]), threshold).items() if side[0])
    return Step(f"Is {value} < {threshold}? Equality goes right.", chosen=f"{value} {chosen}")
