"""Logs whose batches hold rows: written and read by SQL, kept over a kill, moved to the lake and read with it."""
import pytest

COLUMNS = "k INT, s STRING, d DECIMAL(30, 2), t TIMESTAMP(6), a ARRAY<STRING>"
LAKE = "'bucket.num' = '1', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s'"
READ = "SELECT k, s, CAST(d AS STRING), CAST(t AS STRING), a FROM {} ORDER BY k"


def insert(server, table, key, text):
    server.sql(f"INSERT INTO {table} VALUES ({key}, '{text}', -12345678901234567890.12, TIMESTAMP '1969-12-31 23:59:59.999001', "
               "ARRAY['x', CAST(NULL AS STRING)])")


def row(key, text):
    return [key, text, "-12345678901234567890.12", "1969-12-31 23:59:59.999001", ["x", None]]


@pytest.mark.parametrize("log, kv", [("indexed", None), ("compacted", None), ("compacted", "compacted"), ("indexed", "indexed"),
                                     ("compacted", "indexed")])
def test_rows_pass_through_every_reader(server, client, log, kv):
    key = ", PRIMARY KEY (k) NOT ENFORCED" if kv else ""
    kv_format = f", 'table.kv.format' = '{kv}'" if kv else ""
    server.sql(f"CREATE TABLE t ({COLUMNS}{key}) WITH ({LAKE}, 'table.log.format' = '{log}'{kv_format})")
    for number in range(3):
        insert(server, "t", number, f"first{number}")
    assert server.sql(READ.format("t")) == [row(number, f"first{number}") for number in range(3)]
    server.wait_for_lake(client, "fluss.t", {0: 3})
    assert server.sql(READ.format("t$lake")) == [row(number, f"first{number}") for number in range(3)]
    server.kill()
    server.start()
    insert(server, "t", 2 if kv else 3, "second")
    expected = [row(0, "first0"), row(1, "first1")] + ([] if kv else [row(2, "first2")]) + [row(2 if kv else 3, "second")]
    assert server.sql(READ.format("t")) == expected
    assert server.sql("SELECT COUNT(*) FROM t WHERE s = 'second'") == [[1]]
