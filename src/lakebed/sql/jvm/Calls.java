package lakebed;

import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Checks calls of the catalog's functions. Spark computes a call with constants in the driver, where Python is; a call with
 * columns would run in tasks, which cannot reach it.
 */
final class Calls extends AbstractPartialFunction {

  private static final String OURS = "lakebed.";

  public boolean isDefinedAt(Object node) {
    if (node instanceof LogicalPlan && ((LogicalPlan) node).resolved()) {
      check(((LogicalPlan) node).expressions());
    }
    return false; // nothing changes
  }

  public Object applyOrElse(Object node, Function1 otherwise) {
    isDefinedAt(node);
    return otherwise.apply(node);
  }

  private static void check(Seq expressions) {
    for (int i = 0; i < expressions.size(); i++) {
      Expression each = (Expression) expressions.apply(i);
      if (each instanceof ApplyFunctionExpression
          && ((ApplyFunctionExpression) each).function().canonicalName().startsWith(OURS)
          && !each.foldable()) {
        String name = ((ApplyFunctionExpression) each).function().name();
        throw new Failure("function " + name + " takes a constant, not a column: sys." + name + "('db.t')", "UnsupportedError");
      }
      check(((TreeNode) each).children());
    }
  }
}
