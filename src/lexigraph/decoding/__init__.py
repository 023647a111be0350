"""Search over steppers: greedy, sampling, beam and exhaustive, each written once, on batches."""

from lexigraph.decoding.beam import beam_search
from lexigraph.decoding.degeneration import Loop, Profile, distinct, longest_loop, profile, repetition
from lexigraph.decoding.diagnose import BeamRow, Diagnosis, Reference, beam_table, diagnose
from lexigraph.decoding.exhaustive import enumerate_texts, exhaustive_search
from lexigraph.decoding.hypothesis import Hypothesis, normalised
from lexigraph.decoding.sampling import filter_logits, generate

__all__ = [
    "BeamRow",
    "Diagnosis",
    "Hypothesis",
    "Loop",
    "Profile",
    "Reference",
    "beam_search",
    "beam_table",
    "diagnose",
    "distinct",
    "enumerate_texts",
    "exhaustive_search",
    "filter_logits",
    "generate",
    "longest_loop",
    "normalised",
    "profile",
    "repetition",
]
