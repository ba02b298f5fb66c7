"""pyfluss from PyPI, unchanged, against our server; pypaimon then reads from the lake what it wrote."""
import asyncio
import datetime
import decimal
import time

import fluss
import pyarrow as pa
import pytest

import cluster
import lake_check

POLL_MS = 2000
TIMEOUT_S = 180
LAKE_S = 120
TIERED = {"table.datalake.enabled": "true", "table.datalake.freshness": "1s"}


def run(server, scenario, **settings):
    """Run a coroutine function with (connection, admin)."""

    async def main():
        config = fluss.Config({"bootstrap.servers": server.bootstrap, **settings})
        connection = await fluss.FlussConnection.create(config)
        try:
            return await asyncio.wait_for(scenario(connection, connection.get_admin()), TIMEOUT_S)
        finally:
            await connection.close()

    return asyncio.run(main())


def wait_for_lake(server, path, rows):
    """Until the lake holds so many records of the log, over all buckets."""
    deadline = time.monotonic() + LAKE_S
    while server.status()[path]["lake_offset"] != rows:
        assert time.monotonic() < deadline, f"{path} is not in the lake: {server.status()[path]}\n{server.log_tail()}"
        time.sleep(0.2)


async def poll_until(scanner, count):
    """The next `count` records, in the order of each bucket; no record may follow."""
    records, deadline = [], time.monotonic() + TIMEOUT_S / 2
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records came"
        records += list(await scanner.poll(POLL_MS))
    assert len(records) == count
    return records


ALL_TYPES = pa.schema([
    ("id", pa.int32()), ("flag", pa.bool_()), ("tiny", pa.int8()), ("small", pa.int16()), ("big", pa.int64()),
    ("f", pa.float32()), ("d", pa.float64()), ("price", pa.decimal128(12, 2)), ("name", pa.string()),
    ("raw", pa.binary()), ("day", pa.date32()), ("at", pa.timestamp("us")), ("at_utc", pa.timestamp("ms", tz="UTC")),
])


def typed_row(i):
    if i % 5 == 4:
        return {"id": i, **{name: None for name in ALL_TYPES.names[1:]}}
    return {
        "id": i, "flag": i % 2 == 0, "tiny": i % 100, "small": -i, "big": i << 40, "f": i / 4, "d": i / 8,
        "price": decimal.Decimal(f"{i}.25"), "name": f"name {i} é", "raw": bytes([i % 256, 0, 255]),
        "day": datetime.date(2026, 1, 1) + datetime.timedelta(days=i),
        "at": datetime.datetime(2026, 1, 1, 12, 30, 0, i), "at_utc": datetime.datetime(
            2026, 1, 1, 12, 30, tzinfo=datetime.timezone.utc) + datetime.timedelta(milliseconds=i),
    }


def comparable(row):
    """Times as text without zone, so that what went in equals what comes out."""
    return {key: value.isoformat(sep=" ")[:23] if hasattr(value, "hour") else bytes(value) if isinstance(value, bytearray)
            else value for key, value in row.items()}


def test_append_table_write_and_scan(server):
    path = fluss.TablePath("fluss", "events")
    rows = [typed_row(i) for i in range(500)]

    async def scenario(connection, admin):
        descriptor = fluss.TableDescriptor(fluss.Schema(ALL_TYPES), bucket_count=3, properties=TIERED)
        await admin.create_table(path, descriptor)
        assert await admin.list_tables("fluss") == ["events"]
        info = await admin.get_table_info(path)
        assert info.num_buckets == 3 and not info.has_primary_key()
        assert info.get_column_names() == ALL_TYPES.names
        table = await connection.get_table(path)
        writer = table.new_append().create_writer()
        handles = [writer.append(row) for row in rows]
        await writer.flush()
        await asyncio.gather(*[handle.wait() for handle in handles])
        scanner = await table.new_scan().create_log_scanner()
        scanner.subscribe_buckets({bucket: fluss.EARLIEST_OFFSET for bucket in range(3)})
        records = await poll_until(scanner, len(rows))
        offsets = await admin.list_offsets(path, [0, 1, 2], fluss.OffsetSpec.latest())
        return records, offsets

    records, offsets = run(server, scenario)
    assert sum(offsets.values()) == len(rows)
    assert all(record.change_type == fluss.ChangeType.AppendOnly for record in records)
    found = sorted((comparable(record.row) for record in records), key=lambda row: row["id"])
    assert found == [comparable(row) for row in rows]
    wait_for_lake(server, "fluss.events", len(rows))
    lake_check.check_rows(server.warehouse, "fluss.events", rows)


def test_batches_with_statistics_are_written_by_each_and_read_by_the_other(server):
    path = fluss.TablePath("fluss", "counted")
    rows = [typed_row(i) for i in range(200)]

    async def write(connection, admin):
        await admin.create_table(path, fluss.TableDescriptor(
            fluss.Schema(ALL_TYPES), bucket_count=1, properties={"table.statistics.columns": "*"}))
        writer = (await connection.get_table(path)).new_append().create_writer()
        for first in range(0, len(rows), 50):
            for row in rows[first:first + 50]:
                writer.append(row)
            await writer.flush()

    async def read(connection, admin):
        scanner = await (await connection.get_table(path)).new_scan().create_log_scanner()
        scanner.subscribe_buckets({0: fluss.EARLIEST_OFFSET})
        return await poll_until(scanner, len(rows) + 1)

    def skipped():
        return server.metric("sluice_fetch_skipped_batches_total")

    run(server, write)
    before = skipped()
    for condition, count in (("id >= 160", 40), ("name = 'name 7 é'", 1), ("price < 10.25", 9 - 1), ("tiny IS NULL", 40),
                             ("`day` > DATE '2026-07-01'", sum(181 < i and i % 5 != 4 for i in range(200))),
                             ("`at` <= TIMESTAMP '2026-01-01 12:30:00.000049'", 40), ("big = 5", 0)):
        assert server.sql(f"SELECT COUNT(*) FROM counted WHERE {condition}") == [[count]], condition
    assert skipped() > before
    columns = ", ".join(f"`{name}`" for name in ALL_TYPES.names)
    server.sql(f"INSERT INTO counted SELECT {columns} FROM counted WHERE id = 199")
    records = run(server, read)
    assert [comparable(record.row) for record in records] == [comparable(row) for row in rows + rows[-1:]]


def test_projection_sends_the_named_columns_only(server):
    path = fluss.TablePath("fluss", "wide")

    async def scenario(connection, admin):
        await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(ALL_TYPES), bucket_count=1))
        table = await connection.get_table(path)
        async with table.new_append().create_writer() as writer:
            for i in range(100):
                writer.append(typed_row(i))
        scanner = await table.new_scan().project_by_name(["name", "id"]).create_record_batch_log_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        return await scanner.to_arrow()

    found = run(server, scenario)
    assert sorted(found.column_names) == ["id", "name"]
    assert sorted(found["id"].to_pylist()) == list(range(100))
    by_id = dict(zip(found["id"].to_pylist(), found["name"].to_pylist()))
    assert by_id == {i: typed_row(i)["name"] for i in range(100)}


def test_scan_waits_for_what_is_appended_later(server):
    path = fluss.TablePath("fluss", "tail")

    async def scenario(connection, admin):
        schema = fluss.Schema(pa.schema([("id", pa.int64())]))
        await admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=1))
        table = await connection.get_table(path)
        scanner = await table.new_scan().create_log_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        assert (await scanner.poll(300)).is_empty()
        writer = table.new_append().create_writer()
        polling = asyncio.ensure_future(poll_until(scanner, 1))
        await asyncio.sleep(0.2)
        await writer.append({"id": 7}).wait()
        return await polling

    records = run(server, scenario)
    assert [(record.offset, record.row) for record in records] == [(0, {"id": 7})]


PERSON = pa.schema([("id", pa.int32()), ("name", pa.string()), ("age", pa.int64())])


async def make_people(connection, admin, path, buckets=2):
    schema = fluss.Schema(PERSON, primary_keys=["id"])
    await admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=buckets, properties=TIERED))
    return await connection.get_table(path)


def test_primary_key_table_upsert_lookup_and_changelog(server):
    path = fluss.TablePath("fluss", "people")

    async def scenario(connection, admin):
        table = await make_people(connection, admin, path)
        assert table.has_primary_key()
        writer = table.new_upsert().create_writer()
        for i in range(20):
            writer.upsert({"id": i, "name": f"n{i}", "age": i})
        await writer.flush()
        writer.upsert({"id": 3, "name": "renamed", "age": None})
        await writer.flush()
        await writer.delete({"id": 4}).wait()
        lookuper = table.new_lookup().create_lookuper()
        found = [await lookuper.lookup({"id": i}) for i in range(21)]
        scanner = await table.new_scan().create_log_scanner()
        scanner.subscribe_buckets({0: fluss.EARLIEST_OFFSET, 1: fluss.EARLIEST_OFFSET})
        return found, await poll_until(scanner, 20 + 2 + 1)

    found, changes = run(server, scenario)
    expected = [{"id": i, "name": f"n{i}", "age": i} for i in range(20)] + [None]
    expected[3] = {"id": 3, "name": "renamed", "age": None}
    expected[4] = None
    assert found == expected
    of = lambda key: [(c.change_type.short_string(), c.row["name"]) for c in changes if c.row["id"] == key]
    assert of(3) == [("+I", "n3"), ("-U", "n3"), ("+U", "renamed")]
    assert of(4) == [("+I", "n4"), ("-D", "n4")]
    assert of(5) == [("+I", "n5")]
    wait_for_lake(server, "fluss.people", len(changes))
    lake_check.check_keys(server.warehouse, "fluss.people", ["id"], [row for row in expected if row])


def test_partial_update_keeps_the_other_columns(server):
    path = fluss.TablePath("fluss", "partial")

    async def scenario(connection, admin):
        table = await make_people(connection, admin, path)
        writer = table.new_upsert().create_writer()
        await writer.upsert({"id": 1, "name": "a", "age": 10}).wait()
        ages = table.new_upsert().partial_update_by_name(["id", "age"]).create_writer()
        await ages.upsert({"id": 1, "age": 11}).wait()
        await ages.upsert({"id": 2, "age": 22}).wait()
        lookuper = table.new_lookup().create_lookuper()
        return [await lookuper.lookup({"id": i}) for i in (1, 2)]

    expected = [{"id": 1, "name": "a", "age": 11}, {"id": 2, "name": None, "age": 22}]
    assert run(server, scenario) == expected
    wait_for_lake(server, "fluss.partial", 1 + 2 + 1)
    lake_check.check_keys(server.warehouse, "fluss.partial", ["id"], expected)


def test_limit_scan(server):
    path = fluss.TablePath("fluss", "limited")

    async def scenario(connection, admin):
        table = await make_people(connection, admin, path, buckets=1)
        async with table.new_upsert().create_writer() as writer:
            for i in range(50):
                writer.upsert({"id": i, "name": f"n{i}", "age": i})
        bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
        return await table.new_scan().limit(10).create_bucket_batch_scanner(bucket).to_arrow()

    found = run(server, scenario)
    assert found.num_rows == 10
    assert all(row["name"] == f"n{row['id']}" for row in found.to_pylist())
    wait_for_lake(server, "fluss.limited", 50)
    expected = [{"id": i, "name": f"n{i}", "age": i} for i in range(50)]
    lake_check.check_keys(server.warehouse, "fluss.limited", ["id"], expected)


def test_databases_partitions_and_their_errors(server):
    server.announce(cluster.DROPPED_WHILE_TIERED)
    path = fluss.TablePath("shop", "sales")

    async def expect(code, call):
        with pytest.raises(fluss.FlussError) as failed:
            await call
        assert failed.value.error_code == code, failed.value

    async def scenario(connection, admin):
        await admin.create_database("shop")
        assert sorted(await admin.list_databases()) == ["fluss", "shop"]
        await expect(6, admin.create_database("shop"))
        schema = fluss.Schema(pa.schema([("id", pa.int64()), ("day", pa.string())]))
        descriptor = fluss.TableDescriptor(schema, partition_keys=["day"], bucket_count=1, properties=TIERED)
        await admin.create_table(path, descriptor)
        await expect(8, admin.create_table(path, descriptor))
        await expect(7, admin.get_table_info(fluss.TablePath("shop", "nothing")))
        await admin.create_partition(path, {"day": "mon"})
        await expect(42, admin.create_partition(path, {"day": "mon"}))
        # pyfluss 1.0.0 makes no partition by itself (against the Java server neither): a flush would wait for ever.
        await admin.create_partition(path, {"day": "tue"})
        table = await connection.get_table(path)
        async with table.new_append().create_writer() as writer:
            for i in range(10):
                writer.append({"id": i, "day": "mon" if i % 2 else "tue"})
        partitions = {p.partition_name: p.partition_id for p in await admin.list_partition_infos(path)}
        assert set(partitions) == {"mon", "tue"}
        scanner = await table.new_scan().create_log_scanner()
        for partition_id in partitions.values():
            scanner.subscribe_partition(partition_id, 0, fluss.EARLIEST_OFFSET)
        rows = sorted((r.row["id"], r.row["day"]) for r in await poll_until(scanner, 10))
        expected = [{"id": i, "day": "mon" if i % 2 else "tue"} for i in range(10)]
        assert rows == [(row["id"], row["day"]) for row in expected]
        await asyncio.to_thread(wait_for_lake, server, "shop.sales", len(expected))
        lake_check.check_rows(server.warehouse, "shop.sales", expected, partition=["day"])
        await admin.drop_partition(path, {"day": "mon"})
        assert [p.partition_name for p in await admin.list_partition_infos(path)] == ["tue"]
        await expect(5, admin.drop_database("shop", cascade=False))
        await admin.drop_table(path)
        assert not await admin.table_exists(path)
        await admin.drop_database("shop")
        assert not await admin.database_exists("shop")

    run(server, scenario)


def test_rows_are_there_after_a_restart(server):
    log, people = fluss.TablePath("fluss", "kept_log"), fluss.TablePath("fluss", "kept_people")

    async def write(connection, admin):
        schema = fluss.Schema(pa.schema([("id", pa.int64())]))
        await admin.create_table(log, fluss.TableDescriptor(schema, bucket_count=2, properties=TIERED))
        table = await connection.get_table(log)
        async with table.new_append().create_writer() as writer:
            for i in range(1000):
                writer.append({"id": i})
        table = await make_people(connection, admin, people)
        async with table.new_upsert().create_writer() as writer:
            for i in range(100):
                writer.upsert({"id": i, "name": f"n{i}", "age": i})

    async def read(connection, admin):
        table = await connection.get_table(log)
        scanner = await table.new_scan().create_log_scanner()
        scanner.subscribe_buckets({0: fluss.EARLIEST_OFFSET, 1: fluss.EARLIEST_OFFSET})
        ids = sorted(r.row["id"] for r in await poll_until(scanner, 1000))
        lookuper = (await connection.get_table(people)).new_lookup().create_lookuper()
        found = await asyncio.gather(*[lookuper.lookup({"id": i}) for i in range(100)])
        return ids, [row["name"] for row in found]

    run(server, write)
    server.stop()
    server.start()
    expected = (list(range(1000)), [f"n{i}" for i in range(100)])
    assert run(server, read) == expected
    server.kill()
    server.start()
    assert run(server, read) == expected
    wait_for_lake(server, "fluss.kept_log", 1000)
    lake_check.check_rows(server.warehouse, "fluss.kept_log", [{"id": i} for i in range(1000)])
    wait_for_lake(server, "fluss.kept_people", 100)
    people_rows = [{"id": i, "name": f"n{i}", "age": i} for i in range(100)]
    lake_check.check_keys(server.warehouse, "fluss.kept_people", ["id"], people_rows)
