"""Writers that know exactly what was acknowledged, and checks that the server has it.

A writer sends one batch at a time and repeats it, with its writer id and sequence, until it is acknowledged: over kills
of the server too. So while a writer is paused every row that it made is acknowledged, exactly once.
"""
import math
import random
import threading
import time

import pyarrow as pa

import wire_client as wire
from wire_client import Disconnected, WireError

LOG_COLUMNS = [("id", "BIGINT", False), ("writer", "INTEGER", True), ("text", "STRING", True)]
LOG_SCHEMA = pa.schema([("id", pa.int64()), ("writer", pa.int32()), ("text", pa.string())])
KEY_COLUMNS = [("id", "BIGINT", False), ("version", "BIGINT", True), ("text", "STRING", True)]
KEY_SCHEMA = pa.schema([("id", pa.int64()), ("version", pa.int64()), ("text", pa.string())])
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 1, 2, 3, 4
RETRY_S = 0.01


def lake_properties(freshness="1s"):
    return {"table.datalake.enabled": "true", "table.datalake.freshness": freshness}


def log_batch_of(first, count):
    """Rows of LOG_SCHEMA that can be told apart, as one batch."""
    return wire.log_batch(pa.RecordBatch.from_pylist(
        [{"id": i, "writer": 0, "text": f"row {i} {i * 7919 % 99991}"} for i in range(first, first + count)], LOG_SCHEMA))


class Writer(threading.Thread):
    """Base of the writers: the loop, pausing, repeating."""

    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.client = server.client()
        self.random = random.Random(seed)
        self.go, self.idle, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.failure = None
        self.last_ack = 0.0
        self.batches = 0
        self.pause_s = 0.0  # Between batches.
        self.batches_left = math.inf  # Until the next call of resume.

    def run(self):
        try:
            while not self.ended.is_set():
                if not self.go.is_set():
                    self.idle.set()
                    self.go.wait(0.05)
                    continue
                if self.batches_left <= 0:
                    time.sleep(0.01)
                    continue
                self.batches_left -= 1
                self.step()
                self.last_ack = time.monotonic()
                self.batches += 1
                time.sleep(self.pause_s)
        except Exception as error:  # Shown by the test, which polls `failure`.
            self.failure = error
            self.idle.set()

    def until_acknowledged(self, call):
        """Repeat `call` over lost connections and retriable errors."""
        while True:
            try:
                return call()
            except Disconnected:
                pass
            except WireError as error:
                if error.code not in wire.RETRIABLE:
                    raise
            if self.ended.is_set():
                raise AssertionError("ended while a batch was not acknowledged")
            time.sleep(RETRY_S)

    def resume(self, batches=math.inf):
        """Write on, so many batches at most."""
        self.batches_left = batches
        self.idle.clear()
        self.go.set()

    def wait_until_it_writes(self, timeout_s=180):
        """Its first batch takes seconds on a busy machine: pyarrow imports what it needs then."""
        deadline = time.monotonic() + timeout_s
        while not self.batches:
            self.raise_failure()
            assert time.monotonic() < deadline, f"{self.name} wrote nothing"
            time.sleep(0.01)

    def pause(self, timeout_s=180):
        """Wait until everything sent is acknowledged."""
        self.go.clear()
        assert self.idle.wait(timeout_s), f"{self.name} gets no acknowledgement: {self.client.open}"
        self.raise_failure()

    def raise_failure(self):
        if self.failure is not None:
            raise AssertionError(f"{type(self).__name__} failed: {self.failure!r}") from self.failure

    def end(self):
        self.go.clear()
        self.ended.set()
        self.join(60)
        self.client.close()


class LogWriter(Writer):
    """Appends batches of rows with unique ids to random buckets of a log table."""

    def __init__(self, server, table_id, buckets, number, seed, path):
        super().__init__(server, seed)
        self.table_id, self.buckets, self.number, self.path = table_id, buckets, number, path
        self.writer_id = None
        self.sequences = {}
        self.next_id = number * 1_000_000_000
        self.sent = []          # [row]
        self.acknowledged = []  # (bucket, base offset, [row])
        self.sizes = (1, 1, 5, 50, 300)  # Rows of a batch.

    def step(self):
        if self.writer_id is None:
            self.writer_id = self.until_acknowledged(lambda: self.client.init_writer(self.path))
        bucket = self.random.randrange(self.buckets)
        rows = []
        for _ in range(self.random.choice(self.sizes)):
            text = None if self.random.random() < 0.1 else "x" * self.random.randrange(30)
            rows.append({"id": self.next_id, "writer": self.number, "text": text})
            self.next_id += 1
        sequence = self.sequences.get(bucket, 0)
        records = wire.log_batch(pa.RecordBatch.from_pylist(rows, LOG_SCHEMA), self.writer_id, sequence)
        self.sent.append(rows)
        base = self.until_acknowledged(lambda: self.client.produce(self.table_id, bucket, records))
        self.sequences[bucket] = sequence + 1
        self.acknowledged.append((bucket, base, rows))


class KeyWriter(Writer):
    """Puts and deletes of the keys that are its own: `number` modulo `writers`."""

    def __init__(self, server, table_id, buckets, number, writers, seed, path, keys=200):
        super().__init__(server, seed)
        self.table_id, self.buckets, self.path = table_id, buckets, path
        self.keys = [key for key in range(keys) if key % writers == number]
        self.writer_id = None
        self.sequences = {}
        self.version = 0
        self.sent = []        # {key: (version, text), None = deleted}
        self.settled = 0      # So many of them are acknowledged.
        self.state = {}       # key -> (version, text), as acknowledged
        self.changed = set()  # Keys since the last check.

    def step(self):
        if self.writer_id is None:
            self.writer_id = self.until_acknowledged(lambda: self.client.init_writer(self.path))
        bucket = self.random.randrange(self.buckets)
        mine = [key for key in self.keys if wire.paimon_bucket(wire.paimon_key(key), self.buckets) == bucket]
        records, after = [], {}
        for key in self.random.sample(mine, min(len(mine), self.random.choice([1, 3, 20]))):
            self.version += 1
            if self.random.random() < 0.2:
                records.append((wire.paimon_key(key), None))
                after[key] = None
            else:
                text = None if self.random.random() < 0.1 else f"v{self.version}"
                records.append((wire.paimon_key(key), wire.kv_row(key, self.version, text)))
                after[key] = (self.version, text)
        if not records:
            return
        sequence = self.sequences.get(bucket, 0)
        batch = wire.kv_batch(records, self.writer_id, sequence)
        self.sent.append(after)
        self.until_acknowledged(lambda: self.client.put(self.table_id, bucket, batch))
        self.sequences[bucket] = sequence + 1
        for key, value in after.items():
            self.changed.add(key)
            if value is None:
                self.state.pop(key, None)
            else:
                self.state[key] = value
        self.settled = len(self.sent)


# ---- checks, while the writers write

def check_log_while_written(server, table, writers):
    """A union read holds every row that was acknowledged before it began, none twice, and none that was not sent."""
    before = [len(writer.acknowledged) for writer in writers]
    found = {}
    for row_id, number, text in server.sql(f"SELECT id, writer, text FROM {table}"):
        assert int(row_id) not in found, f"row {row_id} is there twice in {table}"
        found[int(row_id)] = {"id": int(row_id), "writer": sql_value(number), "text": text}
    sent = {row["id"]: row for writer in writers for rows in writer.sent for row in rows}
    for writer, batches in zip(writers, before):
        for bucket, base, rows in writer.acknowledged[:batches]:
            lost = [row["id"] for row in rows if row["id"] not in found]
            assert not lost, f"{table} lacks {lost}, acknowledged before in bucket {bucket} at offset {base}"
    wrong = [row for row_id, row in found.items() if sent.get(row_id) != row]
    assert not wrong, f"{table} has rows that nobody sent: {wrong[:5]}"


def check_keys_while_written(server, table, writers):
    """A union read shows of each key what was acknowledged before it began, or what has been sent since."""
    before = [(writer.settled, dict(writer.state)) for writer in writers]
    found = {}
    for key, version, text in server.sql(f"SELECT id, version, text FROM {table}"):
        assert int(key) not in found, f"key {key} is there twice in {table}"
        found[int(key)] = (sql_value(version), text)
    for writer, (settled, state) in zip(writers, before):
        since = writer.sent[settled:]
        for key in writer.keys:
            may_be = [state.get(key)] + [after[key] for after in since if key in after]
            assert found.get(key) in may_be, f"{table} has {found.get(key)} of key {key}, not one of {may_be}"
    assert found.keys() <= {key for writer in writers for key in writer.keys}, f"{table} has keys that nobody sent"


def check_scan_kv(client, table_id, bucket):
    """SCAN_KV gives the state that the log below its offset adds up to, also while more is written, in pieces."""
    rows, offset = client.scan_kv(table_id, bucket, batch_bytes=256)
    state = {key: (version, text) for key, version, text in rows}
    assert len(state) == len(rows), f"keys are there twice in bucket {bucket}"
    assert state == fold_bucket(client, table_id, bucket, offset), f"scan of bucket {bucket} at offset {offset}"
    return state


# ---- checks, while the writers are paused

class LogCheck:
    """The rows of a log table are those acknowledged, each once, in order, and stay where they were."""

    def __init__(self, table_id, buckets):
        self.table_id = table_id
        self.offsets = {bucket: 0 for bucket in range(buckets)}
        self.rows = {bucket: [] for bucket in range(buckets)}  # By offset.
        self.ids = set()
        self.checked = {}  # Writer -> batches compared.

    def run(self, client, writers, from_start=False):
        for bucket, offset in self.offsets.items():
            start = 0 if from_start else offset
            for base, _, changes, rows in client.scan_log(self.table_id, bucket, LOG_SCHEMA, start):
                assert changes is None
                if base < offset:
                    assert rows == self.rows[bucket][base:base + len(rows)], f"rows at offset {base} have changed"
                    continue
                assert base == len(self.rows[bucket]), f"offset {base} follows {len(self.rows[bucket])}"
                self.rows[bucket] += rows
                new = {row["id"] for row in rows}
                assert len(new) == len(rows) and not new & self.ids, f"rows are there twice at offset {base}"
                self.ids |= new
            self.offsets[bucket] = len(self.rows[bucket])
        for writer in writers:
            for bucket, base, rows in writer.acknowledged[self.checked.get(writer, 0):]:
                found = self.rows[bucket][base:base + len(rows)]
                assert found == rows, f"acknowledged rows are lost: bucket {bucket} offset {base}"
            self.checked[writer] = len(writer.acknowledged)
        acknowledged = sum(len(rows) for writer in writers for _, _, rows in writer.acknowledged)
        assert len(self.ids) == acknowledged, f"{len(self.ids)} rows are there, {acknowledged} were acknowledged"

    def all_rows(self):
        return [row for rows in self.rows.values() for row in rows]


def merged_state(writers):
    state = {}
    for writer in writers:
        state.update(writer.state)
    return state


def check_lookups(client, table_id, buckets, writers, all_keys=False):
    """The newest acknowledged value of each key that changed since the last check."""
    for writer in writers:
        keys = writer.keys if all_keys else sorted(writer.changed)
        for bucket in range(buckets):
            mine = [key for key in keys if wire.paimon_bucket(wire.paimon_key(key), buckets) == bucket]
            found = client.lookup(table_id, bucket, [wire.paimon_key(key) for key in mine]) if mine else []
            for key, row in zip(mine, found):
                wanted = writer.state.get(key)
                assert row == (None if wanted is None else (key, *wanted)), f"key {key}: {row}, acknowledged {wanted}"
        writer.changed.clear()


def fold_changelog(client, table_id, buckets):
    """The state that a bucket's changelog adds up to; every image must fit what was there."""
    state = {}
    for bucket in range(buckets):
        state |= fold_bucket(client, table_id, bucket)
    return state


def fold_bucket(client, table_id, bucket, end=None):
    """The same of one bucket, of its log below `end`."""
    state = {}
    for base, _, changes, rows in client.scan_log(table_id, bucket, KEY_SCHEMA):
        if end is not None and base >= end:
            break
        for change, row in zip(changes, rows):
            key, value = row["id"], (row["version"], row["text"])
            if change == INSERT:
                assert key not in state, f"+I of key {key} that is there, offset {base}"
                state[key] = value
            elif change in (UPDATE_BEFORE, DELETE):
                assert state.get(key) == value, f"old image of key {key} is {value}, was {state.get(key)}"
                if change == DELETE:
                    del state[key]
            else:
                assert key in state, f"+U of key {key} that is not there, offset {base}"
                state[key] = value
    return state


def sql_value(value):
    """A value of the SQL endpoint as ours: integers may come as text."""
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value


def check_log_by_sql(server, table, rows):
    """All rows; ids say which is which."""
    found = {}
    for row_id, writer, text in server.sql(f"SELECT id, writer, text FROM {table}"):
        assert int(row_id) not in found, f"row {row_id} is there twice in {table}"
        found[int(row_id)] = {"id": int(row_id), "writer": sql_value(writer), "text": text}
    expected = {row["id"]: row for row in rows}
    assert found == expected, f"{table} differs in {sorted(k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k))[:10]}"


def check_count_by_sql(server, table, rows):
    """Cheaper: their number and the sum of their ids."""
    count, total = server.sql(f"SELECT COUNT(*), SUM(id) FROM {table}")[0]
    expected = sum(row["id"] for row in rows)
    assert (int(count), int(total or 0)) == (len(rows), expected), f"{table}: {count} rows, sum {total}"


class LakeLogCheck:
    """`$lake` of a log table holds the rows of the log, each at its bucket and offset; what was compared before is only
    counted, unless `run` is told otherwise."""

    def __init__(self, table, check):
        self.table, self.check = table, check
        self.offsets = {bucket: 0 for bucket in check.rows}

    def run(self, server, from_start=False):
        starts = {bucket: 0 for bucket in self.offsets} if from_start else self.offsets
        newer = " OR ".join(f"(`__bucket` = {bucket} AND `__offset` >= {start})" for bucket, start in starts.items())
        found = {}
        for bucket, offset, row_id, writer, text in server.sql(
                f"SELECT `__bucket`, `__offset`, id, writer, text FROM {self.table} WHERE {newer}"):
            place = int(bucket), int(offset)
            assert place not in found, f"bucket {bucket} offset {offset} is twice in {self.table}"
            found[place] = {"id": int(row_id), "writer": sql_value(writer), "text": text}
        expected = {(bucket, offset): self.check.rows[bucket][offset] for bucket, start in starts.items()
                    for offset in range(start, len(self.check.rows[bucket]))}
        assert found == expected, f"{self.table} differs in {sorted(k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k))[:10]}"
        check_count_by_sql(server, self.table, self.check.all_rows())
        self.offsets = {bucket: len(rows) for bucket, rows in self.check.rows.items()}


def check_keys_by_sql(server, table, state):
    found = {}
    for key, version, text in server.sql(f"SELECT id, version, text FROM {table}"):
        assert int(key) not in found, f"key {key} is there twice in {table}"
        found[int(key)] = (sql_value(version), text)
    assert found == state, f"{table} differs in {sorted(k for k in found.keys() | state.keys() if found.get(k) != state.get(k))[:10]}"
