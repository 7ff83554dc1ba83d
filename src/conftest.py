"""Doctests: modules that need a GPU's package are left out where it is missing."""

from importlib.util import find_spec

_KERNELS = [
    "learners/torch_gathering",
    "learners/torch_stacked_adam",
    "learners/torch_stacked_norm",
    "networks/convolution_kernels",
]

collect_ignore = [] if find_spec("triton") else [f"gradapt/{name}.py" for name in _KERNELS]
