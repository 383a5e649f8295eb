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
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
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

  /**
   * Returns a value with its texts cast, also those inside of arrays, maps and structs; the value itself if it has none. The
   * fields of its structs belong to those of the same name, or to those at the same place.
   */
  static Expression cast(Expression value, DataType wanted, boolean byName) {
    DataType given = value.dataType();
    DataType cast = castType(given, wanted, byName);
    boolean applies = cast != given && ((SQLConf) SQLConf.get()).storeAssignmentPolicy().toString().equals("ANSI");
    return applies ? new Cast(value, cast, Option.empty(), EvalMode$.MODULE$.ANSI()) : value;
  }

  /** Returns a type with the wanted types in place of its texts; the type itself if none is to be cast. */
  private static DataType castType(DataType given, DataType wanted, boolean byName) {
    if (given instanceof ArrayType && wanted instanceof ArrayType) {
      ArrayType array = (ArrayType) given;
      DataType element = castType(array.elementType(), ((ArrayType) wanted).elementType(), byName);
      return element == array.elementType() ? given : new ArrayType(element, array.containsNull());
    }
    if (given instanceof MapType && wanted instanceof MapType) {
      MapType map = (MapType) given;
      DataType key = castType(map.keyType(), ((MapType) wanted).keyType(), byName);
      DataType value = castType(map.valueType(), ((MapType) wanted).valueType(), byName);
      return key == map.keyType() && value == map.valueType() ? given : new MapType(key, value, map.valueContainsNull());
    }
    if (given instanceof StructType && wanted instanceof StructType) {
      return castFields((StructType) given, (StructType) wanted, byName);
    }
    boolean applies =
        given instanceof StringType
            && wanted instanceof AtomicType
            && !(wanted instanceof StringType)
            && !Cast$.MODULE$.canANSIStoreAssign(given, wanted)
            && Cast$.MODULE$.canAnsiCast(given, wanted);
    return applies ? wanted : given;
  }

  private static DataType castFields(StructType given, StructType wanted, boolean byName) {
    StructField[] fields = new StructField[given.fields().length];
    boolean changes = false;
    for (int i = 0; i < fields.length; i++) {
      StructField field = given.fields()[i];
      int place = byName ? Shapes.find(wanted.fields(), field.name()) : i;
      boolean known = place >= 0 && place < wanted.fields().length;
      DataType type = known ? castType(field.dataType(), wanted.fields()[place].dataType(), byName) : field.dataType();
      changes |= type != field.dataType();
      fields[i] = new StructField(field.name(), type, field.nullable(), field.metadata());
    }
    return changes ? new StructType(fields) : given;
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
      Expression value = wanted == null ? (Expression) given : cast((Expression) given, wanted.dataType(), insert.byName());
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
