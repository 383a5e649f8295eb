package lakebed;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.function.Consumer;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The methods that Python calls. Java does what Python cannot: extend classes of Spark (Py4J implements only
 * interfaces), and walk trees of objects without a round trip for each node. The classes of this package are compiled
 * in the driver, by the compiler that Spark ships for its generated code. Executors do not need them.
 */
public final class Bridge {

  public Rule optimizerRule() {
    return new OptimizerRule();
  }

  public Rule resolutionRule() {
    return new ResolutionRule();
  }

  public void registerFunction(SessionState state, String name, String option) {
    TableFunction.register(state, name, option);
  }

  public Failure failure(String message, String kind) {
    return new Failure(message, kind);
  }

  public void putOptionsInNames(SessionState state, String catalog) throws ReflectiveOperationException {
    OptionsInNames.install(state, catalog);
  }

  public void installStatements(SessionState state, String catalog) throws ReflectiveOperationException {
    Statements.install(state, catalog);
  }

  public void followNewSessions(SparkSessionExtensions extensions, Consumer attach) {
    NewSessions.follow(extensions, attach);
  }

  public String[] nameAndOptions(String name) {
    return OptionsInNames.decoded(name);
  }

  public AnalysisException noSuchTable(String database, String table) {
    return OptionsInNames.noSuchTable(database, table);
  }

  public String settings(SQLConf conf, String prefix) throws JsonProcessingException {
    return Values.settings(conf, prefix);
  }

  public String describe(Predicate[] conditions) throws JsonProcessingException {
    return Values.describe(conditions);
  }

  public InternalRow[] rows(String texts, StructType schema) throws JsonProcessingException {
    return Values.rows(texts, schema);
  }

  public String values(InternalRow row, StructType schema) throws JsonProcessingException {
    return Values.values(row, schema);
  }

  public Object columns(StructType schema) throws ReflectiveOperationException {
    return Plans.columns(schema);
  }

  public MetadataColumn[] metadataColumns(StructType schema) {
    return MetadataColumns.of(schema);
  }

  public Object aligned(String verb, Seq columns, Seq assignments) throws Throwable {
    return Plans.aligned(verb, columns, assignments);
  }

  public DataSourceV2Relation tableOf(LogicalPlan plan) {
    return Plans.tableOf(plan);
  }

  public Seq columnsOf(LogicalPlan plan) {
    return Plans.columnsOf(plan);
  }

  public Expression padded(Expression expression) {
    return Plans.padded(expression);
  }

  public LogicalPlan over(LogicalPlan plan, LogicalPlan rows) {
    return Plans.over(plan, rows);
  }

  public LogicalPlan fitted(String table, StructType schema, Dataset frame, SQLConf conf) throws Throwable {
    return Plans.fitted(table, schema, frame, conf);
  }

  public LogicalPlan columnsAs(Dataset frame, Seq output) {
    return Plans.columnsAs(frame, output);
  }
}
