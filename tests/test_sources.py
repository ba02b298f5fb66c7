"""The checks of the sources find what they are for."""
import subprocess

import pytest

import check_sources
from cluster import ROOT


def test_a_line_has_a_width():
    long = "x" * (check_sources.COLUMNS + 1)
    findings = []
    check_sources.check_width(f"int a;\n/// {long}\nint {long};\n// \"{long}\"\n", "a.h", findings)
    assert [finding.split(":")[1] for finding in findings] == ["2", "3", "4"]
    findings.clear()
    check_sources.check_width(f'const char* a = "{long}";\nauto b = R"(\n{long}\n)";\n', "a.h", findings)
    check_sources.check_width("x" * check_sources.COLUMNS + "\n", "a.h", findings)
    assert not findings


@pytest.fixture
def source(tmp_path):
    """A function that gives the findings in a source of a module."""
    def check(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        findings = []
        check_sources.check_source(path, name, name.split("/")[1], findings)
        return findings
    return check


@pytest.mark.parametrize("name, text, found", [
    ("src/log/a.cc", '#include "kv/store.h"', "log may not use kv (kv/store.h)"),
    ("src/tablet/a.cc", '#include "coordinator/coordinator.h"', "tablet may not use coordinator"),
    ("src/base/a.h", '#include "io/file.h"', "base may not use io"),
    ("src/sql/a.h", "#include <duckdb.h>", "#include <duckdb.h> belongs into a .cc file"),
    ("src/lake/a.h", "#include <arrow/api.h>", "belongs into a .cc file"),
    ("src/log/a.cc", '#include "base/testing.h"', "base/testing.h is for tests"),
    ("src/log/a.cc", "#include <thread>", "<thread> is for io alone"),
    ("src/log/a.cc", "#include <sys/socket.h>", "<sys/socket.h> is for io alone"),
    ("src/log/a.cc", "auto now = std::chrono::steady_clock::now();", "a clock: use io::Clock"),
    ("src/log/a.cc", "const auto now = time(nullptr);", "a clock: use io::Clock"),
    ("src/log/a.cc", "std::jthread thread(work);", "a thread: use io::Pool"),
    ("src/log/a.cc", "std::this_thread::sleep_for(delay);", "sleep: use io::Sleep"),
    ("src/log/a.cc", "std::random_device device;", "randomness: use io::Random"),
    ("src/log/a.cc", "std::ifstream file(path);", "files: use io::FileSystem"),
    ("src/log/a.cc", "const int fd = ::open(path, 0);", "files: use io::FileSystem"),
    ("src/log/a.cc", "::connect(fd, address, size);", "sockets: use io::Network"),
])
def test_what_a_module_may_not_use_is_found(source, name, text, found):
    findings = source(name, f"int a;\n{text}\n")
    assert len(findings) == 1 and findings[0].startswith(f"{name}:2: ") and found in findings[0], findings


@pytest.mark.parametrize("name, text", [
    ("src/tablet/a.cc", '#include "kv/store.h"'),            # By its own edge.
    ("src/tablet/a.cc", '#include "base/error.h"'),          # By those of its edges.
    ("src/io/a.cc", "#include <thread>\nstd::jthread thread(work);"),
    ("src/log/a_test.cc", '#include "base/testing.h"\nstd::this_thread::sleep_for(delay);'),
    ("src/log/a.cc", "// No steady_clock here, nor std::thread."),
    ("src/log/a.cc", 'Fail("std::thread");'),
    ("src/log/a.cc", "std::jthread thread(work);  // System: it has no loop."),
    ("src/sql/a.cc", "#include <duckdb.h>"),
    ("src/log/a.cc", "file.read(4); log::time(0); clock.open(x);"),
])
def test_what_a_module_may_use_is_left_alone(source, name, text):
    assert source(name, text + "\n") == []


def test_a_list_names_every_source_and_no_other_module(tmp_path):
    folder, findings = tmp_path / "log", []
    folder.mkdir()
    check_sources.check_lists(folder, "src/log", "log", findings)
    assert findings == ["src/log/CMakeLists.txt: missing"]
    (folder / "CMakeLists.txt").write_text("sluice_library(log SRCS a.cc  # b.cc\n  DEPS types kv io EXTERNAL tablet)\n")
    for name in ("a.cc", "b.cc", "c.h", "d.proto", "README.md"):
        (folder / name).write_text("")
    findings.clear()
    check_sources.check_lists(folder, "src/log", "log", findings)
    assert findings == [f"src/log/{name}: not listed in src/log/CMakeLists.txt" for name in ("b.cc", "c.h", "d.proto")] + [
        "src/log/CMakeLists.txt: log may not use kv"]


def test_an_edge_is_used_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(check_sources, "MODULES", {"base": [], "io": ["base"], "log": ["io", "base"]})
    monkeypatch.setattr(check_sources, "PROGRAMS", {"sim": ["log"]})
    for name, text in (("src/base/a.h", ""), ("src/io/a.h", '#include "base/a.h"'), ("src/log/a.cc", '#include "io/a.h"'),
                       ("sim/a.cc", '#include "io/a.h"')):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    findings = []
    check_sources.check_edges(tmp_path, findings)
    assert [finding.split(": ")[1] for finding in findings] == [
        "log has an edge to base that it does not use", "sim has an edge to log that it does not use"]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/architecture.md").write_text(
        "| `base` | bytes | – |\n| `io` | files | base (its errors) |\n| `log` | segments | io |\n")
    findings.clear()
    check_sources.check_document(tmp_path, findings)
    assert findings == ["docs/architecture.md: log has other edges than scripts/check_sources.py"]


def test_what_starts_with_a_shebang_can_be_started(tmp_path):
    for folder in ("scripts", "bin", "tests", ".ci"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin/lame.sh").write_text("#!/bin/sh\n")
    (tmp_path / "scripts/plain.py").write_text("import os\n")
    findings = []
    check_sources.check_scripts(tmp_path, findings)
    assert findings == ["bin/lame.sh: starts with #! and is not executable"]


def test_a_finding_ends_the_program_with_1(tmp_path):
    """Over the whole of a repository, as `make check` does it: a module that nobody knows."""
    for folder in ("src/nobodys", *check_sources.PROGRAMS, "docs", *(f"src/{name}" for name in check_sources.MODULES)):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs/architecture.md").write_text("")
    done = subprocess.run([f"{ROOT}/scripts/check_sources.py", str(tmp_path)], text=True, capture_output=True, check=False)
    assert done.returncode == 1 and "src/nobodys: not in the table of modules" in done.stdout.splitlines(), done.stdout
