"""The arithmetic that a reader can redo by hand, written into an open ledger."""

from pycore.dtypes import BITS, element_bytes
from pycore.engine.kv import capacity as kv_capacity
from pycore.engine.kv import formulas as kv_formulas
from pycore.engine.kv.groups import KVCachePlan
from pycore.engine.shards import layers_by_stage
from pycore.model.layers import FullAttention
from pycore.sizing import weights
from pycore.sizing.capacity import Capacity
from pycore.sizing.deployment import Deployment, block_size_of, pool_basis
from pycore.sizing.ledger import Ledger
from pycore.sizing.weights import StageWeights


def explain_weights(stage: StageWeights, ledger: Ledger) -> None:
    """Write down the sum of the largest stage's components."""
    if not ledger.is_open:
        return
    parts = stage.bytes_by_component
    ledger.exact(
        weights.weights_bytes_per_rank,
        embedding_bytes=parts.get("embedding", 0),
        attention_bytes=parts.get("attention", 0),
        recurrent_bytes=parts.get("recurrent", 0),
        mlp_bytes=parts.get("mlp", 0),
        experts_bytes=parts.get("experts", 0),
        shared_expert_bytes=parts.get("shared_expert", 0),
        router_bytes=parts.get("router", 0),
        norm_bytes=parts.get("norm", 0),
        lm_head_bytes=parts.get("lm_head", 0),
        tower_bytes=parts.get("tower", 0),
        buffers_bytes=parts.get("buffers", 0),
    )


def is_plain(deployment: Deployment, plan: KVCachePlan) -> bool:
    """Whether every layer keeps every token, all alike: one formula then says it all."""
    whole_elements = deployment.settings.kv_cache_dtype in BITS
    return (
        whole_elements
        and plan.grouping == "uniform"
        and all(isinstance(layer.mixer, FullAttention) for layer in deployment.model.layers)
    )


def explain_kv(deployment: Deployment, plan: KVCachePlan, ledger: Ledger) -> None:
    """Write down what a token, a block and one longest request take."""
    mixer = deployment.model.layers[0].mixer
    if not ledger.is_open or not isinstance(mixer, FullAttention):
        return
    if not is_plain(deployment, plan):
        return
    per_block = explain_block(deployment, mixer, ledger)
    if deployment.settings.auto_fit:
        return
    blocks = ledger.exact(
        kv_formulas.blocks_per_request,
        max_model_len=deployment.settings.max_model_len,
        block_size=block_size_of(deployment),
        decode_context_parallel_size=deployment.scenario.decode_context_parallel_size,
    )
    ledger.exact(
        kv_formulas.needed_kv_cache_bytes,
        blocks_per_request=blocks,
        kv_cache_bytes_per_block=per_block,
    )


def explain_block(deployment: Deployment, mixer: FullAttention, ledger: Ledger) -> int:
    """Write down what a token and a block take, and give the block's bytes."""
    scenario = deployment.scenario
    heads = ledger.exact(
        kv_formulas.num_kv_heads_per_rank,
        num_key_value_heads=mixer.num_key_value_heads,
        tensor_parallel_size=scenario.tensor_parallel_size,
    )
    stages = layers_by_stage(len(deployment.model.layers), scenario.pipeline_parallel_size)
    width = element_bytes(deployment.settings.kv_cache_dtype)
    ledger.exact(
        kv_formulas.kv_cache_bytes_per_token_per_rank,
        num_layers=max(stages),
        num_kv_heads=heads,
        head_size=mixer.head_dim,
        head_size_v=mixer.v_head_dim,
        element_bytes=width,
    )
    return ledger.exact(
        kv_formulas.kv_cache_bytes_per_block,
        num_layers=max(stages),
        block_size=block_size_of(deployment),
        num_kv_heads=heads,
        head_size=mixer.head_dim,
        head_size_v=mixer.v_head_dim,
        element_bytes=width,
    )


def explain_pool(
    deployment: Deployment, plan: KVCachePlan, capacity: Capacity, ledger: Ledger
) -> None:
    """Write down what the pool holds: one longest request, and the workload's requests."""
    if not ledger.is_open or capacity.num_gpu_blocks <= 0:
        return
    scenario, settings = deployment.scenario, deployment.settings
    basis = pool_basis(scenario, deployment.accelerator)
    if is_plain(deployment, plan):
        ledger.noted(
            basis,
            kv_formulas.longest_request_tokens,
            num_gpu_blocks=capacity.num_gpu_blocks,
            blocks_held_back=settings.version.blocks_held_back,
            block_size=block_size_of(deployment),
            decode_context_parallel_size=scenario.decode_context_parallel_size,
            model_limit_tokens=max(deployment.model.model_limit_tokens, settings.max_model_len),
        )
    ledger.noted(
        basis,
        kv_formulas.max_concurrency_for_workload,
        num_gpu_blocks=capacity.num_gpu_blocks,
        blocks_per_request=kv_capacity.blocks_per_request(plan, deployment.workload_tokens),
        max_num_seqs=settings.max_num_seqs,
    )
