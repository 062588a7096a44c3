"""The signals that stop a run."""

import signal

from rsi_master.app.owner import _stopping


def test_the_end_of_the_terminal_stops_a_run_but_not_under_nohup() -> None:
    assert signal.SIGHUP in _stopping()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert _stopping() == (signal.SIGINT, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)
