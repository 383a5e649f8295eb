package lakebed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;

/**
 * Options of a query, such as SELECT ... FROM t WITH ('branch' = 'b'), hidden in the names of tables, for Spark 4.1 and
 * 4.2.
 *
 * These versions call TableCatalog.loadTable without the options; only the scan gets them. That is too late: the
 * options may decide which columns a table has. A table that a query names twice, with different options, is also
 * loaded only once. Spark offers no other way: a parser extension has to be configured before the session starts, and
 * Lakebed attaches to running sessions. Therefore the parser of the session is wrapped. It appends the options to the
 * name of the table, after a control character, and the catalog removes them again. Spark 4.3 passes the options to
 * loadTable, and none of this is used there.
 */
public final class OptionsInNames implements InvocationHandler {

  /** Separates the name of a table from its options. A control character, which no name of a table should contain. */
  private static final String MARK = "\u0001";

  private final SessionState state;
  private final Object parser;
  private final Set catalogs = new HashSet();

  private OptionsInNames(SessionState state) {
    this.state = state;
    this.parser = state.sqlParser();
  }

  /** Wraps the parser of a session, unless it is wrapped, and rewrites the tables of one more catalog. */
  public static void install(SessionState state, String catalog) throws ReflectiveOperationException {
    Field field = SessionState.class.getDeclaredField("sqlParser");
    field.setAccessible(true);
    OptionsInNames known = of(state);
    if (known == null) {
      known = new OptionsInNames(state);
      ClassLoader loader = ParserInterface.class.getClassLoader();
      field.set(state, Proxy.newProxyInstance(loader, new Class[] {ParserInterface.class}, known));
    }
    known.catalogs.add(catalog);
  }

  /** Returns the wrapper of a session's parser, null if there is none. */
  public static OptionsInNames of(SessionState state) {
    Object parser = state.sqlParser();
    boolean ours = Proxy.isProxyClass(parser.getClass()) && Proxy.getInvocationHandler(parser) instanceof OptionsInNames;
    return ours ? (OptionsInNames) Proxy.getInvocationHandler(parser) : null;
  }

  /** Returns the parser that this one wraps. */
  public Object wrapped() {
    return parser;
  }

  private static String encoded(String name, Map options) throws JsonProcessingException {
    return name + MARK + new ObjectMapper().writeValueAsString(options);
  }

  /** Returns the name of a table and its options, a JSON object. */
  public static String[] decoded(String name) {
    int end = name.indexOf(MARK);
    return end < 0 ? new String[] {name, "{}"} : new String[] {name.substring(0, end), name.substring(end + 1)};
  }

  /** Returns Spark's error for a missing table, without the options in its name. */
  public static AnalysisException noSuchTable(String database, String table) {
    String name = "`" + database.replace("`", "``") + "`.`" + table.replace("`", "``") + "`";
    Object parameters = Map$.MODULE$.empty().updated("relationName", name);
    // Since Spark 4.2 the message names the search path.
    parameters = ((scala.collection.immutable.Map) parameters).updated("searchPath", "[`" + database + "`]");
    return new AnalysisException("TABLE_OR_VIEW_NOT_FOUND", (scala.collection.immutable.Map) parameters);
  }

  /** Calls the wrapped parser and rewrites the plans that it returns. */
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    try {
      Object parsed = method.invoke(parser, arguments);
      return parsed instanceof LogicalPlan ? rewritten(parsed) : parsed;
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  /** Returns a plan, or a part of one, with the options of tables in their names; the same object if there are none. */
  private Object rewritten(Object part) {
    if (part instanceof UnresolvedRelation) {
      return aliased((UnresolvedRelation) part);
    }
    if (part instanceof TreeNode) {
      // The target of an INSERT must be a relation, without an alias.
      boolean isInsert = part.getClass().getSimpleName().equals("InsertIntoStatement");
      Object[] elements = elements((Product) part, isInsert);
      return elements == null ? part : ((TreeNode) part).makeCopy(elements);
    }
    if (part instanceof Seq) {
      ArrayBuffer items = new ArrayBuffer();
      boolean changed = false;
      Iterator each = ((Seq) part).iterator();
      while (each.hasNext()) {
        Object item = each.next();
        Object now = rewritten(item);
        changed = changed || now != item;
        items.addOne(now);
      }
      return changed ? items.toSeq() : part;
    }
    if (part instanceof Option && ((Option) part).isDefined()) {
      Object item = ((Option) part).get();
      Object now = rewritten(item);
      return now == item ? part : Option.apply(now);
    }
    if (part instanceof Tuple2 || part instanceof Tuple3) {
      Object[] elements = elements((Product) part, false);
      if (elements == null) {
        return part;
      }
      return elements.length == 2
          ? (Object) new Tuple2(elements[0], elements[1])
          : (Object) new Tuple3(elements[0], elements[1], elements[2]);
    }
    return part;
  }

  private Object[] elements(Product part, boolean isInsert) {
    Object[] elements = new Object[part.productArity()];
    boolean changed = false;
    for (int i = 0; i < elements.length; i++) {
      Object element = part.productElement(i);
      boolean isTarget = isInsert && element instanceof UnresolvedRelation;
      elements[i] = isTarget ? named((UnresolvedRelation) element) : rewritten(element);
      changed = changed || elements[i] != element;
    }
    return changed ? elements : null;
  }

  /** Returns a relation with its options in its name, aliased to the name that the query uses. */
  public LogicalPlan aliased(UnresolvedRelation relation) {
    LogicalPlan named = named(relation);
    Seq parts = relation.multipartIdentifier();
    return named == relation
        ? named
        : new SubqueryAlias(new AliasIdentifier((String) parts.last(), (Seq) parts.init()), named);
  }

  private LogicalPlan named(UnresolvedRelation relation) {
    TreeMap own = new TreeMap();
    TreeMap others = new TreeMap(); // Spark's own
    java.util.Iterator all = relation.options().asCaseSensitiveMap().entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry option = (Map.Entry) all.next();
      (isSparks((String) option.getKey()) ? others : own).put(option.getKey(), option.getValue());
    }
    if (own.isEmpty() || !isOurs(relation.multipartIdentifier())) {
      return relation;
    }
    ArrayBuffer parts = new ArrayBuffer();
    Iterator each = ((Seq) relation.multipartIdentifier().init()).iterator();
    while (each.hasNext()) {
      parts.addOne(each.next());
    }
    try {
      parts.addOne(encoded((String) relation.multipartIdentifier().last(), own));
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
    LogicalPlan named = (LogicalPlan) SparkVersions.made(
        UnresolvedRelation.class,
        new Object[] {parts.toSeq(), new CaseInsensitiveStringMap(others), Boolean.valueOf(relation.isStreaming())});
    named.copyTagsFrom(relation);
    return named;
  }

  private static boolean isSparks(String option) {
    return option.startsWith("__") || option.equalsIgnoreCase("versionAsOf") || option.equalsIgnoreCase("timestampAsOf");
  }

  private boolean isOurs(Seq parts) {
    return catalogs.contains(parts.size() > 2 ? parts.head() : state.catalogManager().currentCatalog().name());
  }
}
