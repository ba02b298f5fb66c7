"""Partitions by time: made when the table is, dropped when they are over, and taking rows like any other."""
import asyncio
import datetime

import fluss
import pyarrow as pa
import pytest

import wire_client
from test_pyfluss import poll_until, run

AUTO = {"table.auto-partition.enabled": "true", "table.auto-partition.time-zone": "UTC"}


def days(offsets, form="%Y%m%d"):
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return [(today + datetime.timedelta(days=offset)).strftime(form) for offset in offsets]


def partitions(server, table):
    return sorted(row[0].split("=")[1] for row in server.sql(f"SHOW PARTITIONS {table}"))


def test_pyfluss_writes_into_the_partitions_that_are_there(server):
    path = fluss.TablePath("fluss", "visits")

    async def scenario(connection, admin):
        schema = fluss.Schema(pa.schema([("id", pa.int64()), ("day", pa.string())]))
        before = days([0, 1])
        descriptor = fluss.TableDescriptor(schema, partition_keys=["day"], bucket_count=1, properties=AUTO)
        await admin.create_table(path, descriptor)
        made = {p.partition_name: p.partition_id for p in await admin.list_partition_infos(path)}
        assert sorted(made) in (before, days([0, 1]))
        table = await connection.get_table(path)
        today, tomorrow = sorted(made)
        async with table.new_append().create_writer() as writer:
            for i in range(100):
                writer.append({"id": i, "day": today if i % 3 else tomorrow})
        scanner = await table.new_scan().create_log_scanner()
        for partition_id in made.values():
            scanner.subscribe_partition(partition_id, 0, fluss.EARLIEST_OFFSET)
        rows = sorted((r.row["id"], r.row["day"]) for r in await poll_until(scanner, 100))
        assert rows == [(i, today if i % 3 else tomorrow) for i in range(100)]
        for wrong in ("mon", days([-8])[0]):  # No day, and one that is over.
            with pytest.raises(fluss.FlussError) as failed:
                await admin.create_partition(path, {"day": wrong})
            assert failed.value.error_code == 43
        await admin.create_partition(path, {"day": days([-2])[0]})

    run(server, scenario)


def test_retention_drops_what_is_over_and_a_restart_changes_nothing(server):
    client = server.client()
    json_text = wire_client.descriptor([("id", "INTEGER", False), ("dt", "DATE", False)], primary_key=["id", "dt"],
                                       partition_key=["dt"],
                                       properties={**AUTO, "table.auto-partition.time-format": "yyyy-MM-dd"})
    client.create_table("fluss.kept", json_text)
    old = days([-6, -3], "%Y-%m-%d")
    for day in old:
        server.sql(f"INSERT INTO kept VALUES (1, DATE '{day}')")
    new = days([0], "%Y-%m-%d")[0]
    server.sql(f"INSERT INTO kept VALUES (2, DATE '{new}')")
    assert set(partitions(server, "kept")) >= {*old, new}
    client.alter_table("fluss.kept", {"table.auto-partition.num-retention": "4"})
    assert old[0] not in partitions(server, "kept") and old[1] in partitions(server, "kept")
    assert sorted(server.sql("SELECT id, CAST(dt AS STRING) FROM kept")) == [[1, old[1]], [2, new]]
    before = partitions(server, "kept")
    server.kill()
    server.start()
    assert set(partitions(server, "kept")) >= set(before)
    client.close()


def test_a_short_interval_fills_what_is_missing(make_server):
    server = make_server(auto_partition__check__interval="200ms").start()
    client = server.client()
    json_text = wire_client.descriptor([("id", "INTEGER", True), ("hour", "STRING", True)], partition_key=["hour"],
                                       properties={**AUTO, "table.auto-partition.time-unit": "HOUR",
                                                   "table.auto-partition.num-precreate": "3"})
    client.create_table("fluss.hourly", json_text)
    first = partitions(server, "hourly")
    assert len(first) >= 3 and all(len(name) == 10 for name in first)
    client.partition(wire_client.DROP_PARTITION, "fluss.hourly", "hour", first[1])

    async def until_there():
        while first[1] not in partitions(server, "hourly"):
            await asyncio.sleep(0.1)

    asyncio.run(asyncio.wait_for(until_there(), 120))
    client.close()


@pytest.mark.parametrize("code, options", [
    (39, {"table.auto-partition.time-unit": "WEEK"}), (39, {"table.auto-partition.time-zone": "Mars/Phobos"}),
    (39, {"table.auto-partition.num-precreate": "many"}), (15, {"table.auto-partition.key": "id"}),
    (15, {"table.auto-partition.time-format": "MM/dd"})])
def test_bad_options_are_refused(server, client, code, options):
    json_text = wire_client.descriptor([("id", "INTEGER", True), ("day", "STRING", True)], partition_key=["day"],
                                       properties={**AUTO, **options})
    with pytest.raises(wire_client.WireError) as refused:
        client.create_table("fluss.bad", json_text)
    assert refused.value.code == code
    assert not client.table_exists("fluss.bad")
