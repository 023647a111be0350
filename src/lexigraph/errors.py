"""The exceptions that users see: sentences that say what is wrong, where, and what to do."""


class LexigraphError(Exception):
    """The work cannot be done as asked. The CLI prints the sentence and exits with code 1."""


class Interrupted(Exception):
    """SIGINT or SIGTERM ended a run after its step; all of it is saved, and it can be resumed."""


class UsageError(LexigraphError):
    """The request itself is wrong (an unknown name, key or option). The CLI exits with code 2."""


class AbilityError(LexigraphError, AttributeError):
    """The model cannot do this."""
