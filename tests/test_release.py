"""A release, laid out from the build under test: it moves, and its scripts work."""
import os
import re
import shutil
import subprocess

import pytest

from cluster import ROOT, binary, free_ports

OF_THE_MACHINE = re.compile(r"lib(c|m|dl|rt|pthread|resolv)\.so|ld-linux|linux-vdso")
PATIENCE_S = 240


@pytest.fixture
def release(tmp_path):
    """A folder that was packed, unpacked somewhere else, and knows nothing of where it was made."""
    program = binary()
    if program is None or not program.endswith("/src/app/sluice"):
        pytest.skip("no build to lay out")
    made, home = tmp_path / "made", tmp_path / "some where" / "sluice"
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(program))))
    subprocess.run([f"{ROOT}/scripts/layout.sh", build, str(made), "--complete"], check=True, timeout=PATIENCE_S)
    home.parent.mkdir()
    shutil.move(made, home)
    yield home
    subprocess.run([str(home / "bin/stop-local.sh")], check=True, timeout=PATIENCE_S)


def call(home, program, *args):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLUICE_", "LD_"))}
    return subprocess.run([str(home / "bin" / program), *args], cwd="/", env=environment, text=True,
                          capture_output=True, timeout=PATIENCE_S, check=False)


def start(home, *more):
    coordinator, tablet, http = free_ports(3)
    settings = {"http.port": http,
                "coordinator.bind.listeners": f"CLIENT://127.0.0.1:{coordinator}",
                "tablet-server.bind.listeners": f"CLIENT://127.0.0.1:{tablet}"}
    args = [part for key, value in settings.items() for part in ("-D", f"{key}={value}")]
    started = call(home, "start-local.sh", *args, *more)
    assert started.returncode == 0, started.stderr
    return f"http://127.0.0.1:{http}"


def test_every_library_comes_along(release):
    listed = subprocess.run(["ldd", str(release / "bin/sluice")], text=True, capture_output=True, check=True).stdout
    for line in listed.splitlines():
        if not OF_THE_MACHINE.search(line):
            assert f"=> {release}/" in line, line


def test_nothing_is_looked_for_where_it_was_built(release):
    listed = subprocess.run(["readelf", "-d", str(release / "bin/sluice")], text=True, capture_output=True, check=True)
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", listed.stdout)
    assert paths == ["$ORIGIN/../lib"], listed.stdout


def test_every_library_tells_its_license(release):
    told = set(os.listdir(release / "licenses"))
    assert {"arrow.LICENSE.txt", "duckdb.LICENSE", "librocksdb7.8.copyright", "libssl3.copyright"} <= told


def test_scripts_start_and_stop_a_server(release):
    url = start(release)
    assert call(release, "start-local.sh").returncode == 1  # It runs already.
    assert all((release / folder).is_dir() for folder in ("data", "remote", "warehouse"))  # Where it is now.
    asked = call(release, "sluice", "sql", "--url", url, "--format", "csv", "-e", "SELECT 40 + 2 AS a")
    assert asked.stdout.split() == ["a", "42"], asked.stderr
    assert call(release, "stop-local.sh").stdout == "stopped\n"
    assert call(release, "stop-local.sh").stdout == "not running\n"
    assert call(release, "sluice", "sql", "--url", url, "-e", "SELECT 1").returncode == 2


def test_a_pid_file_that_names_somebody_else_is_not_believed(release, make_server):
    """Also when that is a server, of another folder."""
    with subprocess.Popen(["sleep", "600"], cwd=release) as other:
        try:
            for pid in (other.pid, make_server().start().process.pid):
                (release / "server.pid").write_text(str(pid))
                assert call(release, "lakehouse.sh").returncode == 1
                assert call(release, "stop-local.sh").stdout == "not running\n"
                assert os.path.exists(f"/proc/{pid}/exe")
                (release / "server.pid").write_text(str(pid))
                start(release)
                assert call(release, "stop-local.sh").stdout == "stopped\n"
                assert os.path.exists(f"/proc/{pid}/exe")
            assert other.poll() is None
        finally:
            other.kill()


def test_a_server_that_logs_elsewhere_is_seen_to_start(release):
    start(release, "-D", f"server.log.file={release}/elsewhere.log")
    assert "server is ready" in (release / "elsewhere.log").read_text()


def test_a_failed_start_says_why(release):
    failed = call(release, "start-local.sh", "-D", "no.such.key=1")
    assert failed.returncode == 1 and "no.such.key" in failed.stderr
    assert call(release, "stop-local.sh").stdout == "not running\n"


def test_the_tiering_service_is_in_the_server(release):
    assert "no server runs" in call(release, "lakehouse.sh").stderr
    start(release)
    asked = call(release, "lakehouse.sh", "-D", "flink.rest.port=8081", "-Dflink.rest.address=localhost",
                 "-D", "datalake.paimon.warehouse=/elsewhere")
    assert asked.returncode == 0 and "runs in the server" in asked.stdout
    for key in ("flink.rest.port", "flink.rest.address", "datalake.paimon.warehouse"):
        assert key in asked.stderr
    assert call(release, "lakehouse.sh", "-D", "database=a.*").returncode == 1
    assert call(release, "lakehouse.sh", "-D", "nonsense=1").returncode == 1
    assert call(release, "lakehouse.sh", "start").returncode == 2
