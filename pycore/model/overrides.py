"""Fields of a config.json that a request changes by naming them, and errors about them.

Any field that the config states, or that its reader asks for, may be changed; a key that is
neither is no field of this request.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from pycore.errors import InvalidRequest
from pycore.model.config_fields import CONFIG_FIELDS, TEXT_SECTIONS, ConfigReader

# What says which model the whole is, also where the part about text is named as a model itself.
OF_THE_WHOLE: Final[tuple[str, ...]] = ("architectures", "model_type")
SPELLINGS: Final[dict[str, tuple[str, ...]]] = {
    name: (name, *(other for other in group if other != name))
    for first, others in CONFIG_FIELDS.items()
    for group in [(first, *others)]
    for name in group
}


def spellings(name: str) -> tuple[str, ...]:
    """``name``, and the other names that configs have for the same."""
    return SPELLINGS.get(name, (name,))


def text_section(config: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The name of a config's part about text, and that part; empty where it has none."""
    for name in TEXT_SECTIONS:
        part = config.get(name)
        if isinstance(part, dict):
            return name, part
    return "", {}


def with_overrides(
    config: Mapping[str, object], overrides: Mapping[str, object]
) -> dict[str, object]:
    """``config`` with some of its fields changed, each under the name that this config uses.

    Where the config has a part about text, a field is changed there, unless only the whole
    states it; one that neither states is put in both, wherever its reader looks.
    """
    changed = dict(config)
    changed |= {name: value for name, value in overrides.items() if name in TEXT_SECTIONS}
    section, part = text_section(changed)
    text = dict(part)
    taken: dict[str, str] = {}
    for name, value in overrides.items():
        if name in TEXT_SECTIONS:
            continue
        known = {} if name in OF_THE_WHOLE and name in config else part
        in_text = next((n for n in spellings(name) if n in known), None)
        at_top = next((n for n in spellings(name) if n in config), None)
        refuse_twice(name, in_text or at_top or min(spellings(name)), taken)
        if section and (in_text or not at_top):
            text[in_text or name] = value
        if at_top or not in_text:
            changed[at_top or name] = value
    if section:
        changed[section] = text
    return changed


def refuse_twice(name: str, target: str, taken: dict[str, str]) -> None:
    """Refuse two overrides of one field: which one was meant is not known."""
    other = taken.setdefault(target, name)
    if other != name:
        raise InvalidRequest(name, "conflict", f"{name} and {other} name the same field")


def refuse_unknown(
    overrides: Iterable[str], config: Mapping[str, object], *readers: ConfigReader
) -> None:
    """Refuse an override that the config does not state and that no reader asked for."""
    _, text = text_section(config)
    for name in overrides:
        if name in CONFIG_FIELDS or name in config or name in text:
            continue
        if not any(asks_for(reader, name) for reader in readers):
            shown = name[:80] or "an empty key"
            raise InvalidRequest(
                name[:80] or "request",
                "unknown_field",
                f"{shown} is neither a field of a request nor one of this model's config",
            )


def asks_for(reader: ConfigReader, name: str) -> bool:
    """Whether a config was asked for a field, at its top or in its part about text."""
    parts = [reader.sections[part] for part in TEXT_SECTIONS if part in reader.sections]
    return any(name in each.asked for each in (reader, *parts))


def own_key(field: str, overrides: Iterable[str]) -> str | None:
    """The request's own key for a field that an error names by its path in the config."""
    whole, *path = field.split(".")
    if whole != "config" or not path:
        return None
    names = list(overrides)
    if path[0] in TEXT_SECTIONS and path[0] not in names and len(path) > 1:
        path = path[1:]
    key = next((name for name in names if path[0] in spellings(name)), None)
    return None if key is None else ".".join([key, *path[1:]])
