"""The batch statements of the users' guide, as written, in the order and with the rows and results beside them.

The material is an extra input: the folder that SLUICE_EXTRA_INPUTS names has guide-sql/ with NN-*.sql, shape.sql,
rows.sql, expected/NN.jsonl and expected/TYPES.tsv. In the end pypaimon reads every table that was tiered.
"""
import datetime
import glob
import json
import os
import time

import pytest

import lake_check
from cluster import Session, SqlError

FOLDER = os.path.join(os.environ.get("SLUICE_EXTRA_INPUTS", ""), "guide-sql")
CREATES = [1, 4, 11, 12, 21, 23, 26, 27, 28, 31, 32, 33, 34, 35]
# Statement -> table whose rows it is judged by, where it has none of its own.
TARGETS = {13: "log_orders", 14: "pk_orders", 15: "pk_orders", 29: "sales_cleaned", 30: "sales_aggregated",
           36: "sales_metrics", 37: "vip_recommendations"}
SELECTS = [5, 7, 8, 16, 17, 18, 22, 24, 25, 38, 39]
SNAPSHOTS = {6: "orders", 10: "orders", 19: "pk_orders"}
ORDERED = {38, 39}
# Columns of Paimon's $snapshots: name and type, and where the value stands in the file of a snapshot.
SNAPSHOT_COLUMNS = {
    "snapshot_id": ("BIGINT NOT NULL", "id"), "schema_id": ("BIGINT NOT NULL", "schemaId"),
    "commit_user": ("STRING NOT NULL", "commitUser"), "commit_identifier": ("BIGINT NOT NULL", "commitIdentifier"),
    "commit_kind": ("STRING NOT NULL", "commitKind"), "commit_time": ("TIMESTAMP(3) NOT NULL", "timeMillis"),
    "base_manifest_list": ("STRING NOT NULL", "baseManifestList"),
    "delta_manifest_list": ("STRING NOT NULL", "deltaManifestList"),
    "changelog_manifest_list": ("STRING", "changelogManifestList"), "total_record_count": ("BIGINT", "totalRecordCount"),
    "delta_record_count": ("BIGINT", "deltaRecordCount"), "changelog_record_count": ("BIGINT", "changelogRecordCount"),
    "watermark": ("BIGINT", "watermark"), "next_row_id": ("BIGINT", "nextRowId"),
}
LAKE_TIMEOUT_S = 400  # The tables have the default freshness, three minutes.

pytestmark = pytest.mark.skipif(not os.path.isdir(FOLDER), reason="SLUICE_EXTRA_INPUTS has no guide-sql")


def statement(number):
    path, = glob.glob(os.path.join(FOLDER, f"{number:02d}-*.sql"))
    with open(path, encoding="utf-8") as f:
        return f.read()


def expected(number):
    with open(os.path.join(FOLDER, "expected", f"{number:02d}.jsonl"), encoding="utf-8") as f:
        return [list(json.loads(line, object_pairs_hook=lambda pairs: [v for _, v in pairs])) for line in f]


def expected_types():
    types = {}
    with open(os.path.join(FOLDER, "expected", "TYPES.tsv"), encoding="utf-8") as f:
        for line in f:
            number, _, text = line.rstrip("\n").partition("\t")
            types[int(number)] = text
    return types


def same(a, b):
    """Equal, but the last digit of a standard deviation is not reproducible."""
    if a == b:
        return True
    try:
        return isinstance(a, str) and isinstance(b, str) and abs(float(a) - float(b)) <= 1.5e-6 and "." in a
    except ValueError:
        return False


def check(number, columns, rows, types):
    want = expected(number)
    if number not in ORDERED:
        rows, want = (sorted(r, key=lambda row: json.dumps(row)) for r in (rows, want))
    assert len(rows) == len(want), f"statement {number}: {rows} instead of {want}"
    for got_row, want_row in zip(rows, want):
        assert len(got_row) == len(want_row) and all(map(same, got_row, want_row)), \
            f"statement {number}: {got_row} instead of {want_row}"
    got = ", ".join(f"{column['name']} {column['type']}" for column in columns)
    assert got == types[number], f"statement {number}: types"


def wait_for_lake(server):
    deadline = time.monotonic() + LAKE_TIMEOUT_S
    while time.monotonic() < deadline:
        tables = [t for t in server.status().values() if t["lake_enabled"]]
        if all(t["log_end_offset"] == 0 or t["lag_rows"] == 0 and t["lake_offset"] == t["log_end_offset"] for t in tables):
            return
        time.sleep(0.3)
    raise AssertionError(f"not all in the lake after {LAKE_TIMEOUT_S} s: {server.status()}\n{server.log_tail()}")


def snapshot_files(server, table):
    """Rows of $snapshots by the table's own files."""
    rows = []
    for path in glob.glob(f"{server.warehouse}/fluss.db/{table}/snapshot/snapshot-*"):
        with open(path, encoding="utf-8") as f:
            values = json.load(f)
        local = datetime.datetime.fromtimestamp(values["timeMillis"] / 1000)
        values["timeMillis"] = local.isoformat(sep=" ", timespec="milliseconds")
        rows.append([values.get(key) for _, key in SNAPSHOT_COLUMNS.values()])
    return sorted(rows)


def check_snapshots(server, session, number, table):
    """The statement lists what the table's folder holds; that may change meanwhile by a compaction."""
    for _ in range(10):
        before = snapshot_files(server, table)
        columns, rows = session.run(statement(number))
        if snapshot_files(server, table) == before:
            break
    assert [(c["name"], c["type"]) for c in columns] == [(name, kind) for name, (kind, _) in SNAPSHOT_COLUMNS.items()]
    assert rows and rows == before, f"statement {number}: {rows} instead of {before}"


def check_time_travel(session, types):
    """Statement 20 names a time before any snapshot; with a later one it gives the rows of then."""
    with pytest.raises(SqlError, match="LAKE_SNAPSHOT_NOT_EXIST.*time_ms=1747440000000|time_ms=1747440000000.*LAKE_SNAPSHOT_NOT_EXIST"):
        session.run(statement(20))
    assert "2025-05-17 00:00:00" in statement(20)
    later = (datetime.datetime.now() + datetime.timedelta(days=1)).isoformat(sep=" ", timespec="seconds")
    check(15, *session.run(statement(20).replace("2025-05-17 00:00:00", later)), types)


def check_lake_is_switched_off(client, session):
    """Statement 02 changes that one option (clients of such a table are not told where the lake is), 03 nothing at all."""
    before = client.table_info("fluss.datalake_orders")[1]
    options = {key: value for key, value in before["properties"].items() if not key.startswith("table.datalake.paimon.")}
    assert options["table.datalake.enabled"] == "true" and len(options) < len(before["properties"])
    session.run(statement(2))
    after = client.table_info("fluss.datalake_orders")[1]
    assert after == {**before, "properties": {**options, "table.datalake.enabled": "false"}}
    session.run(statement(3))
    assert client.table_info("fluss.datalake_orders")[1] == after


def check_by_pypaimon(server, session):
    """Every tiered table, against the rows of the union read; most of those were compared with the guide's before."""
    read = 0
    for path in [path for path, table in server.status().items() if table["lake_enabled"]]:
        columns, rows = session.run(f"SELECT * FROM {path}")
        read += lake_check.check_sql_rows(server.warehouse, path, [column["name"] for column in columns], rows)
    assert read > 50, read


def test_guide(server, client):
    session = Session(server)
    types = expected_types()
    session.run("CREATE CATALOG `my-catalog` WITH ('type' = 'fluss')")
    session.run("USE CATALOG `my-catalog`")
    for number in CREATES:
        session.run(statement(number))
    with open(os.path.join(FOLDER, "shape.sql"), encoding="utf-8") as f:
        session.run(f.read())
    with open(os.path.join(FOLDER, "rows.sql"), encoding="utf-8") as f:
        session.run(f.read())

    def judge(number):
        columns, rows = session.run(f"SELECT * FROM {TARGETS[number]}")
        check(number, columns, rows, types)

    session.run(statement(13))
    session.run(statement(14))
    judge(13)
    judge(14)
    for number in (15, 29, 30, 36):
        session.run(statement(number))
        judge(number)
    session.run(statement(37))
    judge(37)

    with pytest.raises(SqlError, match="time_ms=1747440000000"):  # 2025-05-17 00:00:00; there is no snapshot at all.
        session.run(statement(20))
    # Statements that read the plain tables need no lake.
    for number in (7, 8, 16, 17, 22, 38):
        check(number, *session.run(statement(number)), types)
    wait_for_lake(server)
    for number in SELECTS:
        check(number, *session.run(statement(number)), types)
    for number, table in SNAPSHOTS.items():
        check_snapshots(server, session, number, table)
    check_time_travel(session, types)
    check_by_pypaimon(server, session)
    session.run("USE guide_09")
    check(9, *session.run(statement(9)), types)
    session.run("USE fluss")
    check_lake_is_switched_off(client, session)
    assert not server.status()["fluss.datalake_orders"]["lake_enabled"]

