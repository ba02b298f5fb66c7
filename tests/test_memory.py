"""What the server holds when nothing is asked of it, and what one statement may take."""
import concurrent.futures
import mmap
import os
import socket
import struct
import time

import pytest

import cluster
import wire_client as wire
from cluster import SqlError


def resident_mb(server, field="VmRSS"):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) // 1024


@pytest.fixture
def plain_server(make_server):
    """Not one with a sanitizer, which has an allocator of its own."""
    made = make_server(server__memory__limit="1gb").start()
    with open(cluster.binary(), "rb") as program, mmap.mmap(program.fileno(), 0, access=mmap.ACCESS_READ) as image:
        if image.find(b"__asan_init") >= 0 or image.find(b"__tsan_init") >= 0:
            # Where it must run, as in scripts/check-all.sh, the wrong program is a failure.
            (pytest.fail if os.environ.get("SLUICE_PLAIN") else pytest.skip)("the program has a sanitizer")
    return made


def test_a_quiet_server_gives_memory_back(plain_server):
    assert resident_mb(plain_server) < 100
    plain_server.sql("CREATE TABLE t (id BIGINT, s STRING) WITH ('bucket.num' = '1')")
    for _ in range(3):
        plain_server.sql("INSERT INTO t VALUES " + ", ".join(f"({i}, 'text number {i} of many')" for i in range(20000)))
    assert plain_server.sql("SELECT COUNT(DISTINCT s) FROM t") == [[20000]]
    peak = resident_mb(plain_server, "VmHWM")
    deadline = time.monotonic() + 120
    while resident_mb(plain_server) > peak / 2:
        assert time.monotonic() < deadline, f"holds {resident_mb(plain_server)} MB, had {peak} MB"
        time.sleep(0.5)


@pytest.mark.parametrize("text", [
    "REPEAT('x', 2000000000)", "REPEAT(s, 2000000000)", "LPAD(s, 2000000000, 'x')", "CAST(s AS CHAR(2000000000))",
    "REPLACE(REPEAT('x', 1000000), 'x', REPEAT(s, 1000000))", "REPEAT(s, 1000000) LIKE '%y'"])
def test_a_text_has_a_bound(plain_server, text):
    plain_server.sql("CREATE TABLE t (id BIGINT, s STRING) WITH ('bucket.num' = '1')")
    plain_server.sql("INSERT INTO t VALUES " + ", ".join(f"({i}, 'x')" for i in range(2000)))
    with pytest.raises(SqlError, match="text"):
        plain_server.sql(f"SELECT COUNT({text}) FROM t")
    assert resident_mb(plain_server, "VmHWM") < 1000
    assert plain_server.sql("SELECT COUNT(*) FROM t") == [[2000]]


def test_wide_rows_pass_through_a_small_server(make_server):
    """To three readers at once: each takes more than its whole share for SQL, in rows of 20 kB."""
    server = make_server(server__memory__limit="200mb").start()
    server.sql("CREATE TABLE wide (v BIGINT, t STRING) WITH ('bucket.num' = '2')")
    for start in range(0, 3000, 20):  # A batch of the log is read whole: here none is large.
        server.sql("INSERT INTO wide VALUES " + ", ".join(f"({v}, '{v:020000}')" for v in range(start, start + 20)))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for rows in pool.map(lambda _: server.sql("SELECT * FROM wide"), range(3)):
            assert sorted(v for v, _ in rows) == list(range(3000))
            assert all(t == f"{v:020000}" for v, t in rows)
    passing = {name: server.metric(f"sluice_sql_passing_{name}") for name in ("used_bytes", "most_bytes", "bytes")}
    assert passing["used_bytes"] == 0
    assert 0 < passing["most_bytes"] <= passing["bytes"] < 10 << 20


def test_a_statement_that_outgrows_the_engine_ends_alone(make_server):
    server = make_server(server__memory__limit="200mb").start()
    server.sql("CREATE TABLE big (v BIGINT, t STRING) WITH ('bucket.num' = '2')")
    for start in range(0, 32000, 4000):
        server.sql("INSERT INTO big VALUES " + ", ".join(f"({v}, '{v:0120}')" for v in range(start, start + 4000)))
    for value in ("a.t || b.t", "CONCAT_WS('-', a.t, b.t)", "REPEAT(UPPER(a.t) || b.t, 2)", "REPLACE(a.t || b.t, '0', '12')"):
        with pytest.raises(SqlError, match="statement needs more memory than the query engine may use"):
            server.sql(f"SELECT COUNT(DISTINCT {value}) FROM big a, big b WHERE a.v < 200")
    server.sql("CREATE TABLE wide (v BIGINT, t STRING) WITH ('bucket.num' = '1')")
    for v in range(0, 1200, 100):
        server.sql("INSERT INTO wide VALUES " + ", ".join(f"({v + i}, '{v + i:060000}')" for i in range(100)))
    with pytest.raises(SqlError, match="statement needs more memory than the query engine may use"):
        server.sql("SELECT COUNT(DISTINCT t) FROM wide")
    assert server.sql("SELECT COUNT(*), MAX(t || 'x') FROM big") == [[32000, f"{31999:0120}x"]]


def test_heads_that_no_body_follows_hold_up_nobody(make_server):
    """Each announces most of what requests may hold at all, and sends a hundred bytes."""
    server = make_server(server__memory__limit="1gb").start()
    stalled = []
    for _ in range(30):
        connection = socket.create_connection(("127.0.0.1", server.tablet_port))
        connection.sendall(struct.pack(">ihhi", 90 << 20, wire.PRODUCE_LOG, 0, 1) + b"x" * 100)
        connection.setblocking(False)
        stalled.append(connection)
    another = wire.Connection(server.tablet_port)
    another.call(wire.LIST_DATABASES)
    for connection in stalled:  # The server ends them after 30 s, so nobody had to wait for that.
        with pytest.raises(BlockingIOError):
            connection.recv(1)
    assert server.metric("sluice_request_budget_used_bytes") < 1 << 20
    for connection in stalled:
        connection.close()
    another.close()
