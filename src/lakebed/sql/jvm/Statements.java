package lakebed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedPartitionSpec;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.DropPartitions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowTablePartition;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.internal.SessionState;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Statements of Paimon that Spark does not know, and statements that Spark restricts more than Paimon: tags in ALTER
 * TABLE, SHOW TAGS, DROP PARTITION with a part of the partition columns, SHOW TABLE EXTENDED ... PARTITION. And
 * statements of Delta: DESCRIBE HISTORY, OPTIMIZE, VACUUM, RESTORE.
 *
 * The parser of the session is wrapped, because a parser extension has to be configured before the session starts. A
 * statement for a table of Lakebed becomes a CALL of a procedure that the list of procedures does not show. All other
 * statements pass unchanged.
 */
public final class Statements implements InvocationHandler {

  private static final String PART = "(?:`(?:[^`]|``)+`|[^\\s`.;'\"]+)";
  private static final String NAME = "(" + PART + "(?:\\s*\\.\\s*" + PART + ")*)";
  private static final String TAG = "(" + PART + ")";
  private static final List FORMATS = Arrays.asList(new String[] {"paimon", "lakebed"});
  private static final Pattern SET_TAG = pattern(
      "ALTER\\s+TABLE\\s+" + NAME + "\\s+(CREATE\\s+OR\\s+REPLACE|CREATE|REPLACE)\\s+TAG\\s+(IF\\s+NOT\\s+EXISTS\\s+)?" + TAG
          + "(?:\\s+AS\\s+OF\\s+VERSION\\s+(\\d+))?(?:\\s+RETAIN\\s+(\\d+)\\s+(DAY|HOUR|MINUTE)S?)?");
  private static final Pattern DELETE_TAG =
      pattern("ALTER\\s+TABLE\\s+" + NAME + "\\s+DELETE\\s+TAG\\s+(IF\\s+EXISTS\\s+)?" + TAG);
  private static final Pattern RENAME_TAG =
      pattern("ALTER\\s+TABLE\\s+" + NAME + "\\s+RENAME\\s+TAG\\s+" + TAG + "\\s+TO\\s+" + TAG);
  private static final Pattern SHOW_TAGS = pattern("SHOW\\s+TAGS\\s+" + NAME);
  private static final Pattern HISTORY = pattern("DESC(?:RIBE)?\\s+HISTORY\\s+" + NAME + "(?:\\s+LIMIT\\s+(\\d+))?");
  private static final Pattern OPTIMIZE =
      pattern("OPTIMIZE\\s+" + NAME + "(?:\\s+WHERE\\s+(.+?))?(?:\\s+ZORDER\\s+BY\\s*(\\(.+\\)|[^()]+))?");
  private static final Pattern VACUUM =
      pattern("VACUUM\\s+" + NAME + "(?:\\s+RETAIN\\s+(\\d+(?:\\.\\d+)?)\\s+HOURS?)?(\\s+DRY\\s+RUN)?");
  private static final Pattern RESTORE = pattern(
      "RESTORE\\s+(?:TABLE\\s+)?" + NAME + "\\s+(?:TO\\s+)?(?:VERSION\\s+AS\\s+OF\\s+(\\d+|'[^']*')|TIMESTAMP\\s+AS\\s+OF\\s+(.+?))");

  private final SessionState state;
  private final Object parser;
  private final Set catalogs = new HashSet();

  private Statements(SessionState state) {
    this.state = state;
    this.parser = state.sqlParser();
  }

  private static Pattern pattern(String text) {
    return Pattern.compile("\\s*" + text + "\\s*;?\\s*", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
  }

  /** Wraps the parser of a session, unless it is wrapped, and takes statements for one more catalog. */
  public static void install(SessionState state, String catalog) throws ReflectiveOperationException {
    Statements known = of(state.sqlParser());
    if (known == null) {
      Field field = SessionState.class.getDeclaredField("sqlParser");
      field.setAccessible(true);
      known = new Statements(state);
      ClassLoader loader = ParserInterface.class.getClassLoader();
      field.set(state, Proxy.newProxyInstance(loader, new Class[] {ParserInterface.class}, known));
    }
    known.catalogs.add(catalog);
  }

  private static Statements of(Object parser) {
    if (!Proxy.isProxyClass(parser.getClass())) {
      return null;
    }
    InvocationHandler handler = Proxy.getInvocationHandler(parser);
    if (handler instanceof OptionsInNames) {
      return of(((OptionsInNames) handler).wrapped());
    }
    return handler instanceof Statements ? (Statements) handler : null;
  }

  /** Calls the wrapped parser, with a CALL instead of a statement that it does not know. */
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    try {
      boolean isStatement = method.getName().startsWith("parsePlan") && arguments[0] instanceof String;
      if (!isStatement) {
        return method.invoke(parser, arguments);
      }
      String call = aboutTags((String) arguments[0]);
      call = call == null ? ofDelta((String) arguments[0]) : call;
      if (call == null) {
        Object parsed = method.invoke(parser, arguments);
        checkFormat(parsed);
        checkConstraint(parsed);
        call = parsed instanceof LogicalPlan ? aboutPartitions((LogicalPlan) parsed) : null;
        if (call == null) {
          return parsed;
        }
      }
      Object[] instead = (Object[]) arguments.clone();
      instead[0] = call;
      return method.invoke(parser, instead);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  private String aboutTags(String text) throws Throwable {
    Matcher set = SET_TAG.matcher(text);
    if (set.matches()) {
      String unit = set.group(7);
      String retained = unit == null ? null : set.group(6) + " " + unit.toLowerCase();
      String how = set.group(2).replaceAll("\\s+", " ").toLowerCase() + (set.group(3) == null ? "" : " if not exists");
      return call(parts(set.group(1)), "set tag", literals(new String[] {how, plain(set.group(4)), set.group(5), retained}));
    }
    Matcher delete = DELETE_TAG.matcher(text);
    if (delete.matches()) {
      return call(parts(delete.group(1)), "delete tags", literals(new String[] {plain(delete.group(3))}));
    }
    Matcher rename = RENAME_TAG.matcher(text);
    if (rename.matches()) {
      String[] names = new String[] {plain(rename.group(2)), plain(rename.group(3))};
      return call(parts(rename.group(1)), "change tag name", literals(names));
    }
    Matcher show = SHOW_TAGS.matcher(text);
    return show.matches() ? call(parts(show.group(1)), "show tags", new String[0]) : null;
  }

  private String ofDelta(String text) throws Throwable {
    Matcher history = HISTORY.matcher(text);
    if (history.matches()) {
      return call(parts(history.group(1)), "describe history", literals(new String[] {history.group(2)}));
    }
    Matcher optimize = OPTIMIZE.matcher(text);
    if (optimize.matches()) {
      String[] given = new String[] {optimize.group(2), optimize.group(3)};
      return call(parts(optimize.group(1)), "optimize", literals(given));
    }
    Matcher vacuum = VACUUM.matcher(text);
    if (vacuum.matches()) {
      String[] given = new String[] {String.valueOf(vacuum.group(3) != null), vacuum.group(2)};
      return call(parts(vacuum.group(1)), "vacuum", literals(given));
    }
    Matcher restore = RESTORE.matcher(text);
    if (restore.matches()) {
      String version = restore.group(2) == null ? "NULL" : literal(restore.group(2).replace("'", ""));
      String time = restore.group(3) == null ? "NULL" : "unix_millis(CAST(" + restore.group(3) + " AS TIMESTAMP))";
      return call(parts(restore.group(1)), "restore", new String[] {version, time});
    }
    return null;
  }

  /** Refuses a new table in another format than Paimon's. */
  private void checkFormat(Object parsed) {
    if (!(parsed instanceof V2CreateTablePlan)) {
      return;
    }
    Object name = ((LogicalPlan) parsed).children().apply(0);
    Option format = NewTables.spec((Product) parsed).provider();
    boolean isPaimon = format.isEmpty() || FORMATS.contains(((String) format.get()).toLowerCase());
    if (!isPaimon && name instanceof UnresolvedIdentifier && isOurs(catalog(listed(((UnresolvedIdentifier) name).nameParts())))) {
      throw new Failure(
          "USING " + format.get() + ": tables of this catalog are Paimon tables; write USING paimon, or leave it out",
          "UnsupportedError");
    }
  }

  /** Refuses a new constraint of a table: Spark would first read the table to test it. */
  private void checkConstraint(Object parsed) {
    if (!parsed.getClass().getSimpleName().matches("Add(Check)?Constraint")) {
      return;
    }
    LogicalPlan table = (LogicalPlan) parsed;
    while (!table.children().isEmpty()) { // a CHECK is a filter over the table
      table = (LogicalPlan) table.children().apply(0);
    }
    List name = table instanceof UnresolvedTable ? parts((UnresolvedTable) table) : new ArrayList();
    if (table instanceof UnresolvedRelation) {
      name = listed(((UnresolvedRelation) table).multipartIdentifier());
    }
    if (!name.isEmpty() && isOurs(catalog(name))) {
      throw new Failure(
          "ALTER TABLE: constraints cannot be added; the only one, PRIMARY KEY (...) NOT ENFORCED, is given in CREATE TABLE",
          "UnsupportedError");
    }
  }

  private String aboutPartitions(LogicalPlan plan) throws JsonProcessingException, ReflectiveOperationException {
    if (plan instanceof DropPartitions && ((DropPartitions) plan).table() instanceof UnresolvedTable) {
      DropPartitions drop = (DropPartitions) plan;
      List specs = new ArrayList();
      for (int i = 0; i < drop.parts().size(); i++) {
        if (!(drop.parts().apply(i) instanceof UnresolvedPartitionSpec)) {
          return null;
        }
        specs.add(spec(drop.parts().apply(i)));
      }
      String[] given = new String[] {new ObjectMapper().writeValueAsString(specs), String.valueOf(drop.ifExists())};
      return call(parts((UnresolvedTable) drop.table()), "drop partitions", literals(given));
    }
    if (plan instanceof ShowTablePartition && ((ShowTablePartition) plan).table() instanceof UnresolvedTable) {
      ShowTablePartition show = (ShowTablePartition) plan;
      if (!(show.partitionSpec() instanceof UnresolvedPartitionSpec)) {
        return null;
      }
      String[] given = new String[] {new ObjectMapper().writeValueAsString(spec(show.partitionSpec()))};
      return call(parts((UnresolvedTable) show.table()), "show partition", literals(given));
    }
    if (plan.getClass().getSimpleName().equals("CreateTableLike")) {
      checkLike(plan);
    }
    return null;
  }

  /** Refuses CREATE TABLE ... LIKE ... STORED AS, which Spark does not pass on. The class exists since Spark 4.2. */
  private void checkLike(LogicalPlan plan) throws ReflectiveOperationException {
    Object name = plan.children().apply(0);
    Option format = (Option) plan.getClass().getMethod("serdeInfo", new Class[0]).invoke(plan, new Object[0]);
    if (format.isDefined() && name instanceof UnresolvedIdentifier && isOurs(catalog(listed(((UnresolvedIdentifier) name).nameParts())))) {
      throw new Failure(
          "STORED AS: option 'file.format' says how the files of a table are written; leave STORED AS out",
          "UnsupportedError");
    }
  }

  private static TreeMap spec(Object given) {
    TreeMap found = new TreeMap();
    Iterator each = ((UnresolvedPartitionSpec) given).spec().iterator();
    while (each.hasNext()) {
      Tuple2 value = (Tuple2) each.next();
      found.put(value._1(), value._2());
    }
    return found;
  }

  private List parts(String name) throws Throwable {
    return listed((Seq) ((ParserInterface) parser).parseMultipartIdentifier(name));
  }

  private static List parts(UnresolvedTable table) {
    return listed(table.multipartIdentifier());
  }

  private static List listed(Seq items) {
    List found = new ArrayList();
    for (int i = 0; i < items.size(); i++) {
      found.add(items.apply(i));
    }
    return found;
  }

  /** Returns a CALL for a table of Lakebed, with expressions as arguments; null for a table of another catalog. */
  private String call(List table, String procedure, String[] given) {
    String catalog = catalog(table);
    if (!isOurs(catalog)) {
      return null;
    }
    StringBuilder text = new StringBuilder("CALL `" + catalog + "`.sys.`" + procedure + "`(");
    StringBuilder name = new StringBuilder();
    for (int i = 0; i < table.size(); i++) {
      name.append(i > 0 ? "." : "").append((String) table.get(i));
    }
    text.append(literal(name.toString()));
    for (int i = 0; i < given.length; i++) {
      text.append(", ").append(given[i]);
    }
    return text.append(")").toString();
  }

  private String catalog(List table) {
    return table.size() > 2 ? (String) table.get(0) : state.catalogManager().currentCatalog().name();
  }

  private boolean isOurs(String catalog) {
    return catalogs.contains(catalog);
  }

  private static String[] literals(String[] texts) {
    String[] made = new String[texts.length];
    for (int i = 0; i < texts.length; i++) {
      made[i] = literal(texts[i]);
    }
    return made;
  }

  private static String literal(String text) {
    return text == null ? "NULL" : "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private static String plain(String name) {
    return name.startsWith("`") ? name.substring(1, name.length() - 1).replace("``", "`") : name;
  }
}
