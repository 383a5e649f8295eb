package lakebed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.AssignmentUtils;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.AnalyzeColumn;
import org.apache.spark.sql.catalyst.plans.logical.AnalyzeTable;
import org.apache.spark.sql.catalyst.plans.logical.AnalyzeTables;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * What the catalog's Python cannot do itself: extend classes of Spark (proxies are for interfaces only), and walk trees of
 * objects, where Py4J would make a round trip for every node. Compiled in the driver by the compiler that Spark brings along
 * for its own generated code; nothing of it travels to executors.
 */
public final class Bridge {

  /** What separates the name of a table from its options, where those are told in the name. */
  private static final String OPTIONS_MARK = "\u0001";

  /** The rule that puts plans in the place of scans, to be added to a session's optimizer. */
  public Rule scanRule() {
    return new ScanRule();
  }

  /** Makes a table function known that reads a table with an option, whose value are the other arguments. */
  public void registerFunction(SessionState state, String name, String option) {
    state.tableFunctionRegistry().createOrReplaceTempFunction(name, new Reading(state, name, option), "built-in");
  }

  /**
   * Tells the tables of a catalog the options of a query when they are loaded. Spark does so by itself since 4.3; before, only
   * scans get them, and a table that a query names twice has the options of the first in both places. So the session's parser
   * puts them into the table's name, after a mark, from which the catalog takes them.
   */
  public void tellOptions(SessionState state, String catalog) throws ReflectiveOperationException {
    Field field = SessionState.class.getDeclaredField("sqlParser");
    field.setAccessible(true);
    OptionsInNames known = optionsInNames(state);
    if (known == null) {
      known = new OptionsInNames(state);
      ClassLoader loader = ParserInterface.class.getClassLoader();
      field.set(state, Proxy.newProxyInstance(loader, new Class[] {ParserInterface.class}, known));
    }
    known.catalogs.add(catalog);
  }

  private static OptionsInNames optionsInNames(SessionState state) {
    Object parser = state.sqlParser();
    boolean ours = Proxy.isProxyClass(parser.getClass()) && Proxy.getInvocationHandler(parser) instanceof OptionsInNames;
    return ours ? (OptionsInNames) Proxy.getInvocationHandler(parser) : null;
  }

  /** A parser that gives what another one does, with the options of tables in their names. */
  private static final class OptionsInNames implements InvocationHandler {
    private final SessionState state;
    private final Object parser;
    final Set catalogs = new HashSet();

    OptionsInNames(SessionState state) {
      this.state = state;
      this.parser = state.sqlParser();
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      try {
        Object parsed = method.invoke(parser, arguments);
        return parsed instanceof LogicalPlan ? rewritten(parsed) : parsed;
      } catch (InvocationTargetException error) {
        throw error.getCause();
      }
    }

    /** A plan, or a part of one, with the options of all tables in their names; the same object if there are none. */
    private Object rewritten(Object part) {
      if (part instanceof UnresolvedRelation) {
        return aliased((UnresolvedRelation) part);
      }
      if (part instanceof TreeNode) {
        // The target of an INSERT is a table by its name alone.
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
        elements[i] = isTarget ? told((UnresolvedRelation) element) : rewritten(element);
        changed = changed || elements[i] != element;
      }
      return changed ? elements : null;
    }

    /** The relation with its options in its name, under the name that the query knows. */
    LogicalPlan aliased(UnresolvedRelation relation) {
      LogicalPlan told = told(relation);
      Seq parts = relation.multipartIdentifier();
      return told == relation
          ? told
          : new SubqueryAlias(new AliasIdentifier((String) parts.last(), (Seq) parts.init()), told);
    }

    private LogicalPlan told(UnresolvedRelation relation) {
      TreeMap own = new TreeMap();
      TreeMap others = new TreeMap(); // notes of Spark to itself
      java.util.Iterator all = relation.options().asCaseSensitiveMap().entrySet().iterator();
      while (all.hasNext()) {
        Map.Entry option = (Map.Entry) all.next();
        (((String) option.getKey()).startsWith("__") ? others : own).put(option.getKey(), option.getValue());
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
        parts.addOne(relation.multipartIdentifier().last() + OPTIONS_MARK + new ObjectMapper().writeValueAsString(own));
      } catch (JsonProcessingException error) {
        throw new IllegalStateException(error);
      }
      LogicalPlan told = (LogicalPlan) made(
          UnresolvedRelation.class,
          new Object[] {parts.toSeq(), new CaseInsensitiveStringMap(others), Boolean.valueOf(relation.isStreaming())});
      told.copyTagsFrom(relation);
      return told;
    }

    private boolean isOurs(Seq parts) {
      return catalogs.contains(parts.size() > 2 ? parts.head() : state.catalogManager().currentCatalog().name());
    }
  }

  /** The relation that such a function stands for: a table by its name, with the option. */
  private static final class Reading extends AbstractFunction1 {
    private final SessionState state;
    private final String name;
    private final String option;

    Reading(SessionState state, String name, String option) {
      this.state = state;
      this.name = name;
      this.option = option;
    }

    public Object apply(Object given) {
      Seq arguments = (Seq) given;
      StringBuilder value = new StringBuilder();
      for (int i = 1; i < arguments.size(); i++) {
        value.append(i > 1 ? "," : "").append(constant(arguments.apply(i)));
      }
      if (arguments.size() < 2) {
        throw new Failure(name + " takes the name of a table and what to read of it", "OptionError");
      }
      ArrayBuffer parts = new ArrayBuffer();
      String[] split = constant(arguments.apply(0)).split("\\.");
      for (int i = 0; i < split.length; i++) {
        parts.addOne(split[i].replace("`", ""));
      }
      TreeMap options = new TreeMap();
      options.put(option, value.toString());
      Object relation = made(
          UnresolvedRelation.class, new Object[] {parts.toSeq(), new CaseInsensitiveStringMap(options), Boolean.FALSE});
      OptionsInNames tells = optionsInNames(state);
      return tells == null ? relation : tells.aliased((UnresolvedRelation) relation);
    }

    private String constant(Object argument) {
      org.apache.spark.sql.catalyst.expressions.Expression expression =
          (org.apache.spark.sql.catalyst.expressions.Expression) argument;
      if (!expression.resolved() || !expression.foldable()) {
        throw new Failure(name + " takes constants, not " + expression.sql(), "OptionError");
      }
      return String.valueOf(expression.eval(null));
    }
  }

  /** Columns as the catalog interface has them. What makes them takes a flag since Spark 4.3. */
  public Object columns(StructType schema) throws ReflectiveOperationException {
    Method[] methods = CatalogV2Util.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals("structTypeToV2Columns")) {
        boolean old = methods[i].getParameterTypes().length == 1;
        return methods[i].invoke(null, old ? new Object[] {schema} : new Object[] {schema, Boolean.FALSE});
      }
    }
    throw new NoSuchMethodException("structTypeToV2Columns");
  }

  /** An error of Lakebed with its message, and the name of its class in Python. */
  public static final class Failure extends UnsupportedOperationException {
    private final String kind;

    Failure(String message, String kind) {
      super(message);
      this.kind = kind;
    }

    public String kind() {
      return kind;
    }
  }

  /** Such an error; unchecked, as few methods declare any, and of a class that Spark's commands let through as it is. */
  public Failure failure(String message, String kind) {
    return new Failure(message, kind);
  }

  /** Spark's own error for a table that is not there, under the name that the user wrote. */
  public AnalysisException noSuchTable(String database, String table) {
    String name = "`" + database.replace("`", "``") + "`.`" + table.replace("`", "``") + "`";
    Object words = Map$.MODULE$.empty().updated("relationName", name);
    words = ((scala.collection.immutable.Map) words).updated("searchPath", "[`" + database + "`]"); // since Spark 4.2
    return new AnalysisException("TABLE_OR_VIEW_NOT_FOUND", (scala.collection.immutable.Map) words);
  }

  /** The settings of a session whose names start with a prefix, as JSON. */
  public String settings(SQLConf conf, String prefix) throws JsonProcessingException {
    TreeMap found = new TreeMap();
    Iterator all = conf.getAllConfs().iterator();
    while (all.hasNext()) {
      Tuple2 setting = (Tuple2) all.next();
      if (((String) setting._1()).startsWith(prefix)) {
        found.put(((String) setting._1()).substring(prefix.length()), setting._2());
      }
    }
    return new ObjectMapper().writeValueAsString(found);
  }

  /** Conditions as JSON: ["op", [children]], {"column": [names]}, {"value": text, "type": name}, or null for what is unknown. */
  public String describe(Predicate[] conditions) throws JsonProcessingException {
    List all = new ArrayList();
    for (int i = 0; i < conditions.length; i++) {
      all.add(tree(conditions[i]));
    }
    return new ObjectMapper().writeValueAsString(all);
  }

  /** Rows of Spark from the texts of its inner values, a JSON list of lists. */
  public InternalRow[] rows(String texts, StructType schema) throws JsonProcessingException {
    List all = (List) new ObjectMapper().readValue(texts, List.class);
    InternalRow[] rows = new InternalRow[all.size()];
    for (int i = 0; i < rows.length; i++) {
      List given = (List) all.get(i);
      Object[] values = new Object[given.size()];
      for (int j = 0; j < values.length; j++) {
        values[j] = given.get(j) == null ? null : value((String) given.get(j), schema.fields()[j].dataType());
      }
      rows[i] = new GenericInternalRow(values);
    }
    return rows;
  }

  /** The texts of the inner values of a row of Spark, a JSON list. */
  public String values(InternalRow row, StructType schema) throws JsonProcessingException {
    List texts = new ArrayList();
    for (int i = 0; i < row.numFields(); i++) {
      texts.add(row.isNullAt(i) ? null : text(row.get(i, schema.fields()[i].dataType())));
    }
    return new ObjectMapper().writeValueAsString(texts);
  }

  private static Object value(String text, DataType type) {
    if (type instanceof StringType) {
      return UTF8String.fromString(text);
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return Integer.valueOf(text);
    } else if (type instanceof BooleanType) {
      return Boolean.valueOf(text);
    } else if (type instanceof ByteType) {
      return Byte.valueOf(text);
    } else if (type instanceof ShortType) {
      return Short.valueOf(text);
    } else if (type instanceof FloatType) {
      return Float.valueOf(text);
    } else if (type instanceof DoubleType) {
      return Double.valueOf(text);
    } else if (type instanceof DecimalType) {
      return Decimal.apply(new BigDecimal(text), ((DecimalType) type).precision(), ((DecimalType) type).scale());
    }
    return Long.valueOf(text);
  }

  private static Object tree(Expression expression) {
    if (expression instanceof Literal) {
      Literal literal = (Literal) expression;
      TreeMap node = new TreeMap();
      node.put("value", text(literal.value()));
      node.put("type", literal.dataType().catalogString());
      return node;
    }
    if (expression instanceof NamedReference) {
      TreeMap node = new TreeMap();
      node.put("column", ((NamedReference) expression).fieldNames());
      return node;
    }
    if (!(expression instanceof GeneralScalarExpression)) {
      return null;
    }
    List children = new ArrayList();
    Expression[] below = expression.children();
    for (int i = 0; i < below.length; i++) {
      children.add(tree(below[i]));
    }
    List node = new ArrayList();
    node.add(((GeneralScalarExpression) expression).name());
    node.add(children);
    return node;
  }

  private static String text(Object value) {
    if (value instanceof byte[]) {
      byte[] bytes = (byte[]) value;
      StringBuilder hex = new StringBuilder();
      for (int i = 0; i < bytes.length; i++) {
        hex.append(Character.forDigit((bytes[i] >> 4) & 15, 16)).append(Character.forDigit(bytes[i] & 15, 16));
      }
      return hex.toString();
    }
    return value == null ? null : value.toString();
  }

  private static final class ScanRule extends Rule {
    public TreeNode apply(TreeNode plan) {
      if (plan instanceof MergeIntoTable || plan instanceof UpdateTable || plan instanceof DeleteFromTable) {
        return changeOfRows((LogicalPlan) plan);
      }
      if (plan instanceof AnalyzeTable || plan instanceof AnalyzeColumn) {
        return analysis((LogicalPlan) plan);
      }
      if (plan instanceof AnalyzeTables) {
        throw new Failure("ANALYZE TABLES is not supported by Lakebed; write ANALYZE TABLE for each table", "UnsupportedError");
      }
      if (plan instanceof V2WriteCommand) {
        return namedColumns(dynamicOverwrite(plan));
      }
      if (plan.getClass().getSimpleName().equals("AddCheckConstraint")) {
        return plan; // it names its table by a scan, which Spark must find
      }
      return plan.transform(new ScanToPlan());
    }

    public String ruleName() {
      return "lakebed.ScanRule";
    }
  }

  /** What Spark leaves to its tables row by row: Python is asked for the write that does it, as one DataFrame and commit. */
  private static TreeNode changeOfRows(LogicalPlan plan) {
    LogicalPlan target = (LogicalPlan) plan.children().apply(0);
    if (!(target instanceof DataSourceV2ScanRelation)) {
      return plan;
    }
    DataSourceV2Relation relation = ((DataSourceV2ScanRelation) target).relation();
    if (!(relation.table() instanceof Function) || plan instanceof DeleteFromTable && byCondition(plan, relation)) {
      return plan;
    }
    checkAssignments(plan, relation);
    return asWrite(plan, relation);
  }

  /** Refuses what cannot be assigned here, where nothing stands between Spark and its own error. */
  private static void checkAssignments(LogicalPlan plan, DataSourceV2Relation relation) {
    try {
      if (plan instanceof UpdateTable) {
        aligned("Update", relation.output(), ((UpdateTable) plan).assignments());
      } else if (plan instanceof MergeIntoTable) {
        MergeIntoTable merge = (MergeIntoTable) plan;
        checkActions(merge.matchedActions(), relation);
        checkActions(merge.notMatchedActions(), relation);
        checkActions(merge.notMatchedBySourceActions(), relation);
      }
    } catch (Throwable error) {
      Platform.throwException(error);
    }
  }

  private static void checkActions(Seq actions, DataSourceV2Relation relation) throws Throwable {
    for (int i = 0; i < actions.size(); i++) {
      if (actions.apply(i) instanceof UpdateAction) {
        aligned("Update", relation.output(), ((UpdateAction) actions.apply(i)).assignments());
      } else if (actions.apply(i) instanceof InsertAction) {
        aligned("Insert", relation.output(), ((InsertAction) actions.apply(i)).assignments());
      }
    }
  }

  /** ANALYZE, which Spark itself knows for tables of its own catalog only. */
  private static TreeNode analysis(LogicalPlan plan) {
    Object target = plan.children().apply(0);
    if (!(target instanceof ResolvedTable) || !(((ResolvedTable) target).table() instanceof Function)) {
      return plan;
    }
    ResolvedTable resolved = (ResolvedTable) target;
    return asWrite(
        plan,
        DataSourceV2Relation.create(
            resolved.table(), Option.apply(resolved.catalog()), Option.apply(resolved.identifier())));
  }

  /** A write of no rows to a table, in which Python does what a plan says. */
  private static TreeNode asWrite(LogicalPlan plan, DataSourceV2Relation relation) {
    Object write = ((Function) relation.table()).apply(plan);
    Object nothing =
        made(LocalRelation.class, new Object[] {relation.output(), Nil$.MODULE$, Boolean.FALSE, Option.empty()});
    return (TreeNode) made(
        AppendData.class,
        new Object[] {relation, nothing, Map$.MODULE$.empty(), Boolean.FALSE, Option.apply(write), Option.apply(nothing)});
  }

  /** Whether a delete is one that the table does by itself, without a job. */
  private static boolean byCondition(LogicalPlan plan, DataSourceV2Relation relation) {
    org.apache.spark.sql.catalyst.expressions.Expression condition = ((DeleteFromTable) plan).condition();
    if (SubqueryExpression$.MODULE$.hasSubquery(condition)) {
      return false;
    }
    Option translated = DataSourceV2Strategy$.MODULE$.translateFilterV2(condition);
    return translated.isDefined()
        && ((SupportsDeleteV2) relation.table()).canDeleteWhere(new Predicate[] {(Predicate) translated.get()});
  }

  /** Commands run their query anew, as a DataFrame that they hand to Python; its scans get their plans there. */
  private static TreeNode dynamicOverwrite(TreeNode plan) {
    if (!(plan instanceof OverwritePartitionsDynamic)) {
      return plan;
    }
    OverwritePartitionsDynamic command = (OverwritePartitionsDynamic) plan;
    if (command.write().isEmpty() || !(command.write().get() instanceof V1Write)) {
      return plan;
    }
    // Spark hands a whole query only to an overwrite by a condition. What it replaces is known to the write.
    return (TreeNode) made(
        OverwriteByExpression.class,
        new Object[] {((V2WriteCommand) command).table(), Literal$.MODULE$.TrueLiteral(), command.query(), command.writeOptions(),
            Boolean.valueOf(command.isByName()), command.write(), Option.apply(command.query())});
  }

  /** Rows for a table that takes any columns: those that came by position get the table's names, extra ones keep theirs. */
  private static TreeNode namedColumns(TreeNode plan) {
    V2WriteCommand command = (V2WriteCommand) plan;
    if (command.isByName() || !(command.table() instanceof DataSourceV2Relation)) {
      return plan;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) command.table();
    if (!(relation.table() instanceof Function)
        || !relation.table().capabilities().contains(TableCapability.ACCEPT_ANY_SCHEMA)) {
      return plan;
    }
    if (plan instanceof AppendData && ((AppendData) plan).analyzedQuery().isDefined()) {
      AppendData append = (AppendData) plan;
      Option query = Option.apply(byPosition(relation, (LogicalPlan) append.analyzedQuery().get()));
      return (TreeNode) made(
          AppendData.class,
          new Object[] {relation, append.query(), append.writeOptions(), Boolean.TRUE, append.write(), query});
    }
    if (plan instanceof OverwriteByExpression && ((OverwriteByExpression) plan).analyzedQuery().isDefined()) {
      OverwriteByExpression over = (OverwriteByExpression) plan;
      Option query = Option.apply(byPosition(relation, (LogicalPlan) over.analyzedQuery().get()));
      return (TreeNode) made(
          OverwriteByExpression.class,
          new Object[] {relation, over.deleteExpr(), over.query(), over.writeOptions(), Boolean.TRUE, over.write(), query});
    }
    return plan;
  }

  private static LogicalPlan byPosition(DataSourceV2Relation relation, LogicalPlan query) {
    Seq wanted = relation.output();
    Seq given = query.output();
    if (given.size() < wanted.size()) {
      throw new Failure(
          "table " + relation.table().name() + " has " + wanted.size() + " columns, and the rows have " + given.size()
              + "; name the columns, or write INSERT INTO ... BY NAME",
          "DataError");
    }
    ArrayBuffer columns = new ArrayBuffer();
    for (int i = 0; i < given.size(); i++) {
      Attribute column = (Attribute) given.apply(i);
      String name = i < wanted.size() ? ((Attribute) wanted.apply(i)).name() : column.name();
      columns.addOne(
          new Alias(column, name, NamedExpression$.MODULE$.newExprId(), (Seq) Nil$.MODULE$, Option.empty(),
              (Seq) Nil$.MODULE$));
    }
    return new Project((Seq) columns.toSeq(), query);
  }

  /** Values for all columns of a table out of those that an UPDATE or an INSERT of a MERGE sets, as Spark does it. */
  public static Object aligned(String verb, Seq columns, Seq assignments) throws Throwable {
    return called(AssignmentUtils.class, "align" + verb + "Assignments", new Object[] {columns, assignments});
  }

  /** The rows of a frame as a table takes them: by name, with the casts, the defaults and the errors of Spark. */
  public LogicalPlan fitted(String table, StructType schema, Dataset frame, SQLConf conf) throws Throwable {
    return (LogicalPlan) called(
        TableOutputResolver.class,
        "resolveOutputColumns",
        new Object[] {table, DataTypeUtils.toAttributes(schema), frame.queryExecution().analyzed(), Boolean.TRUE, conf,
            fillsUp()});
  }

  /** What says that columns without data get their defaults: a flag before Spark 4.2. */
  private static Object fillsUp() throws ReflectiveOperationException {
    Method[] methods = TableOutputResolver.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      Class[] types = methods[i].getParameterTypes();
      if (methods[i].getName().equals("resolveOutputColumns") && types[types.length - 1] == Boolean.TYPE) {
        return Boolean.TRUE;
      }
    }
    Class modes =
        Thread.currentThread().getContextClassLoader().loadClass(TableOutputResolver.class.getName() + "$DefaultValueFillMode$");
    return modes.getMethod("FILL", new Class[0]).invoke(modes.getField("MODULE$").get(null), new Object[0]);
  }

  /** What a method gives that has grown flags from version to version; those that are not given are false. */
  private static Object called(Class type, String name, Object[] given) throws Throwable {
    Method[] methods = type.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals(name)) {
        try {
          return methods[i].invoke(null, filled(methods[i].getParameterTypes(), given));
        } catch (InvocationTargetException error) {
          throw error.getCause();
        }
      }
    }
    throw new NoSuchMethodException(name);
  }

  /** A node of a class whose constructor has grown flags from version to version; those that are not given are false. */
  private static Object made(Class type, Object[] given) {
    Constructor constructor = type.getConstructors()[0];
    try {
      return constructor.newInstance(filled(constructor.getParameterTypes(), given));
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("cannot make a " + type.getName(), error);
    }
  }

  private static Object[] filled(Class[] types, Object[] given) {
    Object[] arguments = new Object[types.length];
    int next = 0;
    for (int i = 0; i < types.length; i++) {
      boolean fits = next < given.length && (types[i].isInstance(given[next]) || isFlag(types[i], given[next]));
      arguments[i] = fits ? given[next++] : Boolean.FALSE;
    }
    return arguments;
  }

  private static boolean isFlag(Class type, Object value) {
    return type == Boolean.TYPE && value instanceof Boolean;
  }

  /** The plan of a frame with the names and identities of other columns, to which a query refers. */
  public LogicalPlan columnsAs(Dataset frame, Seq output) {
    return renamed(frame.queryExecution().analyzed(), output);
  }

  private static LogicalPlan renamed(LogicalPlan plan, Seq output) {
    ArrayBuffer columns = new ArrayBuffer();
    for (int i = 0; i < output.size(); i++) {
      AttributeReference wanted = (AttributeReference) output.apply(i);
      Attribute given = (Attribute) plan.output().apply(i);
      columns.addOne(
          new Alias(given, wanted.name(), wanted.exprId(), (Seq) Nil$.MODULE$, Option.empty(), (Seq) Nil$.MODULE$));
    }
    return new Project((Seq) columns.toSeq(), plan);
  }

  /** A scan of ours is a Supplier of a DataFrame, whose plan takes its place under the names that the query knows. */
  private static final class ScanToPlan extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof DataSourceV2ScanRelation && ((DataSourceV2ScanRelation) node).scan() instanceof Supplier;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) node;
      Dataset frame = (Dataset) ((Supplier) relation.scan()).get();
      LogicalPlan plan = frame.queryExecution().optimizedPlan();
      return renamed(plan, relation.output());
    }
  }
}
