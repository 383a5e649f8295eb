package lakebed;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;
import scala.runtime.AbstractPartialFunction;

/**
 * Correlated scalar subqueries of an UPDATE, MERGE or DELETE. Spark has prepared them, and refuses them in a new query. So
 * they become columns of the table, or of the source, whose columns they refer to.
 */
final class Subqueries extends AbstractPartialFunction {

  private final LogicalPlan side;
  private final AttributeSet columns;
  private final ArrayBuffer found = new ArrayBuffer();

  private Subqueries(LogicalPlan side) {
    this.side = side;
    this.columns = side.outputSet();
  }

  /** Returns the statement with a projection over each side that subqueries refer to. */
  static LogicalPlan asColumns(LogicalPlan statement) {
    LogicalPlan changed = statement;
    ArrayBuffer sides = new ArrayBuffer();
    for (int i = 0; i < statement.children().size(); i++) {
      Subqueries subqueries = new Subqueries((LogicalPlan) statement.children().apply(i));
      changed = (LogicalPlan) ((QueryPlan) changed).transformExpressions(subqueries);
      sides.addOne(subqueries.projected());
    }
    return (LogicalPlan) ((TreeNode) changed).withNewChildren((Seq) sides.toSeq());
  }

  private LogicalPlan projected() {
    if (found.isEmpty()) {
      return side;
    }
    ArrayBuffer all = new ArrayBuffer();
    all.addAll(side.output());
    all.addAll(found);
    LogicalPlan made = new Project((Seq) all.toSeq(), side);
    made.setAnalyzed();
    return made;
  }

  public boolean isDefinedAt(Object node) {
    if (!(node instanceof ScalarSubquery)) {
      return false;
    }
    AttributeSet used = ((Expression) node).references();
    return !used.isEmpty() && used.subsetOf(columns);
  }

  public Object applyOrElse(Object node, Function1 otherwise) {
    if (!isDefinedAt(node)) {
      return otherwise.apply(node);
    }
    Alias column = Plans.named((Expression) node, "__lakebed_subquery_" + found.size());
    found.addOne(column);
    return column.toAttribute();
  }
}
