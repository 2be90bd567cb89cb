"""The arithmetic that a reader can redo by hand, written into an open ledger."""

from pycore.dtypes import element_bytes
from pycore.engine import kv_formulas
from pycore.engine.vllm import Settings
from pycore.model.layers import FullAttention
from pycore.model.model import Model
from pycore.scenario import Scenario
from pycore.sizing import weights
from pycore.sizing.kv_cache import DEFAULT_BLOCK_SIZE, kv_heads_per_rank
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
        mlp_bytes=parts.get("mlp", 0),
        experts_bytes=parts.get("experts", 0),
        shared_expert_bytes=parts.get("shared_expert", 0),
        router_bytes=parts.get("router", 0),
        norm_bytes=parts.get("norm", 0),
        lm_head_bytes=parts.get("lm_head", 0),
        buffers_bytes=parts.get("buffers", 0),
    )


def kv_cache_bytes_per_token_per_rank(
    *, num_layers: int, num_kv_heads: int, head_size: int, head_size_v: int, element_bytes: int
) -> int:
    """What one token of one request takes on each GPU: a key and a value per layer and KV head.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, AttentionSpec.page_size_bytes.
    """
    return num_layers * num_kv_heads * (head_size + head_size_v) * element_bytes


def explain_kv(model: Model, settings: Settings, scenario: Scenario, ledger: Ledger) -> None:
    """Write down what a token, a block and one longest request take."""
    if not ledger.is_open or not isinstance(model.layers[0].mixer, FullAttention):
        return
    attention = model.layers[0].mixer
    block_size = scenario.block_size or DEFAULT_BLOCK_SIZE
    heads = ledger.exact(
        kv_heads_per_rank,
        num_key_value_heads=attention.num_key_value_heads,
        tensor_parallel_size=scenario.tensor_parallel_size,
    )
    layers = max(weights.layers_by_stage(len(model.layers), scenario.pipeline_parallel_size))
    width = element_bytes(settings.kv_cache_dtype)
    ledger.exact(
        kv_cache_bytes_per_token_per_rank,
        num_layers=layers,
        num_kv_heads=heads,
        head_size=attention.head_dim,
        head_size_v=attention.v_head_dim,
        element_bytes=width,
    )
    per_block = ledger.exact(
        kv_formulas.kv_cache_bytes_per_block,
        num_layers=layers,
        block_size=block_size,
        num_kv_heads=heads,
        head_size=attention.head_dim,
        head_size_v=attention.v_head_dim,
        element_bytes=width,
    )
    blocks = ledger.exact(
        kv_formulas.blocks_per_request,
        max_model_len=settings.max_model_len,
        block_size=block_size,
        decode_context_parallel_size=scenario.decode_context_parallel_size,
    )
    ledger.exact(
        kv_formulas.needed_kv_cache_bytes,
        blocks_per_request=blocks,
        kv_cache_bytes_per_block=per_block,
    )
