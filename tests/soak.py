"""One server under everything at once (appends, upserts, DDL, tiering), which is killed again and again.

soak.py [--seconds N] [--seed N] does it at random moments for a while, in a new folder; test_faults.py at named points too.
"""
import argparse
import random
import tempfile
import time

import cluster

import lake_check
import snapshot_check
import wire_client as wire
import workload
from wire_client import Disconnected, WireError

NEXT_ACK_MAX_S = 10.0  # The goal is one second.
BATCHES_S = 60
TABLES_KEPT, DATABASES_KEPT = 6, 16  # Of the DDL worker.
LOG_BUCKETS, KEY_BUCKETS = 2, 2
WRITER_PAUSE_S = 0.05  # What is written must be read and compared after every kill.
LOG_BATCHES = (1, 1, 5, 20, 100)


def number_of(path):
    """Round of the DDL worker in which a table was made."""
    return int(path.partition(".")[0][3:])


def row_of(number):
    """The one row of that round's table."""
    return {"id": number, "writer": 0, "text": "x"}


class DdlWorker(workload.Writer):
    """Makes, alters and drops databases, tables and partitions; knows what must be there while it is paused."""

    def __init__(self, server, seed):
        super().__init__(server, seed)
        self.round = 0
        self.databases = []
        self.present = set()  # Tables that must be there.
        self.gone = set()     # Tables that must not.
        self.used = set()     # Tables with one row.

    def settle(self, call, *codes_of_a_repeat):
        """Run a change until it is answered; after a lost answer, a repeat may say that it was done already."""
        repeated = False
        while True:
            try:
                return call()
            except Disconnected:
                repeated = True
            except WireError as error:
                if repeated and error.code in codes_of_a_repeat:
                    return None
                if error.code not in wire.RETRIABLE:
                    raise
            if self.ended.is_set():
                raise AssertionError("ended inside a change")
            time.sleep(workload.RETRY_S)

    def step(self):
        self.round += 1
        client, database = self.client, f"ddl{self.round}"
        self.settle(lambda: client.create_database(database), 6)
        kind = self.round % 3
        path = f"{database}.t"
        columns = {0: workload.LOG_COLUMNS, 1: workload.KEY_COLUMNS,
                   2: [*workload.LOG_COLUMNS, ("day", "STRING", False)]}[kind]
        text = wire.descriptor(columns, primary_key=["id"] if kind == 1 else (),
                               partition_key=["day"] if kind == 2 else (), bucket_key=["id"] if kind == 1 else [],
                               buckets=2, properties=workload.lake_properties())
        self.settle(lambda: client.create_table(path, text), wire.TABLE_ALREADY_EXIST)
        self.present.add(path)
        if kind == 2:
            self.settle(lambda: client.partition(wire.CREATE_PARTITION, path, "day", "mon"))
            self.settle(lambda: client.partition(wire.CREATE_PARTITION, path, "day", "tue"))
            self.settle(lambda: client.partition(wire.DROP_PARTITION, path, "day", "mon"))
        if kind == 0:
            self.use(path)
        self.settle(lambda: client.alter_table(path, {"owner": database}))
        if self.round % 2 == 0:
            self.drop(path)
        if len(self.present) > TABLES_KEPT:
            self.drop(min(self.present, key=number_of))
        self.databases.append(database)
        while len(self.databases) > DATABASES_KEPT:
            oldest = self.databases.pop(0)
            if f"{oldest}.t" in self.present:
                self.drop(f"{oldest}.t")
            self.settle(lambda: client.drop_database(oldest))
        time.sleep(0.05)

    def drop(self, path):
        self.settle(lambda: self.client.drop_table(path), wire.TABLE_NOT_EXIST)
        self.present.discard(path)
        self.gone.add(path)

    def use(self, path):
        """A table whose creation was answered takes rows and gives them back."""
        client = self.client
        table_id, _ = self.until_acknowledged(lambda: client.table_info(path))
        rows = workload.pa.RecordBatch.from_pylist([row_of(self.round)], workload.LOG_SCHEMA)
        writer_id = self.until_acknowledged(lambda: client.init_writer(path))
        self.until_acknowledged(lambda: client.produce(table_id, 0, wire.log_batch(rows, writer_id, 0)))
        found = self.until_acknowledged(lambda: client.scan_log(table_id, 0, workload.LOG_SCHEMA))
        assert [row for _, _, _, batch in found for row in batch] == [row_of(self.round)], found
        self.used.add(path)

    def check(self, client):
        for path in self.present:
            for role in ("coordinator", "tablet"):
                assert client.table_exists(path, role), f"{path} was created and is not there"
        for path in sorted(self.gone, key=number_of)[-5:]:
            assert not client.table_exists(path), f"{path} was dropped and is there"

    def check_lake(self, server):
        """Let tiering catch up; the lake then holds the rows of the tables that are there."""
        for path in self.present:
            rows = {0: [], 1: []}
            if path in self.used:
                rows[0] = [row_of(number_of(path))]
                server.wait_for_lake(self.client, path, {0: 1})
            lake_check.check_log(server.warehouse, path, rows)


class Soak:
    def __init__(self, server, seed, freshness="1s"):
        self.server = server.start()
        self.client = server.client()
        properties = workload.lake_properties(freshness)
        # Snapshots go soon, so that expiry is passed too.
        custom = {"paimon.snapshot.num-retained.min": "1", "paimon.snapshot.time-retained": "1 s"}
        self.client.create_table("fluss.events", wire.descriptor(
            workload.LOG_COLUMNS, buckets=LOG_BUCKETS, properties=properties, custom=custom))
        self.client.create_table("fluss.state", wire.descriptor(
            workload.KEY_COLUMNS, primary_key=["id"], buckets=KEY_BUCKETS, properties=properties, custom=custom))
        self.log_id, _ = self.client.table_info("fluss.events")
        self.key_id, _ = self.client.table_info("fluss.state")
        self.log_writers = [workload.LogWriter(server, self.log_id, LOG_BUCKETS, i, seed + i, "fluss.events")
                            for i in range(2)]
        self.key_writers = [workload.KeyWriter(server, self.key_id, KEY_BUCKETS, i, 2, seed + 10 + i, "fluss.state")
                            for i in range(2)]
        for writer in [*self.log_writers, *self.key_writers]:
            writer.pause_s = WRITER_PAUSE_S
        for writer in self.log_writers:
            writer.sizes = LOG_BATCHES
        self.ddl = DdlWorker(server, seed + 20)
        self.workers = [*self.log_writers, *self.key_writers, self.ddl]
        self.log_check = workload.LogCheck(self.log_id, LOG_BUCKETS)
        self.lake_log_check = workload.LakeLogCheck("events$lake", self.log_check)
        self.next_acks_s = {}
        for worker in self.workers:
            worker.start()

    def resume(self, without_ddl=False):
        for worker in self.workers:
            if worker is not self.ddl or not without_ddl:
                worker.resume()

    def pause(self):
        for worker in self.workers:
            worker.pause()

    def raise_failure(self):
        for worker in self.workers:
            worker.raise_failure()

    def leave_behind(self, point, timeout_s):
        """Kill the server at a point that leaves work to the next process, with no table dropped before that finds it:
        changes of tables rest from here until `resume`. False when nothing comes by."""
        if self.server.running():
            self.pause()
        self.server.kill()
        self.server.launch(crash_point=point)
        self.resume(without_ddl=True)
        return self.wait_for_end(timeout_s)

    def wait_for_end(self, timeout_s):
        """Wait until the server ends by itself; False when it does not."""
        deadline = time.monotonic() + timeout_s
        while self.server.running() and time.monotonic() < deadline:
            self.raise_failure()
            time.sleep(0.02)
        if self.server.running():
            return False
        self.server.ended = time.monotonic()
        return True

    def wait_for_batches(self, count):
        """Wait until every writer has had `count` more acknowledgements; the server may end before."""
        wanted = {writer: writer.batches + count for writer in (*self.log_writers, *self.key_writers)}
        deadline = time.monotonic() + BATCHES_S
        while self.server.running() and any(writer.batches < batches for writer, batches in wanted.items()):
            self.raise_failure()
            assert time.monotonic() < deadline, f"the writers do not go on\n{self.server.log_tail()}"
            time.sleep(0.02)

    def start_again(self, why, kill_after_s=None):
        """Start the dead server under load and time the next acknowledgement of the writer that waits longest for it, from
        the kill on."""
        self.server.launch()
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            self.server.kill()
            self.server.launch()
        launched = self.server.launched
        writers = [*self.log_writers, *self.key_writers]
        while not all(writer.last_ack > launched for writer in writers):
            self.raise_failure()
            assert self.server.running(), f"the server ended at start:\n{self.server.log_tail()}"
            assert time.monotonic() < launched + NEXT_ACK_MAX_S, \
                f"not every writer has an acknowledgement {NEXT_ACK_MAX_S} s after {why}\n" + self.server.log_tail()
            time.sleep(0.005)
        now = time.monotonic()
        self.next_acks_s[why] = now - self.server.ended
        print(f"every writer goes on {self.next_acks_s[why]:.2f} s after {why}, {now - launched:.2f} s after the start")

    def verify(self, everything=False):
        """Pause the load and compare; the load stays paused."""
        self.pause()
        self.server.wait_until_ready()
        self.log_check.run(self.client_now(), self.log_writers, from_start=everything)
        workload.check_lookups(self.client, self.key_id, KEY_BUCKETS, self.key_writers, all_keys=everything)
        self.ddl.check(self.client)
        snapshot_check.check_files(self.client, "fluss.state", self.key_id)
        state = workload.merged_state(self.key_writers)
        check_log = workload.check_log_by_sql if everything else workload.check_count_by_sql
        check_log(self.server, "events", self.log_check.all_rows())
        workload.check_keys_by_sql(self.server, "state", state)
        if everything:
            assert workload.fold_changelog(self.client, self.key_id, KEY_BUCKETS) == state
            snapshot_check.check_rows(self.client, "fluss.state", self.key_id)

    def verify_lake(self, everything=False):
        """After `verify`: let tiering catch up, then compare the lake with what was acknowledged; by SQL, and everything by
        pypaimon too."""
        client = self.client
        for path, table_id, buckets in (("fluss.events", self.log_id, LOG_BUCKETS), ("fluss.state", self.key_id, KEY_BUCKETS)):
            self.server.wait_for_lake(client, path, {b: client.end_offset(table_id, b) for b in range(buckets)})
        state = workload.merged_state(self.key_writers)
        self.lake_log_check.run(self.server, from_start=everything)
        workload.check_keys_by_sql(self.server, "state$lake", state)
        if everything:
            warehouse = self.server.warehouse
            rows = lake_check.check_log(warehouse, "fluss.events", self.log_check.rows)
            keys = lake_check.check_keys(warehouse, "fluss.state", ["id"], lake_check.key_rows(state))
            self.ddl.check_lake(self.server)
            print(f"pypaimon reads {rows} rows and {keys} keys as they were acknowledged")

    def times(self):
        """In words: how long the kills kept the writers from going on."""
        times = sorted(self.next_acks_s.values())
        if not times:
            return "no kill was survived"
        longest = max(self.next_acks_s, key=self.next_acks_s.get)
        return (f"from a kill until every writer has an acknowledgement, {len(times)} kills: median "
                f"{times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s ({longest})")

    def client_now(self):
        """The client with fresh connections: the old ones belong to a dead server."""
        self.client.close()
        return self.client

    def end(self):
        for worker in self.workers:
            worker.end()
        self.client.close()


def main():
    parser = argparse.ArgumentParser(description="kill a server at random moments and compare")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng, end, kills = random.Random(options.seed), time.monotonic() + options.seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        server = cluster.Server(folder, kv__snapshot__interval="1s")
        server.announce(cluster.DROPPED_WHILE_TIERED)
        soak = Soak(server, options.seed)
        try:
            while time.monotonic() < end:
                soak.resume()
                time.sleep(rng.uniform(0.05, 3))
                soak.raise_failure()
                server.kill()
                kills += 1
                soak.start_again(f"kill {kills}", kill_after_s=rng.uniform(0, 1) if kills % 2 else None)
                soak.verify()
                if kills % 5 == 0:
                    soak.verify_lake()
            soak.verify(everything=True)
            soak.verify_lake(everything=True)
            server.stop()
        finally:
            soak.end()
            server.kill()
        server.check_log()
        print(soak.times())


if __name__ == "__main__":
    main()
