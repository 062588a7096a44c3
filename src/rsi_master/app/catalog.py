"""The explicit list of domains. CLI, agent tools, forms and docs/actions.md derive from it."""

from collections.abc import Mapping

from rsi_master.core.recipe import Recipe
from rsi_master.domains.audit.actions import DOMAIN as AUDIT
from rsi_master.domains.control.actions import DOMAIN as CONTROL
from rsi_master.domains.data.domain import DOMAIN as DATA
from rsi_master.domains.evaluation.actions import DOMAIN as EVALUATION
from rsi_master.domains.planning.actions import DOMAIN as PLANNING
from rsi_master.domains.review.actions import DOMAIN as REVIEW
from rsi_master.domains.training.actions import domain as training
from rsi_master.expos.catalogue import Catalogue


def catalogue(recipes: Mapping[str, Recipe]) -> Catalogue:
    """All actions, with `experiment.submit` over these recipes."""
    domains = (
        DATA,
        training(tuple(recipes.values())),
        EVALUATION,
        REVIEW,
        AUDIT,
        PLANNING,
        CONTROL,
    )
    return Catalogue(domains)
