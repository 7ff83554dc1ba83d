"""Several processes on one GPU: side by side instead of in turns; and whether there is one."""

from __future__ import annotations

import ctypes
import os
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["has_gpu", "shared_gpu"]

_CONTROL = "nvidia-cuda-mps-control"
_START_SECONDS = 5.0
# The service ends when its input does: with the block, or with our process, however that ended.
_SERVE = 'trap "" INT; "$0" -f & cat; echo quit | "$0"; wait'


def has_gpu() -> bool:
    """Whether torch would find a GPU.

    The driver is asked, where torch is made for it and not loaded yet: that takes no time, and torch takes seconds.
    """
    if "torch" not in sys.modules and _made_for_nvidia():
        return _count_gpus() > 0
    import torch  # slow to import

    return torch.cuda.is_available()


def _made_for_nvidia() -> bool:
    """What the torch that is installed says about itself, in a file of a few lines."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    about = Path(spec.origin).with_name("version.py")
    return about.is_file() and runpy.run_path(str(about)).get("cuda") is not None


def _count_gpus() -> int:
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    except (OSError, AttributeError):
        return 0
    return 0 if failed else count.value


@contextmanager
def shared_gpu() -> Iterator[bool]:
    """Let the kernels of processes that are started in the block run at the same time; says whether they do.

    Kernels of different processes take turns on an NVIDIA GPU, and small networks leave most of it idle. NVIDIA's
    multi-process service merges them. One of our own is started, in a folder of its own, and ended with the block.
    Where the machine has none, or the user has set up another (``CUDA_MPS_PIPE_DIRECTORY``), nothing is changed.
    """
    control = shutil.which(_CONTROL)
    if control is None or "CUDA_MPS_PIPE_DIRECTORY" in os.environ:
        yield False
        return
    with TemporaryDirectory(prefix="driftfit-mps-") as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        environment = os.environ | places
        nowhere = subprocess.DEVNULL
        service = subprocess.Popen(
            ["sh", "-c", _SERVE, control], stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, env=environment
        )
        try:
            ready = _answers(control, environment)
            if ready:
                os.environ.update(places)
            yield ready
        finally:
            for name in places:
                os.environ.pop(name, None)
            service.communicate()
            # What the service leaves in its folder goes with it.
            for left in Path(folder).iterdir():
                left.unlink(missing_ok=True)


def _answers(control: str, environment: dict[str, str]) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        asked = subprocess.run([control], input=b"get_server_list\n", env=environment, capture_output=True)
        if asked.returncode == 0:
            return True
        time.sleep(0.1)
    return False
