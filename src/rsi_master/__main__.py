"""`python -m rsi_master` is `rsi`."""

import sys

from rsi_master.interfaces.cli import main

sys.exit(main())
