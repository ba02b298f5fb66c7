"""A statement reads each table at one point, however often it names it and while rows arrive: what compares a table with
itself finds no difference."""
import os
import random
import threading
import time

import pytest

import wire_client as wire
import workload

SEED = int(os.environ.get("SLUICE_TEST_SEED", "0")) or random.randrange(1, 1 << 30)
BUCKETS = 3
SECONDS = 3
PAUSE_S = 0.05  # Between a writer's batches: the table must not grow faster than the slowest build can read it.
NO_DIFFERENCE = [
    ("SELECT COUNT(*) - (SELECT COUNT(*) FROM t), SUM({v}) - (SELECT SUM({v}) FROM t) FROM t", [[0, 0]]),
    ("SELECT COUNT(*) FROM t a FULL JOIN t b ON a.id = b.id WHERE a.id IS NULL OR b.id IS NULL OR a.{v} <> b.{v}", [[0]]),
    ("WITH c AS (SELECT id, {v} AS v FROM t) SELECT COUNT(*) FROM c x LEFT JOIN c y ON x.id = y.id AND x.v = y.v "
     "WHERE y.id IS NULL", [[0]]),
    ("SELECT id, {v}, text FROM t EXCEPT SELECT id, {v}, text FROM t", []),
    ("SELECT COUNT(*) FROM t WHERE id NOT IN (SELECT id FROM t)", [[0]]),
    ("SELECT COUNT(*) FROM (SELECT MAX({v}) AS m FROM t) CROSS JOIN t WHERE t.{v} > m", [[0]]),
]
LAKE = workload.lake_properties("200ms")
TABLES = {  # Name: primary key, properties.
    "keys": (True, {}),
    "keys_and_lake": (True, LAKE),
    "keys_without_old_rows": (True, {"table.changelog.image": "WAL"}),
    "log": (False, {}),
    "log_and_lake": (False, LAKE),
    "log_being_cut": (False, {"table.log.ttl": "1ms"}),
}


class Reader(threading.Thread):
    """Asks until the time is over; every answer must be the one of no difference."""

    def __init__(self, server, column, seed):
        super().__init__(daemon=True)
        self.server, self.column, self.random = server, column, random.Random(seed)
        self.failure, self.answers = None, 0

    def run(self):
        deadline = time.monotonic() + SECONDS
        try:
            while time.monotonic() < deadline or self.answers < len(NO_DIFFERENCE):
                query, expected = NO_DIFFERENCE[self.answers % len(NO_DIFFERENCE)]
                rows = self.server.sql(query.format(v=self.column))
                rows = [[workload.sql_value(value) or 0 for value in row] for row in rows]
                assert rows == expected, f"{query}: {rows}"
                self.answers += 1
        except Exception as error:  # Shown by the test.
            self.failure = error


@pytest.mark.parametrize("name", TABLES)
def test_a_table_equals_itself_while_rows_arrive(make_server, name):
    print(f"SLUICE_TEST_SEED={SEED}")
    keyed, properties = TABLES[name]
    server = make_server(log__segment__file_size="64kb", log__retention__check_interval="1s").start()
    client = server.client()
    columns = workload.KEY_COLUMNS if keyed else workload.LOG_COLUMNS
    client.create_table("fluss.t", wire.descriptor(columns, primary_key=["id"] if keyed else (), bucket_key=["id"],
                                                   buckets=BUCKETS, properties=properties))
    table = client.table_info("fluss.t")[0]
    writers = [workload.KeyWriter(server, table, BUCKETS, number, 2, SEED + number, "fluss.t", keys=2000) if keyed else
               workload.LogWriter(server, table, BUCKETS, number, SEED + number, "fluss.t") for number in range(2)]
    readers = [Reader(server, "version" if keyed else "writer", SEED + number) for number in range(2)]
    try:
        for thread in writers:
            thread.pause_s = PAUSE_S
            thread.start()
            thread.resume()
        for writer in writers:
            writer.wait_until_it_writes()
        for thread in readers:
            thread.start()
        for reader in readers:
            reader.join(120)
            if reader.failure is not None:
                raise AssertionError(f"{name}: {reader.failure}") from reader.failure
            assert not reader.is_alive()
        for writer in writers:
            writer.pause()
        if keyed:
            workload.check_keys_by_sql(server, "t", workload.merged_state(writers))
    finally:
        for writer in writers:
            writer.end()
    client.close()


def test_an_insert_from_its_own_table_does_not_read_what_it_writes(make_server):
    server = make_server().start()
    server.sql("CREATE TABLE t (id BIGINT, n INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num' = '8')")
    server.sql("INSERT INTO t VALUES " + ", ".join(f"({i}, 0)" for i in range(1000)))
    rows = 1000
    for _ in range(6):
        server.sql(f"INSERT INTO t SELECT id + {rows}, n + 1 FROM t")
        rows *= 2
        assert server.sql("SELECT COUNT(*), MIN(id), MAX(id) FROM t") == [[rows, 0, rows - 1]]
