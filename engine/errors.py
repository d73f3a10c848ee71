"""The error tree: what a person can fix, what the surroundings did, and everything else."""


class CompanionError(Exception):
    """An error with a title, one sentence and what to do; never holds conversation text."""

    def __init__(self, title: str, message: str, action: str = "") -> None:
        super().__init__(f"{title}: {message}")
        self.title = title
        self.message = message
        self.action = action


class UserFixable(CompanionError):
    """A person has to do something: a key is missing, a shelf is not connected."""


class DamagedLedger(UserFixable):
    """The companion's own file makes no sense any more; a copy of it may be put back."""


class Environment(CompanionError):
    """The surroundings failed: disk full, binary gone, network down. Retried by the supervisor's rules.

    `until`: trying again before that instant (epoch seconds) is useless; None where nobody can say.
    """

    def __init__(self, title: str, message: str, action: str = "", *, until: float | None = None) -> None:
        super().__init__(title, message, action)
        self.until = until


class Deferred(Exception):
    """Raised by an executor: the work cannot run now, which is not a failure (engine.md 4.4)."""


class TaskError(Exception):
    """Raised by an executor: the attempt failed. `permanent` spends no further attempts (engine.md 4.4, 7.10)."""

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        action: str = "",
    ) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after
        self.action = action
