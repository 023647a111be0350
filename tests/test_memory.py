"""What cannot fit is refused before it is allocated."""

import resource
import subprocess
import sys

import pytest

from lexigraph.errors import LexigraphError
from lexigraph.memory import available, refuse_beyond


def test_there_is_memory_and_a_limit_counts():
    physical = available()
    assert 2**28 < physical < 2**50
    code = (
        "import resource; from lexigraph.memory import available\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**32, resource.RLIM_INFINITY)); print(available())"
    )
    limited = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert limited < 2**32
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_the_sentence_says_what_it_would_take_and_what_there_is():
    refuse_beyond(1000, "words.dim = 5", "the vectors")
    with pytest.raises(
        LexigraphError, match=r"words.dim = 9 is too large: the vectors would take 4,000 TB .*there is"
    ):
        refuse_beyond(4e15, "words.dim = 9", "the vectors")


@pytest.mark.parametrize("stream", ["<&-", "2>&-", ">&-"])
def test_a_closed_stream_is_no_traceback(stream):
    command = f'"{sys.executable}" -m lexigraph recipes gpt {stream}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if stream == ">&-":
        assert (done.returncode, done.stdout) == (1, "")
        assert "standard output is closed" in done.stderr
    else:
        assert done.returncode == 0
        assert 'system = "gpt"' in done.stdout
