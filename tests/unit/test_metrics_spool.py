"""The heartbeat of a training: visible at once, and never in the way of the training."""

import json
from io import FileIO
from pathlib import Path

import pytest

from rsi_master.programs.jobs.result import Metric, Spool, spool


def metric(step: int, loss: float = 1.0) -> Metric:
    """A logged step."""
    return Metric(
        step=step, loss=loss, learning_rate=0.1, grad_norm=1.0, tokens=step, rows_per_second=1.0
    )


def test_a_line_is_visible_before_the_spool_is_closed(tmp_path: Path) -> None:
    with spool(tmp_path) as heartbeat:
        heartbeat.log(metric(1))
        assert json.loads((tmp_path / "metrics.jsonl").read_text())["step"] == 1
        heartbeat.log(metric(2))
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2


def test_a_loss_that_is_not_finite_is_written_as_strict_json(tmp_path: Path) -> None:
    with spool(tmp_path) as heartbeat:
        heartbeat.log(metric(1, float("nan")))
    line = json.loads((tmp_path / "metrics.jsonl").read_text(), parse_constant=pytest.fail)
    assert line["loss"] == {"$float": "nan"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_costs_lines_and_one_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with FileIO("/dev/full", "w") as disk:
        heartbeat = Spool(disk)
        heartbeat.log(metric(1))
        heartbeat.log(metric(2))
    assert capsys.readouterr().err.count("line lost") == 1
