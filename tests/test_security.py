"""Logins by SASL/PLAIN, and several listeners: pyfluss, our own commands, the bare protocol."""
import asyncio
import json
import subprocess
import urllib.error

import fluss
import pyarrow as pa
import pytest

from cluster import binary, free_ports
from wire_client import (API_VERSIONS, CREATE_DATABASE, GET_METADATA, LIST_DATABASES, Connection, Disconnected, WireError, message,
                         parse)

AUTHENTICATE, DESCRIBE_CLUSTER_CONFIGS = 1038, 1045
CORRUPT_MESSAGE, AUTHENTICATE_ERROR = 3, 46
PATIENCE_S = 180
ALICE, PASSWORD, GUESS = "alice", "alice-s3cret", "gu3ssed-wrong"
MODULE = "org.apache.fluss.security.auth.sasl.plain.PlainLoginModule"
SECURITY = {
    "security.protocol.map": "CLIENT:SASL",
    "security.sasl.enabled.mechanisms": "PLAIN",
    "security.sasl.plain.jaas.config": f'{MODULE} required user_admin="admin-s3cret" user_{ALICE}="{PASSWORD}";',
}


@pytest.fixture
def secured(make_server):
    """A server that asks clients to log in."""
    server = make_server()
    server.settings.update(SECURITY)
    return server.start()


def token(user, password, identity=""):
    return "\0".join((identity, user, password)).encode()


def handshaken(port):
    connection = Connection(port)
    connection.call(API_VERSIONS, message((1, "sluice-tests"), (2, "1")))
    return connection


def log_in(connection, user=ALICE, password=PASSWORD, mechanism="PLAIN"):
    return connection.call(AUTHENTICATE, message((1, mechanism), (2, token(user, password))))


def code_of(call):
    try:
        call()
        return 0
    except WireError as error:
        return error.code


def pyfluss(server, scenario, **security):
    async def main():
        config = fluss.Config({"bootstrap.servers": server.bootstrap})
        for key, value in security.items():
            setattr(config, f"security_{key}", value)
        connection = await fluss.FlussConnection.create(config)
        try:
            return await scenario(connection)
        finally:
            await connection.close()

    return asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


async def write_and_read(connection):
    """What a fresh table gives back, and the nodes that metadata names."""
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "events")
    schema = fluss.Schema(pa.schema([("id", pa.int64())]))
    await admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=1), ignore_if_exists=True)
    table = await connection.get_table(path)
    await table.new_append().create_writer().append({"id": 7}).wait()
    scanner = await table.new_scan().create_record_batch_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    rows = (await scanner.to_arrow())["id"].to_pylist()
    return rows, {(node.host, node.port) for node in await admin.get_server_nodes()}


def test_pyfluss_logs_in(secured):
    rows, _ = pyfluss(secured, write_and_read, protocol="sasl", sasl_mechanism="PLAIN", sasl_username=ALICE,
                      sasl_password=PASSWORD)
    assert rows == [7]


def test_pyfluss_with_a_wrong_password_or_none_is_refused(secured):
    secured.announce(r"W login refused listener=CLIENT peer=127\.0\.0\.1:\d+( since_last_line=\d+)?$")
    with pytest.raises(Exception) as wrong:
        pyfluss(secured, write_and_read, protocol="sasl", sasl_mechanism="PLAIN", sasl_username=ALICE,
                sasl_password=GUESS)
    assert GUESS not in str(wrong.value)
    with pytest.raises(Exception):
        pyfluss(secured, write_and_read)


def test_before_the_login_nothing_is_answered(secured):
    for port in (secured.coordinator_port, secured.tablet_port):
        connection = handshaken(port)
        for key in (LIST_DATABASES, GET_METADATA, CREATE_DATABASE, DESCRIBE_CLUSTER_CONFIGS, 1014, 1015, 1016, 1019, 7):
            assert code_of(lambda key=key: connection.call(key)) == AUTHENTICATE_ERROR, key
        answer = log_in(connection)
        assert answer == {1: [b""]}  # A challenge that is there and empty.
        assert log_in(connection, user="whoever") == {}  # Nothing more to say.
        connection.call(LIST_DATABASES)
        assert code_of(lambda: log_in(connection, mechanism="GSSAPI")) == AUTHENTICATE_ERROR
        connection.call(LIST_DATABASES)
        connection.close()


@pytest.mark.parametrize("body, code", [
    (message((1, "PLAIN"), (2, token(ALICE, GUESS))), AUTHENTICATE_ERROR),
    (message((1, "PLAIN"), (2, token("mallory", PASSWORD))), AUTHENTICATE_ERROR),
    (message((1, "PLAIN"), (2, token(ALICE, PASSWORD, identity="admin"))), AUTHENTICATE_ERROR),
    (message((1, "PLAIN"), (2, token(ALICE, PASSWORD) + b"\0")), AUTHENTICATE_ERROR),
    (message((1, "PLAIN"), (2, b"")), AUTHENTICATE_ERROR),
    (message((1, "SCRAM-SHA-256"), (2, token(ALICE, PASSWORD))), AUTHENTICATE_ERROR),
    (message((1, "PLAIN")), CORRUPT_MESSAGE),
    (b"\xff\xff\xff", CORRUPT_MESSAGE),
])
def test_a_failed_login_ends_the_connection(secured, body, code):
    secured.announce(r"W login refused listener=CLIENT peer=127\.0\.0\.1:\d+( since_last_line=\d+)?$")
    connection = handshaken(secured.tablet_port)
    assert code_of(lambda: connection.call(AUTHENTICATE, body)) == code
    with pytest.raises(Disconnected):
        log_in(connection)
    failed = [line for line in secured.metrics().splitlines() if line.startswith("sluice_failed_logins_total")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in failed) == 1, failed


def test_secrets_are_shown_nowhere(secured):
    secured.announce(r"W login refused listener=CLIENT peer=127\.0\.0\.1:\d+( since_last_line=\d+)?$")
    connection = handshaken(secured.coordinator_port)
    assert code_of(lambda: log_in(connection, password=GUESS)) == AUTHENTICATE_ERROR
    connection = handshaken(secured.coordinator_port)
    log_in(connection)
    configs = [parse(entry) for entry in connection.call(DESCRIBE_CLUSTER_CONFIGS)[1]]
    values = {config[1][0].decode(): config[2][0].decode() for config in configs}
    assert values["security.protocol.map"] == "CLIENT:SASL"
    shown = [json.dumps(values), secured.log_tail(10_000), secured.metrics()]
    for path in ("/", "/health", "/api/v1/tables", "/api/v1/overview", "/api/v1/config"):
        try:
            shown.append(secured._get(path).decode(errors="replace"))
        except urllib.error.HTTPError as error:
            shown.append(error.read().decode(errors="replace"))
    for text in shown:
        for secret in (PASSWORD, GUESS, "admin-s3cret"):
            assert secret not in text


@pytest.mark.parametrize("key, value", [
    ("security.protocol.map", "CLENT:SASL"),
    ("security.protocol.map", "CLIENT:KERBEROS"),
    ("security.sasl.enabled.mechanisms", "GSSAPI"),
    ("security.sasl.plain.jaas.config", "user_alice=hush-s3cret"),
    ("security.sasl.plain.jaas.config", ""),
    ("security.sasl.plain.credentials", "hush-s3cret"),
    ("security.sasl.listener.name.other.plain.jaas.config", "hush-s3cret"),
    ("security.sasl.plain.jass.config", "hush-s3cret"),
])
def test_wrong_settings_refuse_the_start(make_server, key, value):
    server = make_server()
    server.settings.update({**SECURITY, key: value})
    refused = subprocess.run(server.command(), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert refused.returncode == 1
    assert f"key={key}" in refused.stderr
    assert "s3cret" not in refused.stderr


def run_command(*args, text=None):
    return subprocess.run([binary(), *args], input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_our_commands_log_in(secured, tmp_path):
    secured.announce(r"W login refused listener=CLIENT peer=127\.0\.0\.1:\d+( since_last_line=\d+)?$")
    # Over HTTP, and inside of the server, nobody logs in.
    secured.sql("CREATE TABLE people (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED)")
    rows = tmp_path / "people.csv"
    rows.write_text("id,name\n1,Ann\n2,Bob\n")
    to = ["--bootstrap-servers", secured.bootstrap]
    load = ["load", *to, "--table", "people", str(rows)]
    loaded = run_command(*load, "--username", ALICE, "--password", PASSWORD)
    assert loaded.returncode == 0, loaded.stderr
    conf = tmp_path / "client.yaml"
    conf.write_text(f"client.security.protocol: SASL\nclient.security.sasl.username: {ALICE}\n"
                    f"client.security.sasl.password: {PASSWORD}\n")
    read = run_command("sql", *to, "--conf", str(conf), "--format", "csv", "-e", "SELECT name FROM people ORDER BY id")
    assert read.returncode == 0, read.stderr
    assert read.stdout.split() == ["name", "Ann", "Bob"]
    assert secured.sql("SELECT COUNT(*) AS n FROM people")
    for args in (load, ["sql", *to, "-e", "SHOW TABLES"]):
        nobody = run_command(*args)
        assert nobody.returncode != 0 and "log in first" in nobody.stderr
        wrong = run_command(*args, "--username", ALICE, "--password", GUESS)
        assert wrong.returncode != 0 and "authentication failed" in wrong.stderr and GUESS not in wrong.stderr


# ---- several listeners

def two_listeners(server):
    """CLIENT with a login, OPEN without; what each is bound to and told as."""
    ports = free_ports(4)
    server.coordinator_port, server.tablet_port = ports[:2]
    bound = {"coordinator": (ports[0], ports[2]), "tablet-server": (ports[1], ports[3])}
    for role, (client, opened) in bound.items():
        server.settings[f"{role}.bind.listeners"] = f"CLIENT://127.0.0.1:{client},OPEN://127.0.0.1:{opened}"
        server.settings[f"{role}.advertised.listeners"] = f"OPEN://localhost:{opened}"
    server.settings.update({**SECURITY, "internal.listener.name": "OPEN"})
    return bound


def nodes_of(connection):
    answer = connection.call(GET_METADATA)
    nodes = [parse(entry) for entry in answer[1] + answer[2]]
    return {(node[2][0].decode(), node[3][0]) for node in nodes}


def test_each_listener_has_its_protocol_and_tells_its_own_addresses(make_server):
    server = make_server()
    bound = two_listeners(server)
    server.start()
    for role in bound:
        secured, opened = (handshaken(port) for port in bound[role])
        log_in(secured)
        assert nodes_of(secured) == {("127.0.0.1", bound[r][0]) for r in bound}
        assert nodes_of(opened) == {("localhost", bound[r][1]) for r in bound}
        # On a listener without logins the exchange is over at once.
        assert opened.call(AUTHENTICATE, message((1, "plaintext"), (2, b""))) == {}
        assert code_of(lambda opened=opened: log_in(opened)) == AUTHENTICATE_ERROR
        # Calls between servers: STOP_REPLICA without content, on the internal listener alone.
        if role == "tablet-server":
            assert code_of(lambda secured=secured: secured.call(1019)) == 48
            assert code_of(lambda opened=opened: opened.call(1019)) != 48
    rows, nodes = pyfluss(server, write_and_read, protocol="sasl", sasl_mechanism="PLAIN", sasl_username=ALICE,
                          sasl_password=PASSWORD)
    assert rows == [7] and nodes == {("127.0.0.1", bound[r][0]) for r in bound}
    server.coordinator_port, server.tablet_port = (bound[r][1] for r in bound)
    rows, nodes = pyfluss(server, write_and_read)
    assert rows == [7, 7] and nodes == {("localhost", bound[r][1]) for r in bound}


def test_users_of_one_listener_are_unknown_to_the_other(make_server):
    server = make_server()
    bound = two_listeners(server)
    server.settings.update({
        "security.protocol.map": "CLIENT:SASL,OPEN:sasl",
        "security.sasl.listener.name.open.plain.jaas.config": f'{MODULE} required user_server="inside";',
    })
    server.start()
    server.announce(r"W login refused listener=\w+ peer=127\.0\.0\.1:\d+( since_last_line=\d+)?$")
    for ports in bound.values():
        client, opened = (handshaken(port) for port in ports)
        log_in(client)
        log_in(opened, "server", "inside")
        assert code_of(lambda port=ports[0]: log_in(handshaken(port), "server", "inside")) == AUTHENTICATE_ERROR
        assert code_of(lambda port=ports[1]: log_in(handshaken(port))) == AUTHENTICATE_ERROR
