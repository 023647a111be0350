"""What all tests share: hypothesis without clock or chance, and a trained run at toy size."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("lexigraph", deadline=None, derandomize=True)  # a busy machine is no failure
settings.load_profile("lexigraph")


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run: gpt at its tiny size on the built-in corpus. Leave it as it is; copy it to change it."""
    from lexigraph import api

    out = tmp_path_factory.mktemp("tiny") / "run"
    api.train("gpt", data="grammar", out=out, tiny=True, quiet=True)
    return out
