"""Listeners with TLS, as Python's ssl and our own commands see them; the published clients have none."""
import os
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from cluster import ROOT, binary, free_ports
from wire_client import API_VERSIONS, LIST_DATABASES, Connection, Disconnected, WireError, descriptor, message, parse

FILES = os.path.join(ROOT, "src/io/testdata/tls")
AUTHENTICATE, GET_METADATA, CREATE_TABLE = 1038, 1012, 1005
PATIENCE_S = 180
USERS = ('org.apache.fluss.security.auth.sasl.plain.PlainLoginModule required user_alice="alice-s3cret";')


def pem(name):
    return os.path.join(FILES, name + ".pem")


class TlsConnection(Connection):
    def __init__(self, port, version=ssl.TLSVersion.TLSv1_3, trusted="ca", certificate=None):
        super().__init__(port)
        context = ssl.create_default_context(cafile=pem(trusted))
        context.minimum_version = context.maximum_version = version
        if certificate:
            context.load_cert_chain(pem(certificate), pem(certificate + "_key"))
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.call(API_VERSIONS, message((1, "sluice-tests"), (2, "1")))


def with_tls(server, protocol="TLS", certificate="server", **settings):
    """Besides the plain listeners of the roles one with TLS each; their ports."""
    ports = dict(zip(("coordinator", "tablet-server"), free_ports(2)))
    for role, port in ports.items():
        server.settings[f"{role}.bind.listeners"] += f",SECURE://127.0.0.1:{port}"
    server.settings.update({
        "security.protocol.map": f"SECURE:{protocol}",
        "security.sasl.plain.jaas.config": USERS,
        "server.tls.certificate-file": pem(certificate),
        "server.tls.private-key-file": pem(certificate + "_key"),
        **settings,
    })
    return ports


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_calls_of_any_size_go_through(make_server, version):
    server = make_server()
    ports = with_tls(server)
    server.start()
    connection = TlsConnection(ports["coordinator"], version)
    nodes = [parse(entry) for key in (1, 2) for entry in connection.call(GET_METADATA).get(key, [])]
    assert {node[3][0] for node in nodes} == set(ports.values())
    # A megabyte there, and back.
    text = "x" * (1 << 20)
    path = message((1, "fluss"), (2, "large"))
    table = descriptor([("id", "INTEGER", True)], custom={"text": text})
    connection.call(CREATE_TABLE, message((1, path), (2, table), (3, False)))
    info = TlsConnection(ports["tablet-server"], version).call(1007, message((1, path)))
    assert text in info[3][0].decode()


def test_without_tls_or_with_an_old_one_nothing_is_answered(make_server):
    server = make_server()
    ports = with_tls(server)
    server.start()
    plain = Connection(ports["coordinator"])
    with pytest.raises(Disconnected):
        plain.call(API_VERSIONS, message((1, "sluice-tests"), (2, "1")))
    with pytest.raises(ssl.SSLError):
        TlsConnection(ports["coordinator"], trusted="other_ca")
    with pytest.raises((ssl.SSLError, OSError, Disconnected)):
        TlsConnection(ports["coordinator"], ssl.TLSVersion.TLSv1_1)
    TlsConnection(ports["coordinator"]).call(LIST_DATABASES)


def test_clients_show_a_certificate_where_one_is_asked_for(make_server):
    server = make_server()
    ports = with_tls(server, **{"server.tls.client-ca-file": pem("ca")})
    server.start()
    TlsConnection(ports["coordinator"], certificate="client").call(LIST_DATABASES)
    for certificate in (None, "stranger"):
        with pytest.raises((ssl.SSLError, OSError, Disconnected)):
            TlsConnection(ports["coordinator"], certificate=certificate)


def test_logins_over_tls(make_server):
    server = make_server()
    ports = with_tls(server, "SASL_TLS")
    server.start()
    connection = TlsConnection(ports["tablet-server"])
    with pytest.raises(WireError) as refused:
        connection.call(LIST_DATABASES)
    assert refused.value.code == 46
    assert connection.call(AUTHENTICATE, message((1, "PLAIN"), (2, b"\0alice\0alice-s3cret"))) == {1: [b""]}
    connection.call(LIST_DATABASES)


def run_command(*args):
    return subprocess.run([binary(), *args], capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_our_commands_speak_it(make_server, tmp_path):
    server = make_server()
    ports = with_tls(server, "SASL_TLS", **{"server.tls.client-ca-file": pem("ca")})
    server.start()
    server.sql("CREATE TABLE people (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED)")
    rows = tmp_path / "people.csv"
    rows.write_text("id,name\n1,Ann\n2,Bob\n")
    conf = tmp_path / "client.yaml"
    conf.write_text(f"""
client.security.protocol: SASL_TLS
client.security.sasl.username: alice
client.security.sasl.password: alice-s3cret
client.security.tls.ca-file: {pem("ca")}
client.security.tls.certificate-file: {pem("client")}
client.security.tls.private-key-file: {pem("client_key")}
""")
    to = ["--bootstrap-servers", f"localhost:{ports['coordinator']}", "--conf", str(conf)]
    loaded = run_command("load", *to, "--table", "people", str(rows))
    assert loaded.returncode == 0, loaded.stderr
    read = run_command("sql", *to, "--format", "csv", "-e", "SELECT name FROM people ORDER BY id")
    assert read.returncode == 0, read.stderr
    assert read.stdout.split() == ["name", "Ann", "Bob"]
    for setting in (f"client.security.tls.ca-file={pem('other_ca')}", "client.security.protocol=SASL"):
        refused = run_command("sql", *to, "-D", setting, "-e", "SHOW TABLES")
        assert refused.returncode != 0 and "s3cret" not in refused.stderr


def name_on_the_certificate(port):
    context = ssl.create_default_context(cafile=pem("ca"))
    context.check_hostname = False
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secure:
        return dict(pair for part in secure.getpeercert()["subject"] for pair in part)["commonName"]


def test_a_renewed_certificate_is_taken_up(make_server, tmp_path):
    server = make_server()
    for name in ("elsewhere", "elsewhere_key"):
        shutil.copy(pem(name), tmp_path / (name + ".pem"))
    ports = with_tls(server, **{"server.tls.certificate-file": str(tmp_path / "elsewhere.pem"),
                                "server.tls.private-key-file": str(tmp_path / "elsewhere_key.pem")})
    server.start()
    server.announce(r"W certificate stays as it is ")  # It may look between the two.
    assert name_on_the_certificate(ports["coordinator"]) == "elsewhere"
    shutil.copy(pem("server"), tmp_path / "elsewhere.pem")
    shutil.copy(pem("server_key"), tmp_path / "elsewhere_key.pem")
    deadline = time.monotonic() + PATIENCE_S
    while name_on_the_certificate(ports["coordinator"]) != "localhost":
        assert time.monotonic() < deadline, server.log_tail()
        time.sleep(0.2)


@pytest.mark.parametrize("key, value, named", [
    ("server.tls.certificate-file", "", "server.tls.certificate-file"),
    ("server.tls.private-key-file", "", "server.tls.private-key-file"),
    ("server.tls.certificate-file", "/no/such/file", "/no/such/file"),
    ("server.tls.private-key-file", pem("client_key"), "client_key.pem"),
    ("server.tls.private-key-file", pem("server_key_locked"), "server_key_locked.pem"),
    ("server.tls.client-ca-file", pem("server_key"), "server_key.pem"),
])
def test_wrong_files_refuse_the_start(make_server, key, value, named):
    server = make_server()
    with_tls(server, **{key: value})
    refused = subprocess.run(server.command(), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert refused.returncode == 1
    assert named in refused.stderr and "server.tls." in refused.stderr
