"""A value with its types, as the views of rooflens-compose write it."""


def typed(value):
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", str(value)]
    if isinstance(value, float):
        return ["float", repr(value)]
    if isinstance(value, str):
        return ["str", str(value)]
    if isinstance(value, (list, tuple)):
        return ["list", [typed(item) for item in value]]
    return ["map", [[typed(key), typed(item)] for key, item in value.items()]]
