"""The whole configuration of a training job."""

from typing import Annotated, Generic, TypeVar

from pydantic import Field

from rsi_master.core.model import Value
from rsi_master.core.recipe import RecipeSpec

Spec = TypeVar("Spec", bound=RecipeSpec)


class TrainConfig(Value, Generic[Spec]):
    """Specification, seed and thread count: with the inputs they fix the weights bit for bit.

    `verifier` is the benchmark's open verifier as `module:function`, for recipes that ask it.
    """

    spec: Spec
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    verifier: str | None = None
