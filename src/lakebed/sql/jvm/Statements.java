package lakebed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedPartitionSpec;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.DropPartitions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowTablePartition;
import org.apache.spark.sql.internal.SessionState;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Statements of Paimon that Spark does not know, and statements that Spark restricts more than Paimon: tags in ALTER
 * TABLE, SHOW TAGS, DROP PARTITION with a part of the partition columns, SHOW TABLE EXTENDED ... PARTITION.
 *
 * The parser of the session is wrapped, because a parser extension has to be configured before the session starts. A
 * statement for a table of Lakebed becomes a CALL of a procedure that the list of procedures does not show. All other
 * statements pass unchanged.
 */
public final class Statements implements InvocationHandler {

  private static final String PART = "(?:`(?:[^`]|``)+`|[^\\s`.;'\"]+)";
  private static final String NAME = "(" + PART + "(?:\\s*\\.\\s*" + PART + ")*)";
  private static final String TAG = "(" + PART + ")";
  private static final Pattern SET_TAG = pattern(
      "ALTER\\s+TABLE\\s+" + NAME + "\\s+(CREATE\\s+OR\\s+REPLACE|CREATE|REPLACE)\\s+TAG\\s+(IF\\s+NOT\\s+EXISTS\\s+)?" + TAG
          + "(?:\\s+AS\\s+OF\\s+VERSION\\s+(\\d+))?(?:\\s+RETAIN\\s+(\\d+)\\s+(DAY|HOUR|MINUTE)S?)?");
  private static final Pattern DELETE_TAG =
      pattern("ALTER\\s+TABLE\\s+" + NAME + "\\s+DELETE\\s+TAG\\s+(IF\\s+EXISTS\\s+)?" + TAG);
  private static final Pattern RENAME_TAG =
      pattern("ALTER\\s+TABLE\\s+" + NAME + "\\s+RENAME\\s+TAG\\s+" + TAG + "\\s+TO\\s+" + TAG);
  private static final Pattern SHOW_TAGS = pattern("SHOW\\s+TAGS\\s+" + NAME);

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
      if (call == null) {
        Object parsed = method.invoke(parser, arguments);
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
      return call(parts(set.group(1)), "set tag", new String[] {how, plain(set.group(4)), set.group(5), retained});
    }
    Matcher delete = DELETE_TAG.matcher(text);
    if (delete.matches()) {
      return call(parts(delete.group(1)), "delete tags", new String[] {plain(delete.group(3))});
    }
    Matcher rename = RENAME_TAG.matcher(text);
    if (rename.matches()) {
      return call(parts(rename.group(1)), "change tag name", new String[] {plain(rename.group(2)), plain(rename.group(3))});
    }
    Matcher show = SHOW_TAGS.matcher(text);
    return show.matches() ? call(parts(show.group(1)), "show tags", new String[0]) : null;
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
      return call(parts((UnresolvedTable) drop.table()), "drop partitions", given);
    }
    if (plan instanceof ShowTablePartition && ((ShowTablePartition) plan).table() instanceof UnresolvedTable) {
      ShowTablePartition show = (ShowTablePartition) plan;
      if (!(show.partitionSpec() instanceof UnresolvedPartitionSpec)) {
        return null;
      }
      String[] given = new String[] {new ObjectMapper().writeValueAsString(spec(show.partitionSpec()))};
      return call(parts((UnresolvedTable) show.table()), "show partition", given);
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
    if (format.isDefined() && name instanceof UnresolvedIdentifier && isOurs(listed(((UnresolvedIdentifier) name).nameParts()))) {
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

  /** Returns a CALL for a table of Lakebed, null for a table of another catalog. */
  private String call(List table, String procedure, String[] given) {
    if (!isOurs(table)) {
      return null;
    }
    String catalog = catalogOf(table);
    StringBuilder text = new StringBuilder("CALL `" + catalog + "`.sys.`" + procedure + "`(");
    StringBuilder name = new StringBuilder();
    for (int i = 0; i < table.size(); i++) {
      name.append(i > 0 ? "." : "").append((String) table.get(i));
    }
    text.append(literal(name.toString()));
    for (int i = 0; i < given.length; i++) {
      text.append(", ").append(literal(given[i]));
    }
    return text.append(")").toString();
  }

  private String catalogOf(List table) {
    return table.size() > 2 ? (String) table.get(0) : state.catalogManager().currentCatalog().name();
  }

  private boolean isOurs(List table) {
    return catalogs.contains(catalogOf(table));
  }

  private static String literal(String text) {
    return text == null ? "NULL" : "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private static String plain(String name) {
    return name.startsWith("`") ? name.substring(1, name.length() - 1).replace("``", "`") : name;
  }
}
