"""`python -m ostinato`: the same as the command `ostinato`."""

import sys

from ostinato.cli.main import main

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path.append(sys.path.pop(0))  # the folder where it is called hides nothing installed
    sys.exit(main())
