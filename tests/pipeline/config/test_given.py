"""Text as a value of Hydra's grammar: Hydra itself reads what is written."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.text.wording import escape_text, quote_text

SIGNS = ["\\", "'", '"', "$", "{", "}", "[", "]", ",", "=", ":", "(", ")", " ", "\n", "#", "~", "a", "1", "é", "?"]


@given(st.text(alphabet=SIGNS, max_size=8))
@example("${oc.env:HOME}")
@example("\\${x")
@example("it's \\' \\\\")
@example("a\\b\\")
@example("???")
@example("\\???")
def test_hydra_reads_the_text_that_is_quoted(text: str) -> None:
    override = OverridesParser.create().parse_override(f"key={quote_text(text)}")
    read = OmegaConf.create({"key": override.value()})
    # Hydra keeps the interpolation, which OmegaConf resolves.
    assert read.key == text


@given(st.text(alphabet=SIGNS, max_size=8))
@example("${oc.env:HOME}")
@example("???")
@example("\\???")
def test_resolving_gives_back_the_text_that_is_escaped(text: str) -> None:
    escaped = OmegaConf.create({"key": [escape_text(text)]})
    resolved = OmegaConf.to_container(escaped, resolve=True, throw_on_missing=True)
    assert resolved == {"key": [text]}


@pytest.mark.parametrize("text", ["${x}", "\\${x}", "${", "a${b\\"])
def test_a_constructor_gets_the_text_of_a_settled_configuration(text: str) -> None:
    node = {"_target_": "sklearn.preprocessing.FunctionTransformer", "kw_args": {"a": [text], "b": text}}
    assert build_object(node, "preprocessing", []).kw_args == {"a": [text], "b": text}
