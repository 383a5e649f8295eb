package lakebed;

import java.lang.reflect.Proxy;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * New tables that DataFrames write with saveAsTable, toTable or create.
 *
 * <p>Without a format these methods name the default one of the session (parquet), as if the user had named it. A table of
 * Lakebed has no other format than Paimon's, so the rule removes the name; Statements.java refuses it in a statement.
 *
 * <p>Options of the writer become options of the table, as with Paimon's connector.
 */
final class NewTables {

  private static final String OPTIONS = "writeOptions";

  static boolean isOpen(Object node) {
    if (!(node instanceof V2CreateTablePlan)) {
      return false;
    }
    return position((Product) node) >= 0
        && isOurs(((LogicalPlan) node).children().apply(0))
        && (isDefault(spec((Product) node).provider())
            || hasTableOptions((Product) node));
  }

  static LogicalPlan settled(LogicalPlan node) {
    int position = position((Product) node);
    Object[] made = elements((Product) node);
    Product spec = (Product) made[position];
    Object[] parts = elements(spec);
    for (int i = 0; i < parts.length; i++) {
      if (spec.productElementName(i).equals("provider") && isDefault((Option) parts[i])) {
        parts[i] = Option.empty();
      }
    }
    for (int i = 0; i < made.length; i++) {
      if (((Product) node).productElementName(i).equals(OPTIONS)) {
        Map options = (Map) made[i];
        Iterator each = options.iterator();
        while (each.hasNext()) {
          Tuple2 option = (Tuple2) each.next();
          if (isTableOption((String) option._1())) {
            parts[0] = ((Map) parts[0]).updated(option._1(), option._2()); // the properties
            options = (Map) options.removed(option._1());
          }
        }
        made[i] = options;
      }
    }
    made[position] = SparkVersions.made(spec.getClass(), parts);
    return (LogicalPlan) ((TreeNode) node).makeCopy(made);
  }

  private static boolean hasTableOptions(Product node) {
    for (int i = 0; i < node.productArity(); i++) {
      if (node.productElementName(i).equals(OPTIONS)) {
        Iterator each = ((Map) node.productElement(i)).keysIterator();
        while (each.hasNext()) {
          if (isTableOption((String) each.next())) {
            return true;
          }
        }
      }
    }
    return false;
  }

  /** Whether an option of a writer is for the table: the path is the location, and the others are Spark's own. */
  private static boolean isTableOption(String name) {
    return !name.startsWith("__") && !name.equalsIgnoreCase("path");
  }

  /** Returns what a plan says about the new table. */
  static TableSpecBase spec(Product node) {
    return (TableSpecBase) node.productElement(position(node));
  }

  private static int position(Product node) {
    for (int i = 0; i < node.productArity(); i++) {
      if (node.productElement(i) instanceof TableSpecBase) {
        return i;
      }
    }
    return -1;
  }

  private static boolean isDefault(Option provider) {
    return provider.isDefined()
        && ((String) provider.get()).equalsIgnoreCase(((SQLConf) SQLConf.get()).defaultDataSourceName());
  }

  private static boolean isOurs(Object name) {
    if (!(name instanceof ResolvedIdentifier)) {
      return false;
    }
    CatalogPlugin catalog = ((ResolvedIdentifier) name).catalog();
    return Proxy.isProxyClass(catalog.getClass())
        && catalog instanceof StagingTableCatalog
        && catalog instanceof ProcedureCatalog;
  }

  private static Object[] elements(Product part) {
    Object[] elements = new Object[part.productArity()];
    for (int i = 0; i < elements.length; i++) {
      elements[i] = part.productElement(i);
    }
    return elements;
  }
}
