"""A partition of a lake table that is dropped and made again under its old name, for tables of either kind."""
import time

import pytest

from cluster import SqlError

OPTIONS = "('bucket.num'='1', 'table.datalake.enabled'='true', 'table.datalake.freshness'='1s')"
LAKE_TIMEOUT_S = 240


def wait_for_lake(server, table, ids):
    """Until the lake holds these ids; the whole table holds them at every look."""
    deadline = time.monotonic() + LAKE_TIMEOUT_S
    while True:
        assert sorted(row[0] for row in server.sql(f"SELECT id FROM {table}")) == ids
        found = sorted(row[0] for row in server.sql(f"SELECT id FROM {table}$lake"))
        if found == ids:
            return
        assert set(found) < set(ids) and time.monotonic() < deadline, found
        time.sleep(0.2)


def add(table, partition):
    return f"ALTER TABLE {table} ADD PARTITION (p = '{partition}')"


def drop(table, partition):
    return f"ALTER TABLE {table} DROP PARTITION (p = '{partition}')"


def test_append_table_keeps_old_rows_beside_the_new_partition(server):
    server.sql(f"CREATE TABLE logged (id INT, p STRING, v INT) PARTITIONED BY (p) WITH {OPTIONS}")
    server.sql("INSERT INTO logged VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3)")
    wait_for_lake(server, "logged", [1, 2, 3])
    server.sql(drop("logged", "a"))
    wait_for_lake(server, "logged", [1, 2, 3])
    server.sql(add("logged", "a"))
    server.sql("INSERT INTO logged VALUES (4, 'a', 4)")
    wait_for_lake(server, "logged", [1, 2, 3, 4])
    server.sql("INSERT INTO logged VALUES (5, 'a', 5), (6, 'a', 6), (7, 'b', 7)")
    wait_for_lake(server, "logged", [1, 2, 3, 4, 5, 6, 7])
    server.kill()
    server.start()
    wait_for_lake(server, "logged", [1, 2, 3, 4, 5, 6, 7])


def test_keyed_partition_is_not_made_over_rows_of_the_lake(server):
    server.sql("CREATE TABLE keyed (id INT, p STRING, v INT, PRIMARY KEY (id, p) NOT ENFORCED) "
               f"PARTITIONED BY (p) WITH {OPTIONS}")
    server.sql("INSERT INTO keyed VALUES (1, 'a', 1), (2, 'a', 2), (3, 'a', 3), (4, 'b', 4)")
    wait_for_lake(server, "keyed", [1, 2, 3, 4])
    server.sql(drop("keyed", "a"))
    wait_for_lake(server, "keyed", [1, 2, 3, 4])
    by_hand, on_demand = add("keyed", "a"), "INSERT INTO keyed VALUES (2, 'a', 20)"
    for statement in (by_hand, on_demand):
        with pytest.raises(SqlError, match=r"LAKE_TABLE_ALREADY_EXIST.*keyed partition=a path=\S+/keyed"):
            server.sql(statement)
    with pytest.raises(SqlError, match="PARTITION_NOT_EXISTS"):
        server.sql("DELETE FROM keyed WHERE v = 3")
    server.sql("INSERT INTO keyed VALUES (4, 'b', 40), (5, 'c', 5)")
    wait_for_lake(server, "keyed", [1, 2, 3, 4, 5])
    assert sorted(server.sql("SELECT * FROM keyed WHERE p <> 'a'")) == [[4, "b", 40], [5, "c", 5]]


def test_keyed_partition_without_rows_in_the_lake_is_made_again(server):
    options = OPTIONS.replace("1s", "1h")
    server.sql("CREATE TABLE young (id INT, p STRING, v INT, PRIMARY KEY (id, p) NOT ENFORCED) "
               f"PARTITIONED BY (p) WITH {options}")
    server.sql(add("young", "a"))
    server.sql(drop("young", "a"))
    server.sql(add("young", "a"))
    server.sql("INSERT INTO young VALUES (1, 'a', 1)")
    assert server.sql("SELECT * FROM young") == [[1, "a", 1]]
