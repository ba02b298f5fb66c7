"""A small client of the wire protocol that says exactly what was acknowledged.

pyfluss hides retries, writer ids and sequences; the fault and oracle tests need them. Protobuf is encoded by hand: a
message is a list of (field number, value) pairs, and is read back as {field number: [raw values]}.
"""
import json
import socket
import struct

import pyarrow as pa

API_VERSIONS, CREATE_DATABASE, DROP_DATABASE, CREATE_TABLE, DROP_TABLE, GET_TABLE_INFO = 1000, 1001, 1002, 1005, 1006, 1007
LIST_TABLES, TABLE_EXISTS, GET_METADATA, PRODUCE_LOG, FETCH_LOG, PUT_KV, LOOKUP = 1008, 1010, 1012, 1014, 1015, 1016, 1017
LIST_OFFSETS, INIT_WRITER, GET_LAKE_SNAPSHOT, CREATE_PARTITION, DROP_PARTITION, ALTER_TABLE = 1021, 1026, 1032, 1036, 1037, 1044
GET_LATEST_KV_SNAPSHOTS, GET_KV_SNAPSHOT_METADATA, ACQUIRE_KV_SNAPSHOT_LEASE, LIST_KV_SNAPSHOTS = 1023, 1024, 1056, 1064
LIST_DATABASES, SCAN_KV = 1003, 1061
# Keys with several versions: the newest that we speak.
EARLIEST, LATEST = 0, 1  # What LIST_OFFSETS is asked for.
VERSIONS = {PUT_KV: 2, LOOKUP: 1}

UNSUPPORTED_VERSION, CORRUPT_MESSAGE, TABLE_NOT_EXIST, TABLE_ALREADY_EXIST, CORRUPT_RECORD = 2, 3, 7, 8, 14
RECORD_TOO_LARGE, INVALID_TABLE, LOG_OFFSET_OUT_OF_RANGE, OUT_OF_ORDER_SEQUENCE, LAKE_SNAPSHOT_NOT_EXIST = 13, 15, 19, 31, 53
# Errors after which the same request may be sent again.
RETRIABLE = {1, 3, 9, 10, 11, 12, 21, 25, 26, 28, 29, 44, 70, 72}


class WireError(Exception):
    """The server's error reply."""

    def __init__(self, code, message=""):
        super().__init__(f"{code}: {message}")
        self.code = code


class Disconnected(Exception):
    """The connection ended before the answer."""


# ---- protobuf

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*fields):
    out = bytearray()
    for number, value in fields:
        if value is None:
            continue
        if isinstance(value, (bool, int)):
            out += varint(number << 3) + varint(int(value))
        else:
            data = value.encode() if isinstance(value, str) else bytes(value)
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return bytes(out)


def take_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def parse(data):
    fields, at = {}, 0
    while at < len(data):
        tag, at = take_varint(data, at)
        if tag & 7 == 0:
            value, at = take_varint(data, at)
            value = value - (1 << 64) if value >= 1 << 63 else value
        elif tag & 7 == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            size, at = take_varint(data, at)
            value, at = data[at:at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


# ---- record batches (little-endian)

def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_CRC = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def log_batch(rows, writer_id=-1, sequence=-1, schema_id=1):
    """An append-only batch of one Arrow RecordBatch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_batch(rows)
    data = sink.getvalue().to_pybytes()
    schema_bytes = 8 + struct.unpack_from("<i", data, 4)[0]
    body = data[schema_bytes:-8]  # Between the schema message and the end marker.
    checked = struct.pack("<hBiqii", schema_id, 1, rows.num_rows - 1, writer_id, sequence, rows.num_rows) + body
    after_length = struct.pack("<bqI", 0, 0, crc32c(checked)) + checked
    return struct.pack("<qi", 0, len(after_length)) + after_length


def read_log_batches(records, schema):
    """[(base offset, commit timestamp, change types or None, [row dict])] of whole batches, CRCs checked."""
    batches, at = [], 0
    while at + 12 <= len(records):
        base, length = struct.unpack_from("<qi", records, at)
        end = at + 12 + length
        if end > len(records):
            break
        magic, timestamp, crc, _, attributes, _, _, _, count = struct.unpack_from("<bqIhBiqii", records, at + 12)
        assert magic == 0, magic
        assert crc32c(records[at + 25:end]) == crc, f"wrong crc at offset {base}"
        body, changes = at + 48, None
        if not attributes & 1:
            changes, body = list(records[body:body + count]), body + count
        rows = []
        if count:
            rows = pa.ipc.read_record_batch(pa.py_buffer(records[body:end]), schema).to_pylist()
        batches.append((base, timestamp, changes, rows))
        at = end
    return batches


def kv_batch(records, writer_id, sequence, schema_id=1):
    """A batch of (key bytes, row bytes or None for a delete)."""
    body = b""
    for key, row in records:
        rest = varint(len(key)) + key + (row or b"")
        body += struct.pack("<i", len(rest)) + rest
    checked = struct.pack("<hBqii", schema_id, 0, writer_id, sequence, len(records)) + body
    after_length = struct.pack("<bI", 0, crc32c(checked)) + checked
    return struct.pack("<i", len(after_length)) + after_length


def paimon_key(value):
    """Paimon's binary row of one BIGINT: the key of our tables."""
    return bytes(8) + struct.pack("<q", value)


def paimon_bucket(key, buckets):
    """Bucket of a Paimon-encoded key (murmur 3 of its words, seed 42)."""
    mask = 0xFFFFFFFF
    rotl = lambda x, n: (x << n | x >> 32 - n) & mask
    h = 42
    for (word,) in struct.iter_unpack("<I", key):
        k = rotl(word * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
        h = (rotl(h ^ k, 13) * 5 + 0xE6546B64) & mask
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return abs(h - (1 << 32) if h >= 1 << 31 else h) % buckets


# Rows of the key tables here: (id BIGINT NOT NULL, version BIGINT, text STRING), COMPACTED.

def kv_row(key, version, text):
    nulls = (version is None) << 1 | (text is None) << 2
    out = bytes([nulls]) + varint(key)
    if version is not None:
        out += varint(version)
    if text is not None:
        out += varint(len(text.encode())) + text.encode()
    return out


def read_kv_row(data):
    nulls, at = data[0], 1
    key, at = take_varint(data, at)
    version = text = None
    if not nulls & 2:
        version, at = take_varint(data, at)
    if not nulls & 4:
        size, at = take_varint(data, at)
        text = data[at:at + size].decode()
    return key, version, text


def read_value_batch(data):
    """The rows of a batch of values, each behind its length and the id of its schema, which is the table's first."""
    length, magic, count = struct.unpack_from("<ibi", data)
    assert magic == 0 and length == len(data) - 4, (length, magic, len(data))
    rows, at = [], 9
    for _ in range(count):
        size, schema_id = struct.unpack_from("<ih", data, at)
        assert schema_id == 1, schema_id
        rows.append(read_kv_row(data[at + 6:at + 4 + size]))
        at += 4 + size
    assert at == len(data), (at, len(data))
    return rows


# ---- connections

class Connection:
    """One connection, one request at a time."""

    def __init__(self, port, timeout_s=60):
        try:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        except OSError as error:
            raise Disconnected(str(error)) from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.next_id = 0

    def close(self):
        self.socket.close()

    def _read(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise Disconnected("closed by the server")
            data += part
        return bytes(data)

    def send_raw(self, data):
        self.socket.sendall(data)

    def read_response(self):
        """(kind, request id or None, body) of the next frame."""
        try:
            frame = self._read(struct.unpack(">i", self._read(4))[0])
        except OSError as error:
            raise Disconnected(str(error)) from error
        if frame[0] == 2:
            return 2, None, frame[1:]
        return frame[0], struct.unpack_from(">i", frame, 1)[0], frame[5:]

    def call(self, key, body=b"", version=None):
        request_id, self.next_id = self.next_id, self.next_id + 1
        header = struct.pack(">hhi", key, VERSIONS.get(key, 0) if version is None else version, request_id)
        try:
            self.send_raw(struct.pack(">i", len(header) + len(body)) + header + body)
        except OSError as error:
            raise Disconnected(str(error)) from error
        kind, answered, answer = self.read_response()
        if kind != 0:
            error = parse(answer)
            raise WireError(error[1][0], error.get(2, [b""])[0].decode())
        assert answered == request_id, (answered, request_id)
        return parse(answer)


def raise_if_error(entry, code_at, message_at):
    if code_at in entry and entry[code_at][0] != 0:
        raise WireError(entry[code_at][0], entry.get(message_at, [b""])[0].decode())


def table_path(path):
    database, table = path.split(".")
    return message((1, database), (2, table))


def descriptor(columns, primary_key=(), bucket_key=None, buckets=1, properties=None, partition_key=(), custom=None):
    """JSON of a table. `columns`: [(name, type, nullable)]."""
    fields = []
    for i, (name, kind, nullable) in enumerate(columns):
        data_type = {"type": kind} if nullable else {"type": kind, "nullable": False}
        fields.append({"name": name, "data_type": data_type, "id": i})
    schema = {"version": 1, "columns": fields, "highest_field_id": len(fields) - 1}
    if primary_key:
        schema["primary_key"] = list(primary_key)
    return json.dumps({"version": 1, "schema": schema, "partition_key": list(partition_key),
                       "bucket_key": list(bucket_key if bucket_key is not None else
                                          [c for c in primary_key if c not in partition_key]),
                       "bucket_count": buckets, "properties": properties or {}, "custom_properties": custom or {}})


class Client:
    """Calls to a coordinator and a tablet server, over connections that are opened anew after each loss."""

    def __init__(self, coordinator_port, tablet_port):
        self.ports = {"coordinator": coordinator_port, "tablet": tablet_port}
        self.open = {}

    def close(self):
        for connection in self.open.values():
            connection.close()
        self.open = {}

    def call(self, role, key, body=b"", version=None):
        try:
            if role not in self.open:
                self.open[role] = Connection(self.ports[role])
                self.open[role].call(API_VERSIONS, message((1, "sluice-tests"), (2, "1")))
            return self.open[role].call(key, body, version)
        except (Disconnected, OSError) as error:
            if role in self.open:
                self.open.pop(role).close()
            raise Disconnected(str(error)) from error

    # Coordinator.
    def create_database(self, name, ignore_if_exists=False):
        self.call("coordinator", CREATE_DATABASE, message((1, name), (2, ignore_if_exists)))

    def drop_database(self, name, cascade=True):
        self.call("coordinator", DROP_DATABASE, message((1, name), (2, True), (3, cascade)))

    def create_table(self, path, json_text, ignore_if_exists=False):
        self.call("coordinator", CREATE_TABLE, message((1, table_path(path)), (2, json_text), (3, ignore_if_exists)))

    def drop_table(self, path, ignore_if_not_exists=False):
        self.call("coordinator", DROP_TABLE, message((1, table_path(path)), (2, ignore_if_not_exists)))

    def alter_table(self, path, options):
        changes = [(3, message((1, key), (2, value), (3, 0))) for key, value in options.items()]
        self.call("coordinator", ALTER_TABLE, message((1, table_path(path)), (2, False), *changes))

    def partition(self, key, path, column, value):
        spec = message((1, message((1, column), (2, value))))
        self.call("coordinator", key, message((1, table_path(path)), (2, spec), (3, True)))

    # Either.
    def table_info(self, path, role="tablet"):
        """(table id, descriptor)"""
        info = self.call(role, GET_TABLE_INFO, message((1, table_path(path))))
        return info[1][0], json.loads(info[3][0])

    def table_exists(self, path, role="tablet"):
        return bool(self.call(role, TABLE_EXISTS, message((1, table_path(path))))[1][0])

    def tables(self, database):
        return [name.decode() for name in self.call("tablet", LIST_TABLES, message((1, database))).get(1, [])]

    def lake_snapshot(self, path):
        """(snapshot id, {bucket: log offset}) of the newest lake snapshot."""
        found = self.call("coordinator", GET_LAKE_SNAPSHOT, message((1, table_path(path))))
        buckets = [parse(entry) for entry in found.get(3, [])]
        return found[2][0], {bucket[2][0]: bucket.get(3, [0])[0] for bucket in buckets}

    # Tablet server.
    def init_writer(self, path):
        return self.call("tablet", INIT_WRITER, message((1, table_path(path))))[1][0]

    def produce(self, table_id, bucket, records, acks=-1):
        """Base offset of the acknowledged batch."""
        request = message((1, acks), (2, table_id), (3, 20_000), (4, message((2, bucket), (3, records))))
        entry = parse(self.call("tablet", PRODUCE_LOG, request)[1][0])
        raise_if_error(entry, 3, 4)
        return entry[5][0]

    def put(self, table_id, bucket, records):
        request = message((1, -1), (2, table_id), (3, 20_000), (5, message((2, bucket), (3, records))))
        entry = parse(self.call("tablet", PUT_KV, request)[1][0])
        raise_if_error(entry, 3, 4)
        return entry.get(5, [None])[0]

    def fetch(self, table_id, bucket, offset, max_bytes=8 << 20):
        """(high watermark, record bytes)"""
        wanted = message((2, bucket), (3, offset), (4, max_bytes))
        request = message((1, -1), (2, max_bytes), (3, message((1, table_id), (2, False), (4, wanted))))
        table = parse(self.call("tablet", FETCH_LOG, request)[1][0])
        entry = parse(table[2][0])
        raise_if_error(entry, 3, 4)
        return entry[5][0], entry.get(8, [b""])[0]

    def end_offset(self, table_id, bucket):
        return self.offset_of(table_id, bucket, LATEST)

    def offset_of(self, table_id, bucket, kind):
        request = message((1, -1), (2, kind), (3, table_id), (5, varint(bucket)))
        entry = parse(self.call("tablet", LIST_OFFSETS, request)[1][0])
        raise_if_error(entry, 2, 3)
        return entry[4][0]

    def lookup(self, table_id, bucket, keys):
        """The rows of encoded keys, None where there is none."""
        wanted = message((2, bucket), *[(3, key) for key in keys])
        entry = parse(self.call("tablet", LOOKUP, message((1, table_id), (2, wanted)))[1][0])
        raise_if_error(entry, 3, 4)
        values = [parse(value).get(1, [None])[0] for value in entry.get(5, [])]
        return [read_kv_row(value[2:]) if value else None for value in values]

    def scan_kv(self, table_id, bucket, batch_bytes=1 << 20):
        """(rows of a bucket's state, the log's end that they are the state of)"""
        rows, offset, sequence = [], None, 0
        request = [(2, message((1, table_id), (3, bucket)))]
        while True:
            entry = self.call("tablet", SCAN_KV, message(*request, (3, sequence), (4, batch_bytes)))
            raise_if_error(entry, 1, 2)
            rows += read_value_batch(entry[5][0]) if entry.get(5, [b""])[0] else []
            offset = entry.get(6, [offset])[0]
            if not entry.get(4, [0])[0]:
                return rows, offset
            sequence, request = sequence + 1, [(1, entry[3][0])]

    def scan_log(self, table_id, bucket, schema, offset=0):
        """All batches of a bucket from `offset` to its high watermark."""
        batches = []
        while True:
            high_watermark, records = self.fetch(table_id, bucket, offset)
            found = read_log_batches(records, schema)
            for base, timestamp, changes, rows in found:
                if base + max(len(rows), 1) > offset:
                    batches.append((base, timestamp, changes, rows))
            if found:
                offset = found[-1][0] + max(len(found[-1][3]), 1)
            if offset >= high_watermark:
                return batches
            assert found, f"nothing at offset {offset} below the high watermark {high_watermark}"
