"""Where a program prints otherwise under the alias than on google-adk, and why. For test_programs.

`test_programs.py` changes the recorded lines and fails for a deviation that is not needed.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """Words of a program's recorded trace that read otherwise here, wherever they stand."""

    program: str
    recorded: str
    ours: str
    reason: str

    def apply(self, text: str) -> str:
        assert self.recorded in text, f"{self.program}: {self.recorded!r} is not there"
        return text.replace(self.recorded, self.ours)


DEVIATIONS = [
    Deviation(
        "custom_model",
        "'9 words, call 1'",
        "'9 words, call 2'",
        "An agent makes the model that it names once, so that its connections live on; google-adk "
        "2.3.0 makes one for each call.",
    ),
    Deviation(
        "planners",
        "-- shy\n",
        "-- shy\nplan for shy 1\n",
        "Every planner is asked for its instruction, as in google-adk 2.13.0; 2.3.0 asks its own "
        "PlanReActPlanner only.",
    ),
    Deviation(
        "skills",
        "'run_skill_script', ",
        "",
        "The tool for scripts is offered only where a code executor could run them, as in "
        "google-adk 2.13.0; a tool that always fails makes models call it again and again.",
    ),
]
