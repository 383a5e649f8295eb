"""Adds a lake to a Spark session as a catalog. Only this module changes private state of Spark.

It needs four things of a session: a catalog manager that keeps catalogs in a map named ``catalogs``, an optimizer
that takes further rules, an analyzer that keeps its own in ``extendedResolutionRules``, and a parser that can be
wrapped. All are tested before anything is changed, and an error in one sentence is raised if a test fails. The module
also registers Paimon's table functions. The wrapped parser knows statements of Paimon (``Statements.java``), and before
Spark 4.3 options in names (:mod:`lakebed.sql.options_in_names`).

Sessions that are made from an attached one later (``newSession``, clients of Spark Connect on its server) get the same
lakes when they parse their first statement (``NewSessions.java``). A lake that is attached to such a session itself
takes the place of an inherited one with the same name.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import AlreadyExistsError, LakebedError, OptionError, UnsupportedError
from lakebed.lake import Lake
from lakebed.options import TableOptions
from lakebed.spark.session import check_running
from lakebed.sql.jvm.jvm_values import Jvm, version_numbers
from lakebed.sql.jvm.proxy import MEANT, Proxy
from lakebed.sql.options_in_names import check_parser, passes_options, put_options_in_names
from lakebed.sql.spark_catalog import Catalog, is_inherited

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = logging.getLogger("lakebed")
_RULE: Final = "lakebed.OptimizerRule"
_RESOLUTION: Final = "lakebed.ResolutionRule"
_FUNCTIONS: Final = {
    "paimon_incremental_query": TableOptions.incremental_between.name,
    "paimon_incremental_between_timestamp": TableOptions.incremental_between_timestamp.name,
    "paimon_incremental_to_auto_tag": TableOptions.incremental_to_auto_tag.name,
}
_PAIMONS_OWN: Final = "org/apache/paimon/spark/SparkSource.class"
_OLDEST: Final = (4, 1)
_TAKEN: Final = ("spark_catalog", "system", "session", "builtin")


def attach(spark: SparkSession, name: str, lake: Lake, *, inherited: bool = False) -> Jvm:
    """Makes the tables of a lake known to a session as ``<name>.<database>.<table>``; may be called again.

    ``inherited``: for a session made from one that has the lake.
    """
    check_running(spark)
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedError(
            "SQL over a lake needs a classic Spark session, and this one is Spark Connect; read and write tables with "
            'lake.table(...) and spark.read.format("lakebed") there'
        )
    if not name.isidentifier() or name in _TAKEN:
        raise OptionError(f"{name!r} cannot be the name of a catalog; connect(..., name=...) takes a plain word")
    _check_version(spark.version)
    jvm, catalogs = _probed(spark)
    current = catalogs.get(name)
    made = Catalog(jvm, name, lake, inherited=inherited)
    shown = current.get().toString() if current.isDefined() else None
    if shown == repr(made) or (inherited and shown is not None):
        return jvm
    if shown is not None and not is_inherited(shown):
        raise AlreadyExistsError(
            f"this Spark session has another catalog of the name {name!r}; give this lake another one with "
            "connect(..., name=...)"
        )
    if spark.conf.get(f"spark.sql.catalog.{name}", None) is not None:
        raise AlreadyExistsError(
            f"the setting spark.sql.catalog.{name} of this session names another catalog; give this lake another name "
            "with connect(..., name=...)"
        )
    _serve_callbacks(jvm)
    _extend(jvm)
    jvm.bridge.installStatements(jvm.session_state, name)
    if not passes_options(spark.version):
        put_options_in_names(jvm, name)
    catalogs.put(name, made)
    made.create_default_database()
    _follow_new_sessions(jvm, name, lake)
    return jvm


def _extend(jvm: Jvm) -> None:
    """Adds to a session what all its lakes share, once: Spark warns if something is added again.

    The session of a stream is a copy of the one that started it, but with the resolution rules of a new one.
    """
    methods = jvm.session_state.experimentalMethods()
    if not _has(methods.extraOptimizations(), _RULE):
        for function, option in _FUNCTIONS.items():
            jvm.bridge.registerFunction(jvm.session_state, function, option)
        _name_paimon(jvm)
        getattr(methods, "extraOptimizations_$eq")(methods.extraOptimizations().appended(jvm.bridge.optimizerRule()))
    analyzer = jvm.session_state.analyzer()
    field = _resolution_rules(analyzer)
    if not _has(field.get(analyzer), _RESOLUTION):
        field.set(analyzer, field.get(analyzer).appended(jvm.bridge.resolutionRule()))


def _check_version(version: str) -> None:
    """Raises UnsupportedError for a Spark that is too old.

    Whether a newer one works is found out by :func:`_probed`.
    """
    if version_numbers(version) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise UnsupportedError(
            f"Lakebed is a catalog of Spark {oldest} and later, and this is Spark {version}; install a newer pyspark, or read "
            "and write tables with lake.table(...)"
        )


def _probed(spark: SparkSession) -> tuple[Jvm, Any]:
    """Returns the JVM and the map of catalogs; raises LakebedError if the session lacks something that is needed."""
    try:
        jvm = Jvm(spark)
        manager = jvm.session_state.catalogManager()
        field = manager.getClass().getDeclaredField("catalogs")
        field.setAccessible(True)
        catalogs = field.get(manager)
        catalogs.get("lakebed").isDefined()
        jvm.session_state.experimentalMethods().extraOptimizations().size()
        check_parser(jvm)
        _resolution_rules(jvm.session_state.analyzer())
        jvm.bridge.optimizerRule()
    except Exception as error:
        raise LakebedError(
            f"Lakebed cannot be a catalog of Spark {spark.version}, whose internals differ from those of Spark 4.1 to 4.3 "
            f"({_first_line(error)}); use one of those, or read and write tables with lake.table(...)"
        ) from error
    return jvm, catalogs


def _first_line(error: Exception) -> str:
    cause = getattr(error, "java_exception", None)
    lines = str(error if cause is None else cause.toString()).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _serve_callbacks(jvm: Jvm) -> None:
    """Lets the JVM call Python, and Python throw Java exceptions."""
    from pyspark.java_gateway import ensure_callback_server_started  # noqa: PLC0415 - Spark is optional

    ensure_callback_server_started(jvm.gateway)
    for name in ("py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(_is_news)
    jvm.gateway._callback_server.callback_server_parameters.propagate_java_exceptions = True  # noqa: SLF001 - no public way


def _is_news(record: logging.LogRecord) -> bool:
    """Whether to keep a log record. Exceptions that Python passes to Java on purpose are not logged."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    return not getattr(error, MEANT, False)


def _name_paimon(jvm: Jvm) -> None:
    """Makes ``format("paimon")`` the same as ``format("lakebed")``, unless there is Paimon's own connector."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - Spark is optional
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark is optional

    from pyspark_lakebed import PaimonSource  # noqa: PLC0415 - Spark is optional

    loader = jvm.java.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(_PAIMONS_OWN) is not None:
        return
    for spark in (SparkSession.getActiveSession(), jvm.spark):  # Spark looks for a format in the active session
        if spark is not None:
            with contextlib.suppress(AnalysisException):  # it has the name already
                spark.dataSource.register(PaimonSource)


class Heirs(Proxy, implements=("java.util.function.Consumer",)):
    """Attaches the lakes of an application to sessions that are made from attached ones."""

    def __init__(self, jvm: Jvm) -> None:
        super().__init__(jvm)
        self.lakes: dict[str, Lake] = {}

    def accept(self, session: Any) -> None:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark is optional

        for name, lake in list(self.lakes.items()):
            try:
                attach(SparkSession(self._jvm.spark.sparkContext, session), name, lake, inherited=True)
            except Exception:  # noqa: BLE001 - the session works without it, and says that there is no such catalog
                _LOG.warning("cannot attach %s to a new session", lake, exc_info=True)


_heirs: dict[str, Heirs] = {}
"""By the id of the Spark application, in which all sessions share their extensions."""


def _follow_new_sessions(jvm: Jvm, name: str, lake: Lake) -> None:
    application = jvm.spark.sparkContext.applicationId
    heirs = _heirs.setdefault(application, Heirs(jvm))
    heirs.lakes.setdefault(name, lake)
    jvm.bridge.followNewSessions(jvm.spark._jsparkSession.extensions(), heirs)  # noqa: SLF001 - no public way


def _has(rules: Any, name: str) -> bool:
    return any(rules.apply(i).ruleName() == name for i in range(rules.size()))


def _resolution_rules(analyzer: Any) -> Any:
    """Returns the field of an analyzer with the rules that a session adds to those of Spark."""
    field = analyzer.getClass().getDeclaredField("extendedResolutionRules")
    field.setAccessible(True)
    return field
