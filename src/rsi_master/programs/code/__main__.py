"""Started as a file, by an interpreter without site packages: it says where the package is."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))

from rsi_master.programs.code import cold

cold.main()
