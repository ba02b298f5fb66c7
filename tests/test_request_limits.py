"""A small request cannot make the server hold, or do, a thousand times its size."""
import struct

import pytest

import wire_client as wire
import workload
from test_memory import resident_mb
from wire_client import Client, Connection, WireError, message

PREFIX_LOOKUP, LIMIT_SCAN, GET_TABLE_STATS = 1034, 1033, 1059
BUCKETS_MAX = KEYS_MAX = 1 << 17


@pytest.fixture
def client(server):
    client = Client(server.coordinator_port, server.tablet_port)
    client.create_database("limits", ignore_if_exists=True)
    yield client
    client.close()
    assert server.running()


@pytest.fixture
def table(client, request):
    path = f"limits.{request.node.name.split('[')[0]}"
    client.create_table(path, wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"], custom={"comment": "x" * 2000}))
    yield path, client.table_info(path)[0]
    client.drop_table(path)


def refused(call):
    with pytest.raises(WireError) as failed:
        call()
    assert failed.value.code == wire.RECORD_TOO_LARGE, failed.value


def packed(values):
    return b"".join(wire.varint(value) for value in values)


def test_a_table_that_is_asked_for_many_times_is_answered_once(server, client, table):
    path, _ = table
    before = resident_mb(server, "VmHWM")
    asked = message((1, wire.table_path(path))) * 150_000  # 12 MB; each answer would have 2 KB and more.
    answer = client.call("tablet", wire.GET_METADATA, asked)
    assert len(answer[3]) == 1
    assert resident_mb(server, "VmHWM") < before + 500


def test_many_bucket_ids_cost_what_they_are(server, client, table):
    _, table_id = table
    before = resident_mb(server, "VmHWM")
    offsets = lambda count: message((1, -1), (2, wire.LATEST), (3, table_id), (5, packed(i % 3 for i in range(count))))
    answer = client.call("tablet", wire.LIST_OFFSETS, offsets(100_000))
    assert len(answer[1]) == 100_000
    refused(lambda: client.call("tablet", wire.LIST_OFFSETS, offsets(BUCKETS_MAX + 1)))
    columns = message((1, table_id), (2, True), (3, packed(i % 3 for i in range(16_000))))
    fetch = lambda count: message((1, -1), (2, 1 << 20), (3, columns + message((4, message((2, 0), (3, 0), (4, 1)))) * count))
    client.call("tablet", wire.FETCH_LOG, fetch(50_000))  # Of its own: 3 GB of columns.
    refused(lambda: client.call("tablet", wire.FETCH_LOG, fetch(BUCKETS_MAX + 1)))
    assert resident_mb(server, "VmHWM") < before + 700


def test_a_lookup_has_so_many_keys(client, table):
    _, table_id = table
    for key in (wire.LOOKUP, PREFIX_LOOKUP):
        lookup = lambda count: message((1, table_id), (2, message((2, 0)) + message((3, b"\1")) * count))
        client.call("tablet", key, lookup(5000), version=1)
        refused(lambda: client.call("tablet", key, lookup(KEYS_MAX + 1), version=1))


@pytest.mark.parametrize("key", [wire.LIST_OFFSETS, wire.FETCH_LOG, wire.LOOKUP, wire.GET_METADATA, PREFIX_LOOKUP,
                                 LIMIT_SCAN, GET_TABLE_STATS])
def test_a_call_without_rows_is_not_huge(server, key):
    connection = Connection(server.tablet_port)
    # Its head is enough to be refused.
    connection.send_raw(struct.pack(">i", (16 << 20) + 1) + struct.pack(">hhi", key, 0, 7))
    kind, request_id, answer = connection.read_response()
    assert (kind, request_id, wire.parse(answer)[1]) == (1, 7, [wire.RECORD_TOO_LARGE])
    connection.close()
