"""Named warehouses in lakebed.toml: where the file is looked for, what it may hold, and what is refused."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lakebed
from lakebed import NotFoundError, OptionError
from lakebed.catalogs.named_warehouses import NamedWarehouse, all_warehouses, find_warehouse
from lakebed.cli import app


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LAKEBED_CONFIG", "LAKEBED_WAREHOUSE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_where_the_file_is_looked_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (find_warehouse("prod"), all_warehouses()) == (None, {})
    write(home / "home" / ".config" / "lakebed" / "lakebed.toml", '[warehouses.prod]\npath = "/user"\n')
    assert find_warehouse("prod") == NamedWarehouse("/user")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    assert find_warehouse("prod") is None
    write(home / "xdg" / "lakebed" / "lakebed.toml", '[warehouses.prod]\npath = "/xdg"\n')
    assert find_warehouse("prod") == NamedWarehouse("/xdg")
    write(home / "work" / "lakebed.toml", '[warehouses.prod]\npath = "/here"\n')
    assert find_warehouse("prod") == NamedWarehouse("/here")
    write(home / "other.toml", '[warehouses.prod]\npath = "/named"\n')
    monkeypatch.setenv("LAKEBED_CONFIG", str(home / "other.toml"))
    assert find_warehouse("prod") == NamedWarehouse("/named")
    monkeypatch.setenv("LAKEBED_CONFIG", str(home / "missing.toml"))
    with pytest.raises(NotFoundError, match="which LAKEBED_CONFIG names"):
        find_warehouse("prod")


def test_options_and_variables(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    monkeypatch.setenv("BUCKET", "lake")
    text = """
        [warehouses.one]
        path = "s3://${BUCKET}/wh"
        options = { "s3.region" = "r", "s3.secret-key" = "${SECRET}", "s3.path.style.access" = true }
        [warehouses.two]
        path = "data/two"
        [warehouses.two.options]
        s3.region = "not quoted"
        storage.max-retries = 3
        manifest.cache.max-size = "$${x} ${BUCKET}-${BUCKET}"
    """
    write(home / "work" / "lakebed.toml", text, 0o644)
    one, two = all_warehouses()["one"], all_warehouses()["two"]
    assert (one.path, two.path) == ("s3://lake/wh", str(home / "work" / "data" / "two"))
    assert one.options == {"s3.region": "r", "s3.secret-key": "hunter2", "s3.path.style.access": "true"}
    assert two.options == {
        "s3.region": "not quoted",
        "storage.max-retries": "3",
        "manifest.cache.max-size": "${x} lake-lake",
    }
    assert "hunter2" not in f"{one!r} {one.options!r}"
    monkeypatch.delenv("SECRET")
    with pytest.raises(OptionError, match=r"'s3.secret-key' in .* refers to the variable SECRET, which is not set"):
        find_warehouse("one")
    assert find_warehouse("two") is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("warehouses = 1", "write a warehouse as a table"),
        ("[warehouses]\nprod = 's3://b'", "write a warehouse as a table"),
        ("[warehouse.prod]\npath = 'x'", "unknown key 'warehouse' in .*; did you mean 'warehouses'"),
        ("[warehouses.prod]\npaht = 'x'", "unknown key 'paht' in .*; did you mean 'path'"),
        ("[warehouses.prod]", "needs a path"),
        ("[warehouses.prod]\npath = 3", "needs a path"),
        ("[warehouses.prod]\npath = 'x'\noptions = 'y'", "must be a table"),
        ("[warehouses.'a/b']\npath = 'x'", "is not a valid warehouse name"),
        ("[warehouses.prod\nhunter2", "is not valid TOML"),
        ("[warehouses.prod]\npath = 'x'\n[warehouses.prod.options]\n's3.secret-key' = [1]", r"is \*\*\* of type list"),
    ],
)
def test_refusals(home: Path, text: str, message: str) -> None:
    write(home / "work" / "lakebed.toml", text)
    with pytest.raises(OptionError, match=message) as caught:
        find_warehouse("prod")
    assert "hunter2" not in str(caught.value)


def test_a_file_of_another_user_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / "work" / "lakebed.toml", "[warehouses.prod]\npath = '/x'")
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    if (home / "work" / "lakebed.toml").stat().st_uid == 0:  # root's files are fine
        os.chown(home / "work" / "lakebed.toml", 4712, -1)
    with pytest.raises(OptionError, match="belongs to another user"):
        find_warehouse("prod")


def test_secrets_that_others_can_read(home: Path) -> None:
    file = write(home / "work" / "lakebed.toml", "[warehouses.p]\npath='s3://b'\noptions={'s3.secret-key'='x'}", 0o640)
    with pytest.warns(UserWarning, match=r"contains secrets \(s3.secret-key\).*chmod 600"):
        find_warehouse("p")
    file.chmod(0o600)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_warehouse("p")


# ------------------------------------------------------------------------------------------------------------- Python


def test_connect_by_name(home: Path) -> None:
    write(home / "work" / "lakebed.toml", "[warehouses.prod]\npath='store'\noptions={'table-default.bucket'=3}")
    lake = lakebed.connect("prod")
    assert lake.warehouse == str(home / "work" / "store")
    lake.create_database("db")
    assert lake.create_table("db.t", "id INT", primary_key=["id"]).options["bucket"] == "3"
    own = lakebed.connect("prod", options={"table-default.bucket": 5})
    assert own.create_table("db.u", "id INT", primary_key=["id"]).options["bucket"] == "5"
    assert lakebed.connect("./prod").warehouse == str(home / "work" / "prod")
    with pytest.raises(OptionError, match=r"is a folder here and a warehouse in .*; write './prod' for the folder"):
        lakebed.connect("prod")
    assert lakebed.connect(Path("prod")).warehouse == str(home / "work" / "prod")
    assert lakebed.connect("other").warehouse == str(home / "work" / "other")


# ------------------------------------------------------------------------------------------------------- command line


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(args))
    return result.exit_code, result.stdout, " ".join(result.stderr.replace("│", " ").split())


def test_the_command_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / "work" / "lakebed.toml", "[warehouses.prod]\npath='store'\n[warehouses.bad]\npath='gone'")
    lakebed.connect("prod").create_database("shop")
    assert "shop" in run("-w", "prod", "databases")[1]
    monkeypatch.setenv("LAKEBED_WAREHOUSE", "prod")
    assert "shop" in run("databases")[1]
    code, _, err = run("-w", "bad", "databases")
    assert (code, "there is no warehouse at" in err) == (4, True)
    code, _, err = run("-w", "prodd", "databases")
    assert (code, "lakebed.toml has bad, prod" in err) == (4, True)
    assert not (home / "work" / "gone").exists()


def test_settings_before_and_after_the_command(home: Path) -> None:
    lakebed.connect("store").create_database("shop")
    code, _, err = run("-w", "store", "-o", "s3.region=x", "databases")
    assert (code, "a setting of S3" in err) == (3, True)
    code, _, err = run("-w", "store", "databases", "-o", "commit.durble=true")
    assert (code, "did you mean 'commit.durable'?" in err) == (3, True)
    assert run("-w", "store", "-o", "commit.durable=false", "databases", "-o", "storage.max-retries=1")[0] == 0
    assert run("-w", "store", "databases")[0] == 0  # the settings of the last command are forgotten
    for wrong in ("s3.secret-key", "=hunter2"):
        code, out, err = run("-w", "store", "databases", "-o", wrong)
        assert (code, "NAME=VALUE" in err, "hunter2" in out + err) == (2, True, False)


def test_a_warning_is_one_line(home: Path) -> None:
    lakebed.connect("store").create_database("shop")
    text = "[warehouses.prod]\npath='store'\n[warehouses.prod.options]\n'fs.azure.sas.token'='x'"
    write(home / "work" / "lakebed.toml", text, 0o644)
    code, _, err = run("-w", "prod", "databases")
    assert (code, "warning:" in err, "a setting of Azure" in err) == (3, True, True)


def test_connect_without_a_path_asks_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / "work" / "lakebed.toml", '[warehouses.prod]\npath = "data"\n')
    with pytest.raises(OptionError, match=r"no warehouse given: write connect\('folder'\), or set LAKEBED_WAREHOUSE"):
        lakebed.connect()
    monkeypatch.setenv("LAKEBED_WAREHOUSE", "prod")
    assert lakebed.connect().warehouse == str(home / "work" / "data")
    monkeypatch.setenv("LAKEBED_WAREHOUSE", "~/own")
    assert lakebed.connect().warehouse == str(home / "home" / "own")
    assert lakebed.connect("prod").warehouse == str(home / "work" / "data")


def test_a_misspelt_name_makes_no_folder(home: Path) -> None:
    write(home / "work" / "lakebed.toml", '[warehouses.production]\npath = "data"\n')
    with pytest.raises(OptionError, match=r"did you mean 'production' of lakebed.toml\? For a new folder write"):
        lakebed.connect("prodction")
    assert not (home / "work" / "prodction").exists()
    assert lakebed.connect("./prodction").warehouse == str(home / "work" / "prodction")
    assert lakebed.connect("prodction").databases() == []  # now it is a folder
    assert lakebed.connect("elsewhere").databases() == []
