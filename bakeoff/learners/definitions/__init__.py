"""The algorithms of the lectures, as the lectures present them, in plain Python and NumPy.

Each file contains one algorithm and can be read from top to bottom: the idea, the equation, the cost, and then short
functions that follow the text step by step. The code here is not optimised, does not validate its input and has few
options; the learners in `bakeoff.learners` are fast, validated and configurable, and compute the same results. Tests
verify that every learner agrees with its definition.

Beside the function of an algorithm stands a generator ``work_…``, which yields the same calculation as `steps`, with
the parameters of a fitted learner; `calculations` has a row for each learner. ``bakeoff work`` shows these steps.
Besides it, only tests and documentation import these modules.

==================== ===========================================================================
module               algorithm
==================== ===========================================================================
majority_vote        MajorityVote and Average, which combine several targets into a prediction
k_nearest_neighbors  k nearest neighbours, also weighted by distance
local_regression     a plane through the nearest neighbours, weighted by distance
splits               impurities, gain and gain ratio; numeric cuts and multiway splits; the best split
decision_tree        Split(R, T): CART, ID3 and C4.5
c45                  the additional rules of C4.5, and its pruning
pruning              reduced-error pruning, bottom-up (A) and best-first (B)
random_forest        trees grown on random rows and random features, which vote
naive_bayes          counted and Gaussian features, independent within each class
perceptron           a hyperplane that is corrected for every misclassified row
svm                  kernels; the widest margin, from the Karush-Kuhn-Tucker conditions; the soft margin, by SMO
logistic_regression  maximum likelihood by Newton's method or gradient ascent
least_squares        linear and ridge regression by the normal equations
mlp                  a multilayer perceptron, trained by backpropagation
scaling              normalisation of columns to a range or to unit variance
steps                the form of a step: sentence, formula, table, choice and drawing
calculations         the generator of each learner, and the single steps
==================== ===========================================================================

Letters: n rows, d features, c classes, m query rows.
"""
