#!/usr/bin/env python3
"""Make docs/images anew from a real run: the console while the main job's data flows, in both languages, and the shell after
it. Needs what `make test` installs, a built console and npm, from which a Chinese font comes.

    scripts/pictures.py [--build build/release]
"""
import argparse
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FONT = "@fontsource/noto-sans-sc@5.3.0"
PATIENCE_S = 300
STATEMENTS = [  # Lines as they are typed.
    "SELECT carrier, COUNT(*) AS flights, ROUND(AVG(CAST(arr_delay AS DOUBLE)), 1) AS delay",
    "FROM flights GROUP BY carrier ORDER BY flights DESC LIMIT 3;",
    "SELECT COUNT(*) AS in_the_lake FROM flights$lake;",
    "SELECT snapshot_id, commit_time, total_record_count FROM flights$lake$snapshots",
    "ORDER BY snapshot_id DESC LIMIT 3;",
    "SELECT a.name, COUNT(*) AS arrivals FROM flights f JOIN airports a ON f.dest = a.faa",
    "WHERE f.`month` = 12 GROUP BY a.name ORDER BY arrivals DESC LIMIT 3;",
]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def read_until(terminal, ending):
    """What a terminal shows up to `ending`."""
    shown, deadline = b"", time.monotonic() + PATIENCE_S
    while not shown.endswith(ending):
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            sys.exit(f"pictures: the shell shows no {ending!r}: {shown!r}")
        shown += os.read(terminal, 1 << 16)
    return shown


def type_line(terminal, line):
    """Type once the shell reads keys itself: until then the terminal would show them as well."""
    while termios.tcgetattr(terminal)[3] & termios.ECHO:
        time.sleep(0.01)
    os.write(terminal, line.encode() + b"\n")


def shell_session(sluice, url):
    """The text of a terminal in which the statements were typed into `sluice sql`."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.execv(sluice, ["sluice", "sql", "--url", url])
    shown = read_until(terminal, b"sluice> ")
    for line in STATEMENTS:
        type_line(terminal, line)
        shown += read_until(terminal, b"sluice> " if line.endswith(";") else b"     -> ")
    type_line(terminal, "quit;")
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n").removesuffix("sluice> ").rstrip()


def fetch_font(folder):
    """The folder of the font's files; the package goes with the run."""
    subprocess.run(["npm", "pack", "--silent", FONT], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    package, = [name for name in os.listdir(folder) if name.endswith(".tgz")]
    subprocess.run(["tar", "-xzf", package], cwd=folder, check=True)
    return os.path.join(folder, "package", "files")


def draw(*args):
    subprocess.run(["node", os.path.join(ROOT, "scripts/pictures.mjs"), *args], check=True, timeout=PATIENCE_S)


def main():
    parser = argparse.ArgumentParser(description="make docs/images anew")
    parser.add_argument("--build", default="build/release", help="folder of the build to run")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # The server is stopped then too.
    build = os.path.join(ROOT, parser.parse_args().build)
    images = os.path.join(ROOT, "docs/images")
    with tempfile.TemporaryDirectory() as folder:
        run, release = os.path.join(folder, "run"), os.path.join(folder, "release")
        os.mkdir(run)
        subprocess.run([os.path.join(ROOT, "scripts/layout.sh"), build, release], check=True)
        font = fetch_font(folder)
        coordinator, tablet, http = free_ports(3)
        sluice, url = os.path.join(release, "bin/sluice"), f"http://127.0.0.1:{http}"
        job = subprocess.Popen([os.path.join(ROOT, ".deps/venv-run/bin/python"), os.path.join(ROOT, "scripts/main_job.py"),
                                "--sluice", sluice, "--run", run, "--coordinator-port", str(coordinator), "--tablet-port",
                                str(tablet), "--http-port", str(http)], stdout=subprocess.DEVNULL)
        try:
            draw("console", font, url + "/", images)
            if job.wait() != 0:
                sys.exit("pictures: the main job failed")
            text = os.path.join(folder, "shell.txt")
            with open(text, "w", encoding="utf-8") as f:
                f.write(shell_session(sluice, url))
            draw("shell", font, text, images)
        finally:
            job.kill()
            subprocess.run([os.path.join(ROOT, "scripts/stop.sh")], env={**os.environ, "SLUICE_RUN": run}, check=True)


if __name__ == "__main__":
    main()
