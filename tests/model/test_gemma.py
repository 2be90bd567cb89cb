"""Gemma 2 to 4: norms, shared keys and values, inputs for each layer.

Source: vLLM 0.33.0, model_executor/models/gemma*.py; transformers 5.24.0, models/gemma*.
"""

import json
from typing import Any

from pycore.bridge import answer
from pycore.engine.shards import Ranks
from pycore.model.catalogue import model_from_catalogue
from pycore.model.hf_config import read_model
from pycore.model.layers import (
    DenseMlp,
    FullAttention,
    MoeMlp,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.model import num_active_parameters, num_parameters
from pycore.model.parameters import layer_tensors
from pycore.model.tensors import Linear
from pycore.sizing.weights import stage_weights

GEMMA_3N: dict[str, Any] = {
    "architectures": ["Gemma3nForConditionalGeneration"],
    "model_type": "gemma3n",
    "torch_dtype": "bfloat16",
}
ONE = Ranks(1, 1, 1, enable_expert_parallel=False)


def linear_of(model_id: str, layer: int, name: str) -> Linear:
    """One linear of one layer."""
    model = model_from_catalogue(model_id, "")
    tensors = layer_tensors(model.layers[layer], model.hidden_size)
    return next(t for t in tensors if isinstance(t, Linear) and t.name == name)


def test_a_gemma_3n_of_nothing_but_its_model_type_is_e4b() -> None:
    """What transformers completes is the published model, less what its layers do not use."""
    model = read_model(GEMMA_3N)
    assert num_parameters(model) == 7_818_517_072
    assert len(model.layers) == 35
    assert sum(isinstance(layer.mixer, SharedKeyValueAttention) for layer in model.layers) == 15


def test_gemma_3n_goes_into_no_pipeline() -> None:
    """Its class cannot be dealt to stages."""
    request = {"config": GEMMA_3N, "accelerator": "h100-sxm-80gb", "pipeline_parallel_size": 2}
    result = json.loads(answer(json.dumps(request)))["result"]
    assert [refusal["kind"] for refusal in result["refusals"]] == ["pipeline_parallel"]


def test_values_that_are_keys_are_held_twice_but_counted_once() -> None:
    """Full layers of Gemma 4 26B load two KV heads of 512 into both places."""
    qkv = linear_of("gemma-4-26b-a4b", 5, "self_attn.qkv_proj")
    queries, keys, values = qkv.rows
    assert (queries.count, keys.count, values.count) == (16 * 512, 2 * 512, 2 * 512)
    assert qkv.num_elements == (16 * 512 + 2 * 512) * 2816


def test_layers_that_share_keys_and_values_project_queries_alone() -> None:
    """And their networks are twice as wide in Gemma 4 E2B."""
    model = model_from_catalogue("gemma-4-e2b-it", "")
    keeps, shares = model.layers[0], model.layers[34]
    assert isinstance(keeps.mixer, SlidingWindowAttention)
    assert isinstance(shares.mixer, SharedKeyValueAttention)
    names = [t.name for t in layer_tensors(shares, model.hidden_size)]
    assert "self_attn.q_proj" in names
    assert "self_attn.k_norm" not in names
    assert keeps.feed_forward == DenseMlp(6144)
    assert shares.feed_forward == DenseMlp(12288)


def test_a_stage_without_the_layer_that_keeps_for_it_is_refused() -> None:
    """Layers 15 to 34 of Gemma 4 E2B read those of layers 13 and 14."""
    request = {"model": "gemma-4-e2b-it", "accelerator": "h100-sxm-80gb"}
    parted = json.loads(answer(json.dumps({**request, "pipeline_parallel_size": 2})))["result"]
    assert [refusal["kind"] for refusal in parted["refusals"]] == ["pipeline_parallel"]
    assert "target layer model.layers.13" in parted["refusals"][0]["message"]
    assert json.loads(answer(json.dumps(request)))["result"]["starts"]


def test_an_embedding_for_each_layer_outweighs_the_rest_of_gemma_4_e2b() -> None:
    """262,144 rows of 35 times 256: more than half of the text's weights."""
    weights = stage_weights(model_from_catalogue("gemma-4-e2b-it", ""), ONE, "bfloat16", None)
    parts = weights[0].bytes_by_component
    assert parts["embedding"] > 262144 * 35 * 256 * 2
    assert parts["embedding"] > weights[0].num_bytes / 2


def test_every_token_passes_the_network_beside_the_experts() -> None:
    """Gemma 4 26B-A4B: about four billion of 26 are at work on a token."""
    model = model_from_catalogue("gemma-4-26b-a4b", "")
    experts = model.layers[0].feed_forward
    assert isinstance(experts, MoeMlp)
    assert experts.shared_intermediate_size == 2112
    assert 3.5e9 < num_active_parameters(model) < 4.5e9


def test_gelu_experts_are_not_filled_up_on_blackwell() -> None:
    """Blackwell's own expert kernels have no GELU: Gemma 4's 704 stay 88 on each of eight ranks.

    Source: vLLM 0.33.0's own model class, built on the meta device as on B200: 7,901,908,810 bytes.
    """
    model = model_from_catalogue("gemma-4-26b-a4b", "")
    blackwell = Ranks(8, 1, 1, enable_expert_parallel=False, compute_capability=(10, 0))
    (stage,) = stage_weights(model, blackwell, "bfloat16", None)
    assert stage.num_bytes == 7_901_908_810


def test_gemma_2_alternates_and_norms_four_times() -> None:
    """The first layer has the window."""
    model = model_from_catalogue("gemma-2-27b-it", "")
    first, second = model.layers[:2]
    assert isinstance(first.mixer, SlidingWindowAttention)
    assert isinstance(second.mixer, FullAttention)
    assert len(first.norm_sizes) == 4
    assert model.tie_word_embeddings


def test_a_pipeline_holds_gemmas_last_norm_on_both_stages() -> None:
    """5,376 numbers twice."""
    model = model_from_catalogue("gemma-3-27b-it", "")
    ranks = Ranks(1, 2, 1, enable_expert_parallel=False)
    first, last = stage_weights(model, ranks, "bfloat16", None)
    layer = 4 * 5376 * 2
    assert first.bytes_by_component["norm"] % layer == 5376 * 2
    assert last.bytes_by_component["norm"] % layer == 5376 * 2
