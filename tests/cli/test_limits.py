"""Arguments beyond all measure are answered before any memory is taken for them."""

import json
import subprocess
import sys

import pytest

HUGE, LONG = str(10**9), "9" * 40
MOST_MEGABYTES = 300
# Seconds of one core; what has to be imported to read a sweep takes more of them than all else.
MOST_SECONDS, MOST_FOR_A_SWEEP = 1.0, 4.0
CHECK = ["check", "t.csv", "--label", "y", "--order", "t"]
TEN = list(range(10))
DATA = "data: [{table: t.csv, label: y}]\n"

ABSURD = {
    "windows": [*CHECK, "--windows", HUGE],
    "windows beyond 64 bits": [*CHECK, "--windows", LONG],
    "windows of 5,000 digits": [*CHECK, "--windows", "9" * 5000],
    "training rows": [*CHECK, "--training-rows", LONG],
    "transport rows": [*CHECK, "--transport-rows", LONG],
    "generated": [*CHECK, "--generated", HUGE],
    "generated, 5,000 digits": [*CHECK, "--generated", "9" * 5000],
    "seed": [*CHECK, "--seed", LONG],
    "seed below": [*CHECK, "--seed", f"-{LONG}"],
    "components": [*CHECK, "--encoder", f"pca:{HUGE}"],
    "components beyond 64 bits": [*CHECK, "--encoder", f"pca:{LONG}"],
    "edges": [*CHECK, "--given", ",".join(map(str, range(20_000)))],
    "order words": [*CHECK, "--order-words", ",".join(map(str, range(20_000)))],
    "jobs of adapt": ["adapt", *CHECK[1:], "-o", "RUN", "--jobs", HUGE],
    "jobs of predict": ["predict", "RUN", "t.csv", "-o", "o.csv", "--jobs", HUGE],
    "budget": ["label", "RUN", "-o", "o.csv", "--budget", HUGE],
    "seeds of the demo": ["demo", "--seeds", HUGE],
    "seeds of the paper": ["paper", "portraits", "--seeds", "300000000"],
    "first seed": ["paper", "portraits", "--first-seed", LONG],
    "given": ["paper", "portraits", "--given", HUGE],
    "many given": ["paper", "portraits", "--given", ",".join("1" * 20_000)],
    "generated of the paper": ["paper", "portraits", "--generated", HUGE],
    "samples": ["paper", "portraits", "--samples", LONG],
    "pictures": ["paper", "vae", "--seeds", HUGE],
    "jobs of the paper": ["paper", "all", "--jobs", LONG],
}
SWEEPS = {
    "seeds of a sweep": f"{DATA}methods: [gst]\nseeds: 300000000\n",
    "seeds of 4,000 digits": f"{DATA}methods: [gst]\nseeds: {'9' * 4000}\n",
    "seeds of 5,000 digits": f"{DATA}methods: [gst]\nseeds: {'9' * 5000}\n",
    "first seed of a sweep": f"{DATA}methods: [gst]\nfirst_seed: {LONG}\n",
    "windows of a sweep": f"data: [{{table: t.csv, label: y, windows: {HUGE}}}]\nmethods: [gst]\n",
    "rows of a sweep": f"data: [{{table: t.csv, label: y, rows: {LONG}}}]\nmethods: [gst]\n",
    "given of a sweep": f"data: [{{benchmark: portraits, given: {HUGE}}}]\nmethods: [gst]\n",
    "generated of a sweep": f"{DATA}methods: [{{goat: {{n_generated: [0, {HUGE}]}}}}]\n",
    "a product of settings": f"{DATA}methods: [{{goat: {{{', '.join(f's{k}: {TEN}' for k in range(10))}}}}}]\n",
    "names of names": "a: &a [" + "x, " * 9 + "x]\n"
    + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True))
    + "data: *g\nmethods: [gst]\n",
    "a large file": DATA + "#" * 2**21,
}  # fmt: skip


# The peak of a process counts the pages it was forked with, so that a small one stands between it and the tests.
MEASURE = """
import json, os, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "driftfit", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def answered(folder, arguments):
    """Exit code, seconds of processor time and MB at the peak of a command in a process of its own, and stderr."""
    command = [sys.executable, "-c", MEASURE, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return *json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("case", [*ABSURD, *SWEEPS])
def test_absurd_arguments_take_no_memory(case, tmp_path):
    (tmp_path / "t.csv").write_text("x,y,t\n" + "".join(f"{k},{k % 2},{k}\n" for k in range(60)))
    (tmp_path / "s.yaml").write_text(SWEEPS.get(case, ""))
    code, seconds, megabytes, errors = answered(tmp_path, ABSURD.get(case, ["sweep", "s.yaml"]))
    assert code == (1 if case in SWEEPS else 2), errors
    assert "unexpected" not in errors
    assert len(errors.splitlines()[-1]) < 400
    assert megabytes < MOST_MEGABYTES
    assert seconds < (MOST_FOR_A_SWEEP if case in SWEEPS else MOST_SECONDS)
