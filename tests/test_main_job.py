"""The main job of `make run` on a tenth of its data, in a folder and on ports of its own."""
import os
import signal
import subprocess
import sys

from cluster import ROOT, binary, free_ports

TIMEOUT_S = 600


def test_main_job_on_a_tenth_of_the_data(tmp_path):
    coordinator, tablet, http = free_ports(3)
    command = [os.path.join(ROOT, ".deps/venv-run/bin/python"), os.path.join(ROOT, "scripts/main_job.py"),
               "--sluice", binary(), "--run", str(tmp_path), "--fraction", "0.1", "--coordinator-port",
               str(coordinator), "--tablet-port", str(tablet), "--http-port", str(http)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    finally:
        pid_file = tmp_path / "server.pid"
        if pid_file.exists():
            try:
                os.kill(int(pid_file.read_text()), signal.SIGTERM)
            except ProcessLookupError:
                pass
    sys.stdout.write(done.stdout[-4000:])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "All figures are equal" in done.stdout
    log = (tmp_path / "log" / "server.out").read_text(errors="replace")
    assert "AddressSanitizer" not in log and "runtime error:" not in log, log[-4000:]
