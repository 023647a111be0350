"""The one exception that users see: a sentence that says what is wrong, where, and what to do."""


class LexigraphError(Exception):
    """The work cannot be done as asked. The CLI prints the sentence and exits with code 1."""


class UsageError(LexigraphError):
    """The request itself is wrong (an unknown name, key or option). The CLI exits with code 2."""
