"""Which layers are of which kind, as configs say it: a list of names, or a period."""

from collections.abc import Callable, Sequence

from pycore.model.config_fields import ConfigReader

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
