"""All that Main decides from, and what follows from it at a glance."""

from dataclasses import dataclass

from rsi_master.agents.playbook.scores import value
from rsi_master.core.turn import Limits
from rsi_master.domains.control.overview import DirectionView, OverviewView, ReviewView
from rsi_master.domains.data.actions import DatasetView
from rsi_master.domains.planning.actions import PlacesView


@dataclass(frozen=True)
class Move:
    """One action that Main takes. What is to be mixed first becomes the `data` of it."""

    action: str
    arguments: dict[str, object]
    mixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Board:
    """The state of the run as Main sees it in one turn."""

    overview: OverviewView
    datasets: tuple[DatasetView, ...]
    ranking: PlacesView
    limits: Limits

    def explored(self) -> tuple[DirectionView, ...]:
        """The directions that were no verification, oldest first."""
        return tuple(view for view in self.overview.directions if view.purpose == "explore")

    def able(self) -> tuple[DirectionView, ...]:
        """Explored directions that gave an accepted checkpoint."""
        return tuple(view for view in self.explored() if view.best is not None)

    def busy(self) -> bool:
        """Whether a Worker or a Reviewer is at work."""
        statuses = [view.status for view in self.overview.directions]
        statuses += [review.status for review in self.overview.reviews]
        return "active" in statuses

    def verifications(self) -> tuple[DirectionView, ...]:
        """The directions that train others again, oldest first."""
        return tuple(view for view in self.overview.directions if view.purpose == "verify")

    def report(self) -> ReviewView | None:
        """The last report on explorations; one that the OS had to excuse says nothing."""
        return next(reversed(self._reports(on_verifications=False)), None)

    def verdict(self) -> ReviewView | None:
        """The last report on verifications."""
        return next(reversed(self._reports(on_verifications=True)), None)

    def _reports(self, *, on_verifications: bool) -> list[ReviewView]:
        told = [review for review in self.overview.reviews if review.status == "reported"]
        nodes = {view.node for view in self.verifications()}
        return [one for one in told if bool(nodes & set(one.scope)) is on_verifications]

    def unreviewed(self) -> tuple[DirectionView, ...]:
        """Directions with a result that were in the scope of no review yet."""
        return tuple(view for view in self.able() if view.node not in self._weighed())

    def unweighed(self) -> tuple[DirectionView, ...]:
        """Verifications with a result that were in the scope of no review yet."""
        weighed = self._weighed()
        able = (view for view in self.verifications() if view.best is not None)
        return tuple(view for view in able if view.node not in weighed)

    def _weighed(self) -> set[str]:
        return {
            node
            for review in self.overview.reviews
            if review.status != "active"
            for node in review.scope
        }

    def chosen(self) -> tuple[str, ...]:
        """Experiments to go on with, the first one leads: what the last report recommends that
        recommends any, or where no Reviewer reported the best of each direction by dev.

        A later report that shows nothing, of more comparisons or of others, takes nothing back.
        """
        reports = self._reports(on_verifications=False)
        if reports:
            return next((one.recommend for one in reversed(reports) if one.recommend), ())
        by_dev = sorted(self.able(), key=on_dev, reverse=True)
        return tuple(view.best for view in by_dev if view.best is not None)

    def leader(self) -> DirectionView | None:
        """The direction whose experiment leads."""
        first = next(iter(self.chosen()), None)
        return next((v for v in self.explored() if first in v.experiment_ids), None)

    def mixture(self, parts: tuple[str, ...]) -> str | None:
        """The dataset that was made by mixing others, if it was."""
        return next((one.id for one in self.datasets if parts and one.parents == parts), None)

    def ingredients(self, view: DirectionView) -> set[str]:
        """The datasets of a direction, and those that they were made of."""
        parents = {one.id: one.parents for one in self.datasets}
        found: set[str] = set()
        open_ = list(view.data)
        while open_:
            name = open_.pop()
            if name not in found:
                found.add(name)
                open_ += parents.get(name, ())
        return found

    def origins(self, view: DirectionView) -> tuple[DatasetView, ...]:
        """The datasets of a direction."""
        return tuple(dataset for dataset in self.datasets if dataset.id in view.data)


def on_dev(view: DirectionView) -> float:
    """The dev average of a direction's best experiment; below all scores without one."""
    return value(view.best_dev)
