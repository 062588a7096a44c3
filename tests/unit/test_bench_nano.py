"""The pure parts of the bench of nano: lineages, sums over seeds and items, claims, the page."""

import errno
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from bench.nano import __main__ as program
from bench.nano import claims, figure, material, page, plan, result, tally
from bench.nano.claims import reversals
from bench.nano.landscape import Landscape, Line
from bench.nano.material import Context, Pool
from bench.nano.recipe import Contest, Curve, Recipe, Table, shortened
from bench.nano.result import Answer, Result
from bench.nano.steps import (
    Base,
    Exam,
    Grpo,
    Merge,
    Node,
    Prompted,
    Rejection,
    Sft,
    Step,
    ancestry,
    node,
)
from bench.nano.table import sft, table
from bench.nano.tally import Score

from rsi_master.app import bases
from rsi_master.core.artifact import Prompt, Row
from rsi_master.core.errors import Finding
from rsi_master.programs.nano.format import TASKS, Style, Task
from rsi_master.programs.nano.generator import chat, suite
from rsi_master.programs.nano.generator.pools import POOL_IDS

CONTEXT = Context(base="b", suite="s", programs="p", shared="o", libraries="l", drawn="d", items=4)
DIGESTED = ("base", "suite", "programs", "shared", "libraries", "drawn")
SVG = "{http://www.w3.org/2000/svg}"
FIRST = sft("scratchpad", 100)
SECOND = sft("direct", 200, init=FIRST)
LEARNT = Grpo(init=FIRST, tasks=("sums",), steps=9)
CONTROL = Sft(init=FIRST, parts=FIRST.parts, like=LEARNT)


class Fixture:
    """A bench whose results were written by the test."""

    def __init__(self, folder: Path) -> None:
        self.bench = plan.Bench(folder, CONTEXT)

    def give(self, step: Step, seed: int, seconds: float, share: float) -> None:
        """A result with `share` of four items right in each task."""
        points = tuple(float(at < 4 * share) for at in range(4))
        answers = tuple(
            Answer(task=task, prompt=f"Q: {task} 1|2?\nA:", output="a\nb", points=1.0)
            for task in TASKS
        )
        one = node(step, seed)
        folder = self.bench.folder(one)
        folder.mkdir(parents=True, exist_ok=True)
        given = Result(
            step=step,
            seed=one.seed,
            cpu_seconds=seconds,
            wall_seconds=seconds,
            updates=1,
            rows=1,
            points=dict.fromkeys(TASKS, points),
            keys=dict.fromkeys(TASKS, ("k0", "k1", "k2", "k3")),
            answers=answers,
        )
        result.write(folder, given)

    def landscape(
        self,
        steps: Mapping[str, Step],
        contests: tuple[Contest, ...] = (),
        seeds: tuple[int, ...] = (1, 2),
    ) -> Landscape:
        """These steps as recipes, the last one as the best."""
        recipes = tuple(Recipe("All", name, step, seeds) for name, step in steps.items())
        return Landscape(Table(recipes, contests, (), recipes[-1].step, seeds), self.bench)


@pytest.fixture
def given(tmp_path: Path) -> Fixture:
    return Fixture(tmp_path)


def line(task: Task | None, style: Style, *points: tuple[int, float]) -> Line:
    scored = tuple((steps, Score(mean, None, 2.0)) for steps, mean in points)
    return Line(Curve(task, style, (), (1,)), scored)


def test_the_untrained_have_one_seed_and_the_trained_their_own() -> None:
    assert node(Prompted(init=Base()), 3) == node(Prompted(init=Base()), 1)
    assert node(Exam(init=Base()), 3).seed == 0
    assert node(Merge(inits=(FIRST, SECOND)), 3).seed == 3


def test_the_lineage_holds_shared_steps_once_and_no_yardstick() -> None:
    merged = node(Merge(inits=(FIRST, SECOND)), 1)
    assert [one.step.kind for one in ancestry(merged)] == ["base", "sft", "sft", "merge"]
    assert [one.step for one in ancestry(node(CONTROL, 1))] == [Base(), FIRST, CONTROL]


def test_what_is_needed_comes_before_what_needs_it() -> None:
    order = plan.ordered([node(CONTROL, 1), node(SECOND, 1)])
    assert [one.step for one in order] == [Base(), FIRST, LEARNT, CONTROL, SECOND]
    assert len(plan.ordered([node(SECOND, 1), node(SECOND, 2)])) == 5


def test_a_result_is_named_by_step_seed_and_context() -> None:
    one = node(SECOND, 1)
    others = [
        plan.key(node(SECOND, 2), CONTEXT),
        plan.key(node(SECOND.model_copy(update={"rate": 1e-3}), 1), CONTEXT),
        *(plan.key(one, CONTEXT.model_copy(update={name: "other"})) for name in DIGESTED),
        plan.key(one, CONTEXT.model_copy(update={"items": 5})),
    ]
    assert len({plan.key(one, CONTEXT), *others}) == len(others) + 1
    assert plan.key(Node.model_validate_json(one.model_dump_json()), CONTEXT) == plan.key(
        one, CONTEXT
    )


def test_a_checkpoint_without_training_is_its_parents(given: Fixture) -> None:
    exam = given.bench.checkpoint(node(Exam(init=FIRST), 1))
    assert exam == given.bench.checkpoint(node(FIRST, 1))
    assert (given.bench.checkpoint(node(Prompted(init=Base()), 1)) / "config.json").is_file()


def sample(*points: tuple[float, ...], keys: str = "") -> tally.Sample:
    return tally.Sample(points, tuple(keys) or tuple(map(str, range(len(points[0])))))


def test_the_score_of_a_task_by_hand() -> None:
    score = tally.of_task(sample((1.0, 1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
    assert score.mean == pytest.approx(37.5)
    assert score.seed_sd == pytest.approx(25 / math.sqrt(2))
    items = 100 * math.sqrt(0.6875 / 3) / 2
    assert score.error == pytest.approx(math.hypot(items, 25 / math.sqrt(2) / math.sqrt(2)))
    alone = tally.of_task(sample((1.0, 0.0)))
    assert alone.seed_sd is None
    assert alone.error == pytest.approx(50.0)


def test_items_with_one_key_count_as_one_draw() -> None:
    """Each of two draws was told three times: the error is that of two items."""
    once = tally.of_task(sample((1.0, 0.0)))
    thrice = tally.of_task(sample((1.0, 1.0, 1.0, 0.0, 0.0, 0.0), keys="aaabbb"))
    assert thrice.error == pytest.approx(once.error)
    apart = tally.of_task(sample((1.0, 1.0, 1.0, 0.0, 0.0, 0.0)))
    assert apart.error == pytest.approx(100 * math.sqrt(1.5 / 5 / 6))
    assert math.isnan(tally.of_task(sample((1.0, 0.0), keys="aa")).error)


def test_the_average_weighs_tasks_equally_and_spreads_over_seeds() -> None:
    samples: dict[Task, tally.Sample] = {
        "sums": sample((1.0, 1.0), (1.0, 1.0)),
        "chain": sample((0.0, 1.0, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0)),
    }
    score = tally.average(samples)
    assert score.mean == pytest.approx((100 + 25) / 2)
    assert score.seed_sd == pytest.approx(25 / math.sqrt(2))
    assert score.error == pytest.approx(tally.of_task(samples["chain"]).error / 2)


def test_seeds_that_move_all_tasks_at_once_do_not_average_out() -> None:
    both = sample((1.0, 1.0), (0.0, 0.0))
    score = tally.average({"sums": both, "chain": both})
    assert score.error == pytest.approx(50.0) == tally.of_task(both).error


def test_a_gain_is_paired_by_item() -> None:
    under = sample((0.0, 0.5, 0.0, 0.5), (0.0, 0.5, 0.0, 0.5))
    over = sample((0.5, 1.0, 0.5, 1.0), (0.5, 1.0, 0.5, 1.0))
    won = tally.gain(over, under)
    assert (won.mean, won.seed_sd, won.error) == (50.0, 0.0, 0.0)
    assert tally.of_task(over).error > 0
    with pytest.raises(ValueError, match="same items"):
        tally.gain(over, sample((0.0, 0.0, 0.0, 0.0), keys="abcd"))


def test_the_seconds_of_a_lineage_are_those_of_its_trainings(given: Fixture) -> None:
    given.give(Base(), 1, 0.0, 0.25)
    for seed in (1, 2):
        given.give(FIRST, seed, 10.0 * seed, 0.5)
        given.give(SECOND, seed, 5.0, 0.75)
    found = given.landscape({"base": Base(), "second": SECOND})
    base, second = found.entries
    assert (base.seconds, base.average.seed_sd) == (0.0, None)
    assert (second.seconds, second.average.mean) == (20.0, 75.0)
    assert found.choices() == (second,)
    assert found.experiments() == {"second": [5.0, 5.0]}


def test_a_recipe_that_was_not_carried_out_is_no_entry(given: Fixture) -> None:
    given.give(FIRST, 1, 10.0, 0.5)
    assert given.landscape({"first": FIRST}).entries == ()


def test_a_contest_is_won_by_eight_points_under_three_seeds(given: Fixture) -> None:
    for seed in (1, 2, 3):
        given.give(Base(), seed, 0.0, 0.25)
        given.give(FIRST, seed, 10.0, 0.25)
        given.give(LEARNT, seed, 20.0, 1.0)
        given.give(CONTROL, seed, 19.0, 0.0)
    verdicts = {}
    for seeds in ((1, 2), (1, 2, 3)):
        contest = Contest("GRPO", "sums", FIRST, LEARNT, CONTROL, seeds)
        found = given.landscape({"first": FIRST}, (contest,), seeds)
        (match,) = found.matches
        assert (match.gain.mean, match.seconds) == (100.0, (20.0, 19.0))
        verdicts[seeds] = next(c for c in claims.checked(found) if c.text.startswith("GRPO"))
    assert (verdicts[1, 2].holds, verdicts[1, 2, 3].holds) == (False, True)
    assert "+100" in verdicts[1, 2, 3].figures


@pytest.mark.parametrize(
    ("base", "treated", "told"),
    [
        (0.25, (1.0, 1.0, 1.0), True),
        (1.0, (1.0, 1.0, 1.0), False),  # no more than the base could do
        (0.25, (1.0, 0.0, 0.0), False),  # one lucky seed
    ],
)
def test_a_contest_is_won_over_the_base_and_under_most_seeds(
    given: Fixture, base: float, treated: tuple[float, ...], told: bool
) -> None:
    given.give(Base(), 0, 0.0, base)
    for seed, share in zip((1, 2, 3), treated, strict=True):
        given.give(FIRST, seed, 10.0, 0.25)
        given.give(LEARNT, seed, 20.0, share)
        given.give(CONTROL, seed, 20.0, 0.0)
    contest = Contest("GRPO", "sums", FIRST, LEARNT, CONTROL, (1, 2, 3))
    found = given.landscape({"first": FIRST}, (contest,), (1, 2, 3))
    assert next(c for c in claims.checked(found) if c.text.startswith("GRPO")).holds is told


def test_claims_follow_the_figures(given: Fixture) -> None:
    prompted = Prompted(init=Base())
    experts = tuple(sft("scratchpad", 40, (task,)) for task in ("sums", "chain"))
    merged = Merge(inits=experts)
    dear = sft("scratchpad", 300)
    given.give(Base(), 1, 0.0, 0.25)
    given.give(prompted, 1, 0.0, 0.25)
    for seed in (1, 2):
        given.give(dear, seed, 200.0, 0.75)
        given.give(merged, seed, 0.1, 0.75)
        for expert in experts:
            given.give(expert, seed, 4.0, 0.5)
    steps: dict[str, Step] = {"base": Base(), "prompted": prompted, "dear": dear, "merged": merged}
    held = {c.text: c for c in claims.checked(given.landscape(steps))}
    by_word = {word: next(c for t, c in held.items() if word in t) for word in (
        "The base averages", "The best recipe", "One experiment from", "Merging", "costs",
        "holdout", "mislead", "Mixing",
    )}  # fmt: skip
    assert by_word["The base averages"].holds
    assert by_word["The best recipe"].holds
    assert by_word["The best recipe"].figures.startswith("merged: 75.0")
    assert by_word["One experiment from"].holds
    assert by_word["One experiment from"].figures.startswith("dear")
    assert not by_word["Merging"].holds  # none loses
    assert not by_word["costs"].holds
    assert held["Rejection sampling gains 8 points over equally long SFT on a task"].holds is None
    assert [by_word[word].holds for word in ("holdout", "mislead", "Mixing")] == [None] * 3


@pytest.mark.parametrize(
    ("short", "long", "best", "told"),
    [
        (0.5, 0.5, 1.0, "sums 50, 50 of 100"),
        (0.5, 0.5, 0.75, None),  # two thirds
        (0.25, 0.5, 1.0, None),  # still rising
    ],
)
def test_direct_answers_plateau_where_length_does_not_help(
    given: Fixture, short: float, long: float, best: float, told: str | None
) -> None:
    given.give(Base(), 1, 0.0, 0.0)
    steps: dict[str, Step] = {}
    for share, step in (
        (long, sft("direct", 300)),
        (short, sft("direct", 100)),
        (best, sft("forum", 300)),
    ):
        given.give(step, 1, 9.0, share)
        steps[step.model_dump_json()] = step
    found = claims.plateaus(given.landscape(steps, seeds=(1,)).choices())
    assert (found[0] if found else None) == told


@pytest.mark.parametrize(
    ("direct", "worked", "turned"),
    [
        (((40, 18.0), (160, 20.0)), ((40, 17.0), (160, 98.0)), True),  # a late jump
        (((40, 18.0), (160, 20.0)), ((40, 60.0), (160, 98.0)), False),  # seen from the start
        (((40, 18.0), (160, 20.0)), ((40, 19.0), (160, 98.0)), False),  # just seen
        (((20, 9.0), (40, 18.0), (160, 20.0)), ((20, 5.0), (40, 60.0), (160, 98.0)), True),
        (((40, 30.0), (160, 40.0)), ((40, 20.0), (160, 45.0)), False),  # too little in the end
        (((40, 5.0), (160, 90.0)), ((40, 30.0), (160, 50.0)), True),  # the other way round
        (((80, 18.0), (160, 20.0)), ((80, 17.0), (160, 98.0)), False),  # no short probe
    ],
)
def test_a_short_probe_misleads_where_its_winner_loses_by_far(
    direct: tuple[tuple[int, float], ...], worked: tuple[tuple[int, float], ...], turned: bool
) -> None:
    found = reversals([line("chain", "direct", *direct), line("chain", "scratchpad", *worked)])
    assert [one.task for one in found] == (["chain"] if turned else [])


def test_the_figure_is_well_formed_and_higher_scores_stand_higher() -> None:
    series = figure.Series("direct <1>", ((20, 0.0, 4.0), (40, 50.0, 4.0), (80, 100.0, 0.0)))
    svg = figure.draw([figure.Panel("chain & co", (series,))] * 3, "scores")
    root = ElementTree.fromstring(svg)
    dots = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{SVG}circle")][:3]
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert [y for _, y in dots] == sorted((y for _, y in dots), reverse=True)
    assert dots[1][0] - dots[0][0] == pytest.approx(dots[2][0] - dots[1][0], abs=0.2)
    texts = {text.text for text in root.iter(f"{SVG}text")}
    assert {"direct <1>", "chain & co", "20", "100"} <= texts
    with pytest.raises(ValueError, match="nothing to draw"):
        figure.draw([], "none")


def test_the_page_is_made_of_the_results(given: Fixture) -> None:
    given.give(Base(), 1, 0.0, 0.25)
    for seed in (1, 2):
        given.give(FIRST, seed, 12.0, 0.5)
    found = given.landscape({"base": Base(), "first": FIRST})
    text = page.write(found, "nano.svg")
    assert "| first | 50.0 (0.0) | 10.9 |" in text
    assert (
        "- [ ] GRPO after SFT gains 8 points over equally long SFT on a task (not measured)" in text
    )
    assert "| `sums 1\\|2` | `a ⏎ b` 100 | `a ⏎ b` 100 |" in text
    assert material.partition_digest() in text
    assert not re.search(r"\{\w+\}", text), "a field of the page was left empty"


def test_the_table_names_what_there_is() -> None:
    found = table()
    names = [(one.group, one.name) for one in found.recipes]
    assert len(names) == len(set(names))
    used = {
        part.source
        for one in plan.ordered(found.nodes())
        for part in getattr(one.step, "parts", ())
    }
    assert used <= set(POOL_IDS)
    for contest in found.contests:
        assert contest.control.parents() == (contest.start, contest.treated)
        assert contest.treated.parents() == (contest.start,)
    assert {curve.style for curve in found.curves} == {"direct", "scratchpad"}
    assert any(one.step == found.best for one in found.recipes)


def test_a_quick_table_has_the_same_shape_and_hardly_any_steps() -> None:
    whole, quick = table(), table().quick()
    assert len(quick.recipes) == len(whole.recipes)
    nodes = plan.ordered(quick.nodes())
    assert {one.seed for one in nodes} <= {0, 1}
    assert {one.step.steps for one in nodes if isinstance(one.step, Sft | Rejection)} <= {2, None}
    assert len(nodes) < len(plan.ordered(whole.nodes())) / 3


def test_shortening_keeps_the_lineage() -> None:
    short = shortened(CONTROL)
    assert short.parents() == (shortened(FIRST), shortened(LEARNT))
    assert shortened(Base()) == Base()


def test_a_part_of_the_table_is_found_by_its_names() -> None:
    found = table().only(("lineages", "curve: chain"))
    assert {one.group for one in found.recipes} == {"Lineages"}
    assert {curve.task for curve in found.curves} == {"chain"}
    assert found.contests == ()
    assert table().only(()) == table()


def test_a_pool_gives_rows_by_task_and_refuses_another_kind() -> None:
    rows = (Row(prompt="a", completion="b"), Row(prompt="hello", completion="c"))
    pool = Pool(tasks=("sums", None), rows=rows)
    assert pool.of(Row, ("sums",)) == [rows[0]]
    assert pool.of(Row, ()) == list(rows)
    with pytest.raises(ValueError, match="a Row where a Prompt is needed"):
        pool.of(Prompt, ())


def test_the_task_of_a_prompt_is_found_and_small_talk_has_none() -> None:
    drawn = suite.draw(b"seed", {"practice": 20})["practice"]
    assert [material.task_of(one.prompt) for one in drawn] == [one.task for one in drawn]
    talk = chat.rows(Random(1), 100)
    assert {material.task_of(row.prompt) for row in talk} == {None}


def test_the_digest_of_rows_is_that_of_their_content_in_order() -> None:
    rows = [Row(prompt="a", completion="b"), Row(prompt="c", completion="d")]
    digest, count = material.rows_digest(rows)
    assert count == 2
    assert material.rows_digest(rows) == (digest, count)
    assert material.rows_digest(rows[::-1])[0] != digest


def test_a_recipe_with_seeds_has_a_node_for_each() -> None:
    found = Table((Recipe("g", "n", FIRST, (1, 2, 3)),), (), (), FIRST, (1, 2, 3))
    assert [one.seed for one in found.nodes()] == [1, 2, 3]


def test_a_control_is_as_long_as_its_rival_at_the_pace_of_the_training_before(
    tmp_path: Path,
) -> None:
    fixture = Fixture(tmp_path)
    fixture.give(FIRST, 1, seconds=5.0, share=0.25)
    fixture.give(LEARNT, 1, seconds=40.0, share=0.5)
    before = fixture.bench.result(node(FIRST, 1))
    assert before is not None
    assert before.updates == 1
    assert plan.as_long(fixture.bench, node(CONTROL, 1)) == 8
    assert plan.as_long(fixture.bench, node(FIRST, 1)) is None


def test_the_pace_of_other_rows_tells_nothing() -> None:
    with pytest.raises(ValueError, match="SFT on the same rows"):
        Sft(init=SECOND, parts=FIRST.parts, like=LEARNT)


def test_a_result_is_whole_as_long_as_its_checkpoint_is(given: Fixture) -> None:
    one = node(FIRST, 1)
    checkpoint = given.bench.checkpoint(one)
    checkpoint.mkdir(parents=True)
    for name in ("model.safetensors", "tokenizer.json"):
        (checkpoint / name).write_text(name, encoding="utf-8")
    given.give(FIRST, 1, 1.0, 0.5)
    assert given.bench.whole(one)
    (checkpoint / "model.safetensors").write_text("model", encoding="utf-8")
    assert not given.bench.whole(one)
    (checkpoint / "model.safetensors").write_text("model.safetensors", encoding="utf-8")
    assert given.bench.whole(one)
    (checkpoint / "tokenizer.json").unlink()
    assert not given.bench.whole(one)


def benched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int | str | None, str]:
    """Exit code and the one line on standard error; nothing may be carried out."""
    monkeypatch.setattr(plan, "_carried_out", lambda *_: pytest.fail("carried out"))
    monkeypatch.setattr("sys.argv", ["bench", *words])
    code: int | str | None
    try:
        code = program.main()
    except SystemExit as ended:
        code = ended.code
    (line,) = capsys.readouterr().err.splitlines()
    return code, line


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing/nano.md", "missing/nano.md: No such file or directory"),
        ("", "is no file"),
        ("/", "/ is a folder"),
        ("nano.svg", "would be the figure and the page"),
        ("file/nano.md", "file/nano.md: Not a directory"),
        ("pipe.md", "pipe.md is no file"),
        ("folder.md", "folder.svg is no file"),
        (f"{'n' * 300}.md", "File name too long"),
    ],
)
def test_the_page_is_tried_before_anything_is_carried_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    told: str,
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.svg").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    before = sorted(tmp_path.iterdir())
    code, line = benched(monkeypatch, capsys, str(tmp_path / name), "--work", str(tmp_path / "w"))
    assert code == 2
    assert told in line
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("", "--quick"), "page: the path is empty"),
        (("{}/nano.md", "--work", ""), "--work: the path is empty"),
        (("{}/nano.md", "--work", "/proc/foo"), "bench: --work /proc/foo: No such file"),
        (("{}/nano.md", "--work", "{}/file/work"), "work: Not a directory; name a folder"),
        (("{}/nano.md", "--work", "{}/file"), "file: File exists; name a folder"),
        (("{}/nano.md", "--work", "/sys/kernel"), "bench: --work /sys/kernel: "),
        (("{}/nano.md", "--only", ""), "no part of the table is named ''"),
        (("{}/nano.md", "--only", "lineages", " "), "no part of the table is named ' '"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    told: str,
) -> None:
    (tmp_path / "file").touch()
    code, line = benched(monkeypatch, capsys, *(word.format(tmp_path) for word in words))
    assert code == 2
    assert told in line
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_full_disk_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(plan, "_carried_out", full)
    monkeypatch.setattr("sys.argv", ["bench", str(tmp_path / "nano.md"), "--work", str(tmp_path)])
    assert program.main() == 7
    assert "No space left on device; what was carried out is kept" in capsys.readouterr().err


def ended(monkeypatch: pytest.MonkeyPatch, page_: Path, *failures: str) -> int:
    """The end of a whole bench whose steps were carried out, apart from these."""
    monkeypatch.setattr(plan, "carry_out", lambda *_: list(failures))
    monkeypatch.setattr(page, "write", lambda *_, **words: f"page {words}\n")
    monkeypatch.setattr(page, "drawing", lambda *_: "<svg/>")
    work = str(page_.parent / "work")
    monkeypatch.setattr("sys.argv", ["bench", str(page_), "--work", work])
    return program.main()


def test_a_whole_table_is_written_and_one_that_failed_leaves_the_page_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page_ = tmp_path / "nano.md"
    assert ended(monkeypatch, page_) == 0
    assert page_.read_text() == "page {}\n"
    page_.write_text("before")
    assert ended(monkeypatch, page_, "sft failed") == 1
    out, err = capsys.readouterr()
    assert page_.read_text() == "before"
    assert f"{page_} stays as it was: 1 failures" in err
    assert "'whole': False" in out


def test_a_disk_that_fails_at_the_page_is_told_and_leaves_both_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page_, figure_ = tmp_path / "nano.md", tmp_path / "nano.svg"
    for file in (page_, figure_):
        file.write_text("before")
    write = Path.write_text

    def full(self: Path, text: str, **words: str) -> int:
        if self.name == "nano.md.draft":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, text, **words)

    monkeypatch.setattr(Path, "write_text", full)
    assert ended(monkeypatch, page_) == 7
    assert "is not written: No space left on device" in capsys.readouterr().err
    assert [file.read_text() for file in (page_, figure_)] == ["before"] * 2
    assert not list(tmp_path.glob("*.draft"))


def test_a_damaged_base_ends_the_bench_before_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def damaged(*_: object) -> None:
        raise Finding("BASE_DAMAGED", "model.safetensors is not as recorded")

    monkeypatch.setattr(bases, "sound", damaged)
    code, told = benched(monkeypatch, capsys, str(tmp_path / "nano.md"))
    assert (code, "BASE_DAMAGED" in told) == (1, True)


def test_of_a_part_no_claim_is_judged(given: Fixture) -> None:
    given.give(Base(), 1, 0.0, 0.25)
    found = given.landscape({"base": Base()})
    part = page.write(found, "nano.svg", whole=False)
    assert page.NOT_JUDGED in part
    assert "- [" not in part


def test_a_recipe_whose_past_is_lost_has_no_row(given: Fixture) -> None:
    for step, seconds in ((Base(), 0.0), (FIRST, 3.0), (SECOND, 2.0)):
        for seed in (1, 2):
            given.give(step, seed, seconds, 0.5)
    found = given.landscape({"first": FIRST, "second": SECOND})
    assert [entry.recipe.name for entry in found.entries] == ["first", "second"]
    (given.bench.folder(node(FIRST, 2)) / result.FILE).unlink()
    assert given.landscape({"first": FIRST, "second": SECOND}).entries == ()


def test_a_result_that_was_edited_is_none(given: Fixture) -> None:
    given.give(FIRST, 1, 3.0, 0.5)
    file = given.bench.folder(node(FIRST, 1)) / result.FILE
    assert given.bench.result(node(FIRST, 1)) is not None
    file.write_text(file.read_text().replace("[1.0,1.0,0.0,0.0]", "[1.0,1.0,1.0,0.0]", 1))
    assert given.bench.result(node(FIRST, 1)) is None
