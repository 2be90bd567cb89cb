"""The engine's profiling run on one GPU of a stage: what it holds at its peak, what it keeps."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pycore.engine import activations
from pycore.engine.overheads import learnt, learnt_bytes, matrix_workspace_bytes
from pycore.engine.shards import Ranks, shard_of
from pycore.model.model import Model, distinct_layers
from pycore.model.parameters import layer_tensors
from pycore.model.tensors import Linear
from pycore.sizing.kept_tensors import expert_workspace, pictures, sampler_state
from pycore.sizing.ledger import Ledger
from pycore.sizing.profiling_run import Run
from pycore.sizing.rank_tensors import padded_vocab_size

# Logits in float32, probabilities and noise; those in the model's own type come on top.
FLOAT32_COPIES: Final = 3
# The last version whose sampler was FlashInfer's wherever that was installed.
FLASHINFER_IF_THERE: Final = (0, 11)
# Its logits and probabilities.
FLASHINFER_COPIES: Final = 2


@dataclass(frozen=True, slots=True)
class Profiled:
    """What a profiling run took, in bytes.

    ``warm_peak_bytes`` is the peak of a start that finds the compiled model in its cache, and
    ``least_peak_bytes`` that of one whose sampler does not sort either; ``kept_bytes`` stay and
    count outside the peak; ``sampling_bytes`` is what sampling takes with every parameter set,
    whether or not it was profiled.
    """

    peak_bytes: int
    warm_peak_bytes: int
    least_peak_bytes: int
    kept_bytes: int
    forward_bytes: int
    sampling_bytes: int


def profiled(run: Run, ledger: Ledger) -> Profiled:
    """The profiling run of one GPU."""
    kept_pictures, tower = pictures(run, ledger)
    workspace = expert_workspace(run, ledger)
    counted_later = run.settings.version.counts_consumed
    forward = forward_peak(run, ledger)
    base = base_bytes(run)
    parts = {
        "sampler_bytes": sampler_peak(run, ledger) if run.is_last else 0,
        "forward_bytes": forward,
        "picture_tower_bytes": tower,
        "kept_picture_bytes": kept_pictures,
        "expert_workspace_bytes": 0 if counted_later else workspace,
        "base_bytes": 0 if counted_later else base,
    }
    peak = ledger.fitted(
        activations.activation_bytes, embedding_copy_bytes=embedding_copy(run, ledger), **parts
    )
    kept = workspace + sampler_state(run, ledger) + base
    return Profiled(
        peak_bytes=peak,
        warm_peak_bytes=activations.activation_bytes(embedding_copy_bytes=0, **parts),
        least_peak_bytes=activations.activation_bytes(
            embedding_copy_bytes=0, **{**parts, "sampler_bytes": least_sampler_peak(run, parts)}
        ),
        kept_bytes=kept if counted_later else 0,
        forward_bytes=forward,
        sampling_bytes=sampling(run) if run.is_last else 0,
    )


def base_bytes(run: Run) -> int:
    """What is there throughout: workspaces to multiply in, and a little for all else.

    vLLM 0.33 multiplies once before it looks at the memory: its workspaces are then there already.
    Source: vLLM 0.33.0, v1/worker/gpu_worker.py, init_device.
    """
    early = run.settings.version.starts_cublas_first
    workspaces = 0 if early else matrix_workspace_bytes(run.accelerator.compute_capability)
    return workspaces + learnt_bytes("base_bytes")


def sampler_peak(run: Run, ledger: Ledger) -> int:
    """The sampler's peak in the profiling run."""
    return ledger.fitted(
        activations.sampler_bytes,
        logit_copies=logit_copies(run),
        max_num_seqs=run.settings.max_num_seqs,
        buffer_rows=buffer_rows(run),
        vocab_size=run.model.vocab_size,
        hidden_state_bytes=run.settings.max_num_batched_tokens * run.model.hidden_size * run.width,
    )


def least_sampler_peak(run: Run, parts: dict[str, int]) -> int:
    """The sampler's peak where FlashInfer is there: up to vLLM 0.11 it then samples unasked."""
    sorts = run.settings.version.sampler == "sort"
    if not (run.is_last and sorts and run.settings.version.version <= FLASHINFER_IF_THERE):
        return parts["sampler_bytes"]
    return sampling(run, FLASHINFER_COPIES)


def received_states(run: Run) -> int:
    """Rows of hidden_size that each token brings from the stage before: its own and a residual."""
    return 0 if run.is_first else 2


def logit_copies(run: Run) -> float:
    """Matrices of float32 logits that the profiled sampler holds at once."""
    version = run.settings.version
    own = run.width / 4
    if run.settings.v2_runner and not version.v2_profiles_sampler:
        return own
    return learnt("sorted_logit_copies") if version.sampler == "sort" else FLOAT32_COPIES + own


def buffer_rows(run: Run) -> int:
    """Rows of logits that Triton's sampler keeps beside those of the sequences.

    Source: vLLM 0.19.0, v1/sample/ops/topk_topp_triton.py, apply_top_k_top_p_triton.
    """
    if run.settings.version.sampler != "triton":
        return 0
    return min(run.accelerator.multiprocessors, run.settings.max_num_seqs)


def sampling(run: Run, float32_copies: float = FLOAT32_COPIES) -> int:
    """What sampling takes with every parameter set, once the engine serves."""
    return activations.sampler_bytes(
        logit_copies=float32_copies + run.width / 4,
        max_num_seqs=run.settings.max_num_seqs,
        buffer_rows=0,
        vocab_size=run.model.vocab_size,
        hidden_state_bytes=0,
    )


def forward_peak(run: Run, ledger: Ledger) -> int:
    """A layer's peak."""
    return ledger.fitted(
        activations.forward_bytes,
        max_num_batched_tokens=run.settings.max_num_batched_tokens,
        widest_rows=widest_rows(run.model, run.ranks),
        hidden_size=run.model.hidden_size,
        hidden_copies=learnt("hidden_copies") + received_states(run),
        element_bytes=run.width,
    )


@lru_cache(maxsize=256)
def widest_rows(model: Model, ranks: Ranks) -> int:
    """Rows of a rank's widest product in any layer, routed experts' left aside."""
    return max(
        (shard_of(linear, ranks).num_rows for linear in dense_linears(model)),
        default=model.hidden_size,
    )


def dense_linears(model: Model) -> Iterator[Linear]:
    """The linears of every kind of layer but the routed experts'."""
    for layer in distinct_layers(model):
        for tensor in layer_tensors(layer, model.hidden_size):
            if isinstance(tensor, Linear) and not tensor.num_experts:
                yield tensor


def embedding_copy(run: Run, ledger: Ledger) -> int:
    """The copy of the embedding that the compiler makes, where the compiled model reads it."""
    compiles = run.settings.version.benchmarks_embedding and not run.scenario.enforce_eager
    reads_tokens = run.is_first and not has_towers(run.model)
    if not (compiles and reads_tokens):
        return 0
    rows = padded_vocab_size(vocab_size=run.model.vocab_size)
    return ledger.fitted(
        activations.embedding_copy_bytes,
        embedding_rows=rows // run.scenario.tensor_parallel_size,
        max_num_batched_tokens=run.settings.max_num_batched_tokens,
        hidden_size=run.model.hidden_size,
        element_bytes=run.width,
    )


def has_towers(model: Model) -> bool:
    """Whether the model reads pictures or sound: its decoder then gets vectors, not tokens."""
    return any(outer.tensor.component == "tower" for outer in model.outer_tensors)
