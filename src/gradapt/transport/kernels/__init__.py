"""Compiled loops, threads, and what NumPy arrays and torch tensors have in common."""
