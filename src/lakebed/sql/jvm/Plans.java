package lakebed;

import java.lang.reflect.Method;
import org.apache.spark.sql.catalyst.analysis.AssignmentUtils;
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.MetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;
import scala.runtime.AbstractPartialFunction;

/** Logical plans whose columns are made to fit a table or a query. */
public final class Plans {

  /** Returns the columns of a catalog table. The method that makes them takes a flag since Spark 4.3. */
  public static Object columns(StructType schema) throws ReflectiveOperationException {
    Method[] methods = CatalogV2Util.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals("structTypeToV2Columns")) {
        boolean old = methods[i].getParameterTypes().length == 1;
        return methods[i].invoke(null, old ? new Object[] {schema} : new Object[] {schema, Boolean.FALSE});
      }
    }
    throw new NoSuchMethodException("structTypeToV2Columns");
  }

  /**
   * Returns values for all columns of a table, given those that an UPDATE, or an INSERT of a MERGE, sets; with Spark's
   * casts.
   */
  public static Object aligned(String verb, Seq columns, Seq assignments) throws Throwable {
    for (int i = 0; i < assignments.size(); i++) {
      Expression key = ((Assignment) assignments.apply(i)).key();
      if (key instanceof Attribute && MetadataAttribute$.MODULE$.isValid(((Attribute) key).metadata())) {
        throw new Failure(
            "column '" + ((Attribute) key).name() + "' says where a row is stored; it cannot be set", "UnsupportedError");
      }
    }
    return SparkVersions.called(AssignmentUtils.class, "align" + verb + "Assignments", new Object[] {columns, assignments});
  }

  /**
   * Returns the plan of a frame with the columns of a table: matched by name, with Spark's casts, defaults and errors.
   * Fields of structs that the frame lacks are NULL.
   */
  public static LogicalPlan fitted(String table, StructType schema, Dataset frame, SQLConf conf) throws Throwable {
    return (LogicalPlan) SparkVersions.called(
        TableOutputResolver.class,
        "resolveOutputColumns",
        new Object[] {table, DataTypeUtils.toAttributes(schema), shaped(frame.queryExecution().analyzed(), schema),
            Boolean.TRUE, conf, fillsUp()});
  }

  private static LogicalPlan shaped(LogicalPlan plan, StructType schema) {
    ArrayBuffer columns = new ArrayBuffer();
    for (int i = 0; i < plan.output().size(); i++) {
      Attribute given = (Attribute) plan.output().apply(i);
      int place = Shapes.find(schema.fields(), given.name());
      Expression value = (Expression) given;
      if (place >= 0) {
        DataType wanted = schema.fields()[place].dataType();
        value = Shapes.byName(TextCasts.cast(value, wanted, true), wanted, null, true);
      }
      columns.addOne(value == (Object) given ? given : named(value, given.name()));
    }
    return new Project((Seq) columns.toSeq(), plan);
  }

  static Alias named(Expression value, String name) {
    return new Alias(
        value, name, NamedExpression$.MODULE$.newExprId(), (Seq) Nil$.MODULE$, Option.empty(), (Seq) Nil$.MODULE$);
  }

  /** Returns the table that a plan consists of, perhaps below projections that Spark has added; null for other plans. */
  static DataSourceV2Relation tableOf(LogicalPlan plan) {
    LogicalPlan below = plan;
    while (below instanceof Project) {
      below = ((Project) below).child();
    }
    return below instanceof DataSourceV2ScanRelation ? ((DataSourceV2ScanRelation) below).relation() : null;
  }

  /**
   * Returns the columns of a table as a statement refers to them, without metadata columns; {@code plan} is one that
   * {@link #tableOf} knows.
   */
  public static Seq columnsOf(LogicalPlan plan) {
    Seq all = tableOf(plan).output();
    Seq given = plan instanceof Project ? plan.output() : all;
    ArrayBuffer columns = new ArrayBuffer();
    for (int i = 0; i < all.size(); i++) {
      if (!MetadataAttribute$.MODULE$.isValid(((Attribute) all.apply(i)).metadata())) {
        columns.addOne(given.apply(i));
      }
    }
    return (Seq) columns.toSeq();
  }

  /**
   * Returns a plan over other rows of its table; {@code rows} has the columns of the table under the same ids. Spark has
   * analyzed the plan, and does not do it again: the second time it would refuse correlated subqueries.
   */
  public static LogicalPlan over(LogicalPlan plan, LogicalPlan rows) {
    LogicalPlan made = (LogicalPlan) ((TreeNode) plan).transform(new Leaf(rows));
    made.setAnalyzed();
    return made;
  }

  /**
   * Returns an expression whose columns are plain strings instead of CHAR: Spark has padded them and what they are
   * compared with, and would do it again in a new query, also where it has not done it on purpose.
   */
  public static Expression padded(Expression expression) {
    return (Expression) ((TreeNode) expression).transform(new PlainColumns());
  }

  private static final class PlainColumns extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? CharVarcharUtils.cleanAttrMetadata((AttributeReference) node) : otherwise.apply(node);
    }
  }

  /** Replaces a table by another plan. */
  static final class Leaf extends AbstractPartialFunction {
    private final LogicalPlan other;

    Leaf(LogicalPlan other) {
      this.other = other;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof DataSourceV2Relation || node instanceof DataSourceV2ScanRelation;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? other : otherwise.apply(node);
    }
  }

  /** The argument that fills columns without data with their defaults: a flag before Spark 4.2, then a constant. */
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

  /** Returns the plan of a frame under the names and ids of other columns, to which a query refers. */
  public static LogicalPlan columnsAs(Dataset frame, Seq output) {
    return renamed(frame.queryExecution().analyzed(), output);
  }

  public static LogicalPlan renamed(LogicalPlan plan, Seq output) {
    ArrayBuffer columns = new ArrayBuffer();
    for (int i = 0; i < output.size(); i++) {
      AttributeReference wanted = (AttributeReference) output.apply(i);
      Attribute given = (Attribute) plan.output().apply(i);
      columns.addOne(
          new Alias(given, wanted.name(), wanted.exprId(), (Seq) Nil$.MODULE$, Option.empty(), (Seq) Nil$.MODULE$));
    }
    return new Project((Seq) columns.toSeq(), plan);
  }
}
