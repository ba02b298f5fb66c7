"""What a start finds: nothing to do after a clean stop, and damage that is told of and holds up nobody else."""
import glob
import os
import re

import pytest

import wire_client as wire
import workload
from wire_client import WireError

BUCKETS = 3
CORRUPT = 14
ROWS_OF_A_BATCH = 300
BATCHES = 24  # Three fill a segment of 8 KiB.


def opening_bytes(server):
    """What the openings of buckets had to (check of logs, replay into keys)."""
    return tuple(server.metric(f"sluice_opening_{what}_bytes_total") for what in ("scanned", "replayed"))


def put(client, table_id, first, count):
    for bucket in range(BUCKETS):
        keys = [i for i in range(first, first + count) if wire.paimon_bucket(wire.paimon_key(i), BUCKETS) == bucket]
        records = [(wire.paimon_key(i), wire.kv_row(i, i, f"{i} " * 40)) for i in keys]
        client.put(table_id, bucket, wire.kv_batch(records, -1, -1))


def test_a_clean_stop_leaves_nothing_to_replay(make_server):
    server = make_server().start()
    client = server.client()
    client.create_table("fluss.keyed", wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"], buckets=BUCKETS))
    client.create_table("fluss.log", wire.descriptor(workload.LOG_COLUMNS, buckets=BUCKETS))
    table_id = client.table_info("fluss.keyed")[0]
    log_id = client.table_info("fluss.log")[0]
    for part in range(30):
        put(client, table_id, part * 2000, 2000)
        client.produce(log_id, part % BUCKETS, rows(part * 1000))
    client.close()
    server.stop()
    server.start()
    assert opening_bytes(server) == (0, 0)
    put(client, table_id, 60_000, 1000)
    client.close()
    server.kill()
    server.start()
    scanned, replayed = opening_bytes(server)
    assert scanned > 0 and replayed > 0
    for key in (0, 31_999, 60_999):
        encoded = wire.paimon_key(key)
        assert client.lookup(table_id, wire.paimon_bucket(encoded, BUCKETS), [encoded])[0][0] == key
    assert sum(client.end_offset(log_id, bucket) for bucket in range(BUCKETS)) == 30 * ROWS_OF_A_BATCH
    client.close()
    server.stop()


def test_views_are_there_after_a_restart(make_server):
    server = make_server().start()
    server.sql("CREATE TABLE t (a INT)")
    server.sql("INSERT INTO t VALUES (1), (2)")
    for statement in ("CREATE VIEW doubled AS SELECT a * 2 AS b FROM t", "CREATE VIEW gone AS SELECT a FROM t",
                      "CREATE VIEW over AS SELECT SUM(b) AS c FROM doubled", "DROP VIEW gone"):
        server.sql(statement)
    for end in (server.kill, server.stop):
        end()
        server.start()
        assert server.sql("SHOW VIEWS") == [["doubled"], ["over"]]
        assert server.sql("SELECT c FROM over") == [[6]]
        assert "SELECT" in server.sql("SHOW CREATE VIEW doubled")[0][0]
    server.sql("DROP VIEW over")
    assert server.sql("SHOW VIEWS") == [["doubled"]]


def rows(first):
    return workload.log_batch_of(first, ROWS_OF_A_BATCH)


def segments(server, bucket):
    return sorted(glob.glob(f"{server.settings['data.dir']}/**/log-{bucket}/*.log", recursive=True))


def change_a_head(path):
    """The length of the segment's first batch."""
    with open(path, "r+b") as f:
        f.seek(8)
        f.write(b"\xff\xff\xff\x7f")


def cut_in_half(path):
    os.truncate(path, os.path.getsize(path) // 2)


def change_the_index(path):
    index = path.removesuffix(".log") + ".index"
    with open(index, "r+b") as f:
        f.write(b"\xff" * max(8, os.path.getsize(index)))


DAMAGE = {"head": change_a_head, "cut": cut_in_half, "gone": os.remove, "index": change_the_index}


def read_bucket(client, table_id, bucket, end):
    """(the offsets of batches that can be read one by one, {offset: error code} of the others)"""
    read, errors = [], {}
    for offset in range(0, end, ROWS_OF_A_BATCH):
        try:
            _, records = client.fetch(table_id, bucket, offset, max_bytes=1)
            batches = wire.read_log_batches(records, workload.LOG_SCHEMA)
            assert [(base, len(found)) for base, _, _, found in batches] == [(offset, ROWS_OF_A_BATCH)]
            read.append(offset)
        except WireError as error:
            errors[offset] = error.code
    return read, errors


@pytest.mark.parametrize("ended", ["stop", "kill"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_segment_takes_no_other_bucket_down(make_server, damage, ended):
    server = make_server(**{"log.segment.file-size": "8kb"}).start()
    client = server.client()
    client.create_table("fluss.log", wire.descriptor(workload.LOG_COLUMNS, buckets=BUCKETS))
    table_id = client.table_info("fluss.log")[0]
    ends = BATCHES * ROWS_OF_A_BATCH
    for bucket in range(BUCKETS):
        for first in range(0, ends, ROWS_OF_A_BATCH):
            client.produce(table_id, bucket, rows(first))
    client.close()
    server.stop()
    if ended == "kill":  # With a checkpoint behind the damage.
        server.start()
        for bucket in range(BUCKETS):
            client.produce(table_id, bucket, rows(ends))
        ends += ROWS_OF_A_BATCH
        client.close()
        server.kill()
    files = segments(server, 0)
    assert len(files) > 4, files
    damaged = files[len(files) // 2]
    first, behind = (int(os.path.basename(path)[:20]) for path in files[len(files) // 2:][:2])
    DAMAGE[damage](damaged)
    told = re.escape(files[len(files) // 2 - 1] if damage == "gone" else damaged) + r".*offset=\d+"
    server.announce("E call failed .*" + told)
    server.start()

    every = list(range(0, ends, ROWS_OF_A_BATCH))
    for bucket in range(1, BUCKETS):
        assert read_bucket(client, table_id, bucket, ends) == (every, {})
    read, errors = read_bucket(client, table_id, 0, ends)
    if damage == "index":
        assert errors == {}
    else:
        assert errors and set(errors.values()) == {CORRUPT}
        assert all(first <= offset < behind for offset in errors), errors
        assert re.search(told, server.log_tail(400))
    assert sorted(read + list(errors)) == every
    for bucket in range(BUCKETS):
        assert client.produce(table_id, bucket, rows(0)) == ends
    client.close()
    server.stop()
