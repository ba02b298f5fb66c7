"""Disks that fill up, folders that vanish: a clear error, no abort, and work goes on by itself afterwards."""
import json
import os
import subprocess
import time
import urllib.request

import pyarrow as pa
import pytest

import cluster
import wire_client as wire
import workload
from cluster import SqlError
from wire_client import WireError

STORAGE = 26
LOG_TABLE = wire.descriptor(workload.LOG_COLUMNS, buckets=1)
LAKE_TABLE = wire.descriptor(workload.LOG_COLUMNS, buckets=1, properties=workload.lake_properties("1s"))
KEY_TABLE = wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"], buckets=1)
RATIO = "server.data-disk.write-limit-ratio"
REFUSALS = ("W writes are refused: ", "W writes are taken again ")


@pytest.fixture
def server(make_server):
    return make_server()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 MB, which only root can make."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("cannot mount a file system")
    yield str(folder)
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def make_small(small_disk, make_server):
    """A function that makes a server whose data is on the small disk and whose log is not."""
    def make(**settings):
        server = make_server(folder=small_disk, **settings)
        server.log_path = f"{os.path.dirname(small_disk)}/server.out"
        server.announce("flush of keys failed", "call failed .*No space left", "W checkpoint file: .*No space left",
                        "snapshot of keys failed", "remote log is not kept up", *REFUSALS)
        return server
    return make


def rows(first, count=10):
    return wire.log_batch(pa.RecordBatch.from_pylist(
        [{"id": i, "writer": 0, "text": "x"} for i in range(first, first + count)], workload.LOG_SCHEMA))


def put(client, table_id, first, count=200):
    records = [(wire.paimon_key(i), wire.kv_row(i, i, "x" * 80)) for i in range(first, first + count)]
    client.put(table_id, 0, wire.kv_batch(records, -1, -1))


def fill(path):
    """Use up the disk below `path` with one file."""
    with open(path, "ab", 0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass


def until(check, seconds=120):
    deadline = time.monotonic() + seconds
    while True:
        try:
            return check()
        except (AssertionError, WireError, SqlError):
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def health(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/health", timeout=60) as answer:
        return json.load(answer)


def refuses(code, call):
    try:
        call()
    except WireError as error:
        assert error.code == code, error
        return str(error)
    raise AssertionError("it was not refused")


def test_writes_are_refused_before_the_disk_is_full(server):
    server.announce(*REFUSALS)
    server.start()
    client = server.client()
    client.create_table("fluss.t", LOG_TABLE)
    client.create_table("fluss.k", KEY_TABLE)
    table, keys = client.table_info("fluss.t")[0], client.table_info("fluss.k")[0]
    client.produce(table, 0, rows(0))
    client.close()
    server.stop()

    server.settings[RATIO] = "0.00001"
    server.start()
    client = server.client()
    assert "nearly full" in refuses(STORAGE, lambda: client.produce(table, 0, rows(10)))
    assert "nearly full" in refuses(STORAGE, lambda: put(client, keys, 0))
    assert "nearly full" in refuses(STORAGE, lambda: client.create_table("fluss.u", LOG_TABLE))
    assert server.sql("SELECT COUNT(*) FROM t") == [[10]]
    for statement in ("INSERT INTO t VALUES (1, 1, 'x')", "INSERT INTO k VALUES (1, 1, 'x')"):
        begin = time.monotonic()
        with pytest.raises(SqlError, match="nearly full"):
            server.sql(statement)
        assert time.monotonic() - begin < 100  # A writer of the protocol would try for two minutes.
    assert health(server)["status"] == "writes refused"
    assert "nearly full" in health(server)["reason"]
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics", timeout=60) as answer:
        assert "sluice_disk_writes_refused" in answer.read().decode()
    client.drop_table("fluss.k")  # Makes room.
    client.close()
    server.stop()

    server.settings[RATIO] = "1"
    server.start()
    client = server.client()
    client.produce(table, 0, rows(10))
    assert health(server)["status"] == "ok"
    client.close()
    server.stop()


def test_ddl_on_a_full_disk_neither_aborts_nor_stays_refused(small_disk, make_small):
    server = make_small()
    ballast = f"{small_disk}/ballast"
    with open(ballast, "wb") as file:
        file.write(b"\0" * (40 << 20))
    server.start()
    client = server.client()
    fill(ballast)
    made, refused = set(), 0
    for i in range(6000):  # Until the space that the store had set aside is used up.
        try:
            client.create_table(f"fluss.q{i}", LOG_TABLE)
            made.add(f"q{i}")
        except WireError as error:
            assert error.code == STORAGE, error
            refused += 1
            if refused == 20:
                break
    assert refused >= 1  # The store may find room again by writing its log anew.
    assert server.sql("SELECT 1") == [[1]]
    os.truncate(ballast, 30 << 20)
    until(lambda: client.create_table("fluss.after", LOG_TABLE))
    client.close()
    server.kill()
    server.start()
    client = server.client()
    assert set(client.tables("fluss")) == made | {"after"}
    client.close()

    fill(ballast)
    server.kill()
    server.launch()
    server.wait_until_ready(may_end=True)
    assert server.process.poll() in (None, 1), server.log_tail()  # A clear error at most.
    server.kill()
    os.truncate(ballast, 0)
    server.start()
    server.stop()


def test_keys_are_taken_again_once_there_is_room(small_disk, make_small):
    server = make_small(**{"kv.write-back.bytes-max": "256kb", "log.segment.file-size": "1mb"})
    ballast = f"{small_disk}/ballast"
    with open(ballast, "wb") as file:
        file.write(b"\0" * (50 << 20))
    server.start()
    client = server.client()
    client.create_table("fluss.k", KEY_TABLE)
    table = client.table_info("fluss.k")[0]
    refused, first = 0, 0
    while refused < 50:
        try:
            put(client, table, first)
            first += 200
        except WireError:
            refused += 1
    assert server.running(), server.log_tail()
    os.truncate(ballast, 0)
    until(lambda: put(client, table, first))
    assert server.sql("SELECT COUNT(*) FROM k") == [[first + 200]]
    client.close()
    server.kill()
    server.start()
    assert server.sql("SELECT COUNT(*) FROM k") == [[first + 200]]
    server.stop()


def test_an_alter_that_failed_is_not_there_after_a_restart(server):
    server.announce("cannot undo a failed (ALTER|CREATE) TABLE")  # Nobody knows what lies in a lake that cannot be listed.
    server.start()
    client = server.client()
    client.create_table("fluss.t", LOG_TABLE)
    with open(f"{server.warehouse}/fluss.db", "w"):  # In place of the folder.
        pass
    with pytest.raises(WireError):
        client.alter_table("fluss.t", {"table.datalake.enabled": "true"})
    with pytest.raises(WireError):
        client.create_table("fluss.u", LAKE_TABLE)
    client.close()
    server.kill()
    os.remove(f"{server.warehouse}/fluss.db")
    server.start()
    client = server.client()
    assert client.table_info("fluss.t")[1]["properties"].get("table.datalake.enabled") != "true"
    assert client.tables("fluss") == ["t"]
    client.alter_table("fluss.t", {"table.datalake.enabled": "true"})
    client.close()
    server.stop()


def with_ten_rows_in_the_lake(server):
    """Start it and bring a table `t` into the lake."""
    server.start()
    client = server.client()
    client.create_table("fluss.t", LAKE_TABLE)
    client.produce(client.table_info("fluss.t")[0], 0, rows(0))
    client.close()

    def check():
        assert server.sql("SELECT COUNT(*) FROM t$lake") == [[10]]
    until(check)


def test_a_lake_that_cannot_be_written_is_still_read(server):
    server.announce("W lake table is read without a pin table=fluss.t ", "W release of a lake snapshot: .*consumer",
                    "W (upkeep|sweep) of lake table fluss.t: .*consumer")
    with_ten_rows_in_the_lake(server)
    consumers = f"{server.warehouse}/fluss.db/t/consumer"
    if os.path.isdir(consumers):
        os.rename(consumers, consumers + ".away")
    with open(consumers, "w"):  # No pin can be written below it.
        pass
    for _ in range(3):
        assert server.sql("SELECT COUNT(*) FROM t") == [[10]]
        assert server.sql("SELECT COUNT(*) FROM t$lake") == [[10]]
    with open(server.log_path) as log:
        assert log.read().count("lake table is read without a pin") == 1
    server.stop()


def test_a_lake_table_that_lost_its_snapshots_is_not_empty(server):
    with_ten_rows_in_the_lake(server)
    os.rename(f"{server.warehouse}/fluss.db/t/snapshot", f"{server.warehouse}/fluss.db/t/snapshot.away")
    for query in ("SELECT COUNT(*) FROM t$lake", "SELECT COUNT(*) FROM t"):
        with pytest.raises(SqlError):
            server.sql(query)
    os.rename(f"{server.warehouse}/fluss.db/t/snapshot.away", f"{server.warehouse}/fluss.db/t/snapshot")
    server.stop()


def test_a_warehouse_that_is_gone_is_not_made_anew(server):
    server.announce(*REFUSALS)
    server.start()
    client = server.client()
    client.create_table("fluss.t", LAKE_TABLE)
    os.rename(server.warehouse, server.warehouse + ".away")
    os.mkdir(server.warehouse)  # As the mount point of a disk that is not mounted.
    with pytest.raises(WireError) as failed:
        client.create_table("fluss.u", LAKE_TABLE)
    assert server.warehouse in str(failed.value)
    client.close()
    server.kill()
    server.launch()
    assert server.process.wait(timeout=cluster.READY_S) == 1
    assert "warehouse is gone" in server.log_tail()
    mark = os.path.join(server.settings["data.dir"], "warehouse.known")
    os.rename(mark, mark + ".away")
    os.mkdir(mark)  # A mark that cannot be read does not say that the warehouse is new.
    server.launch()
    assert server.process.wait(timeout=cluster.READY_S) == 1
    os.rmdir(mark)
    os.rename(mark + ".away", mark)
    os.rmdir(server.warehouse)  # Nothing was made in it.
    os.rename(server.warehouse + ".away", server.warehouse)
    server.start()
    assert server.client().tables("fluss") == ["t"]
    server.stop()


def test_a_remote_folder_that_is_gone_is_not_made_anew(make_server):
    server = make_server(**{"log.segment.file-size": "1kb", "remote.log.task-interval-duration": "50ms",
                            "kv.snapshot.interval": "200ms"})
    server.announce(*REFUSALS, "W tiering round failed table=fluss.t .*remote folder is gone",
                    "W remote log is not kept up ", "W snapshot of keys failed", "folder cannot be looked at",
                    "W removing lake offsets that nothing names any more.*remote folder is gone",
                    "W a tablet server was not told of a change.*remote folder is gone",
                    "W the tablet servers do not know everything yet.*remote folder is gone",
                    "W a half-done change cannot be finished yet kind=delete_replicas .*remote folder is gone")
    server.start()
    client = server.client()
    for name, kind in (("t", LAKE_TABLE), ("u", LOG_TABLE), ("v", LOG_TABLE), ("k", KEY_TABLE)):
        client.create_table(f"fluss.{name}", kind)
    table, log, dropped, keys = (client.table_info(f"fluss.{name}")[0] for name in "tuvk")
    remote = server.settings["remote.data.dir"]

    def has(folder, ending):
        assert any(file.endswith(ending) for _, _, files in os.walk(f"{remote}/{folder}") for file in files)

    def write(first):
        client.produce(table, 0, rows(first))
        for id in (log, dropped):
            for batch in range(10):
                client.produce(id, 0, rows(10 * first + 10 * batch))
        put(client, keys, first, 10)
    write(0)
    server.wait_for_lake(client, "fluss.t", {0: 10})
    for folder, ending in ((f"log/fluss/u-{log}", ".log"), (f"log/fluss/v-{dropped}", ".log"),
                           (f"kv/fluss/k-{keys}", "_METADATA")):
        until(lambda: has(folder, ending))

    def is_quiet():  # What is under way would be cut in the middle.
        before = sorted(os.walk(remote))
        time.sleep(2)
        assert sorted(os.walk(remote)) == before
    until(is_quiet)
    os.rename(remote, remote + ".away")
    os.mkdir(remote)  # As the mount point of a disk that is not mounted.
    write(10)
    client.drop_table("fluss.v")

    def is_told():
        assert remote in json.dumps(server.status()["fluss.t"])
    until(is_told)

    def is_logged():
        with open(server.log_path) as text:
            text = text.read()
        for line in ("remote log is not kept up", "snapshot of keys failed", "a tablet server was not told"):
            assert line in text
    until(is_logged)
    assert os.listdir(remote) == []
    assert os.path.isdir(f"{remote}.away/log/fluss/v-{dropped}")
    os.rmdir(remote)
    os.rename(remote + ".away", remote)  # While the server is up.

    def is_removed():
        assert not os.path.exists(f"{remote}/log/fluss/v-{dropped}")
    until(is_removed)

    def check_rows():
        found = server.sql("SELECT COUNT(*), SUM(id) FROM u")[0] + server.sql("SELECT COUNT(*) FROM k")[0]
        assert [int(value) for value in found] == [200, sum(range(200)), 20]
    check_rows()
    client.close()
    server.kill()
    os.rename(remote, remote + ".away")
    os.mkdir(remote)
    server.launch()
    assert server.process.wait(timeout=cluster.READY_S) == 1
    assert "remote folder is gone" in server.log_tail()
    os.rmdir(remote)
    os.rename(remote + ".away", remote)
    server.start()
    server.wait_for_lake(client, "fluss.t", {0: 20})
    check_rows()
    server.stop()


def test_a_data_folder_that_is_moved_away_takes_no_writes(server):
    server.announce(*REFUSALS)
    server.start()
    client = server.client()
    client.create_table("fluss.t", LOG_TABLE)
    table = client.table_info("fluss.t")[0]
    client.produce(table, 0, rows(0))
    data = server.settings["data.dir"]
    os.rename(data, data + ".away")

    def is_refused():
        assert "moved" in refuses(STORAGE, lambda: client.produce(table, 0, rows(10)))
    until(is_refused)
    assert "moved" in health(server)["reason"]
    os.rename(data + ".away", data)
    until(lambda: client.produce(table, 0, rows(20)))
    client.close()
    server.stop()
