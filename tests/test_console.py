"""The console page in Chromium while rows flow: its numbers and texts are those of the answer whose revision it names."""
import os
import shutil
import subprocess
import threading

import pytest

from cluster import ROOT


def test_page_agrees_with_the_api_while_rows_flow(make_server, tmp_path):
    if shutil.which("chromium") is None or shutil.which("node") is None:
        pytest.fail("chromium and node are needed: scripts/install-deps.sh --test")
    server = make_server(http__files=os.path.join(ROOT, "console/dist")).start()
    for name, options in (("plain", ""), ("tiered", "WITH ('table.datalake.enabled' = 'true', "
                                                    "'table.datalake.freshness' = '2s')")):
        server.sql(f"CREATE TABLE {name} (id BIGINT, note STRING) {options}")
    stop = threading.Event()
    wrote, lags = [], []

    def write():
        while not stop.is_set():
            for name in ("plain", "tiered"):
                server.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
            wrote.append(6)

    def look():
        while not stop.wait(0.1):
            lags.extend((table["lag_rows"], table["log_end_offset"] - table["lake_offset"], table["lag_ms"])
                        for table in server.status().values() if table["lake_offset"] is not None)

    looker = threading.Thread(target=look)
    looker.start()
    writer = threading.Thread(target=write)
    writer.start()
    try:
        picture = os.environ.get("SLUICE_SCREENSHOT", str(tmp_path / "console.png"))
        done = subprocess.run(["node", os.path.join(ROOT, "tests/console_check.mjs"),
                               f"http://127.0.0.1:{server.http_port}/", "12", picture],
                              capture_output=True, text=True, timeout=300)
    finally:
        stop.set()
        writer.join()
        looker.join()
    assert done.returncode == 0, done.stdout + done.stderr
    assert lags and all(shown == difference for shown, difference, _ in lags), lags
    assert all(rows > 0 or age == 0 for rows, _, age in lags), lags  # No row is old when there is none.
    assert len(wrote) > 3, "rows must have flowed while the page was looked at"
