"""A table's lake is switched off and on again, and its log expires meanwhile: it can be read all the time, and tiering
goes on, with a record of what the lake will never have."""
import re
import time

import wire_client as wire

ROWS = 400
PAD = "x" * 100


def wait_for(check, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def insert(server, table, first, count):
    for at in range(first, first + count, 20):
        rows = ", ".join(f"({n}, '{PAD}')" for n in range(at, min(at + 20, first + count)))
        server.sql(f"INSERT INTO {table} VALUES {rows}")


def earliest(client, table_id):
    return client.offset_of(table_id, 0, wire.EARLIEST)


def test_lake_is_off_while_the_log_expires(make_server):
    server = make_server(log__segment__file_size="1kb", log__retention__check_interval="50ms").start()
    server.announce(r"W log records expired before they were in the lake table=fluss\.events ")
    lake = ("'bucket.num' = '1', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1s', "
            "'table.log.ttl' = '1ms'")
    server.sql(f"CREATE TABLE events (n INT, pad STRING) WITH ({lake})")
    server.sql(f"CREATE TABLE users (n INT PRIMARY KEY NOT ENFORCED, pad STRING) WITH ({lake})")
    client = server.client()
    for table in ("events", "users"):
        insert(server, table, 0, 100)
        server.wait_for_lake(client, f"fluss.{table}", {0: 100})
        server.sql(f"ALTER TABLE {table} SET ('table.datalake.enabled' = 'false')")
        insert(server, table, 100, ROWS)
    ids = {table: client.table_info(f"fluss.{table}")[0] for table in ("events", "users")}
    # A clean start trusts the whole log, so that retention may take all that has expired at once.
    client.close()
    server.stop()
    server.start()
    wait_for(lambda: earliest(client, ids["events"]) > 100, "the log did not expire")

    def events():
        return [int(row[0]) for row in server.sql("SELECT n FROM events ORDER BY n")]

    def check_reads():
        read = events()
        start = read[100]
        assert read == list(range(100)) + list(range(start, 100 + ROWS))
        return start

    # What expires under the read leaves a later start; what is read is a whole tail.
    start = check_reads()
    assert start > 100
    assert any("expired before it was in the lake [100, " in line
               for row in server.sql("EXPLAIN SELECT * FROM events") for line in row)
    assert server.sql("SELECT COUNT(*), SUM(n) FROM users")[0] == [100 + ROWS, sum(range(100 + ROWS))]
    # A changelog stays, also when nobody has told its replica yet where the lake ends.
    assert earliest(client, ids["users"]) <= 100
    for table in ("events", "users"):
        server.sql(f"ALTER TABLE {table} SET ('table.datalake.enabled' = 'true')")
        insert(server, table, 100 + ROWS, 10)
        server.wait_for_lake(client, f"fluss.{table}", {0: 110 + ROWS})
    read = events()
    start = read[100]
    assert read == list(range(100)) + list(range(start, 110 + ROWS))
    users = "SELECT COUNT(*), SUM(n) FROM users"
    expected = [110 + ROWS, sum(range(110 + ROWS))]
    assert server.sql(users)[0] == expected
    assert server.sql(users.replace("users", "users$lake"))[0] == expected

    def gaps():
        return {path.removeprefix("fluss."): table["gaps"] for path, table in server.status().items()}

    gap = {"partition": "", "bucket": 0, "from": 100, "to": start}
    wait_for(lambda: gaps()["events"] == [gap], f"no gap is shown: {gaps()}")
    assert gaps()["users"] == []
    shown = re.search(r'^sluice_tiering_gap_records\{[^}]*table="events"\} (\S+)', server.metrics(), flags=re.M)
    assert float(shown.group(1)) == start - 100
    client.close()
    server.stop()
    server.start()
    wait_for(lambda: gaps()["events"] == [gap], "the gap is forgotten after a start")
