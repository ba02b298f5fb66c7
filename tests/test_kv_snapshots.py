"""Snapshots of keys in the remote folder: clients read from them exactly the log below their offset; what a kill leaves is
removed by the next one, what a lease holds is not; drops take theirs along."""
import os
import time

import snapshot_check as snapshots
import wire_client as wire
import workload

BUCKETS = 2
INTERVAL_MS = 200
POINTS = ["kv.snapshot.after-checkpoint", "kv.snapshot.after-file", "kv.snapshot.before-metadata",
          "kv.snapshot.after-metadata", "kv.snapshot.after-record", "kv.snapshot.between-removals"]


def make(make_server, **settings):
    server = make_server(kv__snapshot__interval=f"{INTERVAL_MS}ms", **settings).start()
    client = server.client()
    client.create_table("fluss.t", wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"], bucket_key=["id"],
                                                   buckets=BUCKETS))
    return server, client, client.table_info("fluss.t")[0]


def write(client, table_id, keys, version):
    """Upsert keys; {bucket: log end} of the buckets that took some."""
    ends = {}
    for bucket in range(BUCKETS):
        mine = [key for key in keys if wire.paimon_bucket(wire.paimon_key(key), BUCKETS) == bucket]
        records = [(wire.paimon_key(key), wire.kv_row(key, version, f"v{version}")) for key in mine]
        if records:
            ends[bucket] = client.put(table_id, bucket, wire.kv_batch(records, -1, -1))
    return ends


def test_rows_are_those_of_the_offset_over_kills_at_every_point(make_server):
    server, client, table_id = make(make_server)
    ends = write(client, table_id, range(50), version=0)
    snapshots.wait_for(client, "fluss.t", ends)
    assert snapshots.check_rows(client, "fluss.t", table_id) == BUCKETS
    for number, point in enumerate(POINTS, 1):
        server.stop()
        server.launch(crash_point=point)
        server.wait_until_ready(may_end=True)
        client.close()
        while server.running():
            try:
                write(client, table_id, range(number, 50 + number), version=number)
            except (wire.Disconnected, wire.WireError):
                pass
            time.sleep(0.02)
        assert server.process.returncode == 137, f"{point}: {server.log_tail()}"
        client.close()
        server.start()
        snapshots.check_files(client, "fluss.t", table_id)
        ends = write(client, table_id, range(100 * number, 100 * number + 10), version=number)
        snapshots.wait_for(client, "fluss.t", ends)
        assert snapshots.check_rows(client, "fluss.t", table_id) == BUCKETS
        snapshots.wait_until_clean(client, f"{server.folder}/remote", "fluss.t", table_id)
    client.close()


def test_a_quiet_table_gets_no_further_snapshot_and_old_ones_go(make_server):
    server, client, table_id = make(make_server)
    for version in range(4):
        found = snapshots.wait_for(client, "fluss.t", write(client, table_id, range(10), version))
    assert {bucket: ids[-1] for bucket, ids in snapshots.recorded(client, table_id).items()} == \
        {bucket: snapshot_id for bucket, (snapshot_id, _) in found.items()}
    assert all(len(ids) == 2 for ids in snapshots.recorded(client, table_id).values())
    time.sleep(5 * INTERVAL_MS / 1000)
    assert snapshots.latest(client, "fluss.t") == found
    server.stop()
    server.start()
    client.close()
    time.sleep(5 * INTERVAL_MS / 1000)
    assert snapshots.latest(client, "fluss.t") == found, "a restart alone makes no snapshot"
    assert snapshots.check_rows(client, "fluss.t", table_id) == BUCKETS
    client.close()


def test_a_lease_holds_its_snapshot_over_a_kill_until_it_is_over(make_server):
    server, client, table_id = make(make_server, kv__snapshot__lease__expiration_check_interval="100ms")
    found = snapshots.wait_for(client, "fluss.t", write(client, table_id, range(10), 0))
    held_id, held_offset = found[0]
    bucket = wire.message((2, 0), (3, held_id))
    wanted = (3, wire.message((1, table_id), (2, bucket)))
    lease = [(1, "reader"), (2, 3_600_000)]
    assert client.call("coordinator", wire.ACQUIRE_KV_SNAPSHOT_LEASE, wire.message(*lease, wanted)).get(1, []) == []
    for version in range(1, 5):
        snapshots.wait_for(client, "fluss.t", write(client, table_id, range(10), version))
    server.kill()
    server.start()
    client.close()
    snapshots.wait_for(client, "fluss.t", write(client, table_id, range(10), 9))
    assert held_id in snapshots.recorded(client, table_id)[0]
    offset, rows = snapshots.read_rows(client, table_id, 0, held_id)
    assert offset == held_offset and set(rows.values()) == {(0, "v0")}
    client.call("coordinator", wire.ACQUIRE_KV_SNAPSHOT_LEASE, wire.message((1, "reader"), (2, 1)))  # Over at once.
    deadline = time.monotonic() + 60
    while held_id in snapshots.recorded(client, table_id)[0]:
        assert time.monotonic() < deadline, "a lease that is over holds on"
        time.sleep(0.05)
    snapshots.wait_until_clean(client, f"{server.folder}/remote", "fluss.t", table_id)
    client.close()


def test_a_drop_takes_the_files_and_none_come_after_it(make_server):
    server, client, table_id = make(make_server)
    snapshots.wait_for(client, "fluss.t", write(client, table_id, range(50), 0))
    folder = f"{server.folder}/remote/kv/fluss/t-{table_id}"
    assert os.path.isdir(folder)
    write(client, table_id, range(50), 1)
    client.drop_table("fluss.t")
    assert not os.path.exists(folder)
    time.sleep(3 * INTERVAL_MS / 1000)
    assert not os.path.exists(folder), "a snapshot was made of a table that is gone"
    client.close()
