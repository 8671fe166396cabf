"""An agent that answers questions about a CSV file by writing and running Python code.

The code runs as a process of its own on this machine, which is no sandbox: put an agent that talks
to strangers into a container.

Try:
- Which region has the highest revenue?
- How many units were sold per product?
"""

from pathlib import Path

from ostinato.agents import Agent
from ostinato.code_executors import UnsafeLocalCodeExecutor

FILE = Path(__file__).with_name("sales.csv").resolve()

root_agent = Agent(
    name="analyst",
    description="Answers questions about the sales of a shop by computing them.",
    instruction=(
        f'The file "{FILE}" holds the sales of a shop, one row for each month, region and product, '
        "with the columns month, region, product, units and revenue (in euros). To answer a "
        "question, write Python code in a ```python block that reads the file with the csv module "
        "and prints what is needed; its output is sent back to you. Then answer in words."
    ),
    code_executor=UnsafeLocalCodeExecutor(),
)
