"""A batch that no reader can decode: what shows at once is refused, the rest is an error that says where it is."""
import re
import struct
import time

import pyarrow as pa
import pytest

import cluster
import wire_client as wire
import workload

CRC_AT, CHECKED_FROM, BODY_AT = 21, 25, 48
LAKE = {"table.datalake.enabled": "true", "table.datalake.freshness": "1s"}
STATE_S = 240


def batch(first, count=400):
    rows = [{"id": first + i, "writer": 7, "text": f"text number {first + i}"} for i in range(count)]
    return wire.log_batch(pa.RecordBatch.from_pylist(rows, workload.LOG_SCHEMA))


def with_crc(data):
    """The bytes as a client would send them that believes in them."""
    data = bytearray(data)
    struct.pack_into("<I", data, CRC_AT, wire.crc32c(bytes(data[CHECKED_FROM:])))
    return bytes(data)


def undecodable(good):
    """`good` with one bit flipped inside a compressed block, so that nothing shows before it is unpacked."""
    for at in range(len(good) - 9, BODY_AT, -1):
        data = bytearray(good)
        data[at] ^= 0x10
        frame = bytes(data)
        if frame.count(b"\x28\xb5\x2f\xfd") != good.count(b"\x28\xb5\x2f\xfd"):
            continue
        try:
            pa.ipc.read_record_batch(pa.py_buffer(frame[BODY_AT:]), workload.LOG_SCHEMA).validate(full=True)
        except (pa.ArrowInvalid, OSError):
            return with_crc(frame)
    raise AssertionError("no bit hurts")


def test_damage_that_shows_is_refused(client):
    client.create_table("fluss.ev", wire.descriptor(workload.LOG_COLUMNS))
    table_id = client.table_info("fluss.ev")[0]
    good = batch(0)
    frame = good.index(b"\x28\xb5\x2f\xfd")
    for at, value in ((frame, 0), (frame - 8, 200), (frame + 4, 0xFF), (len(good) - 60, None)):
        data = bytearray(good)
        if value is None:
            del data[at:]
            struct.pack_into("<i", data, 8, len(data) - 12)
        else:
            data[at] = value
        with pytest.raises(wire.WireError) as failed:
            client.produce(table_id, 0, with_crc(data))
        assert failed.value.code == 14, failed.value
    assert client.end_offset(table_id, 0) == 0
    client.produce(table_id, 0, good)
    assert client.end_offset(table_id, 0) == 400


def test_a_batch_that_cannot_be_decoded_holds_its_table_alone(make_server):
    server = make_server().start()
    server.announce("W tiering round failed table=fluss.bad .*malformed")
    client = server.client()
    for path in ("fluss.bad", "fluss.good"):
        client.create_table(path, wire.descriptor(workload.LOG_COLUMNS, properties=LAKE))
    bad, good = client.table_info("fluss.bad")[0], client.table_info("fluss.good")[0]
    damaged = undecodable(batch(400))
    for table_id, middle in ((bad, damaged), (good, batch(400))):
        for data in (batch(0), middle, batch(800)):
            client.produce(table_id, 0, data)
    place = f"table=fluss.bad table_id={bad} bucket=0 offset=400"

    started = time.monotonic()
    for text in ("SELECT COUNT(text) FROM bad", "SELECT * FROM bad", "SELECT MAX(id), MAX(text) FROM bad"):
        with pytest.raises(cluster.SqlError) as failed:
            server.sql(text)
        assert place in str(failed.value), failed.value
    assert time.monotonic() - started < 60  # A damaged batch is no reason to try again.
    assert server.sql("SELECT COUNT(*), COUNT(text) FROM good") == [[1200, 1200]]

    server.wait_for_lake(client, "fluss.good", {0: 1200})
    deadline = time.monotonic() + STATE_S
    while server.status()["fluss.bad"]["state"] != "FAILED" or not server.status()["fluss.bad"]["late"]:
        assert time.monotonic() < deadline, server.status()
        time.sleep(0.1)
    assert place in server.status()["fluss.bad"]["reason"]
    assert server.status()["fluss.good"]["late"] is False
    metrics = server.metrics()
    assert 'sluice_tiering_failed{database="fluss",table="bad"} 1' in metrics
    assert 'sluice_tiering_failed{database="fluss",table="good"} 0' in metrics
    assert 'sluice_tiering_late{database="fluss",table="bad"} 1' in metrics
    assert 'sluice_tiering_late{database="fluss",table="good"} 0' in metrics
    assert re.search(r'sluice_tiering_state\{database="fluss",state="(FAILED|TIERING)",table="bad"\} 1', metrics)
    assert 'sluice_tiering_state{database="fluss",state="TIERED",table="good"} 1' in metrics
    assert re.search(r'sluice_tiering_failed_seconds\{database="fluss",table="bad"\} [0-9.]+\n', metrics)
    # Since when it fails stays while it is tried again, and again.
    since = server.status()["fluss.bad"]["failed_since_ms"]
    tries = []
    while not tries or tries[-1] - tries[0] < 150:  # The waits between two tries are longer.
        assert time.monotonic() < deadline, tries
        row = server.status()["fluss.bad"]
        assert row["failed_since_ms"] == since <= time.time() * 1000
        if row["next_try_ms"] is not None:
            tries.append(row["next_try_ms"])
        time.sleep(0.1)
    assert server.status()["fluss.good"]["failed_since_ms"] is None
    # The same by SQL, bucket by bucket.
    columns = "partition_name, bucket, log_end_offset, lake_offset + lag_rows, lag_rows >= 800, lag_ms > 0, failed_since IS NULL"
    assert server.sql(f"SELECT {columns} FROM bad$lake$tiering") == [[None, 0, 1200, 1200, True, True, False]]
    assert place in server.sql("SELECT reason FROM bad$lake$tiering")[0][0]
    assert server.sql("SELECT lake_offset, lag_rows, lag_ms, state, reason, failed_since, next_try "
                      "FROM good$lake$tiering") == [[1200, 0, 0, "TIERED", None, None, None]]
    # Readers that start behind it get the rest.
    assert [base for base, _, _, _ in client.scan_log(bad, 0, workload.LOG_SCHEMA, 800)] == [800]
    client.close()
