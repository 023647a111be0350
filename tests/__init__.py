"""The tests mirror the package. `check` stands behind jaxtyping's import hook (pyproject.toml)."""

from tests.checked import check as check
