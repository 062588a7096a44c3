"""`python -I -m rsi_master.programs.trial --base DIR --checkpoint DIR --tokens N`: answer prompts.

A line of JSON on standard input is a prompt, a line on standard output both answers, decoded as the
sealed process does it: greedily, the prompt as it is. The first line says that both models are
loaded.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from rsi_master.core.errors import Finding, Refused, RsiError
from rsi_master.core.sealed_wire import CHECKPOINT_FILE
from rsi_master.domains.training.tensors import Unreadable
from rsi_master.programs import stack
from rsi_master.programs.sealed.benchmark import Base, Decoding, Model
from rsi_master.programs.sealed.own.fit import context_of
from rsi_master.programs.sealed.vault import read_base
from rsi_master.programs.sealed.weights import Weights

Length = Callable[[str], int]


def main() -> int:
    """Answer until the input ends; the exit status is that of the documented table, the reason a
    line of JSON."""
    parser = argparse.ArgumentParser(prog="rsi_master.programs.trial", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of the pinned base")
    parser.add_argument("--checkpoint", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--tokens", type=int, required=True, help="tokens that an answer may have")
    asked = parser.parse_args()
    try:
        stack.require(*stack.GENERATION)
        base = read_base(asked.base)
        models = _models(base, _weights(base, asked.checkpoint), asked.tokens)
        _answer(models, _length(base), context_of(base))
    except RsiError as error:
        sys.stderr.write(json.dumps({"code": error.code, "message": error.message}) + "\n")
        return error.exit_code
    return 0


def _weights(base: Base, folder: Path) -> Weights:
    """The checkpoint's weights; raises Finding for those that do not fit the base."""
    try:
        weights = Weights.parse((folder / CHECKPOINT_FILE).read_bytes())
    except (OSError, Unreadable) as cause:
        raise Finding(
            "CHECKPOINT_UNREADABLE", f"the checkpoint has no readable {CHECKPOINT_FILE}: {cause}"
        ) from cause
    unfit = weights.misfit(base.weights)
    if unfit is not None:
        raise Finding("CHECKPOINT_UNFIT", f"the checkpoint does not fit the base: {unfit}")
    return weights


def _models(base: Base, weights: Weights, tokens: int) -> dict[str, Model]:
    """The boundary to the libraries, whose errors share no base but Exception."""
    from rsi_master.programs.sealed.generation import CausalModel  # noqa: PLC0415 - after the check

    decoding = Decoding(max_new_tokens=tokens, batch_size=1)
    try:
        models = {name: CausalModel(base, decoding) for name in ("base", "checkpoint")}
        models["checkpoint"].load(weights)
    except RsiError:
        raise
    except Exception as cause:
        told = " ".join(f"{type(cause).__name__}: {cause}".split())[:300]
        raise Refused(
            "NO_LANGUAGE_MODEL", f"the base of this run cannot be asked in words: {told}"
        ) from cause
    return dict(models)


def _length(base: Base) -> Length:
    """How many tokens a text has."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - after the check

    tokens = Tokenizer.from_str(base.files["tokenizer.json"].decode())
    return lambda text: len(tokens.encode(text).ids)


def _answer(models: dict[str, Model], length: Length, context: int) -> None:
    _say({"ready": True})
    for line in sys.stdin:
        prompt = json.loads(line)
        size = length(prompt)
        if not 0 < size < context:
            told = f"the prompt has {size} tokens, the base reads 1 to {context - 1} of them"
            _say({"problem": told})
        else:
            _say({name: model.complete([prompt])[0] for name, model in models.items()})


def _say(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.exit(main())
