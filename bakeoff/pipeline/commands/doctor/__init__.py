"""Diagnosis: what a careful colleague would say about a run or a study, with a code, a test and a cure each."""
