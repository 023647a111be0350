"""Power cuts at 200 random moments, over everything that writes."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nothing_is_damaged_by_two_hundred_kills(tmp_path):
    script = Path(__file__).with_name("kill_everything.py")
    command = [sys.executable, script, tmp_path / "work", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("nothing damaged") == 8
    assert done.stdout.count("the same to the last bit") == 2
    assert "no score lost" in done.stdout
