"""The loop, schedules, checkpoints and distribution."""
