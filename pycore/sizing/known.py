"""What is known of any deployment, whether or not it fits: its model, its settings, its notes."""

from pycore.engine.attention.backends import NoAttentionBackendError
from pycore.engine.kv.formulas import num_kv_head_replicas, num_kv_heads_per_rank
from pycore.engine.kv.pages import PagesDoNotUnifyError
from pycore.engine.refusals.ranks import divides
from pycore.engine.refusals.refusal import Refusal
from pycore.model.model import num_active_parameters, num_parameters
from pycore.sizing.bounds import budget_bounds
from pycore.sizing.deployment import Deployment, block_size_of
from pycore.sizing.ledger import Ledger
from pycore.sizing.notes import notes_of
from pycore.sizing.result import SizeResult, Verdict


def known_already(
    deployment: Deployment, verdict: Verdict, refusals: tuple[Refusal, ...], ledger: Ledger
) -> SizeResult:
    """What is known of any deployment, whatever its memory holds."""
    scenario, model = deployment.scenario, deployment.model
    heads = kv_heads_of(deployment)
    return SizeResult(
        verdict=verdict,
        starts=False,
        reason={"kind": refusals[0].kind} if refusals else {},
        refusals=refusals,
        model_name=model.name,
        model_limit_tokens=model.model_limit_tokens,
        num_accelerators=scenario.tensor_parallel_size
        * scenario.pipeline_parallel_size
        * scenario.data_parallel_size,
        num_parameters=num_parameters(model),
        num_active_parameters=num_active_parameters(model),
        weights_bytes_per_rank=None,
        weights_bytes_by_stage=None,
        loaded_weights_bytes_per_rank=None,
        total_bytes=deployment.total_bytes,
        requested_bytes=deployment.requested_bytes,
        activation_bytes=None,
        cuda_graph_bytes=None,
        non_torch_bytes=None,
        available_kv_cache_bytes=None,
        kv_cache_bytes_per_token_per_rank=None,
        kv_cache_bytes_for_workload=None,
        num_kv_heads_per_rank=num_kv_heads_per_rank(**heads) if heads else None,
        num_kv_head_replicas=num_kv_head_replicas(**heads) if heads else None,
        block_size=scenario.block_size,
        kv_cache_bytes_per_block=None,
        num_gpu_blocks=None,
        max_model_len=deployment.settings.max_model_len,
        kv_cache_size_tokens=None,
        kv_cache_max_concurrency=None,
        needed_kv_cache_bytes=None,
        estimated_max_model_len=None,
        longest_request_tokens=None,
        max_concurrency_for_workload=None,
        bounds=budget_bounds(deployment),
        architecture=model.architecture_numbers,
        defaulted=model.defaulted,
        chosen=chosen_of(deployment),
        notes=notes_of(deployment),
        figures=tuple(ledger.figures) if ledger.is_open else None,
    )


def kv_heads_of(deployment: Deployment) -> dict[str, int]:
    """Key-value heads and the ranks that share them; empty where none can be dealt out."""
    heads = deployment.model.num_key_value_heads
    ranks = deployment.scenario.tensor_parallel_size
    if not heads or not divides(ranks, heads):
        return {}
    return {"num_key_value_heads": heads, "tensor_parallel_size": ranks}


def chosen_block_size(deployment: Deployment) -> int | None:
    """Tokens of a block; what was asked for where no kernel serves the model."""
    try:
        return block_size_of(deployment)
    except (NoAttentionBackendError, PagesDoNotUnifyError):
        return deployment.scenario.block_size


def chosen_of(deployment: Deployment) -> dict[str, object]:
    """What every choice that was left to the engine became."""
    scenario, settings = deployment.scenario, deployment.settings
    return {
        "gpu_memory_utilization": settings.gpu_memory_utilization,
        "max_num_seqs": settings.max_num_seqs,
        "max_num_batched_tokens": settings.max_num_batched_tokens,
        "block_size": chosen_block_size(deployment),
        "max_model_len": settings.max_model_len,
        "dtype": settings.dtype,
        "quantization": settings.quantization.method if settings.quantization else None,
        "kv_cache_dtype": settings.kv_cache_dtype,
        "input_tokens": scenario.input_tokens,
        "output_tokens": scenario.output_tokens,
        "concurrency": scenario.concurrency,
        "concurrency_per_replica": deployment.concurrency_per_replica,
        "accelerators_per_node": scenario.accelerators_per_node
        or deployment.accelerator.accelerators_per_node,
        "accelerator": deployment.accelerator.name,
        "engine_version": scenario.engine_version,
    }
