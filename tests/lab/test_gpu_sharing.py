"""The service that lets processes share a GPU, with a stand-in for NVIDIA's."""

import os
import signal
import subprocess
import sys
import time

import pytest

from driftfit.lab import gpu_sharing
from driftfit.lab.gpu_sharing import shared_gpu

# Serves until it is told to quit; answers only while it serves.
STAND_IN = """#!/bin/sh
place="$CUDA_MPS_PIPE_DIRECTORY"
if [ "$1" = -f ]; then
  echo "$place" >> "$LOG"; touch "$place/up"
  while [ -e "$place/up" ]; do sleep 0.05; done
  echo ended >> "$LOG"
else
  read asked
  [ "$asked" = quit ] && { rm -f "$place/up"; exit 0; }
  [ -e "$place/up" ]
fi
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Where the stand-in writes what happened."""
    control = tmp_path / "bin" / "nvidia-cuda-mps-control"
    control.parent.mkdir()
    control.write_text(STAND_IN)
    control.chmod(0o755)
    monkeypatch.setenv("PATH", f"{control.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    return tmp_path / "log"


def test_the_service_lives_as_long_as_the_block(log):
    with shared_gpu() as shared:
        assert shared
        folder = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
        assert log.read_text().split() == [folder]
    assert log.read_text().split() == [folder, "ended"]
    assert "CUDA_MPS_PIPE_DIRECTORY" not in os.environ
    assert not os.path.exists(folder)


def test_it_ends_when_the_block_raises(log):
    with pytest.raises(KeyboardInterrupt), shared_gpu():
        raise KeyboardInterrupt
    assert log.read_text().split()[-1] == "ended"


def test_it_ends_when_the_process_is_killed(log):
    code = "from driftfit.lab.gpu_sharing import shared_gpu\nwith shared_gpu():\n print('up', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
    ) as user:
        assert user.stdout.readline() == b"up\n"
        user.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while "ended" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert log.read_text().split()[-1] == "ended"


def test_a_service_of_the_user_is_left_alone(log, monkeypatch):
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", "mine")
    with shared_gpu() as shared:
        assert not shared
        assert os.environ["CUDA_MPS_PIPE_DIRECTORY"] == "mine"
    assert not log.exists()


def test_without_the_service_nothing_changes(monkeypatch):
    monkeypatch.setenv("PATH", "")
    before = dict(os.environ)
    with shared_gpu() as shared:
        assert not shared
        assert dict(os.environ) == before


def test_a_service_that_does_not_answer_is_not_used(log, monkeypatch):
    monkeypatch.setattr(gpu_sharing, "_START_SECONDS", 0.3)
    control = log.parent / "bin" / "nvidia-cuda-mps-control"
    control.write_text("#!/bin/sh\nexit 1\n")
    with shared_gpu() as shared:
        assert not shared
        assert "CUDA_MPS_PIPE_DIRECTORY" not in os.environ


def test_whether_there_is_a_gpu_is_known_before_torch_is_loaded(tmp_path):
    """By the torch of this machine, and by a stand-in that is made for the driver and cannot be loaded."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError('loaded')")
    (tmp_path / "torch" / "version.py").write_text("cuda = '13.0'")
    code = "from driftfit.lab.gpu_sharing import has_gpu; print(has_gpu())"
    import torch

    for path in ([str(tmp_path)], []):
        paths = os.pathsep.join([*path, *filter(None, [os.environ.get("PYTHONPATH")])])
        asked = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
        )
        assert asked.stdout.strip() == str(torch.cuda.is_available()), asked.stderr
