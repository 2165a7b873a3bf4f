"""Stored records to answers: plain dictionaries, the same for plugin and command line.

Every number is explained in `definitions`; `docs/http_api.md` describes the answers. Times are floats in seconds, what
was not measured is None, and no answer holds NaN or infinity.
"""

from tb_aiperf.reports.profile_comparison import WindowChoice, compare_profiles
from tb_aiperf.reports.profiles import profile, profile_identity, timeline
from tb_aiperf.reports.run_list import runs, skipped
from tb_aiperf.reports.run_overview import overview
from tb_aiperf.reports.run_summary import at_a_glance, report, summary
from tb_aiperf.reports.selection import BadRequestError, NotFoundError, run_identity
from tb_aiperf.reports.step_rows import steps_csv
from tb_aiperf.reports.step_window import steps

__all__ = [
    "BadRequestError",
    "NotFoundError",
    "WindowChoice",
    "at_a_glance",
    "compare_profiles",
    "overview",
    "profile",
    "profile_identity",
    "report",
    "run_identity",
    "runs",
    "skipped",
    "steps",
    "steps_csv",
    "summary",
    "timeline",
]
