"""Settings that change while the server runs: DESCRIBE_ and ALTER_CLUSTER_CONFIGS."""
import time

import pytest

from test_security import ALICE, SECURITY, code_of, handshaken, log_in
from wire_client import CREATE_DATABASE, WireError, message, parse

DESCRIBE, ALTER = 1045, 1046
SET, DELETE, APPEND, SUBTRACT = range(4)
STORAGE, CONFIG, AUTHENTICATE_ERROR = 26, 64, 46
LIMIT, RECOVER = "server.data-disk.write-limit-ratio", "server.data-disk.write-recover-ratio"
CREDENTIALS = "security.sasl.plain.credentials"
PATIENCE_S = 120


def describe(connection):
    """{key: (value, source)}"""
    configs = [parse(entry) for entry in connection.call(DESCRIBE).get(1, [])]
    return {config[1][0].decode(): (config[2][0].decode(), config[3][0].decode()) for config in configs}


def alter(connection, *changes):
    connection.call(ALTER, message(*[(1, message((1, key), (2, value), (3, op))) for key, value, op in changes]))


def wait_for(what, server):
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, server.log_tail()
        time.sleep(0.05)


def test_a_change_takes_effect_is_shown_and_survives_a_kill(server):
    connection = handshaken(server.coordinator_port)
    names = iter(range(1000))

    def writes_refused(where):
        return code_of(lambda: where.call(CREATE_DATABASE, message((1, f"d{next(names)}"), (2, False)))) == STORAGE

    assert describe(connection)[LIMIT] == ("1", "INITIAL_SERVER_CONFIG")
    server.announce("W writes are refused: disk is nearly full")
    alter(connection, (RECOVER, "0", SET), (LIMIT, "0.0001", SET))
    wait_for(lambda: writes_refused(connection), server)
    for port in (server.coordinator_port, server.tablet_port):
        assert describe(handshaken(port))[LIMIT] == ("0.0001", "DYNAMIC_SERVER_CONFIG")
    server.kill()
    server.start()
    connection = handshaken(server.coordinator_port)
    assert describe(connection)[LIMIT] == ("0.0001", "DYNAMIC_SERVER_CONFIG")
    wait_for(lambda: writes_refused(connection), server)
    alter(connection, (LIMIT, None, DELETE), (RECOVER, None, DELETE))
    assert describe(connection)[LIMIT] == ("1", "INITIAL_SERVER_CONFIG")
    assert RECOVER not in describe(connection)
    wait_for(lambda: not writes_refused(connection), server)


@pytest.mark.parametrize("key, value, op", [
    ("data.dir", "/elsewhere", SET),
    ("no.such.key", "1", SET),
    ("default.bucket.number", "3", SET),
    ("datalake.format", "iceberg", SET),
    ("security.sasl.plain.jaas.config", "x", SET),
    (LIMIT, "2", SET),
    (LIMIT, "0.1", SET),
    (LIMIT, None, SET),
    (LIMIT, "0.5", APPEND),
    (LIMIT, "0.5", 9),
    ("kv.snapshot.interval", "soon", SET),
    ("server.log.level", "loud", SET),
    (CREDENTIALS, "alice", SET),
    (CREDENTIALS, "a:b,c:d", APPEND),
])
def test_one_wrong_change_refuses_all(server, key, value, op):
    connection = handshaken(server.coordinator_port)
    before = describe(connection)
    with pytest.raises(WireError) as refused:
        alter(connection, ("kv.snapshot.interval", "1min", SET), (key, value, op))
    assert refused.value.code == CONFIG and f"key={key}" in str(refused.value)
    assert describe(connection) == before


def test_the_log_gets_as_talkative_as_asked(server):
    connection = handshaken(server.coordinator_port)
    alter(connection, ("server.log.level", "error", SET))
    length = len(server.log_tail(10_000))
    alter(connection, ("kv.snapshot.interval", "1min", SET))
    assert len(server.log_tail(10_000)) == length
    alter(connection, ("server.log.level", None, DELETE), ("kv.snapshot.interval", None, DELETE))
    alter(connection, ("kv.snapshot.interval", "2min", SET))
    assert len(server.log_tail(10_000)) > length


def test_users_come_and_go(make_server):
    server = make_server()
    server.settings.update(SECURITY)
    server.start()
    server.announce(r"W login refused listener=CLIENT peer=")

    def may_enter(user, password):
        connection = handshaken(server.tablet_port)
        code = code_of(lambda: log_in(connection, user, password))
        assert code in (0, AUTHENTICATE_ERROR)
        return code == 0

    connection = handshaken(server.coordinator_port)
    log_in(connection)
    assert not may_enter("bob", "builder-s3cret")
    alter(connection, (CREDENTIALS, "bob:builder-s3cret", APPEND), (CREDENTIALS, "carol:s3cret-too", APPEND))
    assert may_enter("bob", "builder-s3cret") and may_enter("carol", "s3cret-too")
    assert code_of(lambda: alter(connection, (CREDENTIALS, "bob:again", APPEND))) == CONFIG
    shown, source = describe(connection)[CREDENTIALS]
    assert "s3cret" not in shown and source == "DYNAMIC_SERVER_CONFIG"
    server.kill()
    server.start()
    assert may_enter("bob", "builder-s3cret") and may_enter(ALICE, "alice-s3cret")
    connection = handshaken(server.coordinator_port)
    log_in(connection)
    alter(connection, (CREDENTIALS, "bob:whatever", SUBTRACT))
    assert not may_enter("bob", "builder-s3cret") and may_enter("carol", "s3cret-too")
    connection.call(1003)  # Who is in stays in.
    assert "s3cret" not in server.log_tail(10_000)
