"""`sluice admin`: a cluster described, segments dumped, data folders verified; and the lines of slow requests."""
import glob
import hashlib
import json
import os
import re
import subprocess
import time

import pyarrow as pa
import pytest

import wire_client as wire
import workload

BUCKETS = 2
ROWS = 300
BATCHES = 24  # Several segments of 8 KiB.
PATIENCE_S = 240
WAIT_MS = 6000  # Of a fetch; its threshold is lower.


def admin(program, *args):
    return subprocess.run([program, "admin", *args], text=True, capture_output=True, timeout=PATIENCE_S)


def good(program, *args):
    ran = admin(program, *args)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    return ran.stdout


def rows(first):
    return workload.log_batch_of(first, ROWS)


def put(client, table_id, keys):
    records = [(wire.paimon_key(i), wire.kv_row(i, i, f"{i} " * 20)) for i in keys]
    client.put(table_id, 0, wire.kv_batch(records, -1, -1))


def digest(folder):
    """Every name, size and byte below a folder."""
    seen = hashlib.sha256()
    for path in sorted(glob.glob(f"{folder}/**", recursive=True, include_hidden=True)):
        seen.update(path.encode())
        if os.path.isfile(path):
            with open(path, "rb") as f:
                seen.update(f.read())
    return seen.hexdigest()


def verify(program, server):
    """The answer of verify on the server's folder, in which nothing has changed then."""
    folder = server.settings["data.dir"]
    before = digest(folder)
    ran = admin(program, "verify", folder, "--json")
    assert digest(folder) == before
    answer = json.loads(ran.stdout)
    assert ran.returncode == (1 if answer["damaged"] else 0), ran.stdout
    return answer


def damages(answer):
    return [f for f in answer["findings"] if f["kind"] == "damage"]


def segments(server, bucket, table="log"):
    return sorted(glob.glob(f"{server.settings['data.dir']}/fluss/{table}-*/log-{bucket}/*.log"))


def flip(path, at, bit=0x10):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ bit]))


@pytest.fixture
def filled(make_server):
    """A server with a log of several segments, keys and partitions, and a client."""
    server = make_server(**{"log.segment.file-size": "8kb"}).start()
    client = server.client()
    client.create_table("fluss.log", wire.descriptor(workload.LOG_COLUMNS, buckets=BUCKETS))
    client.create_table("fluss.keyed", wire.descriptor(workload.KEY_COLUMNS, primary_key=["id"]))
    server.sql("CREATE TABLE fluss.days (id INT, day_of STRING) PARTITIONED BY (day_of)")
    server.sql("INSERT INTO fluss.days VALUES (1, '2024'), (2, '2025')")
    log_id = client.table_info("fluss.log")[0]
    for part in range(BATCHES):
        client.produce(log_id, part % BUCKETS, rows(part * ROWS))
    put(client, client.table_info("fluss.keyed")[0], range(1000))
    yield server, client
    client.close()


def test_describe_and_offsets_of_a_live_cluster(program, filled):
    server, client = filled
    at = ["--bootstrap-servers", server.bootstrap, "--format", "json"]
    cluster = json.loads(good(program, "describe", *at))
    ports = {s["role"]: s["port"] for s in cluster["servers"]}
    assert ports == {"coordinator": server.coordinator_port, "tablet server": server.tablet_port}
    assert cluster["configs"]["tablet-server.bind.listeners"] == server.settings["tablet-server.bind.listeners"]
    tables = {t["table"]: t for t in cluster["tables"]}
    assert set(tables) == {"fluss.log", "fluss.keyed", "fluss.days"}
    assert tables["fluss.log"]["buckets"] == BUCKETS and tables["fluss.log"]["kind"] == "log"
    assert tables["fluss.keyed"]["kind"] == "primary key"
    assert tables["fluss.days"]["partitions"] == 2

    server.sql("ALTER TABLE fluss.log ADD COLUMN more INT")
    table = json.loads(good(program, "describe", *at, "fluss.log"))["tables"][0]
    assert table["table_id"] == client.table_info("fluss.log")[0]
    assert table["schema_id"] == 2 and [s["schema_id"] for s in table["schemas"]] == [1, 2]
    assert [len(s["schema"]["columns"]) for s in table["schemas"]] == [3, 4]
    assert len(table["descriptor"]["schema"]["columns"]) == 4
    end = BATCHES // BUCKETS * ROWS
    for bucket, offsets in enumerate(table["offsets"]):
        told = {k: offsets[k] for k in ("bucket", "leader", "log_start", "high_watermark", "log_end", "error")}
        assert told == {"bucket": bucket, "leader": 0, "log_start": 0, "high_watermark": end, "log_end": end, "error": None}

    every = json.loads(good(program, "offsets", *at))["offsets"]
    assert len(every) == BUCKETS + 1 + 2
    assert {(o["partition"], o["high_watermark"]) for o in every if o["table"] == "fluss.days"} == {("2024", 1), ("2025", 1)}
    shown = good(program, "offsets", "--bootstrap-servers", server.bootstrap, "log")
    assert len(re.findall(rf"\| fluss\.log .* {end} ", shown)) == BUCKETS
    assert "COLUMNS" in good(program, "describe", "--bootstrap-servers", server.bootstrap, "fluss.keyed")
    assert "SERVERS" in good(program, "describe", "--bootstrap-servers", server.bootstrap)


def test_describe_tells_how_far_the_lake_is(program, make_server):
    server = make_server().start()
    client = server.client()
    client.create_table("fluss.tiered", wire.descriptor(workload.LOG_COLUMNS, properties=workload.lake_properties()))
    client.produce(client.table_info("fluss.tiered")[0], 0, rows(0))
    server.wait_for_lake(client, "fluss.tiered", {0: ROWS})
    told = json.loads(good(program, "offsets", "--bootstrap-servers", server.bootstrap, "--format", "json"))
    assert told["offsets"][0]["lake_offset"] == ROWS
    client.close()


def test_mistakes_are_told(program, filled):
    server, _ = filled
    for args in (["describe", "--bootstrap-servers", server.bootstrap, "fluss.nothing"],
                 ["describe", "--bootstrap-servers", "127.0.0.1:1"],
                 ["verify", server.settings["data.dir"]],  # The server runs.
                 ["verify", "/nowhere"], ["dump", "/nowhere/0.log"]):
        ran = admin(program, *args)
        assert ran.returncode == 1 and ran.stderr.startswith(f"sluice admin {args[0]}: "), (args, ran)
    assert "in use by another process" in admin(program, "verify", server.settings["data.dir"]).stderr
    for args in ([], ["nothing"], ["dump"], ["verify"], ["describe"]):
        assert admin(program, *args).returncode not in (0, 1), args


def test_dump_of_segments(program, filled):
    server, client = filled
    folder = server.settings["data.dir"]
    server.kill()
    before = digest(folder)
    offset = 0
    for path in segments(server, 1):
        lines = [json.loads(line) for line in good(program, "dump", path, "--json", "--rows").splitlines()]
        position = 0
        for line in lines:
            assert (line["base_offset"], line["last_offset"], line["rows"]) == (offset, offset + ROWS - 1, ROWS)
            assert line["position"] == position and line["crc_ok"] and line["schema_id"] == 1
            assert line["format"] == "ARROW" and line["compression"] == "ZSTD"
            part = offset // ROWS * BUCKETS + 1
            assert [row["offset"] for row in line["row_data"]] == list(range(offset, offset + ROWS))
            first = part * ROWS
            assert line["row_data"][0]["values"] == [first, 0, f"row {first} {first * 7919 % 99991}"]
            offset += ROWS
            position += line["bytes"]
        assert position == os.path.getsize(path)
    assert offset == BATCHES // BUCKETS * ROWS
    keyed = segments(server, 0, "keyed")[0]
    text = good(program, "dump", keyed, "--rows")
    assert len(re.findall(r"^  \d+ \+I \[", text, flags=re.M)) == 1000
    one = good(program, "dump", segments(server, 1)[0], "--offset", str(ROWS + 5))
    assert len(one.splitlines()) == 1 and one.startswith(f"base_offset={ROWS} ")
    # A copy elsewhere has no metadata; the schema may be given.
    copy = os.path.join(server.folder, "copy.bin")
    with open(segments(server, 1)[0], "rb") as source, open(copy, "wb") as target:
        target.write(source.read())
    assert "format=ARROW" in good(program, "dump", copy)
    assert "give --schema" in admin(program, "dump", copy, "--rows").stderr
    schema = json.loads(wire.descriptor(workload.LOG_COLUMNS))["schema"]
    assert "+A [300,0," in good(program, "dump", copy, "--rows", "--schema", json.dumps(schema))
    assert digest(folder) == before


def test_dump_names_a_damaged_batch(program, filled):
    server, _ = filled
    server.kill()
    path = segments(server, 1)[0]
    size = json.loads(good(program, "dump", path, "--json").splitlines()[0])["bytes"]
    flip(path, size + 100)
    before = digest(server.settings["data.dir"])
    ran = admin(program, "dump", path, "--json")
    assert ran.returncode == 1
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    bad = [line for line in lines if "damaged" in line]
    assert len(bad) == 1 and (bad[0]["file"], bad[0]["offset"], bad[0]["position"]) == (path, ROWS, size)
    assert re.search(rf"^damaged file={re.escape(path)} offset={ROWS} position={size} ",
                     admin(program, "dump", path).stdout, flags=re.M)
    assert digest(server.settings["data.dir"]) == before


def test_verify_after_a_kill_and_after_a_clean_stop(program, filled):
    server, client = filled
    server.kill()
    killed = verify(program, server)
    assert killed["findings"] == [] and not killed["clean_stop"]
    assert (killed["tables"], killed["partitions"], killed["buckets"]) == (3, 2, BUCKETS + 3)
    assert killed["records"] == BATCHES * ROWS + 1000 + 2
    server.start()
    server.stop()
    stopped = verify(program, server)
    assert stopped["findings"] == [] and stopped["clean_stop"]
    assert (stopped["key_stores"], stopped["keys"]) == (1, 1000)
    shown = good(program, "verify", server.settings["data.dir"])
    assert re.search(rf"^3 tables, 2 partitions, .* {BATCHES * ROWS + 1002} records, .* last stop clean$", shown, flags=re.M)
    assert shown.endswith("0 damaged, 0 notes\n")
    server.start()  # And it starts as before.
    fresh = server.client()
    assert fresh.end_offset(fresh.table_info("fluss.log")[0], 0) == BATCHES // BUCKETS * ROWS
    fresh.close()
    server.stop()


def test_verify_finds_a_flipped_bit_in_every_kind_of_file(program, filled):
    server, _ = filled
    server.stop()
    data = server.settings["data.dir"]
    log = segments(server, 1)[1]
    keys = f"{data}/fluss/keyed-*/kv-0"
    for pattern, at in ((log, 100), (log, 8), (log.replace(".log", ".timeindex"), 3),
                        (f"{data}/fluss/log-*/log-1/*.writer_snapshot", 0),
                        (f"{data}/recovery-point-offset-checkpoint", 0),
                        (f"{keys}/db/*.sst", 20), (f"{keys}/db/CURRENT", 2), (f"{keys}/applied", 1),
                        (f"{data}/metadata/CURRENT", 2), (f"{data}/metadata/MANIFEST-*", 9)):
        path = sorted(glob.glob(pattern))[0]
        flip(path, at)
        found = damages(verify(program, server))
        assert found, (path, at)
        assert any(path.startswith(f["file"]) for f in found), (path, found)
        flip(path, at)
    assert verify(program, server)["findings"] == []


def test_verify_after_a_kill_knows_a_torn_tail_from_damage(program, filled):
    server, _ = filled
    server.kill()
    last = segments(server, 1)[-1]
    os.truncate(last, os.path.getsize(last) - 7)
    torn = verify(program, server)
    assert damages(torn) == []
    told = {f["file"]: f["text"] for f in torn["findings"]}
    assert told.pop(last).startswith("last write did not end")
    assert all(text.endswith("builds it anew") for text in told.values())  # Entries of the batch.
    flip(segments(server, 1)[0], 100)
    shown = admin(program, "verify", server.settings["data.dir"])
    assert shown.returncode == 1 and f"damage file={segments(server, 1)[0]} offset=0: log batch has a wrong crc" in shown.stdout
    found = damages(verify(program, server))
    assert [(f["file"], f["offset"]) for f in found] == [(segments(server, 1)[0], 0)]


def test_verify_finds_holes_and_strangers(program, filled):
    server, _ = filled
    server.stop()
    data = server.settings["data.dir"]
    middle = segments(server, 1)[1]
    os.rename(middle, f"{server.folder}/away")
    assert any("next one begins" in f["text"] for f in damages(verify(program, server)))
    os.rename(f"{server.folder}/away", middle)
    table = os.path.dirname(os.path.dirname(middle))
    os.rename(table, table + "99")
    texts = [f["text"] for f in damages(verify(program, server))]
    assert "folder belongs to no table" in texts
    assert any(text.startswith("bucket has no log table=fluss.log ") for text in texts)
    os.rename(table + "99", table)
    assert verify(program, server)["findings"] == []
    assert data in middle


def slow_lines(server):
    with open(server.log_path, errors="replace") as f:
        return re.findall(r"^\S+ I (slow request .*)$", f.read(), flags=re.M)


def test_slow_requests_are_told_of(make_server):
    server = make_server(**{"server.slow-request.threshold": "1ms", "server.slow-request.lines-per-second": "1000"}).start()
    client = server.client()
    client.create_table("fluss.log", wire.descriptor(workload.LOG_COLUMNS))
    table_id = client.table_info("fluss.log")[0]
    # Eight megabytes that do not get smaller, to be checked and written.
    large = wire.log_batch(pa.RecordBatch.from_pylist(
        [{"id": i, "writer": 0, "text": os.urandom(1 << 18).hex()} for i in range(32)], workload.LOG_SCHEMA))
    deadline = time.monotonic() + PATIENCE_S
    while not any("api=PRODUCE_LOG " in line for line in slow_lines(server)):
        assert time.monotonic() < deadline, "no append took a millisecond"
        client.produce(table_id, 0, large)
    line = next(line for line in slow_lines(server) if "api=PRODUCE_LOG " in line)
    assert re.fullmatch(r"slow request api=PRODUCE_LOG key=1014 listener=CLIENT peer=127\.0\.0\.1:\d+ table=fluss\.log bucket=0 "
                        r"queue_ms=\S+ handle_ms=\S+ asked_wait_ms=0\.0 received_bytes=\d+ sent_bytes=\d+ failed=false"
                        r"( not_shown=\d+)?", line), line
    counted = re.search(r'^sluice_api_slow_requests_total\{api="PRODUCE_LOG"\} (\d+)', server.metrics(), flags=re.M)
    assert int(counted[1]) >= 1
    client.close()


def test_a_fetch_that_waits_as_asked_is_not_slow(make_server):
    server = make_server(**{"server.slow-request.threshold": "5s"}).start()
    client = server.client()
    client.create_table("fluss.log", wire.descriptor(workload.LOG_COLUMNS))
    table_id = client.table_info("fluss.log")[0]
    wanted = wire.message((2, 0), (3, 0), (4, 1 << 20))
    asked = wire.message((1, table_id), (2, False), (4, wanted))
    request = wire.message((1, -1), (2, 1 << 20), (3, asked), (4, WAIT_MS), (5, 1))
    started = time.monotonic()
    client.call("tablet", wire.FETCH_LOG, request)
    assert time.monotonic() - started > WAIT_MS / 1000 - 0.1
    assert not any("api=FETCH_LOG " in line for line in slow_lines(server))
    client.close()


def test_metrics_of_buckets_are_bounded(make_server):
    server = make_server(**{"metrics.tables-max": "2", "metrics.buckets-max": "5"}).start()
    client = server.client()
    for i in range(4):
        client.create_table(f"fluss.t{i}", wire.descriptor(workload.LOG_COLUMNS, buckets=3))
    text = server.metrics()
    assert set(re.findall(r'^sluice_log_end_offset\{database="fluss",table="(\w+)"\}', text, flags=re.M)) == {"t0", "t1"}
    shown = re.findall(r'^sluice_bucket_log_end_offset\{bucket="(\d)",database="fluss",table="(\w+)"\}', text, flags=re.M)
    assert shown == [("0", "t0"), ("1", "t0"), ("2", "t0"), ("0", "t1"), ("1", "t1")]
    for name, value in (("tables", 4), ("buckets", 12), ("tables_not_shown", 2), ("buckets_not_shown", 7)):
        assert re.search(rf"^sluice_{name} {value}$", text, flags=re.M), name
    client.close()
