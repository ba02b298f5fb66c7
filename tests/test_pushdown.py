"""Conditions that scans use to skip data change no answer: over rows half in the lake and half in the log, a condition
gives what the same condition gives where no scan can use it."""
import os
import random
import re
import time

import lake_check

SEED = int(os.environ.get("SLUICE_TEST_SEED", "0")) or random.randrange(1, 1 << 30)
PREFIX = "a common beginning beyond what statistics keep "
COLUMNS = {  # Type, literals from which values and conditions are drawn.
    "n": ("BIGINT", [str(v) for v in (-5_000_000_000, -1, 0, 1, 7, 300, 5_000_000_000)]),
    "t": ("TINYINT", [str(v) for v in (-128, -1, 0, 5, 127)]),
    "s": ("STRING", ["''", "'a'", "'b'", "'b '", "'ä'", "'￿'", "'𐀀'", f"'{PREFIX}1'", f"'{PREFIX}2'"]),
    "c": ("CHAR(3)", ["'a'", "'a  '", "'abc'"]),
    "m": ("DECIMAL(10, 2)", ["-1.50", "0.00", "0.01", "99999999.99"]),
    "w": ("DECIMAL(25, 3)", ["-1234567890123456789012.345", "0.000", "1234567890123456789012.345"]),
    "x": ("DOUBLE", ["CAST('NaN' AS DOUBLE)", "CAST('-0.0' AS DOUBLE)", "CAST(0 AS DOUBLE)", "-1.5E0", "2.5E0"]),
    "q": ("BOOLEAN", ["TRUE", "FALSE"]),
    "d": ("DATE", ["DATE '1969-12-31'", "DATE '1970-01-01'", "DATE '2024-02-29'", "DATE '0001-01-01'"]),
    "ms": ("TIMESTAMP(3)", ["TIMESTAMP '1969-12-31 23:59:59.999'", "TIMESTAMP '1970-01-01 00:00:00.000'",
                            "TIMESTAMP '2024-02-29 12:00:00.001'"]),
    "us": ("TIMESTAMP(6)", ["TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP '1970-01-01 00:00:00.000001'",
                            "TIMESTAMP '1907-07-07 07:07:07.070707'"]),
    "t0": ("TIMESTAMP(0)", ["TIMESTAMP '1969-12-31 23:59:59'", "TIMESTAMP '2024-02-29 12:00:00'"]),
    "t1": ("TIMESTAMP(1)", ["TIMESTAMP '1969-12-31 23:59:59.9'", "TIMESTAMP '2024-02-29 12:00:00.0'"]),
    "ns": ("TIMESTAMP(9)", ["TIMESTAMP '1969-12-31 23:59:59.999999999'", "TIMESTAMP '1970-01-01 00:00:00.000000001'"]),
    "z": ("TIMESTAMP_LTZ(3)", ["CAST(TIMESTAMP '1969-12-31 23:59:59.999' AS TIMESTAMP_LTZ(3))"]),
    "v": ("ARRAY<INT>", ["ARRAY[1, 2]", "ARRAY[CAST(NULL AS INT)]"]),
}
# Constants beside the literals of a column: of another type, scale or form.
OTHERS = {
    "n": ["1.5", "2E0", "99999999999999999999"], "t": ["200", "1.0"], "m": ["0.005", "1", "1E0"], "w": ["0", "0.0001"],
    "s": ["'b  '", "'" + "z" * 40 + "'"], "x": ["0", "-1.5"], "c": ["'a '"],
    "d": ["'1969-12-31'", "'2024-2-29'"], "t0": ["'1969-12-31 23:59:59.5'"], "t1": ["'1969-12-31 23:59:59.987'"],
    "ms": ["'1969-12-31 23:59:59.9994'", "TIMESTAMP '1969-12-31 23:59:59.9994'"],
    "us": ["TIMESTAMP '1969-12-31 23:59:59.999999999'"], "id": ["1.5", "5000000000"],
}
PARTS = ["p", "q-1", "r_2"]
IDS = 60
TABLES = {  # Primary key, partition keys, options.
    "plain": ("", "", ", 'table.statistics.columns' = '*'"),
    "placed": ("", "part", ", 'bucket.key' = 'id', 'table.statistics.columns' = 'id,s,ms'"),
    "keyed": ("id", "", ""),
    "keyed_parted": ("id, part, y", "part, y", ""),
}


class Table:
    def __init__(self, server, kind, rng, name=None, lake=True):
        self.server, self.name, self.rng = server, name or kind, rng
        self.key, self.partition, more = TABLES[kind]
        self.columns = ["id", "part", "y"] + list(COLUMNS)
        columns = ["id INT NOT NULL", "part STRING NOT NULL", "y INT NOT NULL"]
        columns += [f"{column} {kind}" for column, (kind, _) in COLUMNS.items()]
        if self.key:
            columns.append(f"PRIMARY KEY ({self.key}) NOT ENFORCED")
        partitioned = f" PARTITIONED BY ({self.partition})" if self.partition else ""
        server.sql(f"CREATE TABLE {self.name} ({', '.join(columns)}){partitioned} WITH ('bucket.num' = '3', "
                   f"'table.datalake.enabled' = '{str(lake).lower()}', 'table.datalake.freshness' = '1s'{more})")
        for part in PARTS if self.partition else []:
            for y in (1, -2) if "y" in self.partition else (None,):
                spec = f"part = '{part}'" + (f", y = '{y}'" if y else "")
                server.sql(f"ALTER TABLE {self.name} ADD PARTITION ({spec})")

    def write(self, rows):
        values = []
        for _ in range(rows):
            row = [str(self.rng.randrange(IDS)), f"'{self.rng.choice(PARTS)}'", str(self.rng.choice((1, -2)))]
            for column in self.columns[3:]:
                kind, literals = COLUMNS.get(column, ("INT", ["1", "2"]))
                literal = self.rng.choice(literals) if self.rng.random() < 0.8 else "NULL"
                row.append(f"CAST({literal} AS {kind})")
            values.append(f"({', '.join(row)})")
        self.server.sql(f"INSERT INTO {self.name} VALUES {', '.join(values)}")

    def delete(self, count):
        for _ in range(count):
            key = {"id": str(self.rng.randrange(IDS)), "part": f"'{self.rng.choice(PARTS)}'", "y": "1"}
            where = " AND ".join(f"{column} = {key[column]}" for column in self.key.split(", "))
            self.server.sql(f"DELETE FROM {self.name} WHERE {where}")

    def rows(self, face, where):
        shown = ", ".join(f"CAST({column} AS STRING)" for column in self.columns if column != "v")
        return sorted(map(str, self.server.sql(f"SELECT {shown} FROM {self.name}{face} WHERE {where}")))

    def wait_for_lake(self):
        deadline = time.monotonic() + 240
        while True:
            try:
                if self.rows("$lake", "TRUE") == self.rows("", "TRUE"):
                    return
            except Exception:  # Not tiered yet.
                if time.monotonic() > deadline:
                    raise
            assert time.monotonic() < deadline, f"{self.name} does not reach the lake"
            time.sleep(0.2)

    def check_by_pypaimon(self):
        """Once all is in the lake. Nanoseconds, NaN and arrays are not compared."""
        columns = [column for column in self.columns if column not in ("ns", "x", "v")]
        rows = self.server.sql(f"SELECT {', '.join(columns)} FROM {self.name}")
        assert lake_check.check_sql_rows(self.server.warehouse, f"fluss.{self.name}", columns, rows) > IDS / 2

    def condition(self):
        column = self.rng.choice(self.columns)
        if column == "id":
            literals = [str(self.rng.randrange(IDS)) for _ in range(3)]
        elif column == "part":
            literals = [f"'{part}'" for part in PARTS + ["none"]]
        elif column == "y":
            literals = ["1", "-2", "0"]
        else:
            literals = COLUMNS.get(column, ("INT", ["1", "2"]))[1]
        literals = literals + OTHERS.get(column, [])
        op = self.rng.choice(["=", "<", "<=", ">", ">=", "IS NULL", "IS NOT NULL", "IN", "=", "mirrored"])
        if op.startswith("IS") or column == "v":
            return f"{column} {op if op.startswith('IS') else 'IS NOT NULL'}"
        if op == "IN":
            return f"{column} IN ({', '.join(self.rng.sample(literals, min(2, len(literals))))})"
        literal = self.rng.choice(literals)
        return f"{literal} >= {column}" if op == "mirrored" else f"{column} {op} {literal}"


def skipped_batches(server):
    """Of the log, by their statistics."""
    return int(server.metric("sluice_fetch_skipped_batches_total"))


class Checks:
    """Compares answers and counts those where files were skipped, and those where part of the rows was in the log."""

    def __init__(self):
        self.skipped, self.half = 0, 0

    def run(self, table, face, conditions):
        for condition in conditions:
            plan = str(table.server.sql(f"EXPLAIN SELECT id FROM {table.name}{face} WHERE {condition}"))
            pushed = table.rows(face, condition)
            # The engine alone looks at a condition below IS TRUE. What is tiered meanwhile changes the place of rows,
            # not the rows of the table; those of its lake it does.
            for _ in range(10):
                alone = table.rows(face, f"({condition}) IS TRUE")
                if pushed == alone or not face:
                    break
                pushed = table.rows(face, condition)
            assert pushed == alone, f"{table.name}{face}: {condition}"
            self.skipped += "skipped=" in plan
            self.half += any(int(start) < int(end) for start, end in re.findall(r"lake, log \[(\d+), (\d+)\)", plan))


def check_joins(table, conditions):
    """The same of conditions on the sides of joins, of which some are filled with NULL."""
    for join in ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"):
        for condition in conditions:
            answers = [sorted(map(str, table.server.sql(
                f"SELECT a.id, b.id, COUNT(*) FROM {table.name} a {join} {table.name} b ON a.id = b.id + 1 AND "
                f"{on.format('a')} WHERE {where.format('b')} GROUP BY a.id, b.id")))
                for on, where in ((condition, condition), (f"({condition}) IS TRUE",) * 2)]
            assert answers[0] == answers[1], f"{table.name} {join}: {condition}"


def test_conditions_change_no_answer(server):
    print(f"SLUICE_TEST_SEED={SEED}")
    rng = random.Random(SEED)
    tables = [Table(server, name, rng) for name in TABLES]
    for part in range(4):  # Several files per bucket.
        for table in tables:
            if part == 3:  # The files before have no such column.
                server.sql(f"ALTER TABLE {table.name} ADD COLUMN later INT")
                table.columns.append("later")
            table.write(25)
            if table.key and part > 0:
                table.delete(5)
        for table in tables:
            table.wait_for_lake()
    checks = {table: (Checks(), Checks()) for table in tables}
    for _ in range(4):
        for table in tables:
            union, lake = checks[table]
            table.write(25)
            if table.key:
                table.delete(3)
            conditions = [table.condition() for _ in range(3)]
            conditions += [f"{table.condition()} AND {table.condition()}", f"id = {rng.randrange(IDS)}", f"id > {IDS}"]
            union.run(table, "", conditions)
            lake.run(table, "$lake", conditions)
    for table in tables:
        check_joins(table, [f"{{0}}.{condition}" for condition in ("s IS NULL", "later IS NULL", "n >= 1")])
        union, lake = checks[table]
        print(table.name, "skipped", union.skipped, lake.skipped, "half", union.half)
        assert union.skipped and lake.skipped and union.half, f"{table.name}: the conditions put nothing to the test"
        table.wait_for_lake()
        table.check_by_pypaimon()


def test_a_newer_version_in_the_log_hides_the_one_that_a_condition_finds_in_the_lake(server):
    server.sql("CREATE TABLE k (id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num' = '1', "
               "'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '5s')")
    server.sql("INSERT INTO k VALUES (1, 10), (2, 20), (3, 30)")
    deadline = time.monotonic() + 240
    while "lake snapshot" not in str(server.sql("EXPLAIN SELECT * FROM k")) or not server.sql("SELECT * FROM k$lake"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    server.sql("INSERT INTO k VALUES (1, 99), (2, 5)")
    server.sql("DELETE FROM k WHERE id = 3")
    for condition, expected in (("v = 10", []), ("v = 20", []), ("v >= 30", [[1, 99]]), ("v = 5", [[2, 5]]),
                                ("id = 1", [[1, 99]]), ("id = 3", []), ("v < 15", [[2, 5]])):
        found = [[int(value) for value in row] for row in server.sql(f"SELECT * FROM k WHERE {condition}")]
        assert found == expected, condition


def test_log_batches_that_no_condition_needs_are_skipped(server):
    """Without a lake: all rows are in the log, the older ones in batches without the newer column."""
    print(f"SLUICE_TEST_SEED={SEED}")
    rng = random.Random(SEED)
    table = Table(server, "plain", rng, name="logged", lake=False)
    for part in range(6):
        if part == 4:
            server.sql("ALTER TABLE logged ADD COLUMN later INT")
            table.columns.append("later")
        for _ in range(4):
            table.write(3)
    conditions = [table.condition() for _ in range(60)]
    conditions += [f"({table.condition()} OR {table.condition()}) AND {table.condition()}" for _ in range(20)]
    before = skipped_batches(server)
    Checks().run(table, "", conditions)
    assert skipped_batches(server) > before, "the conditions skipped nothing"
    # Whatever is skipped, a read ends where the log does.
    before = skipped_batches(server)
    assert table.rows("", f"id > {IDS}") == []
    assert skipped_batches(server) - before >= 24
    assert "skipped by their statistics" in str(server.sql("EXPLAIN SELECT id FROM logged WHERE id > 1"))
    assert "skipped by their statistics" not in str(server.sql("EXPLAIN SELECT id FROM logged"))
