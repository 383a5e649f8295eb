"""What the environment of a process adds to the settings of a storage, and what goes to other machines."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

from lakebed.errors import OptionError
from lakebed.storage import open_storage
from lakebed.storage.location import parse_location
from lakebed.storage.object_store import ObjectStorage
from lakebed.storage.resolved_settings import resolved
from lakebed.storage.storage_options import ObjectSettings

SECRET = "v3ry-s3cr3t"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))


def sent(path: str, **options: str) -> dict[str, str]:
    """The settings of a storage after it was sent to another process."""
    storage = pickle.loads(pickle.dumps(open_storage(path, options)))
    assert isinstance(storage, ObjectStorage)
    return dict(storage.settings.values)


def test_keys_of_the_environment_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "short")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert sent("s3://bucket/wh") == {
        "s3.access-key": "me",
        "s3.secret-key": SECRET,
        "s3.session-token": "short",
        "s3.region": "eu-west-3",
        "s3.endpoint": "http://127.0.0.1:9",
    }


def test_options_win_and_credentials_are_not_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of somebody")
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    assert sent("s3://bucket/wh", **{"s3.access-key": "me", "s3.secret-key": SECRET, "s3.region": "here"}) == {
        "s3.access-key": "me",
        "s3.secret-key": SECRET,
        "s3.region": "here",
    }


@pytest.mark.parametrize("by_option", [True, False])
def test_a_profile_is_sent_as_its_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by_option: bool) -> None:
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text(f"[dev]\naws_access_key_id = me\naws_secret_access_key = {SECRET}\n")
    (folder / "config").write_text("[profile dev]\nregion = eu-west-3\n")
    if not by_option:
        monkeypatch.setenv("AWS_PROFILE", "dev")
    found = sent("s3://bucket/wh", **({"s3.profile": "dev"} if by_option else {}))
    assert found == {
        "s3.access-key": "me",
        "s3.secret-key": SECRET,
        "s3.region": "eu-west-3",
    }


def test_a_missing_profile_is_an_error() -> None:
    with pytest.raises(OptionError, match="unknown AWS profile 'dev'"):
        resolved(ObjectSettings({"s3.profile": "dev"}), parse_location("s3://bucket/wh"))


def test_roles_of_a_machine_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
    monkeypatch.setenv("AWS_ROLE_ARN", "arn")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2")
    assert sent("s3://bucket/wh") == {}


@pytest.mark.parametrize("by_option", [True, False])
def test_a_key_file_is_sent_as_its_content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by_option: bool) -> None:
    text = json.dumps({"type": "service_account", "private_key": SECRET})
    (tmp_path / "key.json").write_text(text)
    if not by_option:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    options = {"fs.gs.auth.service.account.json.keyfile": str(tmp_path / "key.json")} if by_option else {}
    assert sent("gs://bucket/wh", **options) == {"fs.gs.auth.service.account.json": text}


def test_the_login_of_a_user_is_not_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "adc.json").write_text(json.dumps({"type": "authorized_user", "refresh_token": SECRET}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
    assert sent("gs://bucket/wh") == {}


def test_a_key_of_azure_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "acme")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", SECRET)
    assert sent("az://box/wh") == {"fs.azure.account.name": "acme", "fs.azure.account.key": SECRET}


def test_tasks_in_one_process_share_a_storage() -> None:
    data = pickle.dumps(open_storage("s3://bucket/wh", {"s3.region": "here"}))
    assert pickle.loads(data) is pickle.loads(data)


def test_secrets_are_not_shown() -> None:
    storage = open_storage("s3://bucket/wh", {"s3.access-key": "me", "s3.secret-key": SECRET})
    assert isinstance(storage, ObjectStorage)
    assert SECRET not in repr(storage) + repr(storage.settings) + str(vars(storage))
