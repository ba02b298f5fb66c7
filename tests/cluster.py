"""One server of ours on free ports and a fresh folder, to be killed and started again."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from wire_client import API_VERSIONS, Client, Connection, Disconnected, message

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from sql_over_http import SqlError, rows_of  # noqa: E402, F401
READY_S = 120
STOP_S = 180  # Sanitizers look for leaks at the end.


def binary():
    """The server to test: $SLUICE_BIN, else the newest that was built."""
    named = os.environ.get("SLUICE_BIN")
    if named:
        return named
    builds = os.path.join(ROOT, "build")
    found = [os.path.join(builds, name, "src/app/sluice") for name in (os.listdir(builds) if os.path.isdir(builds) else [])]
    found = [path for path in found if os.path.exists(path)]
    return max(found, key=os.path.getmtime) if found else None


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def crash_points():
    """Names in the sources, in their order there."""
    names = []
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in files:
            if name.endswith(".cc") and not name.endswith("_test.cc"):
                with open(os.path.join(folder, name)) as f:
                    names += re.findall(r'CRASH_POINT\("([^"]+)"\)', f.read())
    return sorted(set(names))


# What a table that is dropped while its rows are on their way may bring about.
DROPPED_WHILE_TIERED = (r"W (tiering round failed table=|upkeep of lake table |sweep of lake table ).*"
                        r"(TABLE_NOT_EXIST|PARTITION_NOT_EXISTS|lake table does not exist|no such)")


def check_log(path, announced=()):
    """Fail on what a sanitizer or a failed check left in a server's log, and on warnings and errors that nobody announced."""
    with open(path, errors="replace") as f:
        text = f.read()
    bad = re.search(r"AddressSanitizer|LeakSanitizer|runtime error:|check failed|terminate called", text)
    assert bad is None, text[max(0, bad.start() - 500):bad.start() + 4000]
    lines = re.findall(r"^\S+T\S+ [WE] .*$", text, flags=re.M)
    unknown = [line for line in lines if not any(re.search(pattern, line) for pattern in announced)]
    assert not unknown, "lines that the test did not announce:\n" + "\n".join(unknown[:20])


class Server:
    """Settings are those of server.yaml. The folder and the ports stay the same over restarts."""

    def __init__(self, folder, **settings):
        self.folder = str(folder)
        self.coordinator_port, self.tablet_port, self.http_port = free_ports(3)
        self.settings = {
            "data.dir": f"{self.folder}/data",
            "remote.data.dir": f"{self.folder}/remote",
            "datalake.paimon.warehouse": f"{self.folder}/warehouse",
            "coordinator.bind.listeners": f"CLIENT://127.0.0.1:{self.coordinator_port}",
            "tablet-server.bind.listeners": f"CLIENT://127.0.0.1:{self.tablet_port}",
            "http.port": str(self.http_port),
            "server.data-disk.write-limit-ratio": "1",  # The disk of a test machine may be nearly full.
            **{key.replace("__", ".").replace("_", "-"): str(value) for key, value in settings.items()},
        }
        self.process = None
        self.ended = None  # When the last process was seen to have ended.
        self.log_path = f"{self.folder}/server.out"
        self.announced = []
        os.makedirs(self.folder, exist_ok=True)

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.coordinator_port}"

    @property
    def warehouse(self):
        return self.settings["datalake.paimon.warehouse"]

    def command(self, *more):
        command = [binary(), "server"]
        for key, value in self.settings.items():
            command += ["-D", f"{key}={value}"]
        return command + list(more)

    def launch(self, crash_point=None):
        """Start the process; it may not be ready yet."""
        environment = dict(os.environ)
        environment.pop("SLUICE_CRASH_POINT", None)
        if crash_point:
            environment["SLUICE_CRASH_POINT"] = crash_point
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=environment, start_new_session=True)
        self.launched = time.monotonic()
        return self

    def start(self, crash_point=None):
        self.launch(crash_point)
        self.wait_until_ready()
        return self

    def is_ready(self):
        try:
            for port in (self.coordinator_port, self.tablet_port):
                connection = Connection(port)
                connection.call(API_VERSIONS, message((1, "sluice-tests"), (2, "1")))
                connection.close()
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/health", timeout=60) as answer:
                return answer.status == 200
        except (Disconnected, OSError, urllib.error.URLError):
            return False

    def wait_until_ready(self, may_end=False):
        """Wait until every listener answers; `may_end` returns when the process ends before it."""
        deadline = time.monotonic() + READY_S
        while not self.is_ready():
            if self.process.poll() is not None:
                if may_end:
                    return
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"the server is not ready after {READY_S} s:\n{self.log_tail()}")
            time.sleep(0.02)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """kill -9."""
        if self.running():
            self.process.send_signal(signal.SIGKILL)
            self.ended = time.monotonic()
        if self.process is not None:
            self.process.wait()

    def stop(self):
        """A clean stop; its exit code must be 0 (a sanitizer that found something says otherwise)."""
        if not self.running():
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server does not stop:\n{self.log_tail()}") from None
        assert code == 0, f"the server ended with {code}:\n{self.log_tail()}"

    def log_tail(self, lines=40):
        with open(self.log_path, errors="replace") as f:
            return "".join(f.readlines()[-lines:])

    def announce(self, *patterns):
        """Lines of level WARN or ERROR that the test brings about on purpose, as regular expressions."""
        self.announced += patterns

    def check_log(self):
        check_log(self.log_path, self.announced)

    def client(self):
        return Client(self.coordinator_port, self.tablet_port)

    # HTTP.
    def _get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=120) as answer:
            return answer.read()

    def metrics(self):
        return self._get("/metrics").decode()

    def metric(self, name):
        """The value of one that has no labels, or has no others of its name."""
        return float(re.search(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", self.metrics(), flags=re.M)[1])

    def status(self):
        """{"database.table": figures} as the console shows them."""
        tables = json.loads(self._get("/api/v1/tables"))["tables"]
        return {f"{t['database']}.{t['table']}": t for t in tables}

    def sql(self, text):
        """Rows of one statement, values as the endpoint writes them."""
        return rows_of(f"http://127.0.0.1:{self.http_port}", text)

    def wait_for_lake(self, client, path, ends, timeout_s=240):
        """Wait until the lake holds every bucket up to `ends`; returns the snapshot id."""
        deadline = time.monotonic() + timeout_s
        offsets = None
        while time.monotonic() < deadline:
            try:
                snapshot, offsets = client.lake_snapshot(path)
                if all(offsets.get(bucket, 0) >= end for bucket, end in ends.items()):
                    return snapshot
            except Exception as error:  # Not tiered yet, or the server is starting.
                offsets = repr(error)
            time.sleep(0.1)
        raise AssertionError(f"{path} is not in the lake after {timeout_s} s: {offsets} of {ends}\n"
                             f"{self.status().get(path)}\n{self.log_tail()}")


class Session:
    """One session over HTTP."""

    def __init__(self, server):
        self.url = f"http://127.0.0.1:{server.http_port}/api/v1"
        self.id = json.load(self._post("/sessions", b""))["id"]

    def _post(self, path, body):
        request = urllib.request.Request(self.url + path, data=body, headers={"Content-Type": "application/json"})
        return urllib.request.urlopen(request, timeout=180)

    def run(self, text):
        """Columns and rows of the last statement of a text."""
        columns, rows = [], []
        with self._post("/sql", json.dumps({"sql": text, "session": self.id}).encode()) as answer:
            for line in answer:
                event = json.loads(line)
                if event["kind"] == "error":
                    raise SqlError(f"{text}\n{event}")
                if event["kind"] == "columns":
                    columns, rows = event["columns"], []
                if event["kind"] == "rows":
                    rows += event["rows"]
        return columns, rows
