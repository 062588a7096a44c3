"""Questions that hang together: how a set seals them, and that every figure counts so."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from rsi_master.core.canonical import encode
from rsi_master.core.errors import Misuse, SealUnavailable
from rsi_master.core.score import Drawn, ItemVerdict, Scored, Split
from rsi_master.domains.evaluation.actions import ComparisonView, VerdictsView
from rsi_master.expos import evidence
from rsi_master.programs.nano.generator import suite
from rsi_master.programs.sealed.benchmark import Item, Question
from rsi_master.programs.sealed.nano import NANO
from rsi_master.programs.sealed.vault import load, read_base, seal
from rsi_master.stats.intervals import average_of_tasks, mean_interval
from rsi_master.stats.paired import paired_difference
from rsi_master.testing import rig as rig_module
from rsi_master.testing.rig import Rig
from rsi_master.testing.sketch import SKETCH, Sketch, _difficulty, write_checkpoint

SECRET = b"s" * 32


class Grouped(Sketch):
    """Questions of one difficulty hang together: a checkpoint answers all of them or none."""

    def draw(self, secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
        drawn = super().draw(secret, counts)
        return {split: [_grouped(question) for question in found] for split, found in drawn.items()}


def _grouped(question: Question) -> Question:
    level = int(10 * _difficulty(question.prompt))
    return question.model_copy(update={"cluster": f"difficulty {level}"})


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "base", 0.5)


def sealed(benchmark: Sketch, base: Path, home: Path) -> Path:
    counts: dict[Drawn, int] = {"dev": 20, "confirm": 20}
    return seal(benchmark, read_base(base), counts, home, secret=SECRET)


def clusters(items: Sequence[Item]) -> dict[str | None, set[str]]:
    found: dict[str | None, set[str]] = {}
    for item in items:
        found.setdefault(item.cluster, set()).add(item.prompt)
    return found


def test_clusters_are_sealed_under_names_that_say_nothing(tmp_path: Path, base: Path) -> None:
    folder = sealed(Grouped(), base, tmp_path)
    vault = load(folder, base)
    assert not [path for path in folder.rglob("*") if b"difficulty" in path.read_bytes()]
    for items in (vault.items["dev"], vault.items["confirm"]):
        drawn: dict[tuple[str, int], set[str]] = {}
        for item in items:
            place = item.task, int(10 * _difficulty(item.prompt))
            drawn.setdefault(place, set()).add(item.prompt)
        assert sorted(map(sorted, clusters(items).values())) == sorted(map(sorted, drawn.values()))
    assert not set(clusters(vault.items["dev"])) & set(clusters(vault.items["confirm"]))
    plain = load(sealed(SKETCH, base, tmp_path), base)
    assert [item.id for item in plain.items["dev"]] == [item.id for item in vault.items["dev"]]


def test_a_changed_cluster_is_found(tmp_path: Path, base: Path) -> None:
    folder = sealed(Grouped(), base, tmp_path)
    name = str(load(folder, base).items["dev"][0].cluster)
    file = folder / "items.dev.jsonl"
    file.write_text(file.read_text().replace(f'"{name}"', "null", 1))
    with pytest.raises(SealUnavailable, match="differ from their commitment"):
        load(folder, base)


def test_a_set_that_was_sealed_before_there_were_clusters_is_served(
    tmp_path: Path, base: Path
) -> None:
    folder = sealed(SKETCH, base, tmp_path)
    listed: dict[str, list[dict[str, str]]] = {"holdout": [], "twin": []}
    for split in ("dev", "confirm"):
        file = folder / f"items.{split}.jsonl"
        rows = [json.loads(line) for line in file.read_bytes().splitlines()]
        listed[split] = [{k: v for k, v in row.items() if k != "cluster"} for row in rows]
        file.write_text("".join(json.dumps(row) + "\n" for row in listed[split]))
    vault = load(folder, base)
    assert set(clusters(vault.items["dev"])) == {None}
    commitment = hashlib.sha256(SECRET + encode(listed)).hexdigest()
    assert vault.manifest.public.digest == f"sha256:{commitment}"


def test_questions_of_nano_with_one_key_are_one_cluster() -> None:
    (drawn,) = NANO.draw(SECRET, {"holdout": 30}).values()
    expected = [(item.prompt, item.key) for item in suite.draw(SECRET, {"holdout": 30})["holdout"]]
    assert [(question.prompt, question.cluster) for question in drawn] == expected
    facts = Counter(question.cluster for question in drawn if question.task == "facts")
    assert max(facts.values()) > 1


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig_module, "SKETCH", Grouped())
        rig = Rig(tmp_path_factory.mktemp("rig"))
    rig.score_base()
    yield rig
    rig.close()


def test_scores_and_comparisons_count_by_cluster(rig: Rig) -> None:
    data = rig.add()
    node, name = rig.explored(data, steps=2)
    session = rig.reviewer(rig.review(node))
    table = cast(ComparisonView, session.act("evaluation.compare", left="base", right=name))
    known = rig.state.experiments
    before, after = (evidence.items(rig.objects, known[one], "confirm") for one in ("base", name))
    by_item = paired_difference(*_points(before, after))
    by_cluster = paired_difference(*_points(before, after), [str(one.cluster) for one in before])
    assert (table.low, table.high, table.p) == (by_cluster.low, by_cluster.high, by_cluster.p)
    assert table.effective == by_cluster.effective < table.n / 2
    assert table.low < by_item.low
    assert table.p > by_item.p

    score = known["base"].score("confirm")
    assert score is not None
    assert isinstance(score.average, Scored)
    own = [
        mean_interval(
            [one.points for one in before if one.task == task],
            [str(one.cluster) for one in before if one.task == task],
        )
        for task in sorted(SKETCH.tasks)
    ]
    assert score.average.low == average_of_tasks(own).low

    window = cast(VerdictsView, session.act("evaluation.verdicts", experiment=name))
    assert window.verdicts[0].cluster == after[0].cluster is not None


def test_the_claim_counts_by_cluster(rig: Rig, tmp_path: Path) -> None:
    champion = write_checkpoint(tmp_path / "champion", 0.7)
    found = rig.sealed.claim("champion", champion, rig.base).difference
    items = load(rig.vault, rig.base).items["holdout"]
    skills = rig_module.BASE_SKILL, 0.7
    points = [[float(_difficulty(item.prompt) < skill) for item in items] for skill in skills]
    tasks, names = [item.task for item in items], [str(item.cluster) for item in items]
    expected = paired_difference(points[0], points[1], tasks, names)
    assert found is not None
    assert (found.mean, found.low, found.high, found.p) == (
        expected.mean,
        expected.low,
        expected.high,
        expected.p,
    )
    assert found.low < paired_difference(points[0], points[1], tasks).low


def test_verdicts_that_were_clustered_otherwise_are_not_compared(rig: Rig) -> None:
    known = rig.state.experiments["base"]
    assert known.evaluation is not None
    verdicts = evidence.items(rig.objects, known, "dev")
    alone = [one.model_copy(update={"cluster": None}) for one in verdicts]
    data = b"".join(encode(one.model_dump(mode="json")) + b"\n" for one in alone)
    outputs = {"dev": rig.objects.put_bytes("outputs", data)}
    evaluation = known.evaluation.model_copy(update={"outputs": outputs})
    other = replace(known, evaluation=evaluation)
    with pytest.raises(Misuse) as refused:
        evidence.compare(rig.objects, known, other, "dev")
    assert refused.value.code == "ITEMS_DIFFER"
    assert evidence.compare(rig.objects, other, other, "dev").effective == len(alone)


def test_a_verdict_of_before_stands_alone() -> None:
    line = '{"item":"a","task":"t","output":"","extracted":null,"verdict":"right","points":1.0}'
    assert ItemVerdict.model_validate_json(line).drawn_with() == "a"


def _points(
    before: Sequence[ItemVerdict], after: Sequence[ItemVerdict]
) -> tuple[list[float], list[float], list[str]]:
    return (
        [one.points for one in before],
        [one.points for one in after],
        [one.task for one in before],
    )
