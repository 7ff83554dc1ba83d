"""Experiments: the demonstration and the tables of the paper."""
