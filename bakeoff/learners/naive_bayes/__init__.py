"""Naive Bayes: the `classifier`, and the `likelihoods` of nominal and numeric columns."""

from bakeoff.learners.naive_bayes.classifier import NaiveBayesClassifier

__all__ = ["NaiveBayesClassifier"]
