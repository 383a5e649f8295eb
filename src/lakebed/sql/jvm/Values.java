package lakebed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Tuple2;
import scala.collection.Iterator;

/** Conditions, rows and settings as JSON: Py4J would make a round trip for each node and each value. */
public final class Values {

  /** Returns the settings of a session whose names start with a prefix, as a JSON object. */
  public static String settings(SQLConf conf, String prefix) throws JsonProcessingException {
    TreeMap found = new TreeMap();
    Iterator all = conf.getAllConfs().iterator();
    while (all.hasNext()) {
      Tuple2 setting = (Tuple2) all.next();
      if (((String) setting._1()).startsWith(prefix)) {
        found.put(((String) setting._1()).substring(prefix.length()), setting._2());
      }
    }
    return new ObjectMapper().writeValueAsString(found);
  }

  /**
   * Returns conditions as JSON: ["operator", [children]], {"column": [names]}, {"value": text, "type": name}, or null
   * for anything else.
   */
  public static String describe(Predicate[] conditions) throws JsonProcessingException {
    List all = new ArrayList();
    for (int i = 0; i < conditions.length; i++) {
      all.add(tree(conditions[i]));
    }
    return new ObjectMapper().writeValueAsString(all);
  }

  /** Makes rows of Spark from a JSON list of lists with the texts of its internal values. */
  public static InternalRow[] rows(String texts, StructType schema) throws JsonProcessingException {
    List all = (List) new ObjectMapper().readValue(texts, List.class);
    InternalRow[] rows = new InternalRow[all.size()];
    for (int i = 0; i < rows.length; i++) {
      List given = (List) all.get(i);
      Object[] values = new Object[given.size()];
      for (int j = 0; j < values.length; j++) {
        values[j] = given.get(j) == null ? null : value((String) given.get(j), schema.fields()[j].dataType());
      }
      rows[i] = new GenericInternalRow(values);
    }
    return rows;
  }

  /** Returns the texts of the internal values of a row of Spark, as a JSON list. */
  public static String values(InternalRow row, StructType schema) throws JsonProcessingException {
    List texts = new ArrayList();
    for (int i = 0; i < row.numFields(); i++) {
      texts.add(row.isNullAt(i) ? null : text(row.get(i, schema.fields()[i].dataType())));
    }
    return new ObjectMapper().writeValueAsString(texts);
  }

  private static Object value(String text, DataType type) {
    if (type instanceof StringType) {
      return UTF8String.fromString(text);
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return Integer.valueOf(text);
    } else if (type instanceof BooleanType) {
      return Boolean.valueOf(text);
    } else if (type instanceof ByteType) {
      return Byte.valueOf(text);
    } else if (type instanceof ShortType) {
      return Short.valueOf(text);
    } else if (type instanceof FloatType) {
      return Float.valueOf(text);
    } else if (type instanceof DoubleType) {
      return Double.valueOf(text);
    } else if (type instanceof DecimalType) {
      return Decimal.apply(new BigDecimal(text), ((DecimalType) type).precision(), ((DecimalType) type).scale());
    }
    return Long.valueOf(text);
  }

  private static Object tree(Expression expression) {
    if (expression instanceof Literal) {
      Literal literal = (Literal) expression;
      TreeMap node = new TreeMap();
      node.put("value", text(literal.value()));
      node.put("type", literal.dataType().catalogString());
      return node;
    }
    if (expression instanceof NamedReference) {
      TreeMap node = new TreeMap();
      node.put("column", ((NamedReference) expression).fieldNames());
      return node;
    }
    if (!(expression instanceof GeneralScalarExpression)) {
      return null;
    }
    List children = new ArrayList();
    Expression[] below = expression.children();
    for (int i = 0; i < below.length; i++) {
      children.add(tree(below[i]));
    }
    List node = new ArrayList();
    node.add(((GeneralScalarExpression) expression).name());
    node.add(children);
    return node;
  }

  private static String text(Object value) {
    if (value instanceof byte[]) {
      byte[] bytes = (byte[]) value;
      StringBuilder hex = new StringBuilder();
      for (int i = 0; i < bytes.length; i++) {
        hex.append(Character.forDigit((bytes[i] >> 4) & 15, 16)).append(Character.forDigit(bytes[i] & 15, 16));
      }
      return hex.toString();
    }
    return value == null ? null : value.toString();
  }
}
