"""Which layers are of which kind, as configs say it: a list of names, or a period."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.layers import AnyMixer

ATTENTION_NAMES: Final = ("attention", "full_attention")
STATE_NAMES: Final = ("mamba", "linear_attention", "mamba2")

# Deeper than any published model by far; a list of kinds is never built longer than this.
MOST_LAYERS = 1024


def read_num_layers(reader: ConfigReader) -> int:
    """The number of decoder layers."""
    count = reader.integer("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if count > MOST_LAYERS:
        raise reader.invalid("num_hidden_layers", count, f"at most {MOST_LAYERS}")
    return count


def read_kinds(
    reader: ConfigReader,
    count: int,
    default: Callable[[int], str] | None,
    *names: str,
) -> tuple[str, ...]:
    """Each layer's kind, by name; where the config lists none, by transformers' own period."""
    fields = names or ("layer_types",)
    listed = reader.sequence(*fields)
    if listed is not None:
        return checked_kinds(reader, fields[0], listed, count)
    if default is None:
        raise reader.missing(fields[0], "it says which layers are of which kind")
    kinds = tuple(default(index) for index in range(count))
    reader.defaulted[fields[0]] = list(kinds)
    return kinds


def checked_kinds(
    reader: ConfigReader, name: str, listed: Sequence[object], count: int
) -> tuple[str, ...]:
    """A list of kinds: one name for each layer at least."""
    if len(listed) < count or not all(isinstance(kind, str) for kind in listed):
        raise reader.invalid(name, listed, f"a list of {count} names, one for each layer")
    return tuple(map(str, listed[:count]))


def every(period: int, rare: str, common: str) -> Callable[[int], str]:
    """``rare`` in each ``period``-th layer, ``common`` in the others."""
    return lambda index: common if (index + 1) % period else rare


def arranged(
    reader: ConfigReader, kinds: tuple[str, ...], mixers: Mapping[str, AnyMixer]
) -> tuple[AnyMixer, ...]:
    """The mixer of each layer by the name of its kind."""
    for kind in kinds:
        if kind not in mixers:
            raise reader.invalid("layer_types", kind, f"one of {', '.join(mixers)}")
    return tuple(mixers[kind] for kind in kinds)


def named(attention: AnyMixer, state: AnyMixer) -> dict[str, AnyMixer]:
    """Attention and state under all the names that configs use."""
    return {
        **dict.fromkeys(ATTENTION_NAMES, attention),
        **dict.fromkeys(STATE_NAMES, state),
    }
