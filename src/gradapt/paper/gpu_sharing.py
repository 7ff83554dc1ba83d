"""Several processes on one GPU: side by side instead of in turns."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["shared_gpu"]

_CONTROL = "nvidia-cuda-mps-control"
_START_SECONDS = 5.0
# The service ends when its input does: with the block, or with our process, however that ended.
_SERVE = 'trap "" INT; "$0" -f & cat; echo quit | "$0"; wait'


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
    with TemporaryDirectory(prefix="gradapt-mps-") as folder:
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
