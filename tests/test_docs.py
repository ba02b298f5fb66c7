"""Documents that are made from the code are as the code makes them."""
import os
import subprocess

from cluster import ROOT

PATIENCE_S = 120


def test_the_page_of_settings_is_that_of_the_program(program):
    printed = subprocess.run([program, "admin", "config-doc"], text=True, capture_output=True, timeout=PATIENCE_S, check=True)
    with open(os.path.join(ROOT, "docs/configuration.md"), encoding="utf-8") as f:
        assert f.read() == printed.stdout, "write it anew: sluice admin config-doc > docs/configuration.md"
