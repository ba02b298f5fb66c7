"""The checks of the sources find what they are for."""
import check_sources


def test_a_line_has_a_width():
    long = "x" * (check_sources.COLUMNS + 1)
    findings = []
    check_sources.check_width(f"int a;\n/// {long}\nint {long};\n// \"{long}\"\n", "a.h", findings)
    assert [finding.split(":")[1] for finding in findings] == ["2", "3", "4"]
    findings.clear()
    check_sources.check_width(f'const char* a = "{long}";\nauto b = R"(\n{long}\n)";\n', "a.h", findings)
    check_sources.check_width("x" * check_sources.COLUMNS + "\n", "a.h", findings)
    assert not findings
