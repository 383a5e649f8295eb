package lakebed;

import java.util.function.Function;
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.InsertStarAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateStarAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.StructType$;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;
import scala.runtime.AbstractPartialFunction;

/**
 * Resolves what Spark leaves open in UPDATE and MERGE of Lakebed's tables, and in new tables (NewTables.java).
 *
 * <p>A MERGE of a table that accepts any columns ({@code write.merge-schema}): the rule asks the table for itself with the
 * new columns of the source, and writes out UPDATE SET * and INSERT *. Columns that the source lacks stay as they are, or
 * get their defaults.
 *
 * <p>Structs: their fields are matched by name. Spark would cast them by position.
 *
 * <p>Texts in INSERT, UPDATE and MERGE: they are cast to the types of the columns (TextCasts.java).
 *
 * <p>Functions of the catalog: they take constants only (Calls.java).
 *
 * <p>The function input_file_name() over an append table: it becomes the metadata column with the path of the file.
 */
public final class ResolutionRule extends Rule {

  /** The name by which a session knows the rule. */
  public static final String NAME = "lakebed.ResolutionRule";

  private static final String FILE_PATH = "__paimon_file_path";

  private static final String MERGE_SCHEMA = "write.merge-schema";

  public TreeNode apply(TreeNode plan) {
    TreeNode resolved = plan.transform(new Inserts()).transform(new Statements()).transform(new InputFiles());
    return resolved.transform(new Calls());
  }

  public String ruleName() {
    return NAME;
  }

  private static final class Inserts extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof InsertIntoStatement && TextCasts.ofInsert((InsertIntoStatement) node) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      LogicalPlan changed = node instanceof InsertIntoStatement ? TextCasts.ofInsert((InsertIntoStatement) node) : null;
      return changed == null ? otherwise.apply(node) : changed;
    }
  }

  private static final class Statements extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return NewTables.isOpen(node)
          || (node instanceof MergeIntoTable || node instanceof UpdateTable)
              && ((LogicalPlan) node).childrenResolved()
              && target((LogicalPlan) node) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      if (NewTables.isOpen(node)) {
        return NewTables.settled((LogicalPlan) node);
      }
      DataSourceV2Relation relation = target((LogicalPlan) node);
      Table table = relation.table();
      if (node instanceof MergeIntoTable && table.capabilities().contains(TableCapability.ACCEPT_ANY_SCHEMA)) {
        return merge((MergeIntoTable) node, relation);
      }
      boolean fills = "true".equalsIgnoreCase((String) table.properties().get(MERGE_SCHEMA));
      return ((QueryPlan) node).transformExpressions(new ByName(fills));
    }
  }

  /** Replaces input_file_name() by the metadata column of the one table that has it. */
  private static final class InputFiles extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof LogicalPlan && column((LogicalPlan) node) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      Attribute column = node instanceof LogicalPlan ? column((LogicalPlan) node) : null;
      return column == null ? otherwise.apply(node) : ((QueryPlan) node).transformExpressions(new InputFile(column));
    }

    private static Attribute column(LogicalPlan plan) {
      return plan.children().size() == 1 && plan.resolved() && asks(plan.expressions()) && readsFiles(plan)
          ? find(((LogicalPlan) plan.children().apply(0)).metadataOutput(), FILE_PATH)
          : null;
    }

    /** Whether the rows are those of one append table; a row of a primary-key table may be merged from several files. */
    private static boolean readsFiles(LogicalPlan plan) {
      LogicalPlan below = plan;
      while (below.children().size() == 1) {
        below = (LogicalPlan) below.children().apply(0);
      }
      if (!(below instanceof DataSourceV2Relation)) {
        return false;
      }
      Table table = ((DataSourceV2Relation) below).table();
      return table instanceof Function && !table.properties().containsKey("primary-key");
    }

    private static boolean asks(Seq expressions) {
      for (int i = 0; i < expressions.size(); i++) {
        if (expressions.apply(i) instanceof InputFileName || asks(((TreeNode) expressions.apply(i)).children())) {
          return true;
        }
      }
      return false;
    }
  }

  private static final class InputFile extends AbstractPartialFunction {
    private final Attribute column;

    InputFile(Attribute column) {
      this.column = column;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof InputFileName;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? column : otherwise.apply(node);
    }
  }

  /** Matches the fields of structs in the value of an assignment to those of the column by name. */
  private static final class ByName extends AbstractPartialFunction {
    private final boolean fills;

    ByName(boolean fills) {
      this.fills = fills;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof Assignment
          && ((Assignment) node).key().resolved()
          && (((Assignment) node).value().resolved() || isInsertion(((Assignment) node).value()));
    }

    /** Whether Spark has added a cast to the type of the column; with structs inside it may be one that cannot be. */
    private static boolean isInsertion(Expression value) {
      return value instanceof Cast
          && ((Cast) value).child().resolved()
          && ((TreeNode) value).getTagValue(Cast$.MODULE$.BY_TABLE_INSERTION()).isDefined();
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      Assignment given = (Assignment) node;
      Expression value = shaped(given.value(), given.key().dataType());
      return value == given.value() ? given : new Assignment(given.key(), value);
    }

    private Expression shaped(Expression given, DataType wanted) {
      Expression value = TextCasts.cast(given, wanted, true);
      if (!isInsertion(value)) {
        return Shapes.byName(value, wanted, null, fills);
      }
      Expression inner = ((Cast) value).child();
      Expression changed = Shapes.byName(TextCasts.cast(inner, wanted, true), wanted, null, fills);
      if (changed == inner) {
        return value;
      }
      ArrayBuffer children = new ArrayBuffer();
      children.addOne(changed);
      return (Expression) ((TreeNode) value).withNewChildren((Seq) children.toSeq());
    }
  }

  /** Returns the table of Lakebed that a statement changes, null if it changes another one. */
  private static DataSourceV2Relation target(LogicalPlan plan) {
    Object found = EliminateSubqueryAliases$.MODULE$.apply((LogicalPlan) plan.children().apply(0));
    return found instanceof DataSourceV2Relation && isOurs((DataSourceV2Relation) found)
        ? (DataSourceV2Relation) found
        : null;
  }

  /** Whether a table is one of Lakebed. */
  static boolean isOurs(DataSourceV2Relation relation) {
    return relation.table() instanceof Function;
  }

  private static LogicalPlan merge(MergeIntoTable merge, DataSourceV2Relation relation) {
    Seq source = merge.sourceTable().output();
    boolean star = isUnique(source) && (hasStar(merge.matchedActions()) || hasStar(merge.notMatchedActions()));
    ArrayBuffer columns = new ArrayBuffer();
    for (int i = 0; i < source.size(); i++) {
      Attribute column = (Attribute) source.apply(i);
      if (star || isSet(merge.matchedActions(), column, relation) || isSet(merge.notMatchedActions(), column, relation)) {
        columns.addOne(new StructField(column.name(), column.dataType(), true, column.metadata()));
      }
    }
    DataSourceV2Relation evolved = evolved(relation, columns);
    return (LogicalPlan) SparkVersions.made(
        MergeIntoTable.class,
        new Object[] {replaced(merge.targetTable(), evolved), merge.sourceTable(), merge.mergeCondition(),
            star ? written(merge.matchedActions(), source, evolved) : merge.matchedActions(),
            star ? written(merge.notMatchedActions(), source, evolved) : merge.notMatchedActions(),
            merge.notMatchedBySourceActions(), Boolean.valueOf(merge.withSchemaEvolution())});
  }

  /** Whether no two columns have the same name. Spark refuses a star over others. */
  private static boolean isUnique(Seq source) {
    for (int i = 0; i < source.size(); i++) {
      for (int j = 0; j < i; j++) {
        if (((Attribute) source.apply(i)).name().equalsIgnoreCase(((Attribute) source.apply(j)).name())) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean hasStar(Seq actions) {
    for (int i = 0; i < actions.size(); i++) {
      if (actions.apply(i) instanceof UpdateStarAction || actions.apply(i) instanceof InsertStarAction) {
        return true;
      }
    }
    return false;
  }

  /** Whether an action sets a column of this name that the table does not have. */
  private static boolean isSet(Seq actions, Attribute column, DataSourceV2Relation relation) {
    if (find(relation.output(), column.name()) != null) {
      return false;
    }
    for (int i = 0; i < actions.size(); i++) {
      Seq assignments = assignments(actions.apply(i));
      for (int j = 0; assignments != null && j < assignments.size(); j++) {
        Expression key = ((Assignment) assignments.apply(j)).key();
        if (key instanceof UnresolvedAttribute && names(((UnresolvedAttribute) key).nameParts(), column.name(), relation)) {
          return true;
        }
      }
    }
    return false;
  }

  private static Seq assignments(Object action) {
    if (action instanceof UpdateAction) {
      return ((UpdateAction) action).assignments();
    }
    return action instanceof InsertAction ? ((InsertAction) action).assignments() : null;
  }

  /** Whether the parts are a column's name, with or without the name of the table before it. */
  private static boolean names(Seq parts, String column, DataSourceV2Relation relation) {
    return ((String) parts.apply(parts.size() - 1)).equalsIgnoreCase(column)
        && (parts.size() == 1 || find(relation.output(), (String) parts.apply(0)) == null);
  }

  private static Seq written(Seq actions, Seq source, DataSourceV2Relation target) {
    ArrayBuffer made = new ArrayBuffer();
    for (int i = 0; i < actions.size(); i++) {
      Object action = actions.apply(i);
      if (action instanceof UpdateStarAction) {
        Option condition = ((UpdateStarAction) action).condition();
        made.addOne(SparkVersions.made(UpdateAction.class, new Object[] {condition, all(source, target, true)}));
      } else if (action instanceof InsertStarAction) {
        Option condition = ((InsertStarAction) action).condition();
        made.addOne(SparkVersions.made(InsertAction.class, new Object[] {condition, all(source, target, false)}));
      } else {
        made.addOne(action);
      }
    }
    return (Seq) made.toSeq();
  }

  /** Returns assignments of all columns of the source to those of the same names in the table. */
  private static Seq all(Seq source, DataSourceV2Relation target, boolean keeps) {
    ArrayBuffer made = new ArrayBuffer();
    for (int i = 0; i < target.output().size(); i++) {
      Attribute column = (Attribute) target.output().apply(i);
      Attribute given = find(source, column.name());
      if (given != null) {
        Expression value = Shapes.byName((Expression) given, column.dataType(), keeps ? (Expression) column : null, true);
        made.addOne(new Assignment((Expression) column, value));
      }
    }
    return (Seq) made.toSeq();
  }

  static Attribute find(Seq columns, String name) {
    for (int i = 0; i < columns.size(); i++) {
      if (((Attribute) columns.apply(i)).name().equalsIgnoreCase(name)) {
        return (Attribute) columns.apply(i);
      }
    }
    return null;
  }

  /** Returns the table with further columns. It accepts only its columns, so Spark resolves the statement. */
  private static DataSourceV2Relation evolved(DataSourceV2Relation relation, ArrayBuffer columns) {
    StructType given = StructType$.MODULE$.apply((Seq) columns.toSeq());
    Table table = (Table) ((Function) relation.table()).apply(given);
    Seq output = DataSourceV2Relation.create(table, relation.catalog(), relation.identifier()).output();
    return (DataSourceV2Relation) SparkVersions.made(
        DataSourceV2Relation.class,
        new Object[] {table, output, relation.catalog(), relation.identifier(), relation.options(), Option.empty()});
  }

  private static LogicalPlan replaced(LogicalPlan target, DataSourceV2Relation relation) {
    return (LogicalPlan) ((TreeNode) target).transform(new Plans.Leaf(relation));
  }
}
