"""Try changes of an experiment, keep those that are better, and end with rows that no try has seen."""

import random

import bakeoff

ROWS = {"dataset": "wine", "evaluation": "repeated_kfold", "evaluation__repeats": 2, "evaluation__reserve": 0.2}
CHOICES = {
    "learner": ["knn", "naive_bayes", "logistic_regression"],
    "preprocessing": ["none", "standardize", "min_max"],
}
TRIES = 5


def propose(champion, tried, generator):
    """Return a configuration that was not tried and differs from the champion in one key; None if there is no more."""
    changed = [{**champion, key: value} for key in CHOICES for value in CHOICES[key]]
    new = [candidate for candidate in changed if candidate not in tried]
    return generator.choice(new) if new else None


champion = {"learner": "knn", "preprocessing": "none"}
print(bakeoff.accept(line="loop", base=bakeoff.run(**champion, **ROWS), tries=TRIES))
tried = [champion]
generator = random.Random(0)
while len(tried) <= TRIES and (candidate := propose(champion, tried, generator)):
    tried.append(candidate)
    try:
        answer = bakeoff.accept(bakeoff.run(**candidate, **ROWS), line="loop")
    except Exception as error:  # a configuration that is refused, or a learner that fails
        print(f"{candidate} was not judged: {error}")
        continue
    print(answer)
    if answer.verdict == "keep":
        champion = candidate
if champion != tried[0]:
    print(bakeoff.accept("final", line="loop"))
