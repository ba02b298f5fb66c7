"""Reads of the lake alone through SQL: types as the table has them, snapshots by hint."""
import os

import pytest

from cluster import SqlError


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
