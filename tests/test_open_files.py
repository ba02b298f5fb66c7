"""A server that may open few files: tables are refused in time, and what is there goes on."""
import shutil

import pytest

from cluster import SqlError

OPEN_FILES_MAX = 400
TABLES_MAX = OPEN_FILES_MAX // 4


@pytest.fixture
def narrow_server(make_server):
    if shutil.which("prlimit") is None:
        pytest.skip("no prlimit")
    server = make_server()
    command = server.command
    server.command = lambda *more: ["prlimit", f"--nofile=200:{OPEN_FILES_MAX}", *command(*more)]
    return server.start()


def test_tables_are_refused_before_the_files_run_out(narrow_server):
    server, made = narrow_server, 0
    with pytest.raises(SqlError, match="open_files_max=400"):
        while made < TABLES_MAX:
            server.sql(f"CREATE TABLE t{made} (a INT) WITH ('bucket.num' = '4')")
            made += 1
    assert made >= 5
    for i in range(made):
        server.sql(f"INSERT INTO t{i} VALUES (1), (2), (3), (4), (5)")
    server.kill()
    server.start()
    for i in range(made):
        assert [int(n) for n, in server.sql(f"SELECT COUNT(*) FROM t{i}")] == [5]
    server.sql("DROP TABLE t0")
    server.sql("CREATE TABLE again (a INT)")
