"""Where the plain formula misleads: what it would say of one longest request, and why it is wrong.

People multiply 2 × layers × KV heads × head_dim × bytes. For windows, latent vectors, states and
shared caches that is off by several times, in both directions.
"""

from dataclasses import dataclass
from typing import Final

from pycore.dtypes import BITS, element_bytes
from pycore.engine.kv.formulas import num_kv_heads_per_rank
from pycore.engine.kv.groups import KVCachePlan
from pycore.engine.kv.reasons import reasons
from pycore.model.latent import LatentAttention
from pycore.model.model import Model
from pycore.sizing.deployment import Deployment

# Within this share of the engine's own figure the plain formula is as good as right: it differs
# by the last block of a request.
CLOSE_ENOUGH: Final = 0.05


@dataclass(frozen=True, slots=True)
class PlainFormula:
    """What the plain formula would say, against what the engine takes."""

    needed_bytes: int
    """One request of max_model_len by the plain formula [bytes]."""
    times_the_engines: float
    """That over needed_kv_cache_bytes: above 1 the plain formula asks for too much memory."""
    because: tuple[str, ...]
    """What this model's layers keep instead, a sentence each."""


def plain_kv_cache_bytes_per_token(
    *, num_hidden_layers: int, num_kv_heads: int, head_dim: int, element_bytes: int
) -> int:
    """A key and a value for every layer and KV head, as if every layer kept every token.

    Source: the formula that people use; shown where it does not hold.
    """
    return 2 * num_hidden_layers * num_kv_heads * head_dim * element_bytes


def contrast(
    deployment: Deployment, plan: KVCachePlan, max_model_len: int, needed_bytes: int
) -> PlainFormula | None:
    """The plain formula beside the engine's figure; None where they agree or it has no numbers."""
    model, settings = deployment.model, deployment.settings
    heads, head_dim = plain_heads(model)
    if not heads or not head_dim or not needed_bytes:
        return None
    width = settings.kv_cache_dtype if settings.kv_cache_dtype in BITS else settings.dtype
    per_token = plain_kv_cache_bytes_per_token(
        num_hidden_layers=len(model.layers),
        num_kv_heads=num_kv_heads_per_rank(
            num_key_value_heads=heads,
            tensor_parallel_size=deployment.scenario.tensor_parallel_size,
        ),
        head_dim=head_dim,
        element_bytes=element_bytes(width),
    )
    tokens = -(-max_model_len // deployment.scenario.decode_context_parallel_size)
    stages = deployment.scenario.pipeline_parallel_size
    plain = per_token * tokens // stages
    times = plain / needed_bytes
    if abs(times - 1) <= CLOSE_ENOUGH:
        return None
    return PlainFormula(plain, times, (*latent_reason(model), *reasons(plan)))


def plain_heads(model: Model) -> tuple[int, int]:
    """The KV heads and the head width that a reader of the config would multiply by."""
    latent = next(
        (layer.mixer for layer in model.layers if isinstance(layer.mixer, LatentAttention)), None
    )
    if latent is not None:
        return latent.num_attention_heads, latent.v_head_dim
    numbers = model.architecture_numbers
    return int(numbers.get("num_key_value_heads", 0)), int(numbers.get("head_dim", 0))


def latent_reason(model: Model) -> tuple[str, ...]:
    """How small one latent vector is beside the heads that it stands for."""
    latent = next(
        (layer.mixer for layer in model.layers if isinstance(layer.mixer, LatentAttention)), None
    )
    if latent is None:
        return ()
    width = latent.kv_lora_rank + latent.qk_rope_head_dim
    heads = 2 * latent.num_attention_heads * latent.v_head_dim
    reason = (
        f"MLA keeps one {width}-wide vector per token and layer, and every GPU holds all of it: "
        f"1/{round(heads / width)} of what {latent.num_attention_heads} heads would take, but TP "
        "does not divide it."
    )
    return (reason,)
