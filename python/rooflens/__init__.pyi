"""Types of the package; what each name does is in its docstring."""

from rooflens import probe as probe
from rooflens._rooflens import (
    Analysis as Analysis,
    Comparison as Comparison,
    Cost as Cost,
    Error as Error,
    Run as Run,
    Table as Table,
    TableMap as TableMap,
    analyze as analyze,
    compare as compare,
    cost as cost,
    explain as explain,
    report as report,
)
from rooflens.profiling import Profile as Profile, profile as profile

__version__: str
