package lakebed;

import java.util.TreeMap;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;
import scala.runtime.AbstractFunction1;

/**
 * A table function that reads a table with one option. The first argument names the table, the others are the value of
 * the option.
 */
public final class TableFunction extends AbstractFunction1 {

  private final SessionState state;
  private final String name;
  private final String option;

  private TableFunction(SessionState state, String name, String option) {
    this.state = state;
    this.name = name;
    this.option = option;
  }

  /** Makes a table function known to a session. */
  public static void register(SessionState state, String name, String option) {
    state.tableFunctionRegistry().createOrReplaceTempFunction(name, new TableFunction(state, name, option), "built-in");
  }

  /** Returns the table that the first argument names, with the option. */
  public Object apply(Object given) {
    Seq arguments = (Seq) given;
    StringBuilder value = new StringBuilder();
    for (int i = 1; i < arguments.size(); i++) {
      value.append(i > 1 ? "," : "").append(constant(arguments.apply(i)));
    }
    if (arguments.size() < 2) {
      throw new Failure(name + " takes the name of a table and the interval to read", "OptionError");
    }
    ArrayBuffer parts = new ArrayBuffer();
    String[] split = constant(arguments.apply(0)).split("\\.");
    for (int i = 0; i < split.length; i++) {
      parts.addOne(split[i].replace("`", ""));
    }
    TreeMap options = new TreeMap();
    options.put(option, value.toString());
    Object relation = SparkVersions.made(
        UnresolvedRelation.class, new Object[] {parts.toSeq(), new CaseInsensitiveStringMap(options), Boolean.FALSE});
    OptionsInNames names = OptionsInNames.of(state);
    return names == null ? relation : names.aliased((UnresolvedRelation) relation);
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
