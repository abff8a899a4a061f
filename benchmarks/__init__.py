"""Timings compared with scikit-learn and WEKA. The scripts print tables and assert nothing."""
