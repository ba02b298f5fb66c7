"""Logs whose older segments lie in remote storage: every reader sees all acknowledged rows, also after kill -9."""
import glob
import os
import re
import struct
import time

import fluss
import pyarrow as pa
import pytest

import cluster
import wire_client as wire
import workload
from test_pyfluss import poll_until, run

SEGMENT = "32kb"
ROWS, BATCH = 4000, 200
WAIT_S = 120
POINTS = ["remote.after-segment", "remote.after-segments", "remote.before-commit", "remote.after-commit"]


@pytest.fixture
def server(program, tmp_path):
    server = cluster.Server(tmp_path, log__segment__file_size=SEGMENT, log__index__interval_size="1kb",
                            remote__log__task_interval_duration="50ms")
    server.start()
    yield server
    server.kill()
    server.check_log()


def wait_until(done, what):
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def local_segments(server, table="t"):
    return sorted(glob.glob(f"{server.folder}/data/fluss/{table}-*/**/log-*/*.log", recursive=True))


def wait_until_moved(server, table="t"):
    """Until the local log holds no more than the segments that stay by default."""
    wait_until(lambda: 0 < len(local_segments(server, table)) <= 2, lambda: f"{local_segments(server, table)}\n{server.log_tail()}")
    assert os.path.basename(local_segments(server, table)[0]) != f"{0:020d}.log"


def remote_files(server):
    return glob.glob(f"{server.folder}/remote/log/**/*.log", recursive=True)


def batch_of(first, count):
    ids = list(range(first, first + count))
    return pa.record_batch([pa.array(ids, pa.int64()), pa.array([f"{i:06d}" * 8 for i in ids])], names=["id", "text"])


SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


async def create(admin, keys=()):
    path = fluss.TablePath("fluss", "t")
    schema = fluss.Schema(SCHEMA, primary_keys=list(keys)) if keys else fluss.Schema(SCHEMA)
    properties = {"table.log.arrow.compression.type": "NONE"}
    await admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=1, properties=properties), False)
    return path


async def append(connection, first, count):
    table = await connection.get_table(fluss.TablePath("fluss", "t"))
    writer = table.new_append().create_writer()
    for at in range(first, first + count, BATCH):
        writer.write_arrow_batch(batch_of(at, BATCH))
        await writer.flush()


async def scan_all(connection, count):
    table = await connection.get_table(fluss.TablePath("fluss", "t"))
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    return await poll_until(scanner, count)


def test_all_readers_see_all_rows_after_kills(server):
    async def make(connection, admin):
        await create(admin)

    run(server, make)
    for round_ in range(3):
        async def write(connection, admin):
            await append(connection, round_ * ROWS, ROWS)

        run(server, write)
        if round_ < 2:  # Somewhere in the middle of copies.
            server.kill()
            server.start()
        rows = (round_ + 1) * ROWS

        async def read(connection, admin):
            records = await scan_all(connection, rows)
            assert [record.offset for record in records] == list(range(rows))
            assert [record.row["id"] for record in records] == list(range(rows))

        run(server, read)
        found = server.sql("SELECT COUNT(*), MIN(id), MAX(id), SUM(id) FROM t")
        assert [int(value) for value in found[0]] == [rows, 0, rows - 1, rows * (rows - 1) // 2]
    wait_until_moved(server)
    run(server, read)
    found = server.sql("SELECT COUNT(*), COUNT(DISTINCT id) FROM t")
    assert [int(value) for value in found[0]] == [rows, rows]
    metrics = server.metrics()
    assert f"sluice_remote_log_segments{{database=\"fluss\",table=\"t\"}} {len(remote_files(server))}" in metrics
    assert "sluice_remote_log_copy_errors_total{database=\"fluss\",table=\"t\"} 0" in metrics


def produce(client, table_id, ids):
    """One batch of bucket 0 that does not compress."""
    texts = [os.urandom(40).hex() for _ in ids]
    rows = pa.record_batch([pa.array(ids, pa.int64()), pa.array([0] * len(ids), pa.int32()), pa.array(texts)],
                           schema=workload.LOG_SCHEMA)
    client.produce(table_id, 0, wire.log_batch(rows))


def orphans(server):
    """What lies in the bucket's remote folder beyond the segments on record and one manifest."""
    bucket, = glob.glob(f"{server.folder}/remote/log/fluss/t-*/0")
    found = re.search(r'^sluice_remote_log_segments\{[^}]*table="t"\} (\d+)$', server.metrics(), flags=re.M)
    folders = [name for name in os.listdir(bucket) if name != "metadata"]
    return len(folders) - int(found[1]), len(os.listdir(f"{bucket}/metadata")) - 1


@pytest.mark.parametrize("point", POINTS)
def test_all_rows_are_there_once_after_a_kill_at(server, point):
    client = server.client()
    client.create_table("fluss.t", wire.descriptor(workload.LOG_COLUMNS))
    table_id = client.table_info("fluss.t")[0]
    produce(client, table_id, range(BATCH))
    server.stop()
    server.launch(crash_point=point)
    server.wait_until_ready(may_end=True)
    client.close()
    acknowledged, next_id = set(range(BATCH)), BATCH
    deadline = time.monotonic() + WAIT_S
    while server.running():
        assert time.monotonic() < deadline, f"{point} was not reached"
        ids = range(next_id, next_id + BATCH)
        next_id += BATCH
        try:
            produce(client, table_id, ids)
            acknowledged.update(ids)
        except (wire.Disconnected, wire.WireError):
            pass
        time.sleep(0.01)
    assert server.process.returncode == 137, server.log_tail()
    client.close()
    server.start()

    def check_rows():
        found = [int(row[0]) for row in server.sql("SELECT id FROM t")]
        assert len(found) == len(set(found)), "rows are there twice"
        lost = acknowledged - set(found)
        assert not lost, f"{len(lost)} acknowledged rows are gone, as {sorted(lost)[:5]}"

    check_rows()
    for first in range(next_id, next_id + 10 * BATCH, BATCH):
        produce(client, table_id, range(first, first + BATCH))
        acknowledged.update(range(first, first + BATCH))
    wait_until_moved(server)
    wait_until(lambda: orphans(server) == (0, 0), lambda: f"{orphans(server)}\n{server.log_tail()}")
    check_rows()
    client.close()


def test_dropped_tables_leave_nothing(server):
    async def write(connection, admin):
        path = await create(admin)
        await append(connection, 0, ROWS)
        return path

    run(server, write)
    wait_until_moved(server)
    assert remote_files(server)

    async def drop(connection, admin):
        await admin.drop_table(fluss.TablePath("fluss", "t"))

    run(server, drop)
    assert not glob.glob(f"{server.folder}/remote/log/fluss/t-*")


def test_storage_that_is_away_is_told_and_comes_back(server):
    server.announce("remote log is not kept up", "LOG_STORAGE", "remote segment", "remote log manifest",
                    "folder cannot be looked at")

    async def write(connection, admin):
        await create(admin)
        await append(connection, 0, ROWS)

    run(server, write)
    wait_until_moved(server)
    os.rename(f"{server.folder}/remote", f"{server.folder}/away")

    async def more(connection, admin):
        await append(connection, ROWS, ROWS)

    run(server, more)
    wait_until(lambda: re.search("not kept up|cannot be looked at", server.log_tail(1000)), server.log_tail)
    assert len(local_segments(server)) > 4  # None goes that was not copied.
    os.rename(f"{server.folder}/away", f"{server.folder}/remote")
    wait_until_moved(server)
    found = server.sql("SELECT COUNT(*), SUM(id) FROM t")
    assert [int(value) for value in found[0]] == [2 * ROWS, ROWS * (2 * ROWS - 1)]


def test_lake_takes_what_only_remote_storage_has(server, tmp_path):
    """Tiering reads through the server."""
    async def write(connection, admin):
        await create(admin)
        await append(connection, 0, ROWS)

    run(server, write)
    wait_until_moved(server)
    server.client().alter_table("fluss.t", {"table.datalake.enabled": "true"})
    server.wait_for_lake(server.client(), "fluss.t", {0: ROWS})
    found = server.sql("SELECT COUNT(*), SUM(id) FROM t$lake")
    assert [int(value) for value in found[0]] == [ROWS, ROWS * (ROWS - 1) // 2]


def with_a_wrong_bit(segment):
    """In a value of the first batch, behind its head."""
    size, = struct.unpack_from("<i", segment, 8)
    damaged = bytearray(segment)
    damaged[12 + size - 9] ^= 1
    return bytes(damaged)


def fill(server):
    """Not compressed, so that the bit is one of a text's last digits."""
    async def write(connection, admin):
        await create(admin)
        await append(connection, 0, ROWS)

    run(server, write)


def test_damage_in_remote_storage_is_an_error_and_never_a_wrong_row_nor_a_wait(server):
    """Of some columns and of all, since the reader of some has no CRC to check."""
    fill(server)
    wait_until_moved(server)
    rows = server.sql("SELECT id, text FROM t ORDER BY id")
    path = sorted(remote_files(server), key=os.path.basename)[1]
    with open(path, "rb") as file:
        whole = file.read()
    damages = {"bit": with_a_wrong_bit(whole), "short": whole[:len(whole) // 2], "empty": b"", "long": whole + bytes(5000),
               "zeros": bytes(len(whole)), "length": whole[:8] + struct.pack("<i", -5) + whole[12:],
               "offset": struct.pack("<q", 10**9) + whole[8:]}
    for name, damaged in damages.items():
        with open(path, "wb") as file:
            file.write(damaged)
        for columns in ("id, text", "*"):
            with pytest.raises(cluster.SqlError) as error:
                server.sql(f"SELECT {columns} FROM t")
            assert "CORRUPT_RECORD" in str(error.value), (name, columns, str(error.value))
            assert "table=fluss.t" in str(error.value) and os.path.basename(path) in str(error.value), str(error.value)
        with open(path, "wb") as file:
            file.write(whole)
        assert server.sql("SELECT id, text FROM t ORDER BY id") == rows, name


def test_a_wrong_bit_in_a_local_segment_is_an_error(server):
    fill(server)
    wait_until_moved(server)
    path = local_segments(server)[0]
    with open(path, "rb") as file:
        whole = file.read()
    with open(path, "r+b") as file:
        file.write(with_a_wrong_bit(whole))
    server.sql("CREATE TABLE copied (id BIGINT, text STRING)")
    for statement in ("SELECT id, text FROM t", "SELECT * FROM t", "INSERT INTO copied SELECT id, text FROM t"):
        with pytest.raises(cluster.SqlError) as error:
            server.sql(statement)
        assert "CORRUPT_RECORD" in str(error.value), (statement, str(error.value))
    server.announce("call failed .*crc file=")
