"""Simulated students, whose sheets are marked by `bakeoff grade` and by an independent key.

    OMP_NUM_THREADS=1 python -m benchmarks.students [students=300] [sheets=30]

The students of each learner fill in sheets of random tables. The solvers of this file are written for the simulation:
they know the order of the steps and the multipliers α, and compute all else from what the student has, exact or
rounded. Four of five students make a slip in a random box, and calculate on with it; some write nonsense into the last
box. Numbers are written with decimal commas, as fractions or percentages, without a leading zero, or with cut digits.

Printed are the share of the boxes whose points are those that the simulation expects, the right boxes that lost points,
and the boxes after a slip, with those of them that do not have full points.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.pipeline.commands.grade.answers import HandIn
from bakeoff.pipeline.commands.grade.marking import mark_sheet
from bakeoff.pipeline.commands.grade.paper import list_cells
from bakeoff.pipeline.commands.grade.scheme import Scheme
from bakeoff.pipeline.commands.work.command import make_class_sheet
from bakeoff.pipeline.commands.work.request import WorkRequest

DIGITS = 4
UNIT = 10.0**-DIGITS
MOST_STEPS = 42
"""A perceptron that makes more updates than a sheet shows has a plane that does not follow from them."""
LEARNERS = {
    "decision_tree": {"learner.criterion": "entropy"},
    "knn": {"learner.n_neighbors": "3", "learner.weights": "distance"},
    "naive_bayes": {},
    "perceptron": {"learner.shuffle": "false", "learner.pocket": "false"},
    "logistic_regression": {},
    "svm": {"learner.kernel": "linear"},
}
Key = tuple[int, str, str]
"""The step, the column and the row of a box."""


class Table:
    """The rows of a sheet, read from its tables."""

    def __init__(self, calculation: Any) -> None:
        table = calculation.table
        self.names = [str(name) for name in table.columns[:-1]]
        self.cells = [[str(cell) for cell in row] for row in table.iloc[:, :-1].to_numpy(object)]
        self.labels = [str(label) for label in table.iloc[:, -1]]
        self.classes = sorted(set(self.labels))
        self.query = [str(cell) for cell in calculation.queries.iloc[0]]
        self.target = str(table.columns[-1])
        self.steps = calculation.steps
        self.learner = calculation.learner

    @property
    def X(self) -> list[list[float]]:
        return [[float(cell) for cell in row] for row in self.cells]

    @property
    def q(self) -> list[float]:
        return [float(cell) for cell in self.query]


class Student:
    """What a student has written, and the slip to make.

    A solver asks for each box by `write`, which returns what the student calculates on with.
    """

    def __init__(
        self,
        boxes: dict[Key, str],
        printed: dict[Key, Any],
        slip_box: str = "",
        is_rounding: bool = False,
        pick: int = 0,
    ) -> None:
        self.boxes = boxes
        self.printed = printed
        self.slip_box = slip_box
        self.is_rounding = is_rounding
        self.pick = pick
        self.values: dict[str, Any] = {}
        self.results: dict[Key, Any] = {}
        self.slipped = False

    def write(self, key: Key, value: Any, slips: Any = ()) -> Any:
        box = self.boxes.get(key, "")
        self.results[key] = value
        if not box:
            # What the sheet shows is used as it is.
            return self.printed.get(key, value)
        if box == self.slip_box:
            made = [slip() for slip in slips]
            made = [each for each in made if each is not None and not same(each, value)]
            if made:
                value = made[self.pick % len(made)]
                self.slipped = True
        if self.is_rounding:
            value = round_value(value)
        self.values[box] = value
        return value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float | int) and isinstance(b, float | int):
        return abs(a - b) <= 4 * UNIT
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(abs(x - y) <= 4 * UNIT for x, y in zip(a, b, strict=True))
    return bool(a == b)


def round_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(round_value, value))
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS - 1}e}") if 0 < abs(value) < UNIT else round(value, DIGITS)


def entropy(counts: list[int]) -> float:
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts if c)


def solve_tree(t: Table, s: Student) -> None:
    """Grow the tree of the sheet, whose nodes are known by the numbers of the branches that lead to them."""
    nodes: dict[tuple[int, ...], str | None] = {}
    key_choice: dict[tuple[str, ...], tuple[str, list[int]]] = {}
    for number, step in enumerate(t.steps[:-1]):
        if step.answer is not None or "Which branch" in step.sentence:
            break
        place = tuple(part for part in step.place.split(", ") if part)
        rows: list[int] | None = list(range(len(t.labels)))
        key_rows = list(range(len(t.labels)))
        path: tuple[int, ...] = ()
        for part in place:
            feature, value = part.split(" = ")
            branch = sorted({t.cells[i][t.names.index(feature)] for i in key_rows}).index(value)
            key_rows = [i for i in key_rows if t.cells[i][t.names.index(feature)] == value]
            own = nodes.get(path) if rows is not None else None
            if own is None or rows is None:
                rows = None
            else:
                values = sorted({t.cells[i][t.names.index(own)] for i in rows})
                rows = (
                    [i for i in rows if t.cells[i][t.names.index(own)] == values[branch]]
                    if branch < len(values)
                    else None
                )
            path = (*path, branch)
        is_leaf = "is a leaf" in step.sentence
        if rows is None:
            continue
        counts = [sum(t.labels[i] == label for i in rows) for label in t.classes]
        H = s.write((number, "H", ""), entropy(counts), [lambda c=counts: math.log(2) * entropy(c)])
        gains = {}
        for row in step.table[1:]:
            name = row[0]
            j = t.names.index(name)

            def count(rows: list[int], j: int = j) -> tuple[float, ...]:
                values = sorted({t.cells[i][j] for i in rows})
                return tuple(
                    float(sum(t.cells[i][j] == v and t.labels[i] == label for i in rows))
                    for v in values
                    for label in t.classes
                )

            parts = s.write((number, "parts", name), count(rows), [lambda: count(list(range(len(t.labels))))])
            groups = [list(map(int, parts[i : i + len(t.classes)])) for i in range(0, len(parts), len(t.classes))]
            n = sum(map(sum, groups))
            weighted = sum(sum(g) / n * entropy(g) for g in groups)
            slips: list[Any] = [partial(sum, [*map(entropy, groups)]), partial(float, math.log(2) * weighted)]
            slips.append(partial(float, H - weighted))
            weighted = s.write((number, "weighted impurity", name), weighted, slips)
            gains[name] = s.write((number, "gain", name), H - weighted, [lambda w=weighted: w])
        if is_leaf:
            options = dict(zip(t.classes, counts, strict=True))
        else:
            options = gains
        best = max(options, key=lambda name: options[name])
        worst = min(options, key=lambda name: options[name])
        near = [name for name in options if abs(options[name] - options[best]) <= 2 * UNIT]
        slip = worst if len(near) == 1 else None
        chosen = s.write((number, "→", ""), best, [lambda slip=slip: slip])
        nodes[path] = None if is_leaf else chosen
        if not is_leaf:
            key_choice[place] = (step.chosen, rows)
    solve_descent(t, s, nodes)


def solve_descent(t: Table, s: Student, nodes: dict[tuple[int, ...], str | None]) -> None:
    rows: list[int] | None = list(range(len(t.labels)))
    path: tuple[int, ...] = ()
    taken: tuple[str, ...] = ()
    places = {
        tuple(part for part in step.place.split(", ") if part) for step in t.steps if "next node" in step.sentence
    }
    for number, step in enumerate(t.steps[:-1]):
        if "Which branch" in step.sentence:
            # The student follows the branches by name, as long as the sheet has such a node.
            own = nodes.get(path) if taken in places else None
            if own is None or rows is None:
                rows = None
                continue
            j = t.names.index(own)
            values = sorted({t.cells[i][j] for i in rows})
            answer = f"{own} = {t.query[j]}"
            answer = s.write((number, "→", ""), answer)
            taken = (*taken, answer)
            feature, value = answer.split(" = ")
            j = t.names.index(feature)
            path = (*path, values.index(value)) if value in values else (*path, -1)
            rows = [i for i in rows if t.cells[i][j] == value]
        elif step.answer is not None and rows:
            votes = {}
            for label in t.classes:
                count = float(sum(t.labels[i] == label for i in rows))
                everywhere = float(t.labels.count(label))
                votes[label] = s.write((number, "votes", label), count, [lambda e=everywhere: e])
            write_choice(t, s, number, votes)


def write_choice(t: Table, s: Student, number: int, votes: dict[str, float]) -> None:
    best = max(votes, key=lambda label: votes[label])
    worst = min(votes, key=lambda label: votes[label])
    s.write((number, "→", ""), best, [lambda: worst if abs(votes[best] - votes[worst]) > 4 * UNIT else None])


def solve_knn(t: Table, s: Student) -> None:
    d = {}
    for i, x in enumerate(t.X):
        square = sum((a - b) ** 2 for a, b in zip(x, t.q, strict=True))
        slips = [lambda v=square: v, lambda x=x: sum(abs(a - b) for a, b in zip(x, t.q, strict=True))]
        d[str(i + 1)] = s.write((0, "d", str(i + 1)), math.sqrt(square), slips)
    k = t.learner.n_neighbors
    order = sorted(d, key=lambda row: d[row])
    close = abs(d[order[k]] - d[order[k - 1]]) <= 2 * UNIT if len(order) > k else False
    rows = order[:k]
    lines = [str(row[0]) for row in t.steps[1].table[1:]]
    own = []
    for line, row in zip(lines, rows, strict=True):
        row = f"{s.write((1, 'row', line), float(row)):g}"
        distance = s.write((1, "d", line), d[row])
        label = s.write((1, t.target, line), t.labels[int(row) - 1])
        own.append((distance, label))
    far = order[::-1][:k]
    s.write((1, "→", ""), frozenset(map(int, rows)), [lambda: frozenset(map(int, far)) if not close else None])
    weights = [
        s.write((2, "w", line), 1 / x, [lambda x=x: x, lambda x=x: x**-2])
        for line, (x, _) in zip(lines, own, strict=True)
    ]
    votes = {}
    for label in t.classes:
        total = sum(w for w, (_, y) in zip(weights, own, strict=True) if y == label)
        count = float(sum(y == label for _, y in own))
        votes[label] = s.write((3, "votes", label), float(total), [lambda c=count: c])
    write_choice(t, s, 3, votes)


def solve_bayes(t: Table, s: Student) -> None:
    n = len(t.labels)
    prior, P = {}, {}
    for label in t.classes:
        count = t.labels.count(label)
        slips = [lambda c=count: c / n]
        prior[label] = s.write((0, f"P({t.target})", label), (count + 1) / (n + len(t.classes)), slips)
    for j, name in enumerate(t.names, start=1):
        values = sorted({row[j - 1] for row in t.cells})
        for value in values:
            for label in t.classes:
                cells = [row[j - 1] for row, y in zip(t.cells, t.labels, strict=True) if y == label]
                c, m = cells.count(value), len(cells)
                slips = [partial(float, c / m), partial(float, (c + 1) / m)]
                P[name, value, label] = s.write((j, f"P({name} | {label})", value), (c + 1) / (m + len(values)), slips)
    last = len(t.names) + 1
    products = {}
    for label in t.classes:
        factors = [P[name, value, label] for name, value in zip(t.names, t.query, strict=True)]
        slips = [lambda f=factors: math.prod(f)]
        products[label] = s.write((last, "product", label), prior[label] * math.prod(factors), slips)
    shares = {}
    for label in t.classes:
        # A later row of the table divides by the sum of the products as they are written.
        total = sum(products.values())
        shares[label] = s.write((last, "P(class | x)", label), products[label] / total, [lambda p=products[label]: p])
    write_choice(t, s, last, shares)


def solve_perceptron(t: Table, s: Student) -> None:
    w, b = (0.0,) * len(t.names), 0.0
    for number, step in enumerate(t.steps[:-1]):
        if number == 0:
            continue
        if step.rows and "pass" in step.place:
            i = step.rows[0] - 1
            x = t.X[i]
            y = 1 if t.labels[i] == t.classes[-1] else -1
            dot = sum(p * q for p, q in zip(w, x, strict=True))
            slips = [lambda dot=dot, b=b: dot + b, lambda dot=dot, y=y: y * dot]
            s.write((number, "y (ω·x + b)", ""), float(y * (dot + b)), slips)
            move = tuple(p + y * q for p, q in zip(w, x, strict=True))
            other = tuple(p - y * q for p, q in zip(w, x, strict=True))
            w, old = s.write((number, "ω", ""), move, [lambda o=other: o]), b
            b = s.write((number, "b", ""), b + y, [lambda o=old, y=y: o - y, lambda o=old: o])
        elif step.answer is None:
            w = s.write((number, "ω", ""), w)
            b = s.write((number, "b", ""), b)
        else:
            dot = sum(p * q for p, q in zip(w, t.q, strict=True))
            f = s.write((number, "f(x)", t.classes[1]), float(dot + b), [lambda d=dot: float(d)])
            write_choice(t, s, number, {t.classes[1]: f, t.classes[0]: -f})


def solve_logistic(t: Table, s: Student) -> None:
    X = np.array([[*x, 1.0] for x in t.X])
    d = X.shape[1]
    positive = t.classes[1]
    is_positive = np.array([y == positive for y in t.labels], float)
    w = np.zeros(d)
    names = [f"{name}, {positive}" for name in (*t.names, "1")]
    P = np.zeros(len(X))
    before = None
    penalised = np.array([1.0] * (d - 1) + [0.0])
    for number, step in enumerate(t.steps[:-1]):
        if step.place.startswith("after"):
            used = w
            z = np.exp(X @ used)
            P = z / (1 + z)
            Q = 1 - P
            square = 0.5 * float((used[:-1] ** 2).sum())
            rows = [str(i + 1) for i in range(len(X))]
            both = []
            for i, row in enumerate(rows):
                both.append(
                    (s.write((number, positive, row), float(P[i])), s.write((number, t.classes[0], row), float(Q[i])))
                )
            P = np.array([p for p, _ in both])
            own = np.array([p if y else q for (p, q), y in zip(both, is_positive, strict=True)])
            # Without a logarithm, the student cannot calculate on.
            if (own <= 0).any():
                return
            logs = float(np.log(own).sum())
            s.write((number, "L", ""), logs - square, [lambda v=logs - square: -v, lambda v=logs: v])
        elif step.place.startswith("step"):
            if before is not None:
                plus = before
                w = np.array(
                    [
                        s.write((number, "ω", n), float(v), [lambda i=i, p=plus: float(p[0][i] - p[1][i])])
                        for i, (n, v) in enumerate(zip(names, w, strict=True))
                    ]
                )
            else:
                w = np.array([s.write((number, "ω", n), 0.0) for n in names])
            slope = (is_positive - P) @ X
            g = np.array(
                [
                    s.write(
                        (number, "gradient", n),
                        float(slope[i] - penalised[i] * w[i]),
                        [lambda i=i, sl=slope: float(sl[i])],
                    )
                    for i, n in enumerate(names)
                ]
            )
            z = 1 / (1 + np.exp(-(X @ w)))
            bend = (X.T * (z * (1 - z))) @ X + np.diag(penalised)
            H = np.array(
                [
                    [s.write((number, col, row), float(bend[i, j])) for j, col in enumerate(names)]
                    for i, row in enumerate(names)
                ]
            )
            move = np.linalg.solve(H, g)
            move = np.array(
                [
                    s.write((number, "step", n), float(move[i]), [lambda i=i, g=g: float(g[i])])
                    for i, n in enumerate(names)
                ]
            )
            before = (w, move)
            w = w + move
        else:
            score = float(np.array([*t.q, 1.0]) @ w)
            odds = {positive: s.write((number, "exp(ω·x)", positive), math.exp(score), [lambda v=score: v])}
            odds[t.classes[0]] = s.write((number, "exp(ω·x)", t.classes[0]), 1.0)
            shares = {}
            for label in (positive, t.classes[0]):
                shares[label] = s.write(
                    (number, "P", label), odds[label] / sum(odds.values()), [lambda o=odds[label]: o]
                )
            write_choice(t, s, number, shares)


def solve_svm(t: Table, s: Student) -> None:
    X = np.array(t.X)
    K = X @ X.T
    rows = [str(i + 1) for i in range(len(X))]
    for i, row in enumerate(rows):
        for j, column in enumerate(rows):
            s.write((0, column, row), float(K[i, j]))
    y = np.array([1.0 if label == t.classes[-1] else -1.0 for label in t.labels])
    # The multipliers of the sheet fulfil the conditions, which the tests of the learner check.
    alpha = np.array([float(str(row[2]).split(" [")[0]) for row in t.steps[1].table[1:]])
    alpha = np.array([s.write((1, "α", row), float(a)) for row, a in zip(rows, alpha, strict=True)])
    weights = alpha * y
    s.write((1, "Σ α y", ""), abs(float(weights.sum())))
    free = (alpha > 0) & (alpha < t.learner.C)
    b = float((y - K @ weights)[free].mean()) if free.any() else float(t.steps[1].chosen.split(" [")[0].split(" = ")[1])
    b = s.write((1, "→", ""), b)
    for i, row in enumerate(rows):
        s.write((1, "y", row), float(y[i]))
        s.write((1, "y f(x)", row), float(y[i] * (K[i] @ weights + b)))
    w = weights @ X
    for number, step in enumerate(t.steps[2:-1], start=2):
        if "Add up" in step.sentence:
            s.write((number, "ω", ""), tuple(map(float, w)), [lambda: tuple(map(float, alpha @ X))])
        elif "margin" in step.sentence:
            norm = math.sqrt(float(weights @ K @ weights))
            s.write((number, "1/‖ω‖", ""), 1 / norm, [lambda n=norm: n, lambda n=norm: n**-2])
        else:
            f = float(np.array(t.q) @ w + b)
            f = s.write((number, "f(x)", ""), f, [lambda f=f: f - b])
            write_choice(t, s, number, {t.classes[1]: f, t.classes[0]: -f})


SOLVERS: dict[str, Callable[[Table, Student], None]] = {
    "decision_tree": solve_tree,
    "knn": solve_knn,
    "naive_bayes": solve_bayes,
    "perceptron": solve_perceptron,
    "logistic_regression": solve_logistic,
    "svm": solve_svm,
}


def spell(value: Any, rng: np.random.Generator) -> str:
    """Return a result in one of the notations of students."""
    if isinstance(value, str):
        return value.upper() if rng.random() < 0.1 else value.replace(" = ", "=")
    if isinstance(value, frozenset):
        return ", ".join(map(str, rng.permutation(sorted(value))))
    if isinstance(value, tuple):
        return rng.choice(["; ", ", "]).join(spell_number(each, rng, is_listed=True) for each in value)
    return spell_number(float(value), rng)


def spell_number(value: float, rng: np.random.Generator, *, is_listed: bool = False) -> str:
    rounded = round_value(float(value))
    if rounded == int(rounded):
        return str(int(rounded))
    form = int(rng.integers(6))
    text = f"{rounded:.{DIGITS}f}" if abs(rounded) >= UNIT else f"{rounded:.{DIGITS - 1}e}"
    if is_listed or form == 0 or "e" in text:
        return text
    if form == 1:
        return text.replace(".", ",")
    if form == 2:
        return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    fraction = Fraction(value).limit_denominator(60)
    if form == 3 and abs(float(fraction) - value) < 1e-9:
        return f"{fraction.numerator}/{fraction.denominator}"
    if form == 4 and 0 < value < 1:
        return f"{100 * value:.{DIGITS - 2}f} %"
    # Cut, not rounded.
    return f"{math.trunc(round(value / UNIT, 6)) * UNIT:.{DIGITS}f}" if form == 5 else text


def list_students(
    name: str, n_students: int, n_sheets: int
) -> Iterator[tuple[Any, dict[str, Any], Student, HandIn, dict[str, str]]]:
    """Yield the key of a sheet, the right results, the student, the answers, and the expected verdicts."""
    words = {"learner": name, **LEARNERS[name]}
    request = WorkRequest(words=words, table="random", rows="7", blank=0.8, students=999, output=Path("none"))
    made = ((sheet, make_class_sheet(request, sheet)[1]) for sheet in count(1))
    usable = ((sheet, key) for sheet, key in made if len(key.steps) <= MOST_STEPS)
    for sheet, key in islice(usable, n_sheets):
        table = Table(key)
        boxes = {(cell.step, cell.column, cell.row): cell.box for cell in list_cells(key) if cell.box}
        perfect = Student(boxes, {})
        SOLVERS[name](table, perfect)
        for number in range(n_students // n_sheets):
            rng = np.random.default_rng([sheet, number, len(name)])
            names = [*perfect.values]
            slip_box = str(rng.choice(names)) if rng.random() < 0.8 else ""
            student = Student(boxes, perfect.results, slip_box, bool(rng.random() < 0.5), int(rng.integers(9)))
            SOLVERS[name](table, student)
            answers = {box: spell(value, rng) for box, value in student.values.items()}
            expected = {}
            for box in boxes.values():
                value = student.values.get(box)
                if box not in answers:
                    expected[box] = "empty"
                elif box == slip_box and student.slipped:
                    expected[box] = "slip"
                elif box in perfect.values and same_mark(value, perfect.values[box]):
                    expected[box] = "right"
                else:
                    expected[box] = "follows"
            # Nonsense and gaps at the end, from which nothing follows.
            last = max(answers, key=lambda box: int(box[1:]))
            if rng.random() < 0.1 and expected[last] == "right":
                answers[last], expected[last] = "?!", "wrong"
            yield key, perfect.values, student, HandIn("", key.code, "", answers), expected


def same_mark(a: Any, b: Any) -> bool:
    """Whether a result is that of the key within its rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 0.6 * UNIT
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(abs(x - y) <= 0.6 * UNIT for x, y in zip(a, b, strict=True))
    return bool(a == b)


def main() -> None:
    """Print a line for each learner."""
    given = dict(word.split("=") for word in sys.argv[1:])
    n_students, n_sheets = int(given.get("students", 300)), int(given.get("sheets", 30))
    shares = {"right": 1.0, "follows": 1.0, "slip": 0.5}
    print("learner               students   boxes   same mark   right lost   after a slip   not full   seconds")
    for name in given.get("learners", ",".join(LEARNERS)).split(","):
        start = time.perf_counter()
        counts: Counter[str] = Counter()
        for key, perfect, student, hand_in, expected in list_students(name, n_students, n_sheets):
            counts["students"] += 1
            for mark in Scheme().award(mark_sheet(key, hand_in, DIGITS)):
                wanted = expected[mark.cell.box]
                counts["boxes"] += 1
                is_same = mark.points == shares.get(wanted, 0.0)
                counts["same"] += is_same
                counts["lost"] += wanted == "right" and mark.points < 1
                counts["after"] += wanted == "follows"
                counts["not full"] += wanted == "follows" and mark.points < 1
                if not is_same and "show" in given:
                    print(
                        hand_in.sheet,
                        student.slip_box,
                        student.is_rounding,
                        mark,
                        wanted,
                        perfect.get(mark.cell.box),
                        student.values.get(mark.cell.box),
                    )
        seconds = time.perf_counter() - start
        print(
            f"{name:<20} {counts['students']:>9} {counts['boxes']:>7} {counts['same'] / counts['boxes']:>11.2%} "
            f"{counts['lost']:>12} {counts['after']:>14} {counts['not full']:>10} {seconds:>9.0f}"
        )


if __name__ == "__main__":
    main()
