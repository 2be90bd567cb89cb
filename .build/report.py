"""A measured figure beside what is promised of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure; a promise is an upper limit, and none means that it is for information."""

    title: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the promise is kept."""
        return self.limit is None or self.value <= self.limit


def shown(value: float) -> str:
    """Write a number with as many digits as mean something."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def print_report(figures: list[Figure]) -> int:
    """Print all figures; return 1 if a promise is broken."""
    for figure in figures:
        limit = "" if figure.limit is None else f"  (at most {shown(figure.limit)})"
        verdict = "      " if figure.limit is None else ("ok    " if figure.is_kept else "MISSED")
        note = f"  {figure.note}" if figure.note else ""
        print(f"{verdict} {figure.title}: {shown(figure.value)} {figure.unit}{limit}{note}")
    return 0 if all(figure.is_kept for figure in figures) else 1
