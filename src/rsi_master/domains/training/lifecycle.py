"""An experiment's job and the judgement of its output: the training domain's `Trainer`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rsi_master.core.errors import Broken
from rsi_master.core.experiment import ExperimentQueued, Proof, Rejection
from rsi_master.core.job import Input, Job, Program, Resources
from rsi_master.core.recipe import Recipe, RecipeSpec
from rsi_master.domains.training import proof
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.merge import MERGE

MEMORY_MIB = 4096
DATA = ("data", "demonstrations")


def programs(recipes: Mapping[str, Recipe], *, merging: bool) -> dict[str, Program]:
    """What jobs may run: the recipes, and merging where the contract allows it."""
    known = {**recipes, MERGE.name: MERGE} if merging else recipes
    return {name: recipe.program for name, recipe in known.items()}


class RecipeTrainer:
    """Knows the recipes of a contract, and merging; `verifier` is the benchmark's open one."""

    def __init__(
        self, recipes: Mapping[str, Recipe], verifier: str | None = None, threads: int = 1
    ) -> None:
        self._recipes = {**recipes, MERGE.name: MERGE}
        self._verifier = verifier
        self._threads = threads

    def job(
        self, experiment: ExperimentQueued, name: str, parents: Sequence[str], seconds: float
    ) -> Job:
        """See `Trainer`."""
        spec = self._spec(experiment)
        config = TrainConfig[RecipeSpec](
            spec=spec,
            seed=experiment.seed,
            threads=self._threads,
            verifier=self._verifier if spec.verified and spec.judge is None else None,
        )
        return Job(
            name=name,
            runtime=self._recipe(experiment).program.runtime,
            program=self._recipe(experiment).name,
            config={
                "spec": experiment.recipe,
                "seed": config.seed,
                "threads": config.threads,
                "verifier": config.verifier,
            },
            inputs=(
                *(
                    Input(name=f"merged-{at}" if at else "init", digest=digest)
                    for at, digest in enumerate(parents)
                ),
                *(
                    Input(name=f"{name}.jsonl", digest=digest)
                    for name, digest in zip(DATA, experiment.data, strict=False)
                ),
            ),
            judge=spec.judge,
            resources=Resources(seconds=seconds, memory_mib=MEMORY_MIB),
        )

    def judge(self, experiment: ExperimentQueued, init: Path, out: Path) -> Proof | Rejection:
        """See `Trainer`."""
        return proof.check(init / "model.safetensors", out, self._spec(experiment))

    def _recipe(self, experiment: ExperimentQueued) -> Recipe:
        name = str(experiment.recipe.get("name"))
        if name not in self._recipes:
            raise Broken("RECIPE_MISSING", f"recipe {name!r} is not installed; install its package")
        return self._recipes[name]

    def _spec(self, experiment: ExperimentQueued) -> RecipeSpec:
        return self._recipe(experiment).spec.model_validate(experiment.recipe)
