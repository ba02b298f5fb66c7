"""What pypaimon, which shares no code with the server, reads of a lake table, row by row against what was acknowledged.

The values are Python's, as `to_pylist` gives them. `path` is "database.table"; `snapshot` an id, the newest when None.
"""
import collections
import datetime
import decimal

import pyarrow as pa
import pypaimon

SYSTEM_COLUMNS = ("__bucket", "__offset", "__timestamp")


def read(warehouse, path, snapshot=None):
    """The rows of a lake table with the system columns, an Arrow table."""
    table = pypaimon.CatalogFactory.create({"warehouse": warehouse}).get_table(path)
    if snapshot is not None:
        table = table.copy({"scan.snapshot-id": str(snapshot)})
    builder = table.new_read_builder()
    found = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    assert tuple(found.column_names[-3:]) == SYSTEM_COLUMNS, f"{path} in the lake has columns {found.column_names}"
    return found


def without_system_columns(row):
    return {name: value for name, value in row.items() if name not in SYSTEM_COLUMNS}


def by_place(path, rows, partition=()):
    """{(partition…, bucket, offset): row}; a place that is there twice is a row that is there twice."""
    places = {}
    for row in rows:
        place = (*(row[name] for name in partition), row["__bucket"], row["__offset"])
        assert place not in places, f"{path}: what is at {place} is twice in the lake"
        places[place] = without_system_columns(row)
    return places


def assert_equal(path, found, expected):
    """Two maps from a place or key to a row."""
    if found == expected:
        return
    wrong = [key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)]
    shown = "\n".join(f"{key}: lake {found.get(key)}, expected {expected.get(key)}" for key in sorted(wrong, key=repr)[:10])
    raise AssertionError(f"{path}: {len(wrong)} rows differ in the lake\n{shown}")


def check_log(warehouse, path, expected, snapshot=None):
    """An append table without partitions. `expected`: {bucket: [row dict], by offset}. Returns the number of rows."""
    found = by_place(path, read(warehouse, path, snapshot).to_pylist())
    assert_equal(path, found, {(b, offset): row for b, rows in expected.items() for offset, row in enumerate(rows)})
    return len(found)


def check_rows(warehouse, path, expected, partition=()):
    """An append table of whose rows the places are not known: those `expected`, each as often as there, at offsets without
    gaps. `partition`: the names of its partition columns. Returns the number of rows."""
    places = by_place(path, read(warehouse, path).to_pylist(), partition)
    offsets = {}
    for *bucket, offset in places:
        offsets.setdefault(tuple(bucket), set()).add(offset)
    for bucket, found in offsets.items():
        assert found == set(range(len(found))), f"{path}: offsets of bucket {bucket} have gaps in the lake"
    found, wanted = (collections.Counter(tuple(sorted(row.items())) for row in rows) for rows in (places.values(), expected))
    assert_equal(path, found, wanted)
    return len(places)


def check_keys(warehouse, path, key, expected, snapshot=None):
    """A primary-key table. `expected`: row dicts; `key`: the names of its columns. Returns the number of rows."""
    def by_key(rows):
        keyed = {}
        for row in rows:
            values = tuple(row[name] for name in key)
            assert values not in keyed, f"{path}: key {values} is twice in the lake"
            keyed[values] = without_system_columns(row)
        return keyed
    found = by_key(read(warehouse, path, snapshot).to_pylist())
    assert_equal(path, found, by_key(expected))
    return len(found)


def key_rows(state):
    """The rows of a `KeyWriter`'s state."""
    return [{"id": key, "version": version, "text": text} for key, (version, text) in state.items()]


def of_sql(value, kind):
    """A value of the SQL endpoint as pypaimon gives it, by its Arrow type."""
    if value is None or pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return value
    if pa.types.is_timestamp(kind):
        time = datetime.datetime.fromisoformat(value)
        return time if kind.tz is None else time.astimezone(datetime.timezone.utc)  # Was in the zone of this machine.
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat(value)
    return (decimal.Decimal if pa.types.is_decimal(kind) else int if pa.types.is_integer(kind) else float)(value)


def check_sql_rows(warehouse, path, columns, rows):
    """A table of either kind holds `rows` of the SQL endpoint in these columns. Returns their number."""
    found = read(warehouse, path)
    kinds = [found.schema.field(name).type for name in columns]
    expected = collections.Counter(tuple(map(of_sql, row, kinds)) for row in rows)
    assert_equal(path, collections.Counter(tuple(row[name] for name in columns) for row in found.to_pylist()), expected)
    return len(rows)
