"""Tables of the aggregation merge engine by SQL: as Flink's DDL makes them, through the lake, over a kill."""
import pytest

from cluster import SqlError

COLUMNS = ("k INT, n BIGINT, price DECIMAL(10, 2), names STRING, ok BOOLEAN, seen TIMESTAMP(3), last STRING")


def create(server, table, more=""):
    server.sql(f"CREATE TABLE {table} ({COLUMNS}, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '1', "
               "'table.merge-engine' = 'aggregation', 'fields.n.agg' = 'sum', 'fields.price.agg' = 'max', "
               "'fields.names.agg' = 'listagg', 'fields.names.listagg.delimiter' = '; ', 'fields.ok.agg' = 'bool_and', "
               f"'fields.seen.agg' = 'min'{more})")


def insert(server, table, key, n, price, name, ok, day, last):
    server.sql(f"INSERT INTO {table} VALUES ({key}, {n}, {price}, '{name}', {ok}, "
               f"TIMESTAMP '2026-01-0{day} 00:00:00', {last})")


def test_columns_are_folded_over_kills_and_through_the_lake(server, client):
    create(server, "totals", ", 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s'")
    for key in (1, 2, 3):
        insert(server, "totals", key, 5, "1.50", "a", "TRUE", 3, "'first'")
    insert(server, "totals", 1, 7, "9.25", "b", "TRUE", 2, "CAST(NULL AS STRING)")
    rows = "SELECT k, n, CAST(price AS STRING), names, ok, CAST(seen AS STRING), last FROM totals ORDER BY k"
    first = [1, 12, "9.25", "a; b", True, "2026-01-02 00:00:00.000", "first"]
    others = [[key, 5, "1.50", "a", True, "2026-01-03 00:00:00.000", "first"] for key in (2, 3)]
    assert server.sql(rows) == [first] + others
    server.wait_for_lake(client, "fluss.totals", {0: 5})
    server.kill()
    server.start()
    assert server.sql(rows) == [first] + others
    # What is folded in now meets rows that the lake has too.
    insert(server, "totals", 1, 1, "2.00", "c", "FALSE", 9, "'last'")
    assert server.sql(rows)[0] == [1, 13, "9.25", "a; b; c", False, "2026-01-02 00:00:00.000", "last"]
    server.sql("INSERT INTO totals (k, n) VALUES (2, 100), (4, 1)")  # A partial update.
    assert server.sql("SELECT k, n, names FROM totals ORDER BY k") == [
        [1, 13, "a; b; c"], [2, 105, "a"], [3, 5, "a"], [4, 1, None]]


def test_tables_that_cannot_be(server):
    for more, wrong in ((", 'fields.last.agg' = 'sum'", "column=last"), (", 'fields.last.agg' = 'avg'", "avg"),
                        (", 'table.changelog.image' = 'wal'", "table.changelog.image"),
                        (", 'fields.n.sum.delimiter' = ','", "delimiter"), (", 'fields.k.agg' = 'max'", "primary key")):
        with pytest.raises(SqlError, match=wrong):
            create(server, "wrong", more)
    create(server, "kept")
    with pytest.raises(SqlError, match="merge engine"):
        server.sql("UPDATE kept SET n = 1 WHERE k = 1")
