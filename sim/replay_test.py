#!/usr/bin/env python3
"""A simulation that fails says its seed, and the command that it prints fails in the same way.

Usage: replay_test.py SIM_TEST. Runs the workloads that have a fault planted in them.
"""
import re
import subprocess
import sys


def run(command):
    """Exit code and the lines that tell of the failure; the time it took is no part of them."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=250)
    return done.returncode, re.sub(r"^[0-9]{4}-[0-9T:.-]+ ", "", done.stderr, flags=re.M)


def main(program):
    for workload in ("planted-loss", "planted-check"):
        code, told = run(f"{program} --workload {workload}")
        assert code != 0, f"{workload} passed"
        assert "FAILED: " in told, told
        replay = re.search(r"^replay: (.*)$", told, re.M)
        assert replay, told
        assert re.fullmatch(rf"{re.escape(program)} --workload {workload} --seed [0-9]+", replay[1]), told
        assert (code, told) == run(replay[1]), f"{replay[1]} ends otherwise than {told}"
        print(f"{workload}: {told.strip()}")


if __name__ == "__main__":
    main(sys.argv[1])
