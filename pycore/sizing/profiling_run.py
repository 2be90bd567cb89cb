"""Where a profiling run takes place: what is deployed, and on which of its stages."""

from dataclasses import dataclass

from pycore.dtypes import element_bytes
from pycore.engine.shards import Ranks, ranks_of
from pycore.engine.vllm import Settings
from pycore.hardware.accelerators import Accelerator
from pycore.model.model import Model
from pycore.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Run:
    """One profiling run: what is deployed, and on which of its stages."""

    scenario: Scenario
    settings: Settings
    model: Model
    accelerator: Accelerator
    stage: int

    @property
    def is_first(self) -> bool:
        """Whether the stage reads tokens."""
        return self.stage == 0

    @property
    def is_last(self) -> bool:
        """Whether the stage samples."""
        return self.stage == self.scenario.pipeline_parallel_size - 1

    @property
    def width(self) -> int:
        """Bytes of one element of the activations."""
        return element_bytes(self.settings.dtype)

    @property
    def ranks(self) -> Ranks:
        """How the model is spread."""
        return ranks_of(self.scenario, self.accelerator)
