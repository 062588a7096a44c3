"""How a run ends that Main finished: a pure rule over the record of its claim."""

from rsi_master.core.run import ClaimScored
from rsi_master.core.state import State
from rsi_master.expos.lineage import taint


def conclusion(state: State, reason: str) -> tuple[str, str]:
    """Outcome and reason: a champion only if the claim shows it to be better than the base, and
    nothing in its lineage is flagged."""
    claimed = state.claimed
    if not isinstance(claimed, ClaimScored):
        return "no_champion", claimed.reason if claimed else reason
    flagged = taint(state, claimed.experiment)
    if flagged is not None:
        return "no_champion", f"the claimed checkpoint goes back to the flagged {flagged}"
    difference = claimed.result.difference
    if difference is None:
        return "no_champion", "the claimed checkpoint or the base was not scored on the holdout"
    if difference.low <= 0:
        interval = f"{100 * difference.mean:+.1f} points, from {100 * difference.low:+.1f}"
        return "no_champion", f"the claim does not show a gain over the base: {interval}"
    return "champion", reason
