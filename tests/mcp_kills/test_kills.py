"""A payment over MCP happens at most once, wherever its process is killed."""

import subprocess
import sys

import pytest


@pytest.mark.long
def test_ten_kills():
    command = [sys.executable, "-m", "tests.mcp_kills.run", "--kills", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 faults" in done.stdout and "'killed': 10" in done.stdout
