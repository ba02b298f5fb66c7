"""The main job of `make run` on a tenth of its data, in a folder and on ports of its own; then pypaimon reads its tables."""
import csv
import datetime
import os
import re
import subprocess
import sys
import types

import pyarrow as pa

import lake_check
from cluster import ROOT, binary, check_log, free_ports

import main_job  # Of scripts/, which `cluster` has put on the path.

TIMEOUT_S = 600
STOP_S = 240
KEYS = {"planes": "tailnum", "airlines": "carrier", "airports": "faa"}
READ = {  # What a cell of the files is, by its column's type in the DDL.
    "INT": (pa.int32(), lambda text: int(float(text))),
    "DOUBLE": (pa.float64(), float),
    "STRING": (pa.string(), str),
    "TIMESTAMP_LTZ(0)": (pa.timestamp("s", tz="UTC"), datetime.datetime.fromisoformat),
}


def columns_of_tables():
    """{table: {column: type}} of the job's DDL."""
    with open(os.path.join(ROOT, "scripts/main_job.sql"), encoding="utf-8") as f:
        tables = re.findall(r"CREATE TABLE (\w+) \((.*?)\n\) WITH", f.read(), flags=re.S)
    kinds = "|".join(map(re.escape, READ))
    return {table: dict(re.findall(rf"`?(\w+)`? ({kinds})(?= NOT NULL|,|\n|$)", body)) for table, body in tables}


def rows_of_files(folder, table, columns):
    """The table's file, and over it the files of changes in their order, as a reader of Python's standard library sees them."""
    rows, key = {}, KEYS.get(table)
    changes = sorted(name for name in os.listdir(folder) if name.startswith(table + "-"))
    for name in [table + ".csv", *changes]:
        with open(folder / name, newline="", encoding="utf-8") as f:
            for number, cells in enumerate(csv.DictReader(f)):
                place = cells[key] if key else number
                if name.endswith("-delete.csv"):
                    rows.pop(place, None)
                    continue
                rows[place] = {column: None if cells[column] == "NA" else READ[kind][1](cells[column])
                               for column, kind in columns.items()}
    return list(rows.values())


def check_lake(run):
    """Every row of the five tables, in the lake as in the files."""
    warehouse, counts = str(run / "warehouse"), {}
    for table, columns in columns_of_tables().items():
        path = f"fluss.{table}"
        found = [(field.name, field.type) for field in lake_check.read(warehouse, path).schema]
        assert found[:-3] == [(name, READ[kind][0]) for name, kind in columns.items()], f"{path}: {found}"
        rows = rows_of_files(run / "files", table, columns)
        if table in KEYS:
            counts[table] = lake_check.check_keys(warehouse, path, [KEYS[table]], rows)
        else:
            counts[table] = lake_check.check_rows(warehouse, path, rows)
    assert len(counts) == 5 and all(counts.values()), counts
    print(f"pypaimon reads the rows of the files: {counts}")


def stop(run):
    """End the server that the job left up, as `make stop` does; the last lines of its log count too."""
    done = subprocess.run([os.path.join(ROOT, "scripts/stop.sh")], env={**os.environ, "SLUICE_RUN": str(run)}, text=True,
                          capture_output=True, timeout=STOP_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def command(run, fraction, program=(os.path.join(ROOT, "scripts/main_job.py"),)):
    coordinator, tablet, http = free_ports(3)
    return [os.path.join(ROOT, ".deps/venv-run/bin/python"), *program, "--sluice", binary(), "--run", str(run), "--fraction",
            str(fraction), "--coordinator-port", str(coordinator), "--tablet-port", str(tablet), "--http-port", str(http)]


def test_main_job_on_a_tenth_of_the_data(tmp_path):
    try:
        done = subprocess.run(command(tmp_path, 0.1), capture_output=True, text=True, timeout=TIMEOUT_S)
        sys.stdout.write(done.stdout[-4000:])
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        assert "All figures are equal" in done.stdout
        watched = re.findall(r"^ *[\d.]+ s  flights +\d+  flights\$lake +\d+  not yet in the lake +\d+ rows",
                             done.stdout, flags=re.M)
        assert len(watched) >= 2, done.stdout  # Union reads went on while it loaded.
        assert "OK" not in done.stdout.splitlines()  # What was done is said in words.
        check_lake(tmp_path)
    finally:
        stopped = stop(tmp_path)
    assert stopped == "stopped" and stop(tmp_path) == "not running"
    check_log(tmp_path / "log" / "server.out")


def test_a_query_that_fails_while_it_loads_fails_the_job(tmp_path):
    program = ("-c", f"import sys; sys.path.insert(0, {os.path.join(ROOT, 'scripts')!r}); import main_job; "
               "main_job.sql_over_http.rows_of = lambda *args: 1 / 0; main_job.main()")
    try:
        done = subprocess.run(command(tmp_path, 0.001, program), capture_output=True, text=True, timeout=TIMEOUT_S)
    finally:
        stop(tmp_path)
    assert done.returncode == 1 and "watch ended with ZeroDivisionError" in done.stderr, done.stdout + done.stderr


def test_a_figure_that_differs_from_the_source_fails_the_job(tmp_path):
    program = ("-c", f"""import sys; sys.path.insert(0, {os.path.join(ROOT, 'scripts')!r}); import main_job
main_job.PAUSE_BETWEEN_ROUNDS_S = 0
prepare = main_job.source_data.prepare
def falsified(*args):
    source = prepare(*args)
    source.expected["planes"]["sums"][1] += 1
    return source
main_job.source_data.prepare = falsified
main_job.main()""")
    try:
        done = subprocess.run(command(tmp_path, 0.001, program), capture_output=True, text=True, timeout=TIMEOUT_S)
    finally:
        stop(tmp_path)
    assert done.returncode == 1 and "figures differ from the source" in done.stderr, done.stdout + done.stderr
    wrong = [line.split() for line in done.stdout.splitlines() if line.endswith("DIFFERS")]
    assert [(line[0], line[3]) for line in wrong] == [("planes", "year")] and "All figures" not in done.stdout


def equal_figures(acknowledged, union_read, lake):
    """What the job says of a table whose figures are 10 rows of 11 that were sent, and sums of 20 and 30."""
    answers = {"flights": union_read, "flights$lake": lake}
    server = types.SimpleNamespace(sql=lambda text: [[str(value) for value in answers[text.split()[-1]]]])
    source = main_job.source_data.Source(expected={"flights": {"sent": 11, "rows": 10, "sums": [20, 30]}})
    return main_job.compare(server, source, {"flights": acknowledged})


def test_each_figure_counts():
    right = [10, 20, 30]
    assert equal_figures(11, right, right)
    assert not equal_figures(10, right, right)
    for i in range(3):
        wrong = [value + (i == at) for at, value in enumerate(right)]
        assert not equal_figures(11, wrong, right) and not equal_figures(11, right, wrong)


def test_a_pid_file_that_names_somebody_else_ends_nobody(tmp_path):
    with subprocess.Popen(["sleep", "600"], cwd=tmp_path) as other:
        try:
            for text in (str(other.pid), "", "x", "-1"):
                (tmp_path / "server.pid").write_text(text)
                assert stop(tmp_path) == "not running" and not (tmp_path / "server.pid").exists()
            assert other.poll() is None
        finally:
            other.kill()
