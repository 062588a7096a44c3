"""Pre-training on a tiny shape: it learns, saves a base that loads, and keeps to its limit."""

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3ForCausalLM

from rsi_master.programs.nano import judge, pretrain
from rsi_master.programs.nano import tokenizer as pieces
from rsi_master.programs.nano.muon import Muon, orthogonalised
from rsi_master.programs.nano.pretrain import LENGTH, ROWS, Schedule, Shape

TINY = Shape(hidden=32, layers=1, inner=48)
SHORT = Schedule(steps=40, questions=10)
SAME = {"atol": 1e-5, "rtol": 1e-4}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def trained() -> Qwen3ForCausalLM:
    return pretrain.train(TINY, SHORT, minutes=1.0)


def _loss(model: Qwen3ForCausalLM) -> float:
    ids = next(pretrain.batches(Schedule(steps=1, questions=0, seed=9)))
    labels = ids.masked_fill(ids == pieces.PAD_ID, pretrain.IGNORED)
    with torch.no_grad():
        return float(model(input_ids=ids, labels=labels).loss)


def test_a_few_steps_lower_the_loss_on_rows_that_were_not_read(trained: Qwen3ForCausalLM) -> None:
    torch.manual_seed(SHORT.seed)
    fresh = Qwen3ForCausalLM(pretrain.configuration(TINY)).eval()
    assert _loss(trained) < _loss(fresh) - 0.5


def test_the_same_seed_gives_the_same_weights(trained: Qwen3ForCausalLM) -> None:
    again = pretrain.train(TINY, SHORT, minutes=1.0).state_dict()
    assert all(torch.equal(weight, again[name]) for name, weight in trained.state_dict().items())


def test_what_is_saved_loads_with_its_tokenizer(trained: Qwen3ForCausalLM, tmp_path: Path) -> None:
    pretrain.save(trained, tmp_path / "base")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "base")
    asked = tokenizer("Q: x, add 3, double?\nA:", return_tensors="pt")["input_ids"]
    assert asked.max() < len(pieces.VOCABULARY)
    torch.testing.assert_close(model(asked).logits, trained(asked).logits, **SAME)
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id == pieces.END_ID


def test_a_batch_holds_whole_documents_that_end_and_then_padding() -> None:
    for ids in pretrain.batches(Schedule(steps=5, questions=2)):
        assert ids.shape == (ROWS, LENGTH)
        for row in ids.tolist():
            text = row[: row.index(pieces.PAD_ID)] if pieces.PAD_ID in row else row
            assert text[-1] == pieces.END_ID
            assert set(row[len(text) :]) <= {pieces.PAD_ID}


def test_the_rate_warms_up_holds_and_falls_to_nothing() -> None:
    schedule = Schedule()
    factors = [schedule.factor(step) for step in range(schedule.steps + 1)]
    assert (factors[0], factors[500], factors[-1]) == (1 / 40, 1.0, 0.0)
    assert min(factors[:-1]) > 0.0
    phases = [schedule.phase(step) for step in range(schedule.steps)]
    assert phases.count("questions") == schedule.questions
    assert phases == sorted(phases)


def test_a_training_over_its_minutes_fails_and_saves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "base"
    monkeypatch.setattr(sys, "argv", ["pretrain", "--out", str(out), "--minutes", "1e-9"])
    with pytest.raises(SystemExit, match=r"step 0 of 2800.*nothing is saved.*--minutes"):
        pretrain.main()
    assert list(out.iterdir()) == []
    assert pretrain.MINUTES == 20.0


@pytest.mark.parametrize("shape", [(3, 24, 96), (3, 96, 24), (1, 320, 128)])
def test_orthogonalised_matrices_keep_their_singular_vectors(shape: tuple[int, ...]) -> None:
    """The quintic iteration brings singular values near 1, not to it (Jordan et al., 2024)."""
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    u, _, vh = torch.linalg.svd(matrices, full_matrices=False)
    found = u.mT @ orthogonalised(matrices) @ vh.mT
    values = found.diagonal(dim1=-2, dim2=-1)
    assert 0.6 < values.min() <= values.max() < 1.3
    assert (found - torch.diag_embed(values)).abs().max() < 1e-3


def test_matrices_of_a_batch_do_not_touch_each_other_and_zero_stays_zero() -> None:
    matrices = torch.randn(3, 8, 16, generator=torch.Generator().manual_seed(2))
    matrices[1] = 0.0
    together = orthogonalised(matrices)
    alone = torch.cat([orthogonalised(one[None]) for one in matrices])
    torch.testing.assert_close(together, alone, **SAME)
    assert together[1].abs().max() == 0.0


def test_a_step_goes_against_the_gradient_by_the_rate_whatever_its_size() -> None:
    generator = torch.Generator().manual_seed(3)
    tall, wide = (torch.zeros(shape) for shape in ((64, 16), (16, 64)))
    for matrix in (tall, wide):
        matrix.grad = 1e3 * torch.randn(matrix.shape, generator=generator)
    Muon([tall, wide]).step(0.1)
    for matrix, scale in ((tall, 0.1 * 2.0), (wide, 0.1)):
        assert matrix.grad is not None
        values = torch.linalg.svdvals(matrix) / scale
        assert 0.6 < values.min() <= values.max() < 1.3
        assert (matrix * matrix.grad).sum() < 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--minutes", "nan"), "nan is no limit"),
        (("--minutes", "-5"), "-5 is no limit"),
        (("--minutes", "0"), "0 is no limit"),
        (("--seed", "9" * 23), f"{'9' * 23} is no seed"),
        (("--seed", f"-{2**63 + 1}"), "is no seed"),
        (("--out", ""), "it is empty; name a new folder"),
        ((), "is not empty; name a new folder"),
    ],
)
def test_a_rebuild_is_refused_before_it_trains(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    (tmp_path / "old").touch()
    monkeypatch.setattr("sys.argv", ["pretrain", "--out", str(tmp_path), *arguments])
    with pytest.raises(SystemExit) as ended:
        pretrain.main()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_a_folder_that_cannot_be_judged_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["judge", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        judge.main()
    assert ended.value.code == 2
    assert f"{tmp_path} cannot be judged" in capsys.readouterr().err


def test_a_full_disk_is_told_in_a_line_and_leaves_an_empty_folder(
    trained: Qwen3ForCausalLM,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A limit on the size of files stands for the disk: configurations fit, weights do not."""
    out = tmp_path / "base"
    monkeypatch.setattr(pretrain, "train", lambda *_: trained)
    monkeypatch.setattr("sys.argv", ["pretrain", "--out", str(out)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        with pytest.raises(SystemExit) as ended:
            pretrain.main()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ended.value.code == 7
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith(f"pretrain: {out} could not be saved: ")
    assert list(out.iterdir()) == []
    pretrain.main()
    AutoModelForCausalLM.from_pretrained(out)
    assert not (out / pretrain.DRAFT).exists()


def test_a_folder_is_held_by_one_pretraining(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["pretrain", "--out", str(tmp_path)])
    with pretrain.claimed(tmp_path) as draft:
        (draft / "half").touch()
        with pytest.raises(SystemExit) as ended:
            pretrain.main()
        assert ended.value.code == 2
        assert f"another pre-training holds {tmp_path}" in capsys.readouterr().err
        assert (draft / "half").exists()
    assert list(tmp_path.iterdir()) == []


def test_the_draft_of_a_process_that_was_killed_is_no_base(tmp_path: Path) -> None:
    (tmp_path / pretrain.DRAFT).mkdir()
    (tmp_path / pretrain.DRAFT / "half").touch()
    with pretrain.claimed(tmp_path) as draft:
        assert list(draft.iterdir()) == []
