"""Which weights the record names for the base and for experiments, by digest."""

from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.run import RunOpened
from rsi_master.core.state import State


def base(state: State) -> str:
    """The checkpoint of the base."""
    return _opened(state).base.digest


def weights_of(state: State, name: str) -> str:
    """The checkpoint of the base or of an experiment by its name."""
    return base(state) if name == BASE else checkpoint_of(state, state.experiments[name])


def checkpoint_of(state: State, experiment: Experiment) -> str:
    """The checkpoint of an experiment; that of the base before there is one."""
    if experiment.checkpoint is None:
        return base(state)
    return experiment.checkpoint.artifact.digest


def tensors_of(state: State, experiment: Experiment) -> str:
    """Digest of the tensors that an evaluation of the experiment must have scored."""
    if experiment.checkpoint is not None:
        return experiment.checkpoint.proof.weights
    return _opened(state).sealed.base


def _opened(state: State) -> RunOpened:
    assert state.opened is not None, "the run is opened before the engine starts"
    return state.opened
