"""What docs/nano.md calls frozen is what the package holds: weights, partition, pools."""

import re
from pathlib import Path

import pytest
from bench.nano import claims, material, page
from bench.nano.landscape import Landscape
from bench.nano.plan import Bench
from bench.nano.table import table

from rsi_master.core.artifact import AnyRow
from rsi_master.programs.nano.generator import pools, suite
from rsi_master.programs.nano.weights import base_folder, digests

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "nano.md").read_text(encoding="utf-8")
POOL = re.compile(
    r"^\| `(nano/\w+)` \| [^|]+ \| \w+ \| (\d+) \| `(sha256:[0-9a-f]{64})` \|$", re.MULTILINE
)
CLAIM = re.compile(r"^- \[([ x])\] (.+)$", re.MULTILINE)
RECIPES = re.compile(r"^### (.+)\n\n\| recipe \|.+\n\|[-:|]+\n((?:\|.+\n)+)", re.MULTILINE)


def told(name: str) -> str:
    found = re.search(
        rf"^\| {re.escape(name)} \| `sha256:([0-9a-f]{{64}})` \|$", PAGE, re.MULTILINE
    )
    assert found, f"docs/nano.md gives no digest of {name}; run make bench-nano"
    return found[1]


def test_the_weights_and_the_tokenizer_are_those_of_the_table() -> None:
    held = digests(base_folder())
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert told(f"base, `{name}`") == held[name]


def test_the_partition_is_that_of_the_table() -> None:
    assert f"sha256:{told('partition')}" == material.partition_digest()


def test_the_suite_is_that_of_the_table() -> None:
    assert f"sha256:{told('suite, source text')}" == material.suite_digest()


def test_the_recipes_are_those_of_the_table_in_their_order_and_groups() -> None:
    """Each has a row with all its tasks, and no row is of a recipe that is tried no more."""
    listed = [
        (group, row.split(" | ")[0].removeprefix("| "))
        for group, rows in RECIPES.findall(PAGE)
        for row in rows.splitlines()
    ]
    assert listed == [(one.group, one.name) for one in table().recipes]


def test_the_contests_and_curves_are_those_of_the_table() -> None:
    contests = re.findall(r"^\| ([^|]+) \| (\w+) \| \d+ rows of ", PAGE, re.MULTILINE)
    assert contests == [(one.method, one.task) for one in table().contests]
    curves = re.findall(r"^\| ([\w ]+) \| (\w+) \| ([^|]+\(\d+\)) \|$", PAGE, re.MULTILINE)
    assert [
        (task, style, [int(steps) for steps in re.findall(r" \((\d+)\)(?:,|$)", points)])
        for task, style, points in curves
    ] == [
        (one.task or "all together", one.style, [steps for steps, _ in one.steps])
        for one in table().curves
    ]


def test_the_claims_are_those_that_the_bench_checks(tmp_path: Path) -> None:
    """What stands before the figures of each; the bench without any result tells the words."""
    empty = Landscape(table(), Bench(tmp_path, material.context(1)))
    texts = [one.text for one in claims.checked(empty)]
    lines = [line for _, line in CLAIM.findall(PAGE)]
    assert len(lines) == len(texts)
    assert [line[: len(text) + 2] for line, text in zip(lines, texts, strict=True)] == [
        f"{text}: " for text in texts
    ]


def test_the_pools_are_those_of_the_table() -> None:
    items = re.search(r"per cent of the points on (\d+) questions", PAGE)
    assert items
    drawn = suite.draw(material.SEED, {"dev": int(items[1])})["dev"]
    made = pools.pools(material.SEED, drawn)
    listed = {name: (digest, int(rows)) for name, rows, digest in POOL.findall(PAGE)}
    assert listed == {name: digest_of(rows) for name, rows in made.items()}


def test_every_claim_of_the_landscape_holds() -> None:
    claims = CLAIM.findall(PAGE)
    assert len(claims) == 11
    assert [text for mark, text in claims if mark != "x"] == []


def test_the_words_of_the_bench_lead_to_files_that_exist() -> None:
    """The page is made anew from them."""
    links = re.findall(r"\]\((?!https?:|\{)([^)#]+)", page.PAGE)
    assert len(links) >= 3
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_the_readme_has_the_scores_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.search(r"from (\d+) for the base to (\d+) for the best lineage", readme)
    base = re.search(r"^\| base \| ([\d.]+) \|", PAGE, re.MULTILINE)
    best = re.search(r"^- \[.\] The best recipe reaches .*: ([\d.]+) ± ", PAGE, re.MULTILINE)
    assert told, "README.md tells no scores of nano"
    assert base, "docs/nano.md has no row of the base"
    assert best, "docs/nano.md has no claim about the best recipe"
    assert told.groups() == tuple(f"{float(found[1]):.0f}" for found in (base, best))


def digest_of(rows: tuple[AnyRow, ...]) -> tuple[str, int]:
    return material.rows_digest(rows)


@pytest.mark.parametrize("task", ["sums", "chain", "facts", "calls", "code", "write", "care"])
def test_three_questions_of_each_task_are_shown_with_both_answers(task: str) -> None:
    part = PAGE.split(f"**{task}**\n\n", 1)[1].split("\n\n", 1)[0]
    rows = part.splitlines()[2:]
    assert len(rows) == 3
    assert all(row.count(" | ") == 2 for row in rows)


def test_what_the_page_lets_one_try_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/nano.md", "exec"), {})
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 14
    assert all("Grade(verdict=" in line for line in told)
