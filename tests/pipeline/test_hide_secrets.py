"""Secrets: found in addresses, replaced by references, hidden in texts."""

from __future__ import annotations

import pytest

from bakeoff.pipeline.errors import MissingPackage
from bakeoff.pipeline.text.secrets import (
    conceal_words,
    describe_error,
    expand_address,
    expand_references,
    find_secrets,
    format_traceback,
    hide_in_values,
    hide_secrets,
    is_secret_name,
    strip_secrets,
)

CANARY = "C4N4RYpw"
ADDRESSES = {
    "password": f"http://me:{CANARY}@host:5000",
    "token": f"https://{CANARY}@github.com/a/b.git",
    "database": f"postgresql+psycopg://me:{CANARY}@[::1]:5432/runs",
    "sign": f"http://me:x@{CANARY}@host",
    "escaped": f"http\\://me\\:{CANARY}@127.0.0.1\\:9",
    "option": f"sqlite:///x.db?password={CANARY}",
    "signed": f"https://host/x.csv?page=1&X-Amz-Signature={CANARY}&n=2",
    "quoted": f"'postgresql://h/db?sslpassword={CANARY}'",
}


@pytest.fixture
def no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("", "_2", "_3"):
        monkeypatch.setenv(f"BAKEOFF_SECRET{number}", "")
        monkeypatch.delenv(f"BAKEOFF_SECRET{number}")


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_a_secret_in_an_address_is_hidden_concealed_and_stripped(address: str, no_secret: None) -> None:
    shown = hide_secrets(f"no answer from {address}, try again")
    assert CANARY not in shown
    assert shown.endswith(", try again")
    assert "host" in shown or "127" in shown or "github" in shown or "::1" in shown or "db" in shown

    (word,), names = conceal_words([f"tracking.uri={address}"])
    assert CANARY not in word
    assert names == ["BAKEOFF_SECRET"]
    assert expand_references(word) == f"tracking.uri={address}"
    assert find_secrets(word) == []

    assert CANARY not in strip_secrets(address)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me@host/db",
        "http://host:5000/#/experiments/1",
        "sqlite:////tmp/my@folder/mlflow.db",
        "postgresql://me:$PASSWORD@host/db?sslmode=require",
        "http://me:${oc.env:PW}@host?token=${oc.env:TOKEN}",
        "bought@champion, learner.n_neighbors=3, a key=b",
    ],
)
def test_a_text_without_a_secret_stays_as_it_is(text: str, no_secret: None) -> None:
    assert hide_secrets(text) == text
    assert conceal_words([text]) == ([text], [])


def test_each_value_of_a_sweep_has_a_variable_of_its_own(no_secret: None) -> None:
    words, names = conceal_words(["tracking.uri=http://a:first@h,http://a:second@h", "x=http://b:first@h"])
    assert words == [
        "tracking.uri=http://a:${oc.env:BAKEOFF_SECRET}@h,http://a:${oc.env:BAKEOFF_SECRET_2}@h",
        "x=http://b:${oc.env:BAKEOFF_SECRET}@h",
    ]
    assert names == ["BAKEOFF_SECRET", "BAKEOFF_SECRET_2"]


def test_the_value_of_a_variable_is_hidden_if_its_name_or_a_configuration_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", CANARY)
    monkeypatch.setenv("WHERE", "in/the/cellar")
    monkeypatch.setenv("FLAG", "true")
    text = f"{CANARY} lies in/the/cellar, true"
    assert hide_secrets(text) == "${oc.env:MLFLOW_TRACKING_TOKEN} lies in/the/cellar, true"
    source = "path: ${oc.env:WHERE}/x.csv\nflag: ${oc.env:FLAG}"
    assert hide_secrets(text, source) == "${oc.env:MLFLOW_TRACKING_TOKEN} lies ${oc.env:WHERE}, true"
    assert hide_in_values({}) == {}
    assert hide_in_values({"a": text, "b": "", "c": "1"}, source) == {
        "a": hide_secrets(text, source),
        "b": "",
        "c": "1",
    }


def test_a_password_is_hidden_as_an_address_spells_it_and_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "a/b c%20")
    assert "a/b" not in hide_secrets("login with a/b c%20 failed")
    assert "a%2Fb" not in hide_secrets("u=a%2Fb%20c%2520")


def test_names_of_secrets_are_told_from_others() -> None:
    secrets = ("AWS_SECRET_ACCESS_KEY", "api_key", "sslpassword", "sig", "MY_TOKEN", "PGPASSWORD")
    others = ("TOKENIZERS_PARALLELISM", "PWD", "HOME", "MONKEY", "DESIGN", "AUTHOR", "keyword", "page")
    assert [name for name in secrets if not is_secret_name(name)] == []
    assert [name for name in others if is_secret_name(name)] == []


def test_errors_and_tracebacks_hide_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTRY", CANARY)
    with pytest.raises(ValueError, match=CANARY) as raised:
        int(CANARY)
    source = "x: ${oc.env:ENTRY}"
    shown = describe_error(raised.value, source)
    assert shown == "ValueError: invalid literal for int() with base 10: '${oc.env:ENTRY}'"
    assert "Traceback" in format_traceback(raised.value, source)
    assert CANARY not in format_traceback(raised.value, source)
    assert CANARY not in str(MissingPackage(f"no driver for {ADDRESSES['database']}"))


def test_an_address_takes_variables_in_place_of_user_and_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ME", "someone")
    monkeypatch.setenv("PW", "hush")
    assert expand_address("http://$ME:$PW@host/$PW") == "http://someone:hush@host/$PW"
    assert expand_address("${oc.env:ME}.db") == "someone.db"
    with pytest.raises(KeyError, match="NOT_SET"):
        expand_address("http://me:$NOT_SET@host")


def test_many_secrets_in_a_word_have_a_variable_each_that_is_found_at_once(
    no_secret: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_looked_up = 0

    class Environment(dict[str, str]):
        def setdefault(self, name: str, value: str = "") -> str:
            nonlocal n_looked_up
            n_looked_up += 1
            return super().setdefault(name, value)

    monkeypatch.setattr("os.environ", Environment({"BAKEOFF_SECRET": "first", "BAKEOFF_SECRET_3": "third"}))
    address = "http://h?" + "&".join(f"key=value{number}" for number in range(1000))
    (word,), names = conceal_words([f"{address}&key=third"])
    assert "value" not in word
    assert len(names) == 1001
    assert names[:2] == ["BAKEOFF_SECRET_4", "BAKEOFF_SECRET_5"]
    assert names[-1] == "BAKEOFF_SECRET_3"
    assert n_looked_up <= 2 * 1000
