"""A small library: facts and figures by topic."""

FACTS: dict[str, list[str]] = {
    "electric ferries": [
        "Norway put the first large electric car ferry into service in 2015.",
        "Electric ferries charge at the quay, often within ten minutes per crossing.",
        "Batteries on land spare weak village grids the peaks of charging.",
    ],
    "heat pumps": [
        "A heat pump moves heat instead of making it.",
        "Heat pumps work in frost, with less yield the colder it gets.",
    ],
    "night trains": [
        "Night trains came back to many European routes after 2020.",
        "A sleeper car carries fewer people than a day car, which makes it dear to run.",
    ],
}

FIGURES: dict[str, list[str]] = {
    "electric ferries": [
        "More than 80 electric ferries run in Norway.",
        "They need about 60 percent less energy than diesel boats on the same route.",
    ],
    "heat pumps": [
        "One unit of electricity gives three to four units of heat.",
    ],
    "night trains": [
        "A night train emits about a tenth of what a plane does on the same route.",
    ],
}


def look_up(shelf: dict[str, list[str]], topic: str) -> list[str]:
    """Return the notes on the topics that share a word with `topic`."""
    words = set(topic.lower().split())
    return [note for name, notes in shelf.items() if words & set(name.split()) for note in notes]
