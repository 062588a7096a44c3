"""What a run refuses before it starts: one line, the right kind, nothing left behind."""

from pathlib import Path

import pytest

from rsi_master.app import start
from rsi_master.app.home import Home
from rsi_master.core.errors import Refused

from .contracts import sketch

SOURCES = 'sources = ["sketch/clean", "sketch/scraped", "sketch/prompts", "sketch/pairs"]'


@pytest.mark.parametrize(
    ("given", "instead", "code", "words"),
    [
        ('"sketch/scraped"', '"sketch/scarped"', "SOURCE_UNKNOWN", "sketch/scarped"),
        (SOURCES, 'sources = ["sketch/pairs"]', "SOURCES_UNUSABLE", "sketch/pairs holds pairs"),
        (
            SOURCES,
            'sources = ["sketch/prompts", "sketch/pairs"]',
            "SOURCES_UNUSABLE",
            "sketch/prompts holds prompts, sketch/pairs holds pairs; recipe sketch takes rows; "
            "sources that fit: sketch/clean, sketch/few, sketch/scraped",
        ),
        ('benchmark = "sketch"', 'benchmark = "mmlu"', "BENCHMARK_MISSING", "mmlu"),
        ('recipes = ["sketch"]', 'recipes = ["ppo"]', "RECIPE_MISSING", "ppo"),
        (
            'name = "sketch"\ndigest = "sha256:',
            'name = "qwen"\ndigest = "sha256:',
            "BASE_M",
            "qwen",
        ),
        ('digest = "sha256:', 'digest = "sha256:' + "0" * 64 + '"\n#', "BASE_DIFFERS", "sketch"),
        ("experiments = 12", "experiments = 1", "BUDGET_TOO_SMALL", "budget.experiments = 1"),
        ("evaluations = 80", "evaluations = 7", "BUDGET_TOO_SMALL", "budget.evaluations = 7"),
        ("device_seconds = 2000", "device_seconds = inf", "CONTRACT_INVALID", "device_seconds"),
        ("[policy]", "seed = 1009\n[policy]", "CONTRACT_INVALID", "seed"),
        ("[policy]", '[isolation]\nfloor = "host"\n[policy]', "ISOLATION_FLOOR", "host"),
    ],
)
def test_a_contract_that_cannot_be_kept_is_refused(
    tmp_path: Path, given: str, instead: str, code: str, words: str
) -> None:
    text = sketch().replace(given, instead, 1)
    assert text != sketch()
    with pytest.raises(Refused) as refused:
        start.create(text, "contract.toml", tmp_path / "runs", Home(tmp_path / "home"))
    assert refused.value.code.startswith(code)
    assert words in refused.value.message
    assert not list((tmp_path / "runs").glob("*"))
    assert not list((tmp_path / "home" / "sealed").glob("[!.]*"))


def test_equal_seeds_leave_no_fresh_seed(tmp_path: Path) -> None:
    text = sketch().replace('name = "sketch"', 'name = "sketch"\nseed = 1009', 1)
    with pytest.raises(Refused, match="fresh seed"):
        start.create(text, "contract.toml", tmp_path / "runs", Home(tmp_path / "home"))
