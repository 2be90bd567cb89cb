"""What a profiling run keeps: pictures while text runs, the experts' workspace and counts for good."""

from typing import Final

from pycore.engine import activations
from pycore.engine.pictures import profiled_pictures
from pycore.model.layers import MoeMlp
from pycore.model.model import Model, distinct_layers
from pycore.sizing.ledger import Ledger
from pycore.sizing.profiling_run import Run

# GPUs whose kernels for MXFP4 experts keep no workspace.
WORKSPACE_FREE_MAJORS: Final = (9, 10)


def pictures(run: Run, ledger: Ledger) -> tuple[int, int]:
    """What is kept of profiled pictures, and the peak of their tower."""
    settings = run.settings
    profiles = not settings.v2_runner or settings.version.v2_profiles_pictures
    if not (run.is_first and profiles):
        return 0, 0
    found = profiled_pictures(
        run.model, settings.max_num_batched_tokens, run.scenario.tensor_parallel_size
    )
    if found is None:
        return 0, 0
    kept = ledger.fitted(
        activations.kept_picture_bytes,
        num_picture_tokens=found.num_tokens,
        hidden_size=run.model.hidden_size,
        num_patches=found.num_patches,
        patch_elements=found.patch_elements,
        element_bytes=run.width,
    )
    tower = ledger.fitted(
        activations.picture_tower_bytes,
        num_patches=found.num_patches,
        widest_rows=found.widest_rows,
        activated_rows=found.activated_rows,
        hidden_size=found.hidden_size,
        element_bytes=run.width,
    )
    return kept, tower


def expert_workspace(run: Run, ledger: Ledger) -> int:
    """What routed experts keep to work in, where the engine keeps it."""
    moe = largest_experts(run.model)
    if moe is None or not run.settings.version.keeps_expert_workspace:
        return 0
    if works_without_workspace(run):
        return 0
    split = 1 if run.ranks.experts_are_whole else run.ranks.expert_ranks
    return ledger.fitted(
        activations.expert_workspace_bytes,
        max_num_batched_tokens=run.settings.max_num_batched_tokens,
        num_experts_per_tok=moe.num_experts_per_tok,
        hidden_size=moe.moe_latent_size or run.model.hidden_size,
        expert_width=moe.moe_intermediate_size // split,
        element_bytes=run.width,
    )


def works_without_workspace(run: Run) -> bool:
    """Whether the kernels of routed experts allocate as they go: Triton's and TensorRT's MXFP4."""
    quantization, capability = run.settings.quantization, run.accelerator.compute_capability
    return (
        quantization is not None
        and "mxfp4" in quantization.method
        and capability is not None
        and capability[0] in WORKSPACE_FREE_MAJORS
    )


def largest_experts(model: Model) -> MoeMlp | None:
    """The routed experts of the widest layer; None in a dense model."""
    found = [
        layer.feed_forward
        for layer in distinct_layers(model)
        if isinstance(layer.feed_forward, MoeMlp)
    ]
    return max(found, key=lambda moe: moe.num_experts_per_tok, default=None)


def sampler_state(run: Run, ledger: Ledger) -> int:
    """What the V2 runner's sampler keeps."""
    if not (run.settings.v2_runner and run.is_last):
        return 0
    return ledger.fitted(
        activations.sampler_state_bytes,
        max_num_seqs=run.settings.max_num_seqs,
        vocab_size=run.model.vocab_size,
    )
