"""Random appends, upserts and deletes from several writers on several tables. At random moments the union read by SQL,
whole and under random conditions, the scans, the lookups and the lake at its recorded offsets each equal a replay of the
acknowledged operations; at some of them, and in the end, pypaimon reads the same lake. While they write, a union read holds
all that was acknowledged before it and nothing that was never sent, and a scan of keys equals its log's replay."""
import os
import random
import time

import lake_check
import wire_client as wire
import workload

SEED = int(os.environ.get("SLUICE_TEST_SEED", "0")) or random.randrange(1, 1 << 30)
MOMENTS = 12
PYPAIMON_EACH = 4  # Moments.
CONDITIONS = 6  # Per table and moment.
BUCKETS = 3
WRITER_PAUSE_S = 0.03  # What is written must be read and compared at every moment.
BATCHES_EACH = 30  # At most, per writer and moment, however long the looks take while they write.


def replay_lake(client, table_id, schema, offsets, keyed):
    """What the lake must hold: the log below the recorded offsets by bucket, or the keys that it adds up to."""
    rows, state = {}, {}
    for bucket, end in offsets.items():
        rows[bucket] = []
        for base, _, changes, batch in client.scan_log(table_id, bucket, schema):
            for i, row in enumerate(batch):
                if base + i >= end:
                    break
                if not keyed:
                    rows[bucket].append(row)
                elif changes[i] == workload.DELETE:
                    state.pop(row["id"], None)
                elif changes[i] != workload.UPDATE_BEFORE:
                    state[row["id"]] = (row["version"], row["text"])
    return state if keyed else rows


def check_by_pypaimon(server, path, expected, keyed, snapshot=None):
    if keyed:
        lake_check.check_keys(server.warehouse, path, ["id"], lake_check.key_rows(expected), snapshot)
    else:
        lake_check.check_log(server.warehouse, path, expected, snapshot)


def check_lake(server, client, path, table_id, schema, keyed, by_pypaimon):
    """Compare `$lake` with the replay. Tiering may commit meanwhile: then the comparison is made anew."""
    for _ in range(20):
        try:
            snapshot, offsets = client.lake_snapshot(path)
        except wire.WireError as error:
            assert error.code == wire.LAKE_SNAPSHOT_NOT_EXIST
            return False
        expected = replay_lake(client, table_id, schema, offsets, keyed)
        if by_pypaimon:
            check_by_pypaimon(server, path, expected, keyed, snapshot)
        name = path.split(".")[1] + "$lake"
        try:
            if keyed:
                workload.check_keys_by_sql(server, name, expected)
            else:
                workload.check_log_by_sql(server, name, [row for rows in expected.values() for row in rows])
            return True
        except AssertionError:
            if client.lake_snapshot(path)[0] == snapshot:
                raise
    raise AssertionError(f"{path} changes too fast to be compared")


class Condition:
    """A random condition as SQL and as a function of a row. Ids and versions are looked for near those that occur, so
    that some files, buckets and rows of the log meet it and others do not."""

    def __init__(self, rng, columns, rows):
        self.rng = rng
        parts = [self._one(rng.choice(columns), rows) for _ in range(rng.choice((1, 1, 2)))]
        self.sql = " AND ".join(sql for sql, _ in parts)
        self.holds = lambda row: all(holds(row) for _, holds in parts)

    def _one(self, column, rows):
        known = [row[column] for row in rows if row[column] is not None] or [0 if column != "text" else "v"]
        if column == "text" and self.rng.random() < 0.3:
            null = self.rng.random() < 0.5
            return (f"text IS {'' if null else 'NOT '}NULL", lambda row: (row["text"] is None) == null)
        low, high = sorted(self.rng.choice(known) for _ in range(2))
        if column != "text" and self.rng.random() < 0.2:
            low -= 1
        write = (lambda value: f"'{value}'") if column == "text" else str
        some = [self.rng.choice(known) for _ in range(3)]
        return self.rng.choice((
            (f"{column} = {write(low)}", lambda row: row[column] == low),
            (f"{column} IN ({', '.join(map(write, some))})", lambda row: row[column] in some),
            (f"{column} BETWEEN {write(low)} AND {write(high)}",
             lambda row: row[column] is not None and low <= row[column] <= high),
            (f"{write(high)} <= {column}", lambda row: row[column] is not None and row[column] >= high),
            (f"{column} < {write(low)}", lambda row: row[column] is not None and row[column] < low)))


def check_conditions(server, rng, table, columns, rows):
    """Random conditions on the union read give what filtering the replayed rows gives."""
    for _ in range(CONDITIONS):
        condition = Condition(rng, columns, rows)
        answer = server.sql(f"SELECT {', '.join(columns)} FROM {table} WHERE {condition.sql}")
        found = sorted(repr(tuple(None if v is None else str(v) for v in row)) for row in answer)
        expected = [tuple(None if row[c] is None else str(row[c]) for c in columns) for row in rows if condition.holds(row)]
        assert found == sorted(map(repr, expected)), f"{table} WHERE {condition.sql}"


def test_every_view_equals_a_replay(server, client):
    print(f"SLUICE_TEST_SEED={SEED}")
    rng = random.Random(SEED)
    properties = workload.lake_properties()
    logs, keys, writers = {}, {}, []
    for i in range(2):
        path = f"fluss.log{i}"
        client.create_table(path, wire.descriptor(workload.LOG_COLUMNS, buckets=BUCKETS, properties=properties))
        table_id, _ = client.table_info(path)
        mine = [workload.LogWriter(server, table_id, BUCKETS, 10 * i + n, SEED + 10 * i + n, path) for n in range(2)]
        logs[path] = (table_id, mine, workload.LogCheck(table_id, BUCKETS))
        writers += mine
        path = f"fluss.keys{i}"
        client.create_table(path, wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"], buckets=BUCKETS,
                                                  properties=properties))
        table_id, _ = client.table_info(path)
        mine = [workload.KeyWriter(server, table_id, BUCKETS, n, 2, SEED + 100 + 10 * i + n, path) for n in range(2)]
        keys[path] = (table_id, mine)
        writers += mine
    for writer in writers:
        writer.pause_s = WRITER_PAUSE_S
        writer.start()

    lakes_compared = 0
    try:
        for moment in range(MOMENTS):
            by_pypaimon = moment % PYPAIMON_EACH == PYPAIMON_EACH - 1
            for writer in writers:
                writer.resume(BATCHES_EACH)
            ends = time.monotonic() + rng.uniform(0.1, 1.2)
            number = moment % 2
            workload.check_log_while_written(server, f"log{number}", logs[f"fluss.log{number}"][1])
            table_id, mine = keys[f"fluss.keys{number}"]
            workload.check_keys_while_written(server, f"keys{number}", mine)
            workload.check_scan_kv(client, table_id, moment % BUCKETS)
            time.sleep(max(0, ends - time.monotonic()))
            for writer in writers:
                writer.pause()
            for path, (table_id, mine, check) in logs.items():
                check.run(client, mine)
                workload.check_log_by_sql(server, path.split(".")[1], check.all_rows())
                check_conditions(server, rng, path.split(".")[1], ("id", "writer", "text"), check.all_rows())
                lakes_compared += check_lake(server, client, path, table_id, workload.LOG_SCHEMA, keyed=False,
                                             by_pypaimon=by_pypaimon)
            for path, (table_id, mine) in keys.items():
                state = workload.merged_state(mine)
                workload.check_lookups(client, table_id, BUCKETS, mine)
                workload.check_keys_by_sql(server, path.split(".")[1], state)
                rows = [{"id": key, "version": version, "text": text} for key, (version, text) in state.items()]
                check_conditions(server, rng, path.split(".")[1], ("id", "version", "text"), rows)
                assert workload.fold_changelog(client, table_id, BUCKETS) == state
                scanned = [row for bucket in range(BUCKETS) for row in client.scan_kv(table_id, bucket)[0]]
                assert sorted(key for key, *_ in scanned) == sorted(state)
                assert {key: (version, text) for key, version, text in scanned} == state
                lakes_compared += check_lake(server, client, path, table_id, workload.KEY_SCHEMA, keyed=True,
                                             by_pypaimon=by_pypaimon)
        assert lakes_compared >= MOMENTS, f"only {lakes_compared} comparisons found a lake"
        for path, (_, _, check) in logs.items():
            server.wait_for_lake(client, path, {bucket: len(rows) for bucket, rows in check.rows.items()})
            check_by_pypaimon(server, path, check.rows, keyed=False)
        for path, (table_id, mine) in keys.items():
            server.wait_for_lake(client, path, {b: client.end_offset(table_id, b) for b in range(BUCKETS)})
            check_by_pypaimon(server, path, workload.merged_state(mine), keyed=True)
    finally:
        for writer in writers:
            writer.end()
