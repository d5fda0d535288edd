"""An optional package of which some versions were tried: which are, and whether one of them is installed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from tle_raw.errors import Row, ToolchainError


@dataclass(frozen=True)
class TestedPackage:
    """``title`` is the package's name in words; versions from ``oldest`` on were tried, up to before ``before``."""

    distribution: str
    title: str
    dialect: str
    oldest: str
    before: str

    @property
    def range(self) -> str:
        """As pip takes it."""
        return f"{self.distribution}>={self.oldest},<{self.before}"

    @property
    def hint(self) -> str:
        """What to type to get a version within the range."""
        return f"pip install '{self.range}'"

    def installed_version(self) -> str:
        """The version of the installed package.

        Raises
        ------
        ToolchainError : there is none, or one outside the tested range.
        """
        try:
            found = version(self.distribution)
        except PackageNotFoundError as e:
            raise ToolchainError(f"fragments of dialect '{self.dialect}' need {self.title}", hint=self.hint) from e
        self.check_version(found)
        return found

    def check_version(self, found: str) -> None:
        """Refuse what was never tried.

        Raises
        ------
        ToolchainError : the version is outside the tested range.
        """
        oldest = _numbers(self.oldest)
        if not oldest <= _numbers(found.split("+")[0])[: len(oldest)] < _numbers(self.before):
            raise ToolchainError(
                f"this version of {self.title} is outside the tested range",
                table=[Row(self.distribution, f">={self.oldest}, <{self.before}", found)],
                hint=self.hint,
            )

    def broken(self, error: Exception) -> ToolchainError:
        """A broken installation fails in many ways: a missing library, another torch."""
        return ToolchainError(f"{self.title} cannot be imported: {error}", hint=self.hint)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text))
