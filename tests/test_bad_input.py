"""Bad input is answered with a clear error and changes nothing."""
import os
import random
import re
import socket
import struct
import subprocess

import pyarrow as pa
import pytest

import cluster
import wire_client as wire
import workload
from cluster import SqlError
from wire_client import Connection, Disconnected, WireError, message

REFUSED_S = 120


def expect(code, call, *texts):
    with pytest.raises(WireError) as failed:
        call()
    assert failed.value.code == code, failed.value
    for text in texts:
        assert text in str(failed.value), failed.value


def header(key, version, request_id, body=b""):
    rest = struct.pack(">hhi", key, version, request_id) + body
    return struct.pack(">i", len(rest)) + rest


def is_closed(connection):
    """The server ends the connection without an answer that claims success."""
    try:
        kind, _, _ = connection.read_response()
    except Disconnected as end:
        return not isinstance(end.__cause__, TimeoutError)
    return kind != 0


@pytest.fixture(params=["coordinator", "tablet"])
def port(server, request):
    """Port of each of the two listeners; the server must still answer in the end."""
    number = getattr(server, f"{request.param}_port")
    yield number
    connection = Connection(number)
    assert connection.call(wire.API_VERSIONS, message((1, "t"), (2, "1")))[1]
    connection.close()
    assert server.running()


# ---- frames

def test_unknown_api_is_answered(port):
    connection = Connection(port)
    for key in (999, 1500, -1, 32767):
        expect(wire.UNSUPPORTED_VERSION, lambda: connection.call(key, b""))
    connection.call(wire.API_VERSIONS, message((1, "t"), (2, "1")))  # The connection goes on.
    connection.close()


def test_unknown_version_is_answered(port):
    connection = Connection(port)
    expect(wire.UNSUPPORTED_VERSION, lambda: connection.call(wire.GET_METADATA, b"", version=99))
    connection.close()


def test_each_listener_refuses_the_calls_of_the_other(server):
    for number, key in ((server.coordinator_port, wire.PRODUCE_LOG), (server.tablet_port, wire.CREATE_TABLE)):
        connection = Connection(number)
        offered = {wire.parse(entry)[1][0] for entry in connection.call(wire.API_VERSIONS,
                                                                       message((1, "t"), (2, "1")))[1]}
        assert key not in offered and wire.GET_METADATA in offered
        expect(wire.UNSUPPORTED_VERSION, lambda: connection.call(key, b""))
        connection.close()


@pytest.mark.parametrize("body", [b"\xff", b"\x0a\xff\xff\xff\xff\x7f", b"\x0a\x05abc", b"\x08" + b"\x80" * 11, b""])
def test_broken_message_is_answered(port, body):
    """A body that is no message, or lacks its required fields."""
    connection = Connection(port)
    for key in (wire.GET_TABLE_INFO, wire.TABLE_EXISTS):
        with pytest.raises(WireError) as failed:
            connection.call(key, body)
        assert failed.value.code == wire.CORRUPT_MESSAGE, failed.value
    connection.close()


@pytest.mark.parametrize("length", [-1, 0, 7, -(1 << 31)])
def test_frame_of_an_impossible_length_ends_the_connection(port, length):
    connection = Connection(port)
    connection.send_raw(struct.pack(">i", length) + b"x" * 16)
    assert is_closed(connection)
    connection.close()


def test_oversize_frame_is_refused_before_it_is_read(port):
    connection = Connection(port)
    connection.send_raw(struct.pack(">i", 2_000_000_000) + struct.pack(">hhi", wire.GET_METADATA, 0, 1))
    kind, _, body = connection.read_response()  # An answer, not the end alone.
    error = wire.parse(body)
    assert kind != 0 and error[1][0] == wire.RECORD_TOO_LARGE and b"2000000000" in error[2][0], (kind, error)
    assert is_closed(connection)
    connection.close()


def test_half_a_frame_hurts_nobody(port):
    for cut in (1, 3, 5, 11):
        connection = Connection(port)
        connection.send_raw(header(wire.API_VERSIONS, 0, 1, message((1, "t"), (2, "1")))[:cut])
        connection.close()


def test_random_bytes_hurt_nobody(port):
    rng = random.Random(1)
    for _ in range(50):
        connection = Connection(port)
        try:
            connection.send_raw(rng.randbytes(rng.randrange(1, 200)))
        except OSError:
            pass
        connection.close()


# ---- tables and rows

def log_rows(count=1):
    return pa.RecordBatch.from_pylist([{"id": i, "writer": 0, "text": "x"} for i in range(count)], workload.LOG_SCHEMA)


@pytest.fixture
def log_table(client):
    client.create_table("fluss.events", wire.descriptor(workload.LOG_COLUMNS, buckets=1))
    return client.table_info("fluss.events")[0]


def test_unknown_names(client):
    expect(wire.TABLE_NOT_EXIST, lambda: client.table_info("fluss.nothing"), "fluss.nothing")
    expect(wire.TABLE_NOT_EXIST, lambda: client.drop_table("fluss.nothing"), "fluss.nothing")
    expect(4, lambda: client.create_table("nowhere.t", wire.descriptor(workload.LOG_COLUMNS)), "nowhere")
    expect(wire.TABLE_NOT_EXIST, lambda: client.lake_snapshot("fluss.nothing"))
    client.drop_table("fluss.nothing", ignore_if_not_exists=True)
    for call in (lambda: client.produce(4711, 0, wire.log_batch(log_rows())), lambda: client.fetch(4711, 0, 0)):
        with pytest.raises(WireError) as failed:
            call()
        assert failed.value.code in (12, 21), failed.value  # Both send a client to look for the table again.


def test_duplicate_create(client, log_table):
    other = wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"])
    expect(wire.TABLE_ALREADY_EXIST, lambda: client.create_table("fluss.events", other), "fluss.events")
    client.create_table("fluss.events", other, ignore_if_exists=True)
    table_id, found = client.table_info("fluss.events")
    assert table_id == log_table and "primary_key" not in found["schema"], "the table is as it was"
    expect(6, lambda: client.create_database("fluss"))


@pytest.mark.parametrize("path, text, code", [
    ("fluss.t", "{", 15),
    ("fluss.t", "[]", 15),
    ("fluss.__t", wire.descriptor(workload.LOG_COLUMNS), 15),
    ("fluss.a b", wire.descriptor(workload.LOG_COLUMNS), 15),
    ("fluss.t", wire.descriptor([("id", "NONSENSE", True)]), 15),
    ("fluss.t", wire.descriptor([("__offset", "BIGINT", True)]), 15),
    ("fluss.t", wire.descriptor(workload.KEY_COLUMNS, primary_key=["missing"]), 15),
    ("fluss.t", wire.descriptor(workload.LOG_COLUMNS, properties={"table.no.such.key": "1"}), 39),
    ("fluss.t", wire.descriptor(workload.LOG_COLUMNS, properties={"table.log.format": "NONSENSE"}), 39),
    ("fluss.t", wire.descriptor(workload.LOG_COLUMNS, buckets=100_000), 49),
])
def test_impossible_tables(client, path, text, code):
    expect(code, lambda: client.create_table(path, text))
    assert client.tables("fluss") == []


def test_damaged_batches_change_nothing(client, log_table):
    good = wire.log_batch(log_rows(3))
    wrong_crc = good[:-1] + bytes([good[-1] ^ 1])
    for bad in (wrong_crc, good[:-1], good[:40], b"", b"x" * 100, good + wrong_crc):
        with pytest.raises(WireError) as failed:
            client.produce(log_table, 0, bad)
        assert failed.value.code in (wire.CORRUPT_MESSAGE, wire.CORRUPT_RECORD), failed.value
    assert client.end_offset(log_table, 0) == 0
    assert client.produce(log_table, 0, good) == 0


def test_rows_of_another_shape_are_refused(client, log_table):
    other = pa.RecordBatch.from_pylist([{"id": "text"}], pa.schema([("id", pa.string())]))
    with pytest.raises(WireError):
        client.produce(log_table, 0, wire.log_batch(other))
    with pytest.raises(WireError) as failed:
        client.produce(log_table, 0, wire.log_batch(log_rows(), schema_id=7))
    assert failed.value.code in (9, wire.CORRUPT_RECORD), failed.value
    assert client.end_offset(log_table, 0) == 0


def test_null_in_a_not_null_column_is_refused(client, log_table):
    nullable = pa.schema([pa.field(f.name, f.type, True) for f in workload.LOG_SCHEMA])
    rows = pa.RecordBatch.from_pylist([{"id": 1, "writer": 0, "text": "a"}, {"id": None, "writer": 0, "text": "b"}],
                                      nullable)
    with pytest.raises(WireError) as failed:
        client.produce(log_table, 0, wire.log_batch(rows))
    assert "id" in str(failed.value), failed.value
    assert client.end_offset(log_table, 0) == 0, "nothing of the batch is there"


def test_sequences_out_of_order(client, log_table):
    writer = client.init_writer("fluss.events")
    batch = lambda sequence: wire.log_batch(log_rows(), writer, sequence)
    expect(wire.OUT_OF_ORDER_SEQUENCE, lambda: client.produce(log_table, 0, batch(1)))
    assert client.produce(log_table, 0, batch(0)) == 0
    expect(wire.OUT_OF_ORDER_SEQUENCE, lambda: client.produce(log_table, 0, batch(2)))
    assert client.produce(log_table, 0, batch(0)) == 0, "a repeat gets its first offset"
    assert client.end_offset(log_table, 0) == 1


def test_wrong_requests_to_a_table(client, log_table):
    expect(18, lambda: client.produce(log_table, 0, wire.log_batch(log_rows()), acks=7))
    expect(wire.LOG_OFFSET_OUT_OF_RANGE, lambda: client.fetch(log_table, 0, 1_000_000))
    with pytest.raises(WireError) as failed:
        client.fetch(log_table, 5, 0)
    assert failed.value.code in (12, 21), failed.value
    with pytest.raises(WireError) as failed:
        client.put(log_table, 0, wire.kv_batch([(wire.paimon_key(1), None)], -1, -1))
    assert failed.value.code == 20, failed.value
    assert client.end_offset(log_table, 0) == 0


# ---- SQL

@pytest.mark.parametrize("text, found", [
    ("SELEC 1", "SELEC"),
    ("SELECT * FROM nothing", "nothing"),
    ("SELECT missing FROM events", "missing"),
    ("SELECT id + FROM events", "FROM"),
    ("SELECT 'unfinished", ""),
    ("INSERT INTO events VALUES (1)", ""),
    ("INSERT INTO events VALUES ('text', 1, 'x')", "id"),
    ("INSERT INTO events VALUES (CAST(NULL AS BIGINT), 1, 'x')", "id"),
    ("CREATE TABLE events (id BIGINT)", "events"),
])
def test_wrong_sql_names_its_mistake(server, client, log_table, text, found):
    with pytest.raises(cluster.SqlError) as failed:
        server.sql(text)
    assert found in str(failed.value).split(text, 1)[1], failed.value
    assert client.end_offset(log_table, 0) == 0


# ---- start

def refused(server, *more, prefix=()):
    """Output of a server that must end by itself with an error."""
    done = subprocess.run([*prefix, *server.command(*more)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=REFUSED_S, stdin=subprocess.DEVNULL)
    assert done.returncode not in (0, 134, -6, -11), f"{done.returncode}: {done.stdout}"
    assert "AddressSanitizer" not in done.stdout and "runtime error" not in done.stdout, done.stdout
    return done.stdout


def test_unknown_key_in_server_yaml(make_server, tmp_path):
    conf = tmp_path / "server.yaml"
    conf.write_text("tablet-server.idd: 3\n")
    output = refused(make_server(), "--conf", str(conf))
    assert "tablet-server.idd" in output and "tablet-server.id" in output.replace("tablet-server.idd", ""), output


@pytest.mark.parametrize("text", ["a: [", "- 1\n- 2\n", "data.dir: {a: b}\n"])
def test_server_yaml_that_is_no_map_of_values(make_server, tmp_path, text):
    conf = tmp_path / "server.yaml"
    conf.write_text(text)
    assert "server.yaml" in refused(make_server(), "--conf", str(conf))


def test_setting_of_a_wrong_type(make_server):
    server = make_server()
    server.settings["http.port"] = "many"
    assert "http.port" in refused(server)


@pytest.mark.parametrize("key, value", [("http.port", "70000"), ("http.threads", "0"),
                                        ("kv.write-back.bytes-max", "0"), ("kv.scanner.max-per-server", "-1")])
def test_setting_out_of_range_is_told(make_server, key, value):
    server = make_server()
    server.settings[key] = value
    output = refused(server)
    assert f"key={key}" in output and f"value={value}" in output and "min=" in output, output


@pytest.mark.parametrize("key, value", [("data.dir", ""), ("internal.listener.name", "NOBODYS")])
def test_setting_that_stands_for_nothing_is_told(make_server, key, value):
    server = make_server()
    server.settings[key] = value
    output = refused(server)
    assert f"key={key}" in output and value in output, output


@pytest.mark.parametrize("which", ["coordinator", "tablet", "http"])
def test_port_in_use(make_server, which):
    server = make_server()
    number = getattr(server, f"{which}_port")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", number))
        taken.listen()
        assert str(number) in refused(server)


def test_data_folder_of_another_process(make_server):
    first = make_server().start()
    second = make_server()
    second.settings["data.dir"] = first.settings["data.dir"]
    assert first.settings["data.dir"] in refused(second)
    client = first.client()
    client.create_table("fluss.t", wire.descriptor(workload.LOG_COLUMNS))
    client.close()


# What no server starts with, and what is told of it. {port} is taken, {locked} is a folder that is there and not to be written.
MISTAKES = [
    ("no.such.key", "1", "no.such.key"),
    ("http.port", "many", "key=http.port"),
    ("http.threads", "0", "key=http.threads"),
    ("coordinator.bind.listeners", "CLIENT://127.0.0.1:{port}", "127.0.0.1:{port}"),
    ("tablet-server.bind.listeners", "CLIENT://127.0.0.1:{port}", "127.0.0.1:{port}"),
    ("http.port", "{port}", "{port}"),
    ("datalake.paimon.warehouse", "{file}/warehouse", "{file}/warehouse"),
    ("datalake.paimon.warehouse", "{locked}", "{locked}"),
    ("datalake.format", "nonsense", "datalake.format=nonsense"),
]
# Root may write everywhere, unless it is told that it has no such right.
AS_OTHERS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def contents(folder):
    """{file or folder: bytes}, without the books that a start keeps before its ports are all open: of the metadata store the
    rows alone matter, of how far logs are saved that nothing of them is lost."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "metadata"]
        found[place] = None
        for path in (os.path.join(place, name) for name in names if name != "recovery-point-offset-checkpoint"):
            with open(path, "rb") as f:
                found[path] = f.read()
    return found


def test_refused_starts_leave_the_data_alone(make_server, tmp_path):
    server = make_server().start()
    client = server.client()
    client.create_table("fluss.events", wire.descriptor(workload.LOG_COLUMNS, buckets=1, properties=workload.lake_properties()))
    table_id = client.table_info("fluss.events")[0]
    client.produce(table_id, 0, wire.log_batch(log_rows(5)))
    server.wait_for_lake(client, "fluss.events", {0: 5})
    client.close()
    server.stop()
    blocker, locked = tmp_path / "a-file", tmp_path / "locked"
    blocker.write_text("")
    locked.mkdir(mode=0o555)
    before, right = contents(server.folder), server.settings
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for key, value, told in MISTAKES:
            fill = {"port": taken.getsockname()[1], "file": blocker, "locked": locked}
            server.settings = {**right, key: value.format(**fill)}
            output = refused(server, prefix=AS_OTHERS)
            assert told.format(**fill) in output, f"{key}={value}: {output}"
            after = contents(server.folder)
            changed = [path for path in before.keys() | after.keys() if before.get(path, "") != after.get(path, "")]
            assert not changed and os.listdir(locked) == [], f"{key}={value}: {changed}"
    server.settings = right
    server.start()
    client = server.client()
    assert client.end_offset(table_id, 0) == 5 and client.tables("fluss") == ["events"]
    client.close()
    assert server.sql("SELECT COUNT(*), (SELECT COUNT(*) FROM events$lake) FROM events") == [[5, 5]]


# What the engine below would say in its own words, with names of its own types and places in its own SQL.
ENGINE_WORDS = re.compile(r"Error: |INT8|INT16|INT32|INT64|INT128|HUGEINT|VARCHAR|DuckDB|exception|query engine|\bc\d+\b|"
                          r"LINE 1|SELECT|might want|explicit (type )?cast|No function matches")
HOSTILE = """CAST(s AS INT); CAST(s AS DECIMAL(5, 2)); CAST(s AS DATE); CAST(s AS TIME); CAST(y AS STRING); CAST(b AS INT);
CAST(f AS BIGINT); CAST(d AS SMALLINT); b + 1; b * b; -(-b - 1); b / 0; d % 0; ROUND(b, -1); ROUND(d, k); RAND_INTEGER(-k);
REPEAT(s, 2147483647); REGEXP(s, '('); REGEXP_EXTRACT(s, '(a)', k); s SIMILAR TO '['; s LIKE s ESCAPE s;
JSON_VALUE(s, '$.a['); JSON_VALUE('{}', s); FROM_BASE64(s); FROM_BASE64('/w=='); TIMESTAMPADD(DAY, b, ts);
ts + INTERVAL '999999' YEAR; t9 + INTERVAL '999' YEAR; INTERVAL '1' DAY * 1e300; DATE_FORMAT(ts, 'QQQ'); FROM_UNIXTIME(b);
TO_TIMESTAMP_LTZ(b, 3); CONVERT_TZ('2025-01-01 00:00:00', 'UTC', s); CAST('infinity' AS DATE); a[0]; ELEMENT(a);
MAP[s, 1, s, 2]; CAST(ARRAY[s] AS ARRAY<INT>); (SELECT x FROM (VALUES (1), (2)) AS t(x)); SUM(b) * 2; STDDEV(b);
PERCENTILE(k, 2); NTILE(0) OVER (ORDER BY k); SUM(k) OVER (ORDER BY s RANGE BETWEEN 1 PRECEDING AND CURRENT ROW);
SUM(k) OVER (ORDER BY k ROWS BETWEEN CURRENT ROW AND 1 PRECEDING)"""


def test_statements_that_fail_while_they_run_say_so_in_our_words_and_where(server):
    server.sql("CREATE TABLE h (k INT, s STRING, b BIGINT, d DECIMAL(10, 2), f DOUBLE, ts TIMESTAMP, t9 TIMESTAMP(9), y BYTES, "
               "a ARRAY<INT>)")
    server.sql("INSERT INTO h VALUES (1, 'abc', 9223372036854775807, 99999999.99, 1e300, TIMESTAMP '2025-01-01 00:00:00', "
               "TIMESTAMP '2025-01-01 00:00:00', X'ff00', ARRAY[1, 2])")
    odd = []
    for expression in HOSTILE.split(";"):
        try:
            answer = server.sql(f"SELECT {expression.strip()} FROM h")
            odd.append(f"{expression.strip()} gives {answer}")
        except SqlError as error:
            said = str(error).split("'message': ")[-1]
            if "UNKNOWN_SERVER" in str(error) or ENGINE_WORDS.search(said):
                odd.append(f"{expression.strip()}: {error}")
            elif "line=" not in said and "-(-b" not in expression:  # Of two negations neither is named.
                odd.append(f"{expression.strip()} has no place: {said}")
    assert not odd, "\n".join(odd)
