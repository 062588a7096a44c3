"""Answers drawn from a model: which came to an end."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

import pytest
import torch
from transformers import GenerationConfig, PreTrainedModel

from rsi_master.core.failure import Drop
from rsi_master.programs.jobs import sampling
from rsi_master.programs.jobs.rows import Tokenizer
from rsi_master.programs.jobs.sampling import Drawn, Sampling

END, OTHER_END, PAD = 1, 2, 0
RULES = Sampling(samples=2, temperature=1.0, tokens=3, seed=0)


class Letters:
    """A tokenizer: ids from 10 on are letters, those below 10 are special."""

    eos_token_id = END
    pad_token_id = PAD

    def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        return {"input_ids": [[ord(letter) - 87 for letter in text] for text in texts]}

    def batch_decode(self, ids: torch.Tensor, **_: object) -> list[str]:
        return ["".join(chr(one + 87) for one in row if one >= 10) for row in ids.tolist()]


class Parrot:
    """A model that answers as it was told, and ends by two tokens."""

    device = torch.device("cpu")

    def __init__(self, *answers: Sequence[int]) -> None:
        self._answers = torch.tensor(answers)
        self.generation_config = GenerationConfig(eos_token_id=[OTHER_END])

    def eval(self) -> None:
        """Nothing to switch off."""

    def to(self, device: str) -> None:
        """Stays where it is, and tells where it was sent."""
        self.sent = device

    def generate(
        self, *, input_ids: torch.Tensor, generation_config: GenerationConfig, **_: object
    ) -> torch.Tensor:
        several = generation_config.num_return_sequences
        return torch.cat((input_ids.repeat_interleave(several, 0), self._answers), dim=1)


def test_an_answer_ends_where_one_of_the_end_tokens_is_and_is_cut_otherwise() -> None:
    parrot = Parrot([10, END, PAD], [10, 11, 12], [11, 12, OTHER_END], [END, PAD, PAD])
    found = sampling.draw(
        cast(PreTrainedModel, parrot), cast(Tokenizer, Letters()), ["ab", "c"], RULES
    )
    assert found == [
        [Drawn("a", ended=True), Drawn("abc", ended=False)],
        [Drawn("bc", ended=True), Drawn("", ended=True)],
    ]


@pytest.mark.parametrize(("there", "device"), [(True, "cuda"), (False, "cpu")])
def test_answers_are_drawn_on_the_device_that_there_is(
    monkeypatch: pytest.MonkeyPatch, there: bool, device: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    parrot = Parrot([10, END, PAD], [10, 11, 12])
    sampling.draw(cast(PreTrainedModel, parrot), cast(Tokenizer, Letters()), ["ab"], RULES)
    assert parrot.sent == device


def test_cut_answers_are_counted_and_left_out() -> None:
    dropped: Counter[Drop] = Counter()
    cut, kept = Drawn("ab", ended=False), Drawn("a", ended=True)
    assert sampling.whole([[kept, kept], [kept]], dropped) == [["a", "a"], ["a"]]
    assert dropped == {}
    assert sampling.whole([[kept, cut], [cut]], dropped) == [["a"], []]
    assert dropped == {"cut": 2}
