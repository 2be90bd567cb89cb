"""What a reader should know before trusting the figures."""

from typing import Final

from pycore.engine.overheads import taken_before_start
from pycore.engine.shards import Ranks
from pycore.sizing.deployment import Deployment
from pycore.sizing.memory import StageMemory
from pycore.sizing.weights import stage_weights
from pycore.units import GIB

# A checkpoint's files hold headers, and sometimes weights that the engine leaves on disk.
CHECKPOINT_TOLERANCE: Final = 0.02

# How fast positions rotate decides no byte.
WITHOUT_BYTES: Final = ("rope_theta", "rope_local_base_freq")


def notes_of(deployment: Deployment) -> tuple[dict[str, str], ...]:
    """What a reader should know before trusting the figures."""
    notes = []
    accelerator, model, scenario = deployment.accelerator, deployment.model, deployment.scenario
    if not accelerator.total_is_measured and scenario.measured.total_bytes is None:
        notes.append(
            {
                "kind": "assumed_total_bytes",
                "message": f"The memory of {accelerator.name} is assumed, not read off a real "
                "one: no public log that prints it was found.",
            }
        )
    decisive = {
        name: value
        for name, value in model.defaulted.items()
        if not is_neutral(value) and name not in WITHOUT_BYTES
    }
    if decisive:
        named = ", ".join(f"{name} = {shown(value)}" for name, value in decisive.items())
        notes.append(
            {
                "kind": "defaulted_fields",
                "message": f"The config leaves out: {named} (transformers' own default).",
            }
        )
    if model.quantization is None and model.config_read.get("quantization_config"):
        notes.append(
            {
                "kind": "quantization_ignored",
                "message": "The checkpoint's description of its quantisation names no method that "
                "the engine knows it by, so the engine makes its weights in the model's dtype.",
            }
        )
    if not deployment.settings.version.established:
        notes.append(
            {
                "kind": "version_not_established",
                "message": f"What vLLM {scenario.engine_version} profiles was not read off its own "
                "code: it is taken from the versions around it, and the ranges are wider.",
            }
        )
    if deployment.workload_tokens > deployment.settings.max_model_len:
        notes.append(
            {
                "kind": "workload_longer_than_max_model_len",
                "message": f"A request of {deployment.workload_tokens} tokens is longer than "
                f"max_model_len ({deployment.settings.max_model_len}): the engine rejects it.",
            }
        )
    checkpoint = checkpoint_note(deployment)
    return (*notes, checkpoint) if checkpoint else tuple(notes)


def warm_up_note(deployment: Deployment, memory: StageMemory) -> tuple[dict[str, str], ...]:
    """That starting may die although the pool fits: what it takes beyond the budget is not there.

    Up to vLLM 0.19, and in the V2 runner up to 0.28, CUDA graphs come out of what the budget
    leaves; and sampling with every parameter set is tried out only once the pool is laid out.
    """
    ranks = deployment.scenario.tensor_parallel_size
    free = deployment.scenario.accelerator_free_bytes
    if free is None:
        free = deployment.total_bytes - taken_before_start(ranks)
    outside = max(0, free - deployment.requested_bytes)
    if memory.warm_up_bytes <= outside:
        return ()
    return (
        {
            "kind": "warm_up_outside_budget",
            "message": f"Starting takes about {memory.warm_up_bytes / GIB:.1f} GiB more than was "
            f"set aside (CUDA graphs, the first sampling), and beyond the budget "
            f"{outside / GIB:.1f} GiB are free: it may run out of memory after the KV cache is "
            "laid out. A lower gpu_memory_utilization or max_num_seqs leaves room.",
        },
    )


def is_neutral(value: object) -> bool:
    """Whether a default says nothing new: off, absent altogether, or scaling by one."""
    return value is False or value is None or (isinstance(value, float) and value == 1.0)


def shown(value: object) -> str:
    """A default in a sentence: a list by its length."""
    return f"{len(value)} entries" if isinstance(value, list | tuple) else str(value)


def checkpoint_note(deployment: Deployment) -> dict[str, str] | None:
    """A checkpoint whose files are of another size than the weights computed for it."""
    stated = deployment.scenario.checkpoint_bytes
    if stated is None or deployment.scenario.quantization is not None:
        return None
    model = deployment.model
    whole = stage_weights(
        model, Ranks(1, 1, 1, enable_expert_parallel=False), model.dtype, model.quantization
    )
    parts = whole[0].bytes_by_component
    computed = sum(size for component, size in parts.items() if component != "buffers")
    if abs(stated - computed) <= CHECKPOINT_TOLERANCE * computed:
        return None
    return {
        "kind": "checkpoint_disagrees",
        "message": f"The checkpoint's files hold {stated / GIB:.2f} GiB, the weights computed "
        f"from the config {computed / GIB:.2f} GiB: parts that are not served, or another form "
        "of the weights than the config says.",
    }
