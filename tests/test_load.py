"""`sluice load`, the command: files of both kinds, what it shows meanwhile, what it says of what does not work."""
import os
import pty
import re
import select
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster import binary, free_ports

PATIENCE_S = 240
ROWS = 2000
AT_PACE = ["--rows-per-second", "1000"]  # So that there is something to show.


def load(server, *args):
    return [binary(), "load", "--bootstrap-servers", server.bootstrap, "--table", "fluss.loaded", *args]


@pytest.fixture
def table(server):
    server.sql("CREATE TABLE loaded (id BIGINT, name STRING, price DOUBLE) WITH ('bucket.num' = '2')")


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": range(ROWS), "name": [f"n{i}" if i % 3 else None for i in range(ROWS)],
                             "price": [i / 4 for i in range(ROWS)]}), path, row_group_size=300)
    return str(path)


def at_terminal(command):
    """(exit code, standard output, what the terminal that is its standard error shows)"""
    outside, inside = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=inside, text=True) as process:
        os.close(inside)
        shown = b""
        try:
            while select.select([outside], [], [], PATIENCE_S)[0]:
                shown += os.read(outside, 4096)
        except OSError:  # The other end is closed.
            pass
        os.close(outside)
        output = process.stdout.read()
        return process.wait(PATIENCE_S), output, shown.decode()


def test_a_parquet_file_is_loaded_with_a_bar_and_a_rate(server, table, parquet):
    code, output, shown = at_terminal(load(server, *AT_PACE, parquet))
    assert code == 0, shown
    bars = re.findall(r"\rfluss\.loaded \[(#*)(\.*)\] +(\d+)%  ([\d,]+) rows  [\d,]+ rows/s ", shown)
    assert len(bars) >= 2 and all(len(full) + len(rest) == 30 for full, rest, _, _ in bars), shown
    assert [int(percent) for _, _, percent, _ in bars] == sorted(int(percent) for _, _, percent, _ in bars)
    assert bars[-1][2:] == ("100", "2,000") and shown.endswith("\n"), shown
    assert re.fullmatch(r"2,000 rows acknowledged by fluss\.loaded in [\d.]+ s \([\d,]+ rows/s\)\n", output), output
    assert server.sql("SELECT COUNT(*), COUNT(DISTINCT id), COUNT(name), SUM(price) FROM loaded") == [
        [ROWS, ROWS, sum(1 for i in range(ROWS) if i % 3), sum(i / 4 for i in range(ROWS))]]


def test_a_file_that_does_not_fit_is_told_and_ends_no_bar_at_100(server, table, tmp_path):
    wrong = tmp_path / "wrong.parquet"
    pq.write_table(pa.table({"id": [1, 2], "nobodys": ["a", "b"]}), wrong)
    code, output, shown = at_terminal(load(server, str(wrong)))
    assert code == 1 and "nobodys" in shown and str(wrong) in shown and "100%" not in shown, shown
    assert output.startswith("0 rows acknowledged") and server.sql("SELECT COUNT(*) FROM loaded") == [[0]]


def test_nobody_at_the_address_is_told_at_once_and_in_the_end(program):
    """What is waited for comes while it is waited for, the error when that is given up."""
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    command = [program, "load", "--bootstrap-servers", nobody, "--table", "t", os.devnull]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == f"sluice load: waiting for an answer of {nobody}\n"
        assert process.poll() is None
        output, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and output.startswith("0 rows acknowledged")
    assert said.startswith("sluice load: ") and nobody in said and said.count("\n") == 1, said
