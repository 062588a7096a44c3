"""The 31 core tools of the published system, and where each of their functions is found here."""

from collections.abc import Mapping
from typing import Final

ABSENT: Final = "not in this version"

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Data": {
        "worker_show_datapool": "`data.list`",
        "reviewer_show_datapool": "`data.list`",
        "worker_inspect_data": "`data.inspect`",
        "reviewer_inspect_data": "`data.inspect`",
        "worker_add_data": "`data.add` for a source of the contract, `data.derive` for a mixture, "
        "`data.filter` for a part; all scan the rows first",
        "worker_update_readme": ABSENT,
    },
    "Execution and state": {
        "state_add_new_worker": "`worker.create`",
        "state_get_current_worker": "`worker.current`",
        "state_inspect_worker": "`worker.inspect`",
        "state_finalize_worker": f"{ABSENT} as an action of Main; a Worker whose turns fail or "
        "whose share is used up is finalised by the Experiment OS",
        "worker_finalize": "`worker.finalize`",
        "state_sync_results": "`state.sync`; results enter the record by themselves",
        "events_tail": "`events.tail`",
        "stop_loop": "`run.finish` for Main, guarded while anything works; `run.stop` for a person",
        "public_check_quota": "`quota.read`",
        "worker_submit": "`experiment.submit`, and `experiment.merge` where the contract allows it",
        "main_training_read": f"{ABSENT}; an experiment starts when it is submitted",
        "main_training_decide": f"{ABSENT}; an experiment starts when it is submitted",
        "main_submit_review_override": f"{ABSENT}; no reviewer holds a submission back",
    },
    "Research and evidence": {
        "main_optimizer_read": ABSENT,
        "main_optimizer_update": ABSENT,
        "research_candidates_read": "`candidates.read`, the ranking of recipes that were trained",
        "worker_propose_candidate": ABSENT,
        "main_prediction_read": ABSENT,
        "main_prediction_reconcile": ABSENT,
        "main_prediction_bind_worker": ABSENT,
        "compare_eval_samples": "`evaluation.compare` for the paired figures, "
        "`evaluation.verdicts` for the items",
    },
    "Review": {
        "reviewer_inspect_experiment": "`experiment.inspect`; what is in scope: `review.current`",
        "reviewer_submit_review": "`review.submit`",
        "reviewer_finalize": "`review.submit`, which also ends the review",
        "inspect_reviewer_report": "`review.read`",
    },
}
