"""KV snapshots as a client reads them: their files in one folder, opened by RocksDB with the default column family alone."""
import ctypes
import ctypes.util
import os
import shutil
import tempfile
import time

import wire_client as wire
import workload


def local_path(uri):
    assert uri.startswith("file:/"), uri
    return uri.removeprefix("file:")


def latest(client, path, partition=None):
    """{bucket: (snapshot id, log offset)} of the buckets that have one."""
    request = wire.message((1, wire.table_path(path)), (2, partition))
    entries = map(wire.parse, client.call("tablet", wire.GET_LATEST_KV_SNAPSHOTS, request).get(3, []))
    return {entry[1][0]: (entry[2][0], entry[3][0]) for entry in entries if 2 in entry}


def files_of(client, table_id, bucket, snapshot_id):
    """(log offset, {local name: path})"""
    request = wire.message((1, table_id), (3, bucket), (4, snapshot_id))
    answer = client.call("tablet", wire.GET_KV_SNAPSHOT_METADATA, request)
    files = map(wire.parse, answer[2])
    return answer[1][0], {file[2][0].decode(): local_path(file[1][0].decode()) for file in files}


def read_database(folder):
    """All keys and values of the default column family."""
    library = ctypes.CDLL(ctypes.util.find_library("rocksdb"))
    for name in ("options_create", "readoptions_create", "open_for_read_only", "create_iterator", "iter_key", "iter_value"):
        getattr(library, f"rocksdb_{name}").restype = ctypes.c_void_p
    library.rocksdb_iter_valid.restype = ctypes.c_ubyte
    error, pointer = ctypes.c_char_p(), ctypes.c_void_p
    options = pointer(library.rocksdb_options_create())
    database = pointer(library.rocksdb_open_for_read_only(options, folder.encode(), ctypes.c_ubyte(0), ctypes.byref(error)))
    assert error.value is None, error.value
    read_options = pointer(library.rocksdb_readoptions_create())
    at = pointer(library.rocksdb_create_iterator(database, read_options))
    found, size = {}, ctypes.c_size_t()
    library.rocksdb_iter_seek_to_first(at)
    while library.rocksdb_iter_valid(at):
        key = ctypes.string_at(library.rocksdb_iter_key(at, ctypes.byref(size)), size.value)
        found[key] = ctypes.string_at(library.rocksdb_iter_value(at, ctypes.byref(size)), size.value)
        library.rocksdb_iter_next(at)
    library.rocksdb_iter_get_error(at, ctypes.byref(error))
    assert error.value is None, error.value
    library.rocksdb_iter_destroy(at)
    library.rocksdb_close(database)
    library.rocksdb_readoptions_destroy(read_options)
    library.rocksdb_options_destroy(options)
    return found


def read_rows(client, table_id, bucket, snapshot_id):
    """(log offset, {key: (version, text)}) of a table of workload.KEY_COLUMNS."""
    offset, files = files_of(client, table_id, bucket, snapshot_id)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files.items():
            shutil.copyfile(path, os.path.join(folder, name))
        rows = (wire.read_kv_row(value[2:]) for value in read_database(folder).values())
        return offset, {key: (version, text) for key, version, text in rows}


def check_rows(client, path, table_id):
    """The newest snapshot of every bucket holds what its changelog below its offset adds up to. Returns their number."""
    found = latest(client, path)
    for bucket, (snapshot_id, listed_offset) in found.items():
        offset, rows = read_rows(client, table_id, bucket, snapshot_id)
        assert offset == listed_offset
        state = workload.fold_bucket(client, table_id, bucket, end=offset)
        assert rows == state, f"snapshot {snapshot_id} of bucket {bucket} is not the log below {offset}"
    return len(found)


def check_files(client, path, table_id):
    """Every file of the newest snapshots is there."""
    for bucket, (snapshot_id, _) in latest(client, path).items():
        for name, file in files_of(client, table_id, bucket, snapshot_id)[1].items():
            assert os.path.exists(file), f"snapshot {snapshot_id} of bucket {bucket} lacks {name} at {file}"


def recorded(client, table_id):
    """{bucket: ids of all recorded snapshots}"""
    ids = {}
    for entry in map(wire.parse, client.call("coordinator", wire.LIST_KV_SNAPSHOTS, wire.message((1, table_id))).get(3, [])):
        ids.setdefault(entry[1][0], []).append(entry[2][0])
    return ids


def unnamed_files(client, remote, path, table_id):
    """Files of a table's folder that no recorded snapshot names."""
    database, table = path.split(".")
    folder = f"{remote}/kv/{database}/{table}-{table_id}"
    named = set()
    for bucket, ids in recorded(client, table_id).items():
        for snapshot_id in ids:
            named |= set(files_of(client, table_id, bucket, snapshot_id)[1].values())
            named.add(f"{folder}/{bucket}/snap-{snapshot_id}/_METADATA")
    there = {os.path.join(at, name) for at, _, names in os.walk(folder) for name in names}
    assert named <= there, f"recorded snapshots lack {sorted(named - there)[:5]}"
    return there - named


def wait_until_clean(client, remote, path, table_id, timeout_s=60):
    """Wait until nothing lies in a table's folder that no recorded snapshot names."""
    deadline = time.monotonic() + timeout_s
    while left := unnamed_files(client, remote, path, table_id):
        assert time.monotonic() < deadline, f"no snapshot names {sorted(left)[:5]}"
        time.sleep(0.05)


def wait_for(client, path, offsets, timeout_s=120):
    """Wait until the newest snapshot of each bucket holds the log below its offset."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = latest(client, path)
        if all(found.get(bucket, (0, -1))[1] >= offset for bucket, offset in offsets.items()):
            return found
        assert time.monotonic() < deadline, f"no snapshot of {path} at {offsets}: {found}"
        time.sleep(0.05)
