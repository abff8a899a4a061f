"""Kernels, the Gram matrix of kernel values, and the space in which the margin is measured."""
