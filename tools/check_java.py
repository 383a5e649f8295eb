"""Compiles the Java sources of the SQL catalog against every supported version of Spark; `make lint` runs it.

The sources are compiled at run time, in the driver, by the Janino compiler that Spark ships, so no build compiles them.
This check uses the same compiler. The newest supported Spark is the PySpark in the virtual environment. Maven fetches
the jars of the older ones into .java-check/ (git-ignored), once; a missing Maven is installed where that is possible
(Debian, as root). The other libraries (Scala, Jackson, Janino 3.1.9 in all versions) come from PySpark.

Without Java or Maven the check prints a loud line and succeeds, except in CI (CI=true), where it fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "lakebed" / "sql" / "jvm"
JARS = ROOT / ".java-check"
OLDER_SPARKS = ("4.1.3", "4.2.0")
"""The newest patch version of each supported Spark that is older than the PySpark of the virtual environment."""
MODULES = ("sql", "catalyst", "sql-api", "core", "common-utils", "common-utils-java", "unsafe")
COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"
"""A command line like javac's, for the Janino compiler."""
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>lakebed</groupId><artifactId>java-check</artifactId><version>1</version>
<dependencies>{}</dependencies></project>"""
DEPENDENCY = (
    "<dependency><groupId>org.apache.spark</groupId><artifactId>{}</artifactId><version>{}</version>"
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
)


class CannotRun(Exception):  # noqa: N818 - not an error on machines without Java
    """The check is not possible on this machine."""


def main() -> int:
    started = time.monotonic()
    sources = sorted(str(path) for path in SOURCES.glob("*.java"))
    try:
        if shutil.which("java") is None:
            raise CannotRun("no java on the PATH")
        shipped = pyspark_jars()
        class_paths = {version("pyspark"): [*shipped]}
        others = [jar for jar in shipped if not jar.name.startswith("spark-")]
        for spark in OLDER_SPARKS:
            class_paths[spark] = [*fetched_jars(spark), *others]
    except CannotRun as reason:
        print(f"!!!!! THE JAVA SOURCES ARE NOT CHECKED: {reason} !!!!!", file=sys.stderr)
        return 1 if os.environ.get("CI") == "true" else 0
    with ThreadPoolExecutor() as pool:
        problems = dict(
            zip(class_paths, pool.map(lambda jars: compiled(sources, jars), class_paths.values()), strict=True)
        )
    for spark, problem in problems.items():
        if problem:
            print(f"The Java sources do not compile against Spark {spark}:\n{problem}", file=sys.stderr)
    if any(problems.values()):
        return 1
    seconds = time.monotonic() - started
    print(f"{len(sources)} Java sources compile against Spark {', '.join(sorted(class_paths))} ({seconds:.1f} s)")
    return 0


def pyspark_jars() -> list[Path]:
    """Returns the jars of the installed PySpark."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise CannotRun("PySpark is not installed")
    return sorted((Path(found.origin).parent / "jars").glob("*.jar"))


def fetched_jars(spark: str) -> list[Path]:
    """Returns the jars of an older Spark; Maven fetches them the first time."""
    folder = JARS / spark
    if not folder.is_dir():
        if not has_maven():
            raise CannotRun(f"no mvn on the PATH to fetch the jars of Spark {spark} with")
        print(f"Fetching the jars of Spark {spark} with Maven")
        JARS.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=JARS) as unfinished:
            pom = Path(unfinished) / "pom.xml"
            pom.write_text(POM.format("".join(DEPENDENCY.format(f"spark-{name}_2.13", spark) for name in MODULES)))
            fetched = Path(unfinished) / "jars"
            command = [
                "mvn",
                "-B",
                "-q",
                "-f",
                str(pom),
                "dependency:copy-dependencies",
                f"-DoutputDirectory={fetched}",
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotRun(f"mvn could not fetch the jars of Spark {spark}:\n{done.stdout}{done.stderr}")
            fetched.rename(folder)
    return sorted(folder.glob("*.jar"))


def has_maven() -> bool:
    """Whether Maven is there, after an attempt to install it."""
    if shutil.which("mvn") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing Maven")
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "maven"]):
            subprocess.run(command, capture_output=True, check=False)
    return shutil.which("mvn") is not None


def compiled(sources: list[str], jars: list[Path]) -> str:
    """Compiles the sources; returns what the compiler complains about."""
    with tempfile.TemporaryDirectory() as classes:
        path = os.pathsep.join(str(jar) for jar in jars)
        command = [
            "java",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            path,
            COMPILER,
            "-rebuild",
            "-d",
            classes,
            "-classpath",
            path,
        ]
        done = subprocess.run([*command, *sources], capture_output=True, text=True, check=False)
        made = len(list(Path(classes).rglob("*.class")))
    said = (done.stdout + done.stderr).strip()
    return said or (f"the compiler made {made} classes of {len(sources)} sources" if made < len(sources) else "")


if __name__ == "__main__":
    sys.exit(main())
