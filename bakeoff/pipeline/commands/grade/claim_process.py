"""Run a configuration with a limit of memory, and print its scores and numbers as JSON."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

GIGABYTE = 1 << 30


def main(gigabytes: str, *words: str) -> None:
    """Run the words of a configuration without a store."""
    try:
        import resource

        limit = int(float(gigabytes) * GIGABYTE)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except ImportError:
        print("this system has no limit of memory", file=sys.stderr)

    import bakeoff

    result = bakeoff.run(*words, tracking="none", n_jobs=1)
    print(json.dumps({**dict(list_numbers(result.config)), **result.scores["test"].to_dict()}))


def list_numbers(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the keys and values of numbers in a configuration."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from list_numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float):
            yield f"{prefix}{key}", value


if __name__ == "__main__":
    main(*sys.argv[1:])
