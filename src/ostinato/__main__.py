"""`python -m ostinato`: the same as the command `ostinato`."""

import sys

from ostinato.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
