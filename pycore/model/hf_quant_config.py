"""hf_quant_config.json: where older ModelOpt checkpoints describe their weights."""

from collections.abc import Mapping
from typing import Final

QUANTIZATION: Final = "quantization_config"


def with_hf_quant_config(
    config: Mapping[str, object], hf_quant_config: Mapping[str, object]
) -> dict[str, object]:
    """``config`` with the quantisation of hf_quant_config.json where the engine would read it.

    What config.json itself says goes first; of a mixture that does not name its layers there, the
    layers are taken from the file.
    Source: vLLM 0.33.0, transformers_utils/config.py (get_config) and
    model_loader/weight_utils.py (get_quant_config).
    """
    own = config.get(QUANTIZATION)
    if own is None:
        return {**config, QUANTIZATION: dict(hf_quant_config)}
    if not isinstance(own, Mapping) or not lacks_layers(own):
        return dict(config)
    return {**config, QUANTIZATION: {**hf_quant_config, **kept(own)}}


def lacks_layers(own: Mapping[str, object]) -> bool:
    """Whether a mixture is stated without saying which layer is kept how."""
    is_mixed = str(own.get("quant_algo") or "").upper() == "MIXED_PRECISION"
    return is_mixed and "quantized_layers" not in own


def kept(own: Mapping[str, object]) -> dict[str, object]:
    """What config.json says that the file's own words do not replace: the KV cache's scheme."""
    names = ("quant_method", "kv_cache_scheme", "kv_cache_quant_algo")
    return {name: own[name] for name in names if name in own}
