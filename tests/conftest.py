import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cluster  # noqa: E402


SUMMARY = pytest.StashKey[list]()


@pytest.fixture(scope="session")
def tell_in_the_end(request):
    """A function that takes lines which pytest prints in the end, also of tests that passed."""
    return request.config.stash.setdefault(SUMMARY, []).append


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash.get(SUMMARY, []):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def program():
    """The server to test; without one, what needs it is skipped."""
    path = cluster.binary()
    if path is None:
        pytest.skip("no server is built; SLUICE_BIN names none")
    return path


@pytest.fixture
def make_server(program, tmp_path):
    """A function that makes servers (not started); what still runs at the end is stopped, logs are checked."""
    servers = []

    def make(folder=None, **settings):
        server = cluster.Server(folder or tmp_path / f"server{len(servers)}", **settings)
        servers.append(server)
        return server

    yield make
    for server in servers:
        try:
            server.stop()
        finally:
            server.kill()
        if os.path.exists(server.log_path):
            server.check_log()


@pytest.fixture
def server(make_server):
    """A running server."""
    return make_server().start()


@pytest.fixture
def client(server):
    client = server.client()
    yield client
    client.close()
