"""When a training is stopped for its loss, and when it is not."""

import pytest

from rsi_master.programs.jobs.divergence import FACTOR, RISE, WINDOW, Divergence


def stopped(losses: list[float]) -> int | None:
    """After how many steps the training is stopped."""
    watch = Divergence()
    return next((at for at, loss in enumerate(losses, 1) if watch.seen(loss)), None)


def test_a_loss_that_stays_high_above_its_start_stops_the_training() -> None:
    assert stopped([1.0] * WINDOW + [FACTOR + 0.1] * WINDOW) == 2 * WINDOW


def test_what_was_known_by_heart_and_is_lost_stops_the_training() -> None:
    assert stopped([0.003] * WINDOW + [0.003 + RISE + 0.01] * WINDOW) == 2 * WINDOW


@pytest.mark.parametrize(
    "losses",
    [
        [1.0] * WINDOW + [FACTOR - 0.1] * 5 * WINDOW,
        [1.0] * WINDOW + [2 * FACTOR] * (WINDOW // 5) + [1.0] * 5 * WINDOW,
        [1.0] * WINDOW + [FACTOR + 9] * (WINDOW - 1),
        [3.0, 2.0, 1.0] * WINDOW,
        [0.003] * WINDOW + [0.03] * 5 * WINDOW,
        [0.2] * WINDOW + [0.69] * 5 * WINDOW,
    ],
    ids=["a little", "for a while", "too short to tell", "falling", "by heart", "nearly"],
)
def test_anything_less_goes_on(losses: list[float]) -> None:
    assert stopped(losses) is None
