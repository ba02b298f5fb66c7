"""Our C++ client over real sockets: the tests of `src/client` that need a cluster, against a server of ours."""
import os
import re
import subprocess

import pytest

from cluster import ROOT, binary

PATIENCE_S = 600


def test_our_client_over_sockets(server):
    program = os.path.abspath(binary())
    if not program.endswith("/src/app/sluice"):
        pytest.skip("no build to take the client's tests from")
    tests = os.path.join(os.path.dirname(os.path.dirname(program)), "client", "client_test")
    assert os.path.exists(tests), f"{tests} is not built"
    done = subprocess.run([tests, "--gtest_filter=PeerTest.*"], cwd=f"{ROOT}/src", text=True, capture_output=True,
                          timeout=PATIENCE_S, env={**os.environ, "SLUICE_TEST_BOOTSTRAP": server.bootstrap}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)
    assert passed and int(passed[1]) >= 6 and "SKIPPED" not in done.stdout, done.stdout
    databases = server.sql("SHOW DATABASES")
    assert databases == [["fluss"]], f"the tests leave {databases}"
