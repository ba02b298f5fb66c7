"""`sluice sql`, over HTTP and with the engine in its own process."""
import csv
import fcntl
import io
import json
import os
import pty
import select
import subprocess
import termios
import time

import pytest

from cluster import binary

PATIENCE_S = 240
SCRIPT = """
CREATE TABLE people (id INT, name STRING, score DECIMAL(6, 2), PRIMARY KEY (id) NOT ENFORCED)
    WITH ('bucket.num' = '2');
INSERT INTO people VALUES (1, 'Ann', 1.50), (2, 'Bob, the second', NULL);
INSERT INTO people VALUES (1, 'Ann', 2.50);
"""


def shell(where, *args, stdin=None):
    return subprocess.run([binary(), "sql", *where, *args], input=stdin, text=True, capture_output=True,
                          timeout=PATIENCE_S, check=False)


@pytest.fixture(params=["--url", "--bootstrap-servers"])
def where(server, request):
    return [request.param, f"http://127.0.0.1:{server.http_port}" if request.param == "--url" else server.bootstrap]


def test_every_format_shows_the_rows(where, tmp_path):
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    filled = shell(where, "-f", str(script))
    assert filled.returncode == 0, filled.stderr
    query = "SELECT id, name, score FROM people ORDER BY id"

    lines = shell(where, "--format", "json", "-e", query).stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"id": 1, "name": "Ann", "score": "2.50"}, {"id": 2, "name": "Bob, the second", "score": None}]
    rows = list(csv.reader(io.StringIO(shell(where, "--format", "csv", "-e", query).stdout)))
    assert rows[:2] == [["id", "name", "score"], ["1", "Ann", "2.50"]] and rows[2][:2] == ["2", "Bob, the second"]
    table = shell(where, stdin=query + ";").stdout
    assert "Bob, the second" in table and "2.50" in table


def test_a_session_lasts_for_the_script(where):
    done = shell(where, "--format", "json", "-e", """
        CREATE DATABASE other; USE other; CREATE TABLE t (a INT); INSERT INTO t VALUES (5);
        CREATE VIEW v AS SELECT a + 1 AS b FROM t; SELECT b FROM v; SHOW TABLES""")
    assert done.returncode == 0, done.stderr
    assert '{"b":6}' in done.stdout.replace(" ", "")


def test_the_first_error_ends_the_script(where):
    failed = shell(where, "-e", "SELECT 1;\nSELECT * FROM nowhere;\nSELECT 'never'")
    assert failed.returncode == 1
    assert "line 2" in failed.stderr and "nowhere" in failed.stderr and "never" not in failed.stdout


def test_a_piped_script_may_leave(where):
    done = shell(where, "--format", "csv", stdin="SELECT 1 AS a;\nquit;\nSELECT 2 AS b;\n")
    assert done.returncode == 0 and done.stdout.split() == ["a", "1"], done.stderr


def test_a_comment_behind_a_statement_starts_no_other(where, tmp_path):
    person = Terminal(where, tmp_path)
    person.until(b"sluice> ")
    person.write(b"SELECT 40 + 2 AS a;   -- the answer\n")
    said = person.until(b"42") + person.until(b"sluice> ")
    person.leave()  # Where a statement had begun, quit is part of it.
    assert b"     -> " not in said, said


class Terminal:
    """A shell at a terminal of its own, whose person reads before they write."""

    def __init__(self, where, home):
        self.outside, inside = pty.openpty()
        # Ctrl-C goes to whoever holds the terminal.
        self.process = subprocess.Popen([binary(), "sql", *where], stdin=inside, stdout=inside, stderr=inside,
                                        env={**os.environ, "HOME": str(home), "TERM": "xterm"}, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(inside)
        self.said = b""

    def until(self, text):
        """What was said until then, that included."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.said:
            assert select.select([self.outside], [], [], deadline - time.monotonic())[0], self.said
            try:
                self.said += os.read(self.outside, 4096)
            except OSError:  # It has ended.
                raise AssertionError(f"{text} is never said: {self.said}") from None
        said, self.said = self.said.split(text, 1)
        return said + text

    def write(self, text):
        os.write(self.outside, text)

    def leave(self):
        self.write(b"quit\n")
        assert self.process.wait(PATIENCE_S) == 0
        os.close(self.outside)


def test_a_statement_of_two_lines_is_recalled_after_a_restart(server, tmp_path):
    where = ["--url", f"http://127.0.0.1:{server.http_port}"]
    first = Terminal(where, tmp_path)
    first.until(b"sluice> ")
    first.write(b"SELECT 40\n")
    first.until(b"     -> ")
    first.write(b"  + 2 AS answer;\n")
    first.until(b"answer")
    first.until(b"42")
    first.until(b"sluice> ")
    first.leave()
    assert (tmp_path / ".sluice_history").exists()

    second = Terminal(where, tmp_path)
    second.until(b"sluice> ")
    second.write(b"\x1b[A\n")  # Arrow up, enter.
    second.until(b"42")
    second.until(b"sluice> ")
    second.leave()


def test_ctrl_c_gives_up_what_runs_and_what_is_typed_but_not_the_shell(where, tmp_path):
    values = ", ".join(f"({i})" for i in range(100))
    person = Terminal(where, tmp_path)
    person.until(b"sluice> ")
    person.write(f"CREATE TEMPORARY VIEW big AS SELECT * FROM (VALUES {values}) AS t (x);\n".encode())
    person.until(b"OK")
    person.until(b"sluice> ")
    said, pause_s = b"", 0.0
    while b"error: " not in said:  # Else the line was still being typed when the interrupt came.
        person.write(b"SELECT SUM(a.x * b.x) FROM big a, big b, big c, big d, big e, big f;\n")
        person.until(b"big f;")  # The terminal's echo; the statement takes days.
        time.sleep(pause_s)
        pause_s += 0.1
        person.write(b"\x03")
        said = person.until(b"sluice> ")
    person.write(b"SELECT 40 + 2 AS answer;\n")
    person.until(b"42")
    person.until(b"sluice> ")
    person.write(b"SELECT 'half of a statement'\n")
    person.until(b"     -> ")
    person.write(b"\x03")
    person.until(b"sluice> ")
    person.write(b"SELECT 40 + 3 AS answer;\n")
    assert b"half" not in person.until(b"43")
    person.until(b"sluice> ")
    person.leave()


def test_views_of_a_shell_with_its_own_engine_are_its_own(server):
    where = ["--bootstrap-servers", server.bootstrap]
    assert shell(where, "-e", "CREATE VIEW mine AS SELECT 1 AS a; SELECT a FROM mine").returncode == 0
    assert shell(where, "-e", "SELECT a FROM mine").returncode == 1


def test_lake_and_log_are_read_as_one(make_server):
    server = make_server().start()
    where = ["--bootstrap-servers", server.bootstrap]
    made = shell(where, "-e", """
        CREATE TABLE t (a INT, b STRING) WITH ('bucket.num' = '1', 'table.datalake.enabled' = 'true',
            'table.datalake.freshness' = '1s');
        INSERT INTO t VALUES (1, 'old'), (2, 'old')""")
    assert made.returncode == 0, made.stderr
    client = server.client()
    server.wait_for_lake(client, "fluss.t", {0: 2})
    client.close()
    read = shell(where, "--format", "json", "-e",
                 "INSERT INTO t VALUES (3, 'new'); SELECT COUNT(*) AS n FROM t; SELECT COUNT(*) AS m FROM t$lake")
    assert read.returncode == 0 and read.stderr == "", read.stderr
    rows = [json.loads(line) for line in read.stdout.splitlines() if line.startswith("{")]
    assert {"n": 3} in rows and ({"m": 2} in rows or {"m": 3} in rows)


@pytest.mark.parametrize("gone", ["the folder", "the table"])
def test_a_lake_that_cannot_be_reached_is_not_left_out(make_server, gone):
    server = make_server().start()
    server.announce("W writes are refused: folder cannot be looked at folder=.*/warehouse ", "W writes are taken again ",
                    "W (upkeep|sweep) of lake table fluss.(log|keys): .*(lake table does not exist|no such file or folder)")
    where = ["--bootstrap-servers", server.bootstrap]
    lake = "'bucket.num' = '1', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1s'"
    made = shell(where, "-e", f"""
        CREATE TABLE log (a INT) WITH ({lake}); INSERT INTO log VALUES (1), (2);
        CREATE TABLE keys (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ({lake}); INSERT INTO keys VALUES (1), (2);
        CREATE TABLE without_lake (a INT); INSERT INTO without_lake VALUES (5)""")
    assert made.returncode == 0, made.stderr
    client = server.client()
    for table in ("log", "keys"):
        server.wait_for_lake(client, f"fluss.{table}", {0: 2})
    client.close()
    away = {"the folder": server.warehouse, "the table": f"{server.warehouse}/fluss.db"}[gone]
    os.rename(away, away + ".away")  # As on a machine that has it elsewhere.
    try:
        for statement in ("SELECT COUNT(*) FROM log", "SELECT COUNT(*) FROM keys", "SELECT COUNT(*) FROM log$lake"):
            failed = shell(where, "-e", statement)
            table = "keys" if "keys" in statement else "log"
            assert failed.returncode == 1, failed.stdout
            assert table in failed.stderr and server.warehouse in failed.stderr, failed.stderr
        works = shell(where, "--format", "json", "-e", "SELECT a FROM without_lake")
        assert works.returncode == 0 and '{"a":5}' in works.stdout.replace(" ", ""), works.stderr
        assert ("warning" in works.stderr) == (gone == "the folder")
        assert gone == "the table" or not os.path.exists(server.warehouse)
    finally:
        os.rename(away + ".away", away)


def test_nobody_at_the_address(tmp_path):
    if binary() is None:
        pytest.skip("no server is built")
    gone = shell(["--bootstrap-servers", "127.0.0.1:1"], "-e", "SELECT 1")
    assert gone.returncode == 2 and "127.0.0.1:1" in gone.stderr
    wrong = shell(["--bootstrap-servers", "nowhere"], "-e", "SELECT 1")
    assert wrong.returncode == 2 and "nowhere" in wrong.stderr


def test_no_control_character_of_a_value_reaches_the_terminal(where):
    shown = shell(where, "-e", "SELECT CHR(27) || '[2J' AS s, MAP[CHR(155), CHR(7)] AS m")
    assert shown.returncode == 0, shown.stderr
    assert "\\x1b[2J" in shown.stdout and "{\\u009b=\\x07}" in shown.stdout and "\x1b" not in shown.stdout
    failed = shell(where, "-e", "SELECT CAST(CHR(27) || '[31m' AS DOUBLE)")
    assert failed.returncode == 1 and "\x1b" not in failed.stderr and "line=1, column=8" in failed.stderr
