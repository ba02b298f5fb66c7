#!/usr/bin/env python3
"""Check what the compiler does not: who may include whom, who may touch the system, and the lists of files.

Usage: scripts/check_sources.py [repository]. Prints one line per finding; exit code 1 when there are any.
"""
import os
import pathlib
import re
import sys

# Module -> modules that it may use. What they use is allowed too. docs/architecture.md draws the same.
MODULES = {
    "base": [],
    "io": ["base"],
    "rocks": [],
    "shard": ["io"],
    "types": ["base"],
    "wire": ["types", "io"],  # io for its Payload.
    "log": ["types", "wire", "io"],
    "kv": ["types", "wire", "io", "rocks"],
    "meta": ["types", "io", "rocks"],
    "client": ["types", "wire", "io"],
    "lake": ["types", "io"],
    "tablet": ["log", "kv", "wire", "shard"],
    "coordinator": ["meta", "lake", "wire", "shard"],
    "tiering": ["client", "lake"],
    "sql": ["client", "lake"],
    "gateway": ["sql"],
    "server": ["coordinator", "shard", "meta", "wire"],
    "app": ["server", "gateway", "tablet", "coordinator", "tiering", "sql"],
}

# Programs beside src, likewise.
PROGRAMS = {
    "sim": ["log", "tablet", "kv", "coordinator", "tiering"],
    "fuzz": ["wire", "sql", "gateway"],
    "bench": ["app", "client", "lake", "sql", "wire"],
}

# What only `io` may use, so that simulation can put a twin in its place.
SYSTEM_USE = [
    (r"\b(system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday)\b", "a clock: use io::Clock"),
    (r"(?<![\w.>:])(std::)?time\((nullptr|NULL|0)\)", "a clock: use io::Clock"),
    (r"\bstd::(thread|jthread|async)\b|\bpthread_create\b", "a thread: use io::Pool or io::LoopThreads"),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\b", "sleep: use io::Sleep or a timer of the loop"),
    (r"\b(random_device|mt19937(_64)?|getrandom|std::rand|srand)\b", "randomness: use io::Random"),
    (r"\bstd::([io]?fstream|filesystem)\b|\b(fopen|freopen|tmpfile|opendir)\(", "files: use io::FileSystem"),
    (r"(?<![\w:])::(open|read|write|pread|pwrite|rename|unlink|mkdir|fsync|fdatasync|ftruncate|flock|mmap)\(",
     "files: use io::FileSystem"),
    (r"(?<![\w:])::(socket|connect|bind|listen|accept4?|send|recv|sendmsg|recvmsg|epoll_\w+|poll)\(",
     "sockets: use io::Network"),
]
SYSTEM_HEADERS = re.compile(
    r"<(thread|fstream|filesystem|random|sys/socket\.h|sys/epoll\.h|sys/stat\.h|netinet/.*|poll\.h|boost/asio.*)>")

COLUMNS = 100  # As .clang-format says.

# Heavy or foreign headers that must not spread through ours.
NOT_IN_HEADERS = re.compile(r'[<"](arrow/api\.h|rocksdb/(?!types).*|duckdb\.h|boost/(asio|beast).*|.*\.pb\.h|httplib\.h|nlohmann/json\.hpp)[>"]')

# Files that may touch the system although they are outside io, with the reason.
SYSTEM_ALLOWED = {
    "src/base/testing.cc": "temporary folders of tests",
    "src/base/testing.h": "temporary folders of tests",
    "bench/floor.cc": "measures the machine without our code",
}
# One line is let through by a comment on it: // System: <reason>
LINE_ALLOWED = re.compile(r"//\s*System: \S")


def closure(module):
    seen, todo = set(), [module]
    while todo:
        for used in {**MODULES, **PROGRAMS}[todo.pop()]:
            if used not in seen:
                seen.add(used)
                todo.append(used)
    return seen


def without_comments(text):
    """Blank out comments and string literals, keeping line numbers; includes keep their names."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|(?<!include )"(?:\\.|[^"\\\n])*"'
    return re.sub(pattern, blank, text, flags=re.S)


def check_width(text, name, findings):
    """No line is longer than the formatter would make it; one with a literal, which it does not break, may be."""
    def blank(match):
        return match.group() if match.group().startswith("/") else re.sub(r"[^\n]", " ", match.group())
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    without_literals = re.sub(pattern, blank, text, flags=re.S).splitlines()
    for number, (line, without) in enumerate(zip(text.splitlines(), without_literals), 1):
        if len(line) > COLUMNS and line == without:
            findings.append(f"{name}:{number}: longer than {COLUMNS} columns")


def check_source(path, name, module, findings):
    text = path.read_text()
    check_width(text, name, findings)
    raw_lines = text.splitlines()
    code_lines = without_comments(text).splitlines()
    may_use = closure(module) | {module}
    is_test = name.endswith("_test.cc") or "testing" in path.stem or "fixture" in path.stem
    is_public_header = name.endswith(".h") and not name.endswith("_internal.h") and not is_test
    for number, line in enumerate(code_lines, 1):
        where = f"{name}:{number}"
        include = re.match(r'\s*#\s*include\s+(?:"([^"]+)"|(<[^>]+>))', line)
        if include and include.group(1):
            target = include.group(1).split("/")[0]
            if target in MODULES and target not in may_use and not (is_test and target == "base"):
                findings.append(f"{where}: {module} may not use {target} ({include.group(1)})")
            if include.group(1) == "base/testing.h" and not is_test:
                findings.append(f"{where}: base/testing.h is for tests")
        if include and is_public_header and NOT_IN_HEADERS.search(line):
            findings.append(f"{where}: {line.strip()} belongs into a .cc file")
        if module == "io" or is_test or name in SYSTEM_ALLOWED or LINE_ALLOWED.search(raw_lines[number - 1]):
            continue
        if include and include.group(2) and SYSTEM_HEADERS.match(include.group(2)):
            findings.append(f"{where}: {include.group(2)} is for io alone")
        for pattern, reason in SYSTEM_USE:
            if re.search(pattern, line):
                findings.append(f"{where}: {reason}")


def check_lists(folder, folder_name, module, findings):
    """Every source of a module stands in its CMakeLists.txt, and its DEPS keep to the table."""
    list_file = folder / "CMakeLists.txt"
    name = f"{folder_name}/CMakeLists.txt"
    if not list_file.exists():
        findings.append(f"{name}: missing")
        return
    text = re.sub(r"#.*", "", list_file.read_text())
    words = set(re.split(r"[\s()]+", text))
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder).as_posix()
        named = relative in words or relative.removesuffix("_fuzz.cc") in words  # sluice_fuzz(NAME …)
        if path.suffix in (".h", ".cc", ".proto") and not named:
            findings.append(f"{folder_name}/{relative}: not listed in {name}")
    allowed = closure(module) | {module, "testing", "rocks_testing", "sql_testing"}
    for deps in re.findall(r"\bDEPS\s+((?:\w+\s*)+)", text):
        for dep in deps.split():
            if dep in MODULES and dep not in allowed:
                findings.append(f"{name}: {module} may not use {dep}")
            if dep in ("EXTERNAL", "TESTS", "TEST_DEPS", "PROTOS", "SRCS", "HDRS"):
                break


def check_edges(root, findings):
    """Every edge of the table is used by an include: what is not needed is not allowed either."""
    for module, may_use in {**MODULES, **PROGRAMS}.items():
        folder = root / module if module in PROGRAMS else root / "src" / module
        text = "".join(p.read_text() for p in folder.rglob("*") if p.suffix in (".h", ".cc"))
        used = set(re.findall(r'^\s*#\s*include\s+"([a-z]+)/', text, flags=re.M))
        for edge in may_use:
            if edge not in used:
                findings.append(f"scripts/check_sources.py: {module} has an edge to {edge} that it does not use")


def check_document(root, findings):
    """docs/architecture.md draws the same edges; words in brackets explain."""
    text = re.sub(r"\([^()]*\)", "", (root / "docs/architecture.md").read_text())
    drawn = {module: set(re.findall(r"[a-z]+", edges))
             for module, edges in re.findall(r"^\| `([a-z]+)` \|.*\|([^|]*)\|$", text, flags=re.M)}
    for module, may_use in MODULES.items():
        if drawn.get(module) not in ({"all"}, set(may_use)):
            findings.append(f"docs/architecture.md: {module} has other edges than scripts/check_sources.py")


def check_scripts(root, findings):
    """What starts with #! can be started, as the Makefile does."""
    for folder in ("scripts", "bin", "tests", ".ci"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and path.open("rb").read(2) == b"#!" and not os.access(path, os.X_OK):
                findings.append(f"{path.relative_to(root)}: starts with #! and is not executable")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    findings = []
    folders = [folder for folder in sorted((root / "src").iterdir()) if folder.is_dir()]
    for folder in folders + [root / program for program in PROGRAMS]:
        module = folder.name
        if module not in MODULES and module not in PROGRAMS:
            findings.append(f"src/{module}: not in the table of modules")
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".h", ".cc"):
                check_source(path, path.relative_to(root).as_posix(), module, findings)
                if path.suffix == ".h" and not path.read_text().startswith("#pragma once"):
                    findings.append(f"{path.relative_to(root)}:1: a header starts with #pragma once")
        check_lists(folder, folder.relative_to(root).as_posix(), module, findings)
    check_edges(root, findings)
    check_document(root, findings)
    check_scripts(root, findings)
    for finding in findings:
        print(finding)
    print(f"check_sources: {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
