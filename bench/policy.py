"""Decisions of a policy per CPU second, on one core: 200 rules over 40 tools, and 200 that all fit
every tool, so that only their three conditions on arguments tell them apart.

    PYTHONPATH=src python bench/policy.py

The shapes differ in what the rules compare and in the types of the values. No two calls
are alike."""

import sys
import time

from ostinato.tools.policy import Policy, Rule, ToolRequest

RULES, TOOLS, CALLS = 200, 40, 2_000


def make_rules(spread, customer):
    return [
        Rule(
            id="r%d" % n,
            verdict=("deny", "ask", "allow")[n % 3],
            tool="tool_%d" % (n % TOOLS) if spread else "*",
            args={
                "/amount": {"gt": 100 + n},
                "/customer": customer(n),
                "/to": {"not_like": "*@%d.example.org" % n},
            },
        )
        for n in range(RULES)
    ]


def make_calls(count, amount):
    return [
        ToolRequest(
            "tool_%d" % (n % TOOLS),
            {"amount": amount(n), "customer": "c%d-x" % (n % RULES), "to": "%d@example.org" % n},
            "clerk",
            user="ann",
        )
        for n in range(count)
    ]


SHAPES = {
    "equal texts": (lambda n: "c%d-x" % n, lambda n: 90 + n),
    "patterns": (lambda n: {"like": "c%d-*" % n}, lambda n: 90 + n),
    "odd patterns": (lambda n: {"like": "c?%d-[a-z]" % n}, lambda n: 90 + n),
    "numbers as text": (lambda n: "c%d-x" % n, lambda n: "%d.5" % (90 + n)),
    "no number": (lambda n: "c%d-x" % n, lambda n: "much %d" % n),
    "a list": (lambda n: "c%d-x" % n, lambda n: [n]),
}


def measure(policy, calls):
    for call in calls[:TOOLS]:
        policy.decide(call)
    start = time.process_time()
    for call in calls:
        policy.decide(call)
    return len(calls) / (time.process_time() - start)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    print("%-20s %18s %18s" % ("decisions/s", "over 40 tools", "all fit"))
    for name, (customer, amount) in SHAPES.items():
        calls = make_calls(count, amount)
        rates = [
            max(measure(Policy(rules=make_rules(spread, customer)), calls) for _ in range(3))
            for spread in (True, False)
        ]
        print("%-20s %18s %18s" % (name, *(format(round(rate), ",") for rate in rates)))


if __name__ == "__main__":
    main()
