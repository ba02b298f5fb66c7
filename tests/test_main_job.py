"""The main job of `make run` on a tenth of its data, in a folder and on ports of its own."""
import os
import signal
import subprocess
import sys
import time

from cluster import ROOT, binary, check_log, free_ports

TIMEOUT_S = 600
STOP_S = 60


def has_ended(pid):
    """Also when nobody has asked for its exit code yet."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def stop(pid_file):
    """End the server that the job left up, and wait until it is gone: its last log lines count too."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + STOP_S
    os.kill(pid, signal.SIGTERM)
    while not has_ended(pid):
        assert time.monotonic() < deadline, f"server {pid} does not stop"
        time.sleep(0.05)


def test_main_job_on_a_tenth_of_the_data(tmp_path):
    coordinator, tablet, http = free_ports(3)
    command = [os.path.join(ROOT, ".deps/venv-run/bin/python"), os.path.join(ROOT, "scripts/main_job.py"),
               "--sluice", binary(), "--run", str(tmp_path), "--fraction", "0.1", "--coordinator-port",
               str(coordinator), "--tablet-port", str(tablet), "--http-port", str(http)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    finally:
        stop(tmp_path / "server.pid")
    sys.stdout.write(done.stdout[-4000:])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "All figures are equal" in done.stdout
    check_log(tmp_path / "log" / "server.out")
