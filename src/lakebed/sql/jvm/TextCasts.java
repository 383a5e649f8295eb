package lakebed;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;

/**
 * Texts that a statement writes to columns of other types, such as {@code '2024-01-01'} to a DATE. Spark refuses them;
 * Paimon's connector casts them. A text that is no value of the type fails, whatever {@code spark.sql.ansi.enabled} says.
 *
 * <p>Only the store assignment policy ANSI, the default, is changed: LEGACY casts by itself, STRICT is what the user wants.
 */
final class TextCasts {

  /** Returns a value as one of the wanted type if it is a text and the type is another one; otherwise the value itself. */
  static Expression cast(Expression value, DataType wanted) {
    DataType given = value.dataType();
    boolean applies =
        given instanceof StringType
            && wanted instanceof AtomicType
            && !(wanted instanceof StringType)
            && !Cast$.MODULE$.canANSIStoreAssign(given, wanted)
            && Cast$.MODULE$.canAnsiCast(given, wanted)
            && ((SQLConf) SQLConf.get()).storeAssignmentPolicy().toString().equals("ANSI");
    return applies ? new Cast(value, wanted, Option.empty(), EvalMode$.MODULE$.ANSI()) : value;
  }

  /**
   * Returns an INSERT into a table with its texts cast, null if there is none. Spark checks types in the rule after the one
   * that turns this plan into a write, so it must be changed before.
   */
  static LogicalPlan ofInsert(InsertIntoStatement insert) {
    LogicalPlan query = insert.query();
    if (!(insert.table() instanceof DataSourceV2Relation) || !query.resolved()) {
      return null;
    }
    DataSourceV2Relation table = (DataSourceV2Relation) insert.table();
    if (!ResolutionRule.isOurs(table) || table.table().capabilities().contains(TableCapability.ACCEPT_ANY_SCHEMA)) {
      return null;
    }
    ArrayBuffer columns = new ArrayBuffer();
    boolean changes = false;
    for (int i = 0; i < query.output().size(); i++) {
      Attribute given = (Attribute) query.output().apply(i);
      Attribute wanted = target(insert, table, given, i);
      Expression value = wanted == null ? (Expression) given : cast((Expression) given, wanted.dataType());
      changes |= value != given;
      columns.addOne(value == given ? given : Plans.named(value, given.name()));
    }
    if (!changes) {
      return null;
    }
    ArrayBuffer children = new ArrayBuffer();
    children.addOne(new Project((Seq) columns.toSeq(), query));
    return (LogicalPlan) ((TreeNode) insert).withNewChildren((Seq) children.toSeq());
  }

  /** Returns the column of the table that a column of the query is for; null if there is none. */
  private static Attribute target(InsertIntoStatement insert, DataSourceV2Relation table, Attribute given, int place) {
    if (insert.byName()) {
      return ResolutionRule.find(table.output(), given.name());
    }
    Seq names = insert.userSpecifiedCols();
    if (!names.isEmpty()) {
      return place < names.size() ? ResolutionRule.find(table.output(), (String) names.apply(place)) : null;
    }
    int next = 0;
    for (int i = 0; i < table.output().size(); i++) {
      Attribute column = (Attribute) table.output().apply(i);
      if (!isStatic(insert, column) && next++ == place) {
        return column;
      }
    }
    return null;
  }

  /** Whether PARTITION (...) gives the value of a column. */
  private static boolean isStatic(InsertIntoStatement insert, Attribute column) {
    Iterator each = insert.partitionSpec().iterator();
    while (each.hasNext()) {
      Tuple2 part = (Tuple2) each.next();
      if (((String) part._1()).equalsIgnoreCase(column.name()) && ((Option) part._2()).isDefined()) {
        return true;
      }
    }
    return false;
  }
}
