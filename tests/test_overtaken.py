"""Queries while retention cuts the log under them and the lake expires: each answer is exact for one point of the log,
however often the read had to be planned anew."""
import os
import random
import threading
import time

import wire_client as wire
import workload

SEED = int(os.environ.get("SLUICE_TEST_SEED", "0")) or random.randrange(1, 1 << 30)
ROUNDS = 4
COPIES = 6  # Scans of one statement, one after another: the later ones find the log cut.


class Reader(threading.Thread):
    """Asks again and again; `check` judges count and sum of one copy of the table."""

    def __init__(self, server, table, column, check):
        super().__init__(daemon=True)
        scans = " UNION ALL ".join([f"SELECT {column} AS v FROM {table}"] * COPIES)
        self.server, self.check = server, check
        self.statement = f"SELECT COUNT(*), SUM(v) FROM ({scans})"
        self.ended, self.failure, self.answers = threading.Event(), None, 0

    def run(self):
        try:
            while not self.ended.is_set():
                count, total = (int(value or 0) for value in self.server.sql(self.statement)[0])
                assert count % COPIES == 0 and total % COPIES == 0, f"scans differ: {count} rows, sum {total}"
                self.check(count // COPIES, total // COPIES)
                self.answers += 1
        except Exception as error:  # Shown by the test.
            self.failure = error

    def end(self):
        self.ended.set()
        self.join(120)
        if self.failure is not None:
            raise AssertionError(f"query failed: {self.failure!r}") from self.failure


def check_prefix(count, total):
    assert total == count * (count - 1) // 2, f"{count} rows are not the first ones, sum {total}"


def test_queries_stay_exact_while_the_log_is_cut(make_server):
    print(f"SLUICE_TEST_SEED={SEED}")
    server = make_server(log__segment__file_size="8kb", log__retention__check_interval="50ms").start()
    client = server.client()
    properties = {**workload.lake_properties("200ms"), "table.log.ttl": "1ms"}
    client.create_table("fluss.rows", wire.descriptor(workload.LOG_COLUMNS, properties=properties))
    client.create_table("fluss.keys", wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"], properties=properties))
    rows_id, keys_id = client.table_info("fluss.rows")[0], client.table_info("fluss.keys")[0]
    # One writer, one bucket, ids without gaps: every point of the log is the first n ids.
    log_writer = workload.LogWriter(server, rows_id, 1, 0, SEED, "fluss.rows")
    key_writer = workload.KeyWriter(server, keys_id, 1, 0, 1, SEED, "fluss.keys")
    for writer in (log_writer, key_writer):
        writer.start()
    try:
        for writer, path, table_id in ((log_writer, "fluss.rows", rows_id), (key_writer, "fluss.keys", keys_id)):
            writer.resume()
            time.sleep(0.5)
            writer.pause()
            server.wait_for_lake(client, path, {0: client.end_offset(table_id, 0)})
        for _ in range(ROUNDS):
            # A clean start trusts the whole log, so that retention may take all that is in the lake at once.
            server.stop()
            server.start()
            readers = [Reader(server, "rows", "id", check_prefix),
                       Reader(server, "keys", "version", lambda count, total: None)]
            for reader in readers:
                reader.start()
            for writer in (log_writer, key_writer):
                writer.resume()
            time.sleep(2)
            for reader in readers:
                reader.end()
                assert reader.answers > 0
            for writer in (log_writer, key_writer):
                writer.pause()
            acknowledged = sum(len(rows) for _, _, rows in log_writer.acknowledged)
            count, total = (int(value) for value in server.sql("SELECT COUNT(*), SUM(id) FROM rows")[0])
            assert count == acknowledged
            check_prefix(count, total)
            workload.check_keys_by_sql(server, "keys", key_writer.state)
    finally:
        for writer in (log_writer, key_writer):
            writer.end()
    with open(server.log_path, errors="replace") as log:
        lines = log.readlines()
    for table_id in (rows_id, keys_id):
        assert any("deleted expired log segments" in line and f"table_id={table_id} " in line for line in lines)
    print("reads planned anew:", sum("planned anew" in line for line in lines))
