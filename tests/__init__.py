"""The tests mirror the package. `check` stands behind jaxtyping's import hook (pyproject.toml)."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))  # whole numbers are accepted where floats are
