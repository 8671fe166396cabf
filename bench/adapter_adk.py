"""google-adk: the same code as adapter_ours, bound to google.adk."""

import scenarios
from adapter_ours import Adk

if __name__ == "__main__":
    a = Adk("google.adk")
    a.wires = ("gemini",)
    a.variants = ("", "lightcopy", "a2a_stub")
    scenarios.main(a)
