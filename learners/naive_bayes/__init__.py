"""Naive Bayes: the `classifier`, and how it treats `nominal` columns and numeric ones (`gaussian`)."""

from bakeoff.learners.naive_bayes.classifier import NaiveBayesClassifier

__all__ = ["NaiveBayesClassifier"]
