from rsi_master.expos.order import Flaw
from rsi_master.expos.verify import Report
from rsi_master.interfaces.verdict import text

SOUND = Report(
    origin="demo-1",
    events=12,
    signed=10,
    artifacts=3,
    root="ab" * 32,
    anchor="operator-signed only, up to event 9",
    flaws=(),
)
KEY = "rsi-master+0a1b2c3d, this installation's own"


def test_a_whole_record_says_who_vouches_and_what_no_head_covers() -> None:
    told = text(SOUND, "namespaces", KEY)
    assert told.startswith("The record of demo-1 is whole.")
    assert "12, 10 of them signed, 2 events after the last signed head" in told
    assert "operator-signed only, up to event 9" in told
    assert told.endswith(KEY)


def test_findings_are_one_a_line_and_come_first() -> None:
    flaws = (
        Flaw(code="EVENT_ALTERED", where="event 7", what="its bytes do not match"),
        Flaw(code="ARTIFACT_UNSOUND", where="sha256:ab", what="missing"),
    )
    lines = text(SOUND.model_copy(update={"flaws": flaws}), "namespaces", KEY).splitlines()
    assert lines[:3] == [
        "EVENT_ALTERED: event 7: its bytes do not match",
        "ARTIFACT_UNSOUND: sha256:ab: missing",
        "The record of demo-1 does not hold.",
    ]


def test_without_isolation_the_first_line_says_so() -> None:
    assert text(SOUND, "none", KEY).startswith("NOT ISOLATED")
