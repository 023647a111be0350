"""`python -m lexigraph` is the command `lexigraph`."""

from lexigraph.cli import main

main()
