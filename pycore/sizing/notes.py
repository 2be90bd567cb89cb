"""What a reader should know before trusting the figures."""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.engine.overheads import taken_before_start
from pycore.engine.versions import NEWEST
from pycore.model.catalogue import catalogue
from pycore.model.latent import CompressedAttention
from pycore.sizing.deployment import Deployment
from pycore.sizing.memory import StageMemory
from pycore.sizing.note import Note
from pycore.sizing.weights import checkpoint_bytes
from pycore.units import GIB

# A checkpoint's files hold headers, and sometimes weights that the engine leaves on disk.
CHECKPOINT_TOLERANCE: Final = 0.02

# What the catalogue says of a config that was not copied from the published file.
RECONSTRUCTED: Final = "reconstructed"
# How fast positions rotate decides no byte.
WITHOUT_BYTES: Final = ("rope_theta", "rope_local_base_freq")


def notes_of(deployment: Deployment) -> tuple[Note, ...]:
    """What a reader should know before trusting the figures."""
    return tuple(found for tell in TELLERS if (found := tell(deployment)) is not None)


def assumed_memory(deployment: Deployment) -> Note | None:
    """An accelerator whose memory nobody has printed."""
    accelerator = deployment.accelerator
    if accelerator.total_is_measured or deployment.scenario.measured.total_bytes is not None:
        return None
    return Note(
        "assumed_total_bytes",
        f"The memory of {accelerator.name} is assumed, not read off a real one: no public log "
        "that prints it was found.",
    )


def assumed_generation(deployment: Deployment) -> Note | None:
    """A GPU of which only the memory was given."""
    if not deployment.accelerator.is_assumed_generation:
        return None
    return Note(
        "assumed_generation",
        "Of this GPU only the memory is given. All else is taken to be an H100's (NVIDIA's Hopper, "
        "compute capability 9.0, 132 multiprocessors), and on that rest: which attention kernels "
        "serve the model, the tokens of a block, how quantised weights and experts are laid out, "
        "and what NCCL and the sampler take.",
    )


def rocm_kernels(deployment: Deployment) -> Note | None:
    """A GPU of AMD's, whose kernels depend on a switch that no request has."""
    accelerator = deployment.accelerator
    if accelerator.vendor != "AMD":
        return None
    return Note(
        "rocm_kernels",
        "The attention kernels, and with them the tokens of a block, are those that vLLM 0.33 "
        f"picks on {accelerator.name} with AITER installed and not switched on, as in its image: "
        "VLLM_ROCM_USE_AITER=1 takes others.",
    )


def reconstructed_config(deployment: Deployment) -> Note | None:
    """A model of the catalogue whose published config.json was not found."""
    named = deployment.scenario.model
    confidence = str(catalogue()[named]["confidence"]) if named is not None else ""
    how, _, why = confidence.partition("; ")
    if how != RECONSTRUCTED:
        return None
    return Note(
        "reconstructed_config",
        f"This config.json is put together from published figures: {why}. The published file, "
        "given as a config, goes before it.",
    )


def defaulted_fields(deployment: Deployment) -> Note | None:
    """Fields that the config leaves out, where their defaults say something."""
    decisive = {
        name: value
        for name, value in deployment.model.defaulted.items()
        if not is_neutral(value) and name not in WITHOUT_BYTES
    }
    if not decisive:
        return None
    named = ", ".join(f"{name} = {shown(value)}" for name, value in decisive.items())
    return Note("defaulted_fields", f"The config leaves out: {named} (transformers' own default).")


def overrides_without_effect(deployment: Deployment) -> Note | None:
    """Numbers that were changed and on which no figure rests."""
    idle = deployment.model.idle_overrides
    if not idle:
        return None
    return Note(
        "overrides_without_effect",
        f"Changed without effect: {', '.join(idle)}. No figure of this model rests on it, or its "
        "config says the same in other fields.",
    )


def quantization_ignored(deployment: Deployment) -> Note | None:
    """A quantisation that the engine does not see."""
    model = deployment.model
    if model.quantization is not None or not model.config_read.get("quantization_config"):
        return None
    return Note(
        "quantization_ignored",
        "The checkpoint's description of its quantisation names no method that the engine knows "
        "it by, so the engine makes its weights in the model's dtype.",
    )


def version_not_established(deployment: Deployment) -> Note | None:
    """A version whose estimates are its neighbours'."""
    if deployment.settings.version.established:
        return None
    return Note(
        "version_not_established",
        f"What vLLM {deployment.scenario.engine_version} profiles was not read off its own code: "
        "it is taken from the versions around it, and the ranges are wider.",
    )


def older_cache_layout(deployment: Deployment) -> Note | None:
    """DeepSeek-V4's caches in a version that laid them out in another way.

    vLLM changed their grouping in nearly every version; one start of 0.22 printed twice the bytes.
    Source: vLLM 0.22.1 to 0.32.0, v1/core/kv_cache_utils.py.
    """
    version = deployment.settings.version.version
    if version >= NEWEST:
        return None
    if not any(isinstance(layer.mixer, CompressedAttention) for layer in deployment.model.layers):
        return None
    newest = ".".join(map(str, NEWEST))
    return Note(
        "older_cache_layout",
        f"Compressed caches are laid out here as vLLM {newest} does. Earlier versions did it in "
        "other ways and took more, up to twice the bytes: blocks, tokens and refusals may differ.",
    )


def long_workload(deployment: Deployment) -> Note | None:
    """A workload whose requests the engine would reject."""
    longest = deployment.settings.max_model_len
    if deployment.workload_tokens <= longest:
        return None
    return Note(
        "workload_longer_than_max_model_len",
        f"A request of {deployment.workload_tokens:,} tokens is longer than max_model_len "
        f"({longest:,}): the engine rejects it.",
    )


def warm_up_note(deployment: Deployment, memory: StageMemory) -> tuple[Note, ...]:
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
    found = Note(
        "warm_up_outside_budget",
        f"Starting takes about {memory.warm_up_bytes / GIB:.1f} GiB more than was set aside (CUDA "
        f"graphs, the first sampling), and beyond the budget {outside / GIB:.1f} GiB are free: it "
        "may run out of memory after the KV cache is laid out. A lower gpu_memory_utilization or "
        "max_num_seqs leaves room.",
    )
    return (found,)


def low_end_note(
    deployment: Deployment, bounds: Mapping[str, tuple[float, float]]
) -> tuple[Note, ...]:
    """That a pool which holds max_model_len by the estimate may not hold it in truth."""
    longest, wanted = bounds.get("longest_request_tokens"), deployment.settings.max_model_len
    if longest is None or longest[0] >= wanted or deployment.settings.auto_fit:
        return ()
    found = Note(
        "may_be_refused",
        f"By the low end of the estimates the pool holds a request of {longest[0]:,.0f} tokens, "
        f"less than max_model_len ({wanted:,}): vLLM may then refuse to start.",
    )
    return (found,)


def is_neutral(value: object) -> bool:
    """Whether a default says nothing new: off, none of something, or scaling by one."""
    return not value or (isinstance(value, float) and value == 1.0)


def shown(value: object) -> str:
    """A default in a sentence: a list by its length."""
    return f"{len(value)} entries" if isinstance(value, list | tuple) else str(value)


def checkpoint_note(deployment: Deployment) -> Note | None:
    """A checkpoint whose files are of another size than the weights computed for it."""
    stated = deployment.scenario.checkpoint_bytes
    if stated is None or deployment.scenario.quantization is not None:
        return None
    computed = checkpoint_bytes(deployment.model)
    if abs(stated - computed) <= CHECKPOINT_TOLERANCE * computed:
        return None
    return Note(
        "checkpoint_disagrees",
        f"The checkpoint's files hold {stated / GIB:.2f} GiB, the weights computed "
        f"from the config {computed / GIB:.2f} GiB: parts that are not served, or another form "
        "of the weights than the config says.",
    )


TELLERS: Final[tuple[Callable[[Deployment], Note | None], ...]] = (
    assumed_memory,
    assumed_generation,
    rocm_kernels,
    reconstructed_config,
    defaulted_fields,
    overrides_without_effect,
    quantization_ignored,
    version_not_established,
    older_cache_layout,
    long_workload,
    checkpoint_note,
)
