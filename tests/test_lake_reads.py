"""Reads of the lake alone through SQL: types as the table has them, snapshots by hint."""
import glob
import json
import os

import pytest

from cluster import Session, SqlError


@pytest.fixture
def tiered(server, client):
    """A table with two snapshots at least, of one row and of two; gives the id of the first."""
    server.sql("CREATE TABLE t (id INT, at TIME(3), r ROW<at TIME(3)>) WITH ('bucket.num' = '1', "
               "'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1s')")
    server.sql("INSERT INTO t VALUES (1, CAST('12:34:56.789' AS TIME(3)), ROW(CAST('01:02:03.004' AS TIME(3))))")
    first = server.wait_for_lake(client, "fluss.t", {0: 1})
    server.sql("INSERT INTO t VALUES (2, NULL, NULL)")
    server.wait_for_lake(client, "fluss.t", {0: 2})
    return first


def test_the_lake_shows_what_the_table_declares(server, tiered):
    row = [1, "12:34:56.789", {"at": "01:02:03.004"}]
    for table in ["t", "t$lake", f"t FOR SYSTEM_VERSION AS OF {tiered}"]:
        assert server.sql(f"SELECT * FROM {table} WHERE id = 1") == [row], table
        seen = server.sql(f"SELECT CAST(at AS STRING), at = CAST('12:34:56.789' AS TIME(3)) FROM {table} WHERE id = 1")
        assert seen == [["12:34:56.789", True]], table


def test_hints_choose_a_snapshot(server, tiered):
    hint = f"/*+ OPTIONS('scan.snapshot-id' = '{tiered}') */"
    for table in ["t", "t$lake"]:
        assert server.sql(f"SELECT id FROM {table} {hint}") == [[1]], table
    assert server.sql("SELECT id FROM t /*+ OPTIONS('scan.timestamp-millis' = '4102444800000') */ ORDER BY id") == [[1], [2]]
    for option in ["'scan.snapshot-id' = '999999'", "'scan.timestamp-millis' = '1'"]:
        with pytest.raises(SqlError, match="LAKE_SNAPSHOT_NOT_EXIST"):
            server.sql(f"SELECT id FROM t /*+ OPTIONS({option}) */")
    with pytest.raises(SqlError, match="option is not supported, key=scan.tag-name"):
        server.sql("SELECT id FROM t /*+ OPTIONS('scan.tag-name' = 'x') */")


def test_a_catalog_of_any_name_has_snapshots_and_times_in_words(server, tiered):
    session = Session(server)
    session.run(f"CREATE CATALOG `my-catalog` WITH ('type' = 'fluss', 'bootstrap.servers' = '{server.bootstrap}')")
    session.run("USE CATALOG `my-catalog`; USE fluss")
    assert session.run("SHOW CURRENT CATALOG")[1] == [["my-catalog"]]
    columns, rows = session.run("SELECT snapshot_id, commit_kind, total_record_count, commit_time FROM t$lake$snapshots "
                                "ORDER BY snapshot_id")
    assert [column["name"] for column in columns] == ["snapshot_id", "commit_kind", "total_record_count", "commit_time"]
    found = [json.load(open(path)) for path in glob.glob(f"{server.warehouse}/fluss.db/t/snapshot/snapshot-*")]
    found = sorted([str(s["id"]), s["commitKind"], str(s["totalRecordCount"])] for s in found)
    assert len(found) >= 2 and sorted([str(i), kind, str(count)] for i, kind, count, _ in rows) == found

    time_of_first, = (time for i, _, _, time in rows if int(i) == tiered)
    for table in ("t", "t$lake", "`my-catalog`.fluss.t", "fluss_catalog.fluss.t$lake"):
        for words in (f"TIMESTAMP AS OF '{time_of_first}'", f"SYSTEM_TIME AS OF TIMESTAMP '{time_of_first}'"):
            assert session.run(f"SELECT id FROM {table} FOR {words}")[1] == [[1]], (table, words)
    assert session.run("SELECT COUNT(*) FROM t FOR TIMESTAMP AS OF '2100-01-01 00:00:00'")[1] == [[2]]
    with pytest.raises(SqlError, match="LAKE_SNAPSHOT_NOT_EXIST"):
        session.run("SELECT id FROM t FOR TIMESTAMP AS OF '2020-01-01 00:00:00'")
    with pytest.raises(SqlError, match="catalog does not exist, name=other"):
        session.run("SELECT id FROM other.fluss.t")


def test_reads_of_a_lake_write_nothing_but_one_pin(make_server):
    server = make_server().start()
    client = server.client()
    server.sql("CREATE TABLE t (id INT) WITH ('bucket.num' = '1', 'table.datalake.enabled' = 'true', "
               "'table.datalake.freshness' = '1s')")
    server.sql("INSERT INTO t VALUES (1)")
    server.wait_for_lake(client, "fluss.t", {0: 1})
    client.close()
    folder = f"{server.warehouse}/fluss.db/t"
    pins, sessions = set(), set()
    for _ in range(20):
        assert server.sql("SELECT COUNT(*), (SELECT COUNT(*) FROM t$lake) FROM t") == [[1, 1]]
        pins |= {(name, os.stat(f"{folder}/consumer/{name}").st_mtime_ns) for name in os.listdir(f"{folder}/consumer")}
        sessions |= set(os.listdir(f"{folder}/.sluice"))
    assert 1 <= len(pins) <= 2, pins  # A slow machine may take longer than a pin is kept without a look.
    assert len(sessions) <= 4, sessions  # Of the pin, and of tiering's last works.
    server.stop()
    assert os.listdir(f"{folder}/consumer") == []
