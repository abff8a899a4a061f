"""The files that jobs are composed from, each of which is read once."""

from __future__ import annotations

import pickle
from typing import Any, final

from hydra._internal.config_repository import CachingConfigRepository, IConfigRepository


@final
class ConfigFiles(CachingConfigRepository):
    """Hydra's repository of configuration files, which keeps what it has read over all jobs.

    Hydra's own cache lives for one composition: it copies the repository that it is given, and fills the copy.

    Parameters
    ----------
    delegate : IConfigRepository
        Reads the files.
    """

    def __init__(self, delegate: IConfigRepository) -> None:
        super().__init__(delegate)
        self._packed: dict[str, bytes] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> ConfigFiles:
        """Return the same object, so that what one composition has read is there for the next."""
        return self

    def load_config(self, config_path: str) -> Any:
        """Return a copy of a file's content, because Hydra changes what it gets; None if there is no such file."""
        if config_path not in self._packed:
            self._packed[config_path] = pickle.dumps(self.delegate.load_config(config_path=config_path))
        return pickle.loads(self._packed[config_path])
