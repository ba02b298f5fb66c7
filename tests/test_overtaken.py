"""Queries while retention cuts the log under them and its rows move to the lake: each answer is exact for one point of the
log, though what was planned to be read was gone and the read had to be planned anew."""
import os
import random
import threading
import time

import wire_client as wire
import workload

SEED = int(os.environ.get("SLUICE_TEST_SEED", "0")) or random.randrange(1, 1 << 30)
ROUNDS_MAX = 8
BATCHES = 100  # Of each writer in a round: several segments.
NUMBERS = 6000
SLOW_S = 4  # Longer than a small round of tiering and a look for what may be cut.
SLOW = """
    SELECT COUNT(*) FROM (SELECT n FROM numbers WHERE n < 300) a CROSS JOIN (SELECT n FROM numbers WHERE n < 300) b
    CROSS JOIN (SELECT n FROM numbers WHERE n < {slowness}) c WHERE a.n + b.n + c.n < 0"""
# Only when the inner query has given its 0, which takes a while, is the log read, which was fixed before.
STATEMENT = "SELECT COUNT(*), SUM(v) FROM (SELECT {column} AS v FROM {table}) WHERE v >= ({slow})"


def slow_query(server):
    """A query that gives 0 and takes about SLOW_S on this machine."""
    first = 100
    started = time.monotonic()
    server.sql(SLOW.format(slowness=first))
    wanted = SLOW_S / (time.monotonic() - started)
    return SLOW.format(slowness=min(NUMBERS, max(first, int(wanted * first))))


class Reader(threading.Thread):
    """Asks until it is told to end, at least once; `check` judges count and sum."""

    def __init__(self, server, table, column, slow, check):
        super().__init__(daemon=True)
        self.server, self.check = server, check
        self.statement = STATEMENT.format(table=table, column=column, slow=slow)
        self.ended, self.failure, self.answers = threading.Event(), None, 0

    def run(self):
        try:
            while not self.ended.is_set():
                count, total = (int(value or 0) for value in self.server.sql(self.statement)[0])
                self.check(count, total)
                self.answers += 1
        except Exception as error:  # Shown by the test.
            self.failure = error

    def end(self):
        self.ended.set()
        self.join(120)
        assert not self.is_alive()
        if self.failure is not None:
            raise AssertionError(f"query failed: {self.failure!r}") from self.failure


def check_prefix(count, total):
    assert total == count * (count - 1) // 2, f"{count} rows are not the first ones, sum {total}"


def planned_anew(server):
    """Reads of the running process that began anew, by its metrics."""
    return int(server.metric("sluice_sql_reads_planned_anew_total"))


def anew_in_log(server, table_id, path):
    """Lines that tell of such a read of one table."""
    with open(server.log_path, errors="replace") as log:
        return sum("planned anew" in line and (f"table_id={table_id} " in line or f"table={path} " in line) for line in log)


def test_queries_stay_exact_while_the_log_is_cut(make_server):
    print(f"SLUICE_TEST_SEED={SEED}")
    server = make_server(log__segment__file_size="8kb", log__retention__check_interval="50ms", sql__threads=1).start()
    server.sql("CREATE TABLE numbers (n INT)")
    server.sql("INSERT INTO numbers VALUES " + ", ".join(f"({i})" for i in range(NUMBERS)))
    client = server.client()
    # An hour: the rows stay in the log until a start, which tiers what it finds at once.
    properties = {**workload.lake_properties("1h"), "table.log.ttl": "1ms"}
    client.create_table("fluss.rows", wire.descriptor(workload.LOG_COLUMNS, properties=properties))
    client.create_table("fluss.keys", wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"], properties=properties))
    rows_id, keys_id = client.table_info("fluss.rows")[0], client.table_info("fluss.keys")[0]
    # One writer, one bucket, ids without gaps: every point of the log is the first n ids.
    log_writer = workload.LogWriter(server, rows_id, 1, 0, SEED, "fluss.rows")
    key_writer = workload.KeyWriter(server, keys_id, 1, 0, 1, SEED, "fluss.keys")
    writers = (log_writer, key_writer)
    for writer in writers:
        writer.start()
    slow = slow_query(server)
    counted = 0
    try:
        for number in range(ROUNDS_MAX):
            enough = [writer.batches + BATCHES for writer in writers]
            for writer in writers:
                writer.resume()
            deadline = time.monotonic() + 120
            while any(writer.batches < batches for writer, batches in zip(writers, enough)):
                time.sleep(0.05)
                assert server.running() and time.monotonic() < deadline, f"writers stand still\n{server.log_tail()}"
                for writer in writers:
                    writer.raise_failure()
            for writer in writers:
                writer.pause()
            # A clean start trusts the whole log, so that retention may take all that is in the lake at once.
            client.close()
            server.stop()
            server.start()
            readers = [Reader(server, "rows", "id", slow, check_prefix),
                       Reader(server, "keys", "version", slow, lambda count, total: None)]
            for reader in readers:
                reader.start()
            ends = {"fluss.rows": client.end_offset(rows_id, 0), "fluss.keys": client.end_offset(keys_id, 0)}
            for path, end in ends.items():
                server.wait_for_lake(client, path, {0: end})
            for reader in readers:
                reader.end()
                assert reader.answers > 0
            counted += planned_anew(server)
            acknowledged = sum(len(rows) for _, _, rows in log_writer.acknowledged)
            count, total = (int(value) for value in server.sql("SELECT COUNT(*), SUM(id) FROM rows")[0])
            assert count == acknowledged
            check_prefix(count, total)
            workload.check_keys_by_sql(server, "keys", key_writer.state)
            anew = [anew_in_log(server, rows_id, "fluss.rows"), anew_in_log(server, keys_id, "fluss.keys")]
            print(f"round {number}: reads planned anew so far: {counted}, of rows and keys: {anew}")
            if all(anew):
                break
    finally:
        for writer in writers:
            writer.end()
        client.close()
    assert all(anew), anew
    assert counted >= sum(anew)
    with open(server.log_path, errors="replace") as log:
        lines = log.readlines()
    for table_id in (rows_id, keys_id):
        assert any("deleted expired log segments" in line and f"table_id={table_id} " in line for line in lines)
