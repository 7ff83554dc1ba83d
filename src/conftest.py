"""Doctests: modules that need a GPU's package are left out where it is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("triton") else ["gradapt/learners/torch_gathering.py"]
