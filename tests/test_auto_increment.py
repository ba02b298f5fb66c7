"""Auto-increment columns: every new key gets a value of its own, over buckets, partitions, restarts and kills."""
import threading

import pytest

from cluster import SqlError


def create(server, table, size, more=""):
    server.sql(f"CREATE TABLE {table} (name STRING, v INT, uid BIGINT, PRIMARY KEY (name) NOT ENFORCED) WITH "
               f"('bucket.num'='3', 'auto-increment.fields'='uid', 'table.auto-increment.cache-size'='{size}'{more})")


def insert(server, table, names, v=0):
    values = ", ".join(f"('{name}', {v})" for name in names)
    server.sql(f"INSERT INTO {table} (name, v) VALUES {values}")


def ids(server, table):
    rows = {name: uid for name, uid in server.sql(f"SELECT name, uid FROM {table}")}
    assert len(set(rows.values())) == len(rows) and all(uid >= 1 for uid in rows.values()), rows
    return rows


def test_updates_keep_their_id_and_new_rows_get_new_ones(server):
    create(server, "users", 10)
    insert(server, "users", [f"n{i}" for i in range(100)])
    first = ids(server, "users")
    insert(server, "users", [f"n{i}" for i in range(50, 150)], v=7)
    second = ids(server, "users")
    assert {name: second[name] for name in first} == first and len(second) == 150
    assert server.sql("SELECT COUNT(*) FROM users WHERE v = 7") == [[100]]
    for columns, values in (("", "('x', 1, 5)"), ("(name, uid)", "('x', 5)")):
        with pytest.raises(SqlError, match="INVALID_TARGET_COLUMN"):
            server.sql(f"INSERT INTO users {columns} VALUES {values}")
    assert ids(server, "users") == second


def test_update_and_delete_by_sql_keep_the_ids(server):
    create(server, "changed", 10)
    insert(server, "changed", [f"n{i}" for i in range(40)])
    first = ids(server, "changed")
    server.sql("UPDATE changed SET v = 5 WHERE v = 0 AND name <> 'n7'")
    server.sql(f"UPDATE changed SET v = CAST(uid AS INT) + 100 WHERE uid = {first['n3']}")
    assert ids(server, "changed") == first
    assert server.sql("SELECT COUNT(*) FROM changed WHERE v = 5") == [[38]]
    assert server.sql("SELECT v FROM changed WHERE name = 'n3'") == [[first["n3"] + 100]]
    with pytest.raises(SqlError, match="INVALID_TARGET_COLUMN.*column=uid line=1, column=26"):
        server.sql("UPDATE changed SET uid = 5 WHERE name = 'n1'")

    server.sql(f"DELETE FROM changed WHERE uid = {first['n3']} OR name = 'n7'")
    left = ids(server, "changed")
    assert left == {name: uid for name, uid in first.items() if name not in ("n3", "n7")}
    insert(server, "changed", ["n3"])
    assert ids(server, "changed")["n3"] > max(first.values())  # A new row, with a new id.
    server.kill()
    server.start()
    assert set(ids(server, "changed")) == set(left) | {"n3"}
    server.sql("DELETE FROM changed")
    assert server.sql("SELECT COUNT(*) FROM changed") == [[0]]


def test_no_id_is_given_twice_over_kills(server):
    create(server, "events", 5, ", 'table.datalake.enabled'='true', 'table.datalake.freshness'='1s'")
    known, number = {}, 0
    for _ in range(4):
        for _ in range(5):
            insert(server, "events", [f"e{number + i}" for i in range(7)])
            number += 7
        now = ids(server, "events")
        assert {name: now[name] for name in known} == known and len(now) == number
        known = now
        server.kill()
        server.start()
    assert ids(server, "events") == known


def test_a_kill_while_writers_run(server):
    create(server, "busy", 3)
    stop = threading.Event()
    written = [[], []]

    def write(writer):
        number = 0
        while not stop.is_set():
            names = [f"w{writer}-{number + i}" for i in range(4)]
            number += 4
            try:
                insert(server, "busy", names)
                written[writer] += names
            except (SqlError, OSError):
                return

    threads = [threading.Thread(target=write, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    while not all(len(names) >= 40 for names in written):
        assert any(thread.is_alive() for thread in threads)
        stop.wait(0.05)
    server.kill()
    stop.set()
    for thread in threads:
        thread.join()
    server.start()
    before = ids(server, "busy")
    assert set(before) >= set(written[0] + written[1])
    insert(server, "busy", [f"after-{i}" for i in range(50)])
    after = ids(server, "busy")
    assert {name: after[name] for name in before} == before and len(after) == len(before) + 50
