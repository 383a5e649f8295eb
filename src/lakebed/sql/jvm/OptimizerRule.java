package lakebed;

import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
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
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.execution.datasources.v2.ShowCreateTableExec;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;
import scala.runtime.AbstractPartialFunction;

/**
 * The optimizer rule of Lakebed's tables. It replaces scans by the plans of their DataFrames, so that Spark's own
 * Parquet reader reads the files, and statements that change rows by writes that Python runs.
 */
public final class OptimizerRule extends Rule {

  /** The name by which a session knows the rule. */
  public static final String NAME = "lakebed.OptimizerRule";

  public TreeNode apply(TreeNode plan) {
    if (changesRows(plan)) {
      return changeOfRows((LogicalPlan) plan);
    }
    if (plan instanceof WithCTE && changesRows((TreeNode) ((WithCTE) plan).plan())) {
      return apply(((Rule) SparkVersions.made(InlineCTE.class, new Object[] {Boolean.TRUE})).apply(plan));
    }
    if (plan instanceof AnalyzeTable || plan instanceof AnalyzeColumn) {
      return analysis((LogicalPlan) plan);
    }
    if (plan instanceof AnalyzeTables) {
      throw new Failure("ANALYZE TABLES is not supported by Lakebed; write ANALYZE TABLE for each table", "UnsupportedError");
    }
    if (plan instanceof ShowCreateTable) {
      return withoutCollations((ShowCreateTable) plan);
    }
    if (plan instanceof V2WriteCommand) {
      return namedColumns(dynamicOverwrite(plan));
    }
    if (plan.getClass().getSimpleName().equals("AddCheckConstraint")) {
      return plan; // Spark needs the scan to find the table
    }
    return plan.transform(new ScanToPlan());
  }

  public String ruleName() {
    return NAME;
  }

  private static boolean changesRows(TreeNode plan) {
    return plan instanceof MergeIntoTable || plan instanceof UpdateTable || plan instanceof DeleteFromTable;
  }

  /** Replaces an UPDATE, MERGE or DELETE by a write that Python runs, as one DataFrame and one commit. */
  private static TreeNode changeOfRows(LogicalPlan plan) {
    LogicalPlan target = (LogicalPlan) plan.children().apply(0);
    DataSourceV2Relation relation = Plans.tableOf(target);
    if (relation == null || !(relation.table() instanceof Function)) {
      return plan;
    }
    if (plan instanceof DeleteFromTable && target instanceof DataSourceV2ScanRelation && byCondition(plan, relation)) {
      return plan;
    }
    LogicalPlan prepared = Subqueries.asColumns(plan);
    checkAssignments(prepared, (LogicalPlan) prepared.children().apply(0));
    return asWrite(prepared, relation);
  }

  /** Throws Spark's own error for a wrong assignment; from Python, users would see it wrapped. */
  private static void checkAssignments(LogicalPlan plan, LogicalPlan target) {
    Seq columns = Plans.columnsOf(target);
    try {
      if (plan instanceof UpdateTable) {
        Plans.aligned("Update", columns, ((UpdateTable) plan).assignments());
      } else if (plan instanceof MergeIntoTable) {
        MergeIntoTable merge = (MergeIntoTable) plan;
        checkActions(merge.matchedActions(), columns);
        checkActions(merge.notMatchedActions(), columns);
        checkActions(merge.notMatchedBySourceActions(), columns);
      }
    } catch (Throwable error) {
      Platform.throwException(error);
    }
  }

  private static void checkActions(Seq actions, Seq columns) throws Throwable {
    for (int i = 0; i < actions.size(); i++) {
      if (actions.apply(i) instanceof UpdateAction) {
        Plans.aligned("Update", columns, ((UpdateAction) actions.apply(i)).assignments());
      } else if (actions.apply(i) instanceof InsertAction) {
        Plans.aligned("Insert", columns, ((InsertAction) actions.apply(i)).assignments());
      }
    }
  }

  /** Shows columns of text as STRING; Spark 4.3 shows STRING COLLATE UTF8_BINARY, which tables of Paimon do not know. */
  private static TreeNode withoutCollations(ShowCreateTable plan) {
    if (!(plan.child() instanceof ResolvedTable) || !(((ResolvedTable) plan.child()).table() instanceof Function)) {
      return plan;
    }
    SparkPlan command =
        (SparkPlan) SparkVersions.made(ShowCreateTableExec.class, new Object[] {plan.output(), plan.child()});
    String text = command.executeCollect()[0].getUTF8String(0).toString();
    int columns = text.indexOf("\nUSING ");
    String shown = text.substring(0, columns).replace(" COLLATE UTF8_BINARY", "") + text.substring(columns);
    ArrayBuffer rows = new ArrayBuffer();
    rows.addOne(new GenericInternalRow(new Object[] {UTF8String.fromString(shown)}));
    return (TreeNode) SparkVersions.made(
        LocalRelation.class, new Object[] {plan.output(), rows.toSeq(), Boolean.FALSE, Option.empty()});
  }

  /** Replaces ANALYZE, which Spark supports only for tables of its own catalog, by a write that Python runs. */
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

  /** Returns a write of no rows to a table. Spark calls Python to run it, and Python does what the plan says. */
  private static TreeNode asWrite(LogicalPlan plan, DataSourceV2Relation relation) {
    Object write = ((Function) relation.table()).apply(plan);
    Object nothing =
        SparkVersions.made(LocalRelation.class, new Object[] {relation.output(), Nil$.MODULE$, Boolean.FALSE, Option.empty()});
    return (TreeNode) SparkVersions.made(
        AppendData.class,
        new Object[] {relation, nothing, Map$.MODULE$.empty(), Boolean.FALSE, Option.apply(write), Option.apply(nothing)});
  }

  /** Whether the table can run a delete itself, without a Spark job. */
  private static boolean byCondition(LogicalPlan plan, DataSourceV2Relation relation) {
    Expression condition = ((DeleteFromTable) plan).condition();
    if (SubqueryExpression$.MODULE$.hasSubquery(condition)) {
      return false;
    }
    Option translated = DataSourceV2Strategy$.MODULE$.translateFilterV2(condition);
    return translated.isDefined()
        && ((SupportsDeleteV2) relation.table()).canDeleteWhere(new Predicate[] {(Predicate) translated.get()});
  }

  /**
   * Replaces a dynamic overwrite by an overwrite with a condition: only for that Spark passes the whole query to
   * Python.
   */
  private static TreeNode dynamicOverwrite(TreeNode plan) {
    if (!(plan instanceof OverwritePartitionsDynamic)) {
      return plan;
    }
    OverwritePartitionsDynamic command = (OverwritePartitionsDynamic) plan;
    if (command.write().isEmpty() || !(command.write().get() instanceof V1Write)) {
      return plan;
    }
    // The write itself knows which partitions it replaces, so the condition is not used.
    return (TreeNode) SparkVersions.made(
        OverwriteByExpression.class,
        new Object[] {((V2WriteCommand) command).table(), Literal$.MODULE$.TrueLiteral(), command.query(), command.writeOptions(),
            Boolean.valueOf(command.isByName()), command.write(), Option.apply(command.query())});
  }

  /**
   * Names the columns of rows for a table that takes any columns: columns given by position get the table's names,
   * extra columns keep theirs. So do fields of structs.
   */
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
      return (TreeNode) SparkVersions.made(
          AppendData.class,
          new Object[] {relation, append.query(), append.writeOptions(), Boolean.TRUE, append.write(), query});
    }
    if (plan instanceof OverwriteByExpression && ((OverwriteByExpression) plan).analyzedQuery().isDefined()) {
      OverwriteByExpression over = (OverwriteByExpression) plan;
      Option query = Option.apply(byPosition(relation, (LogicalPlan) over.analyzedQuery().get()));
      return (TreeNode) SparkVersions.made(
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
      Attribute place = i < wanted.size() ? (Attribute) wanted.apply(i) : column;
      columns.addOne(Plans.named(Shapes.named((Expression) column, place.dataType()), place.name()));
    }
    return new Project((Seq) columns.toSeq(), query);
  }

  /** Replaces a scan of Lakebed, which is a Supplier of a DataFrame, by the plan of that DataFrame. */
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
      return Plans.renamed(plan, relation.output());
    }
  }
}
