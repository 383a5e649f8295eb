package lakebed;

import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Columns that every table has besides its own; queries get them by name only. */
public final class MetadataColumns implements MetadataColumn {

  private final StructField field;

  private MetadataColumns(StructField field) {
    this.field = field;
  }

  public static MetadataColumn[] of(StructType schema) {
    StructField[] fields = schema.fields();
    MetadataColumn[] columns = new MetadataColumn[fields.length];
    for (int i = 0; i < fields.length; i++) {
      columns[i] = new MetadataColumns(fields[i]);
    }
    return columns;
  }

  public String name() {
    return field.name();
  }

  public DataType dataType() {
    return field.dataType();
  }

  public boolean isNullable() {
    return true;
  }

  public String comment() {
    return (String) field.getComment().get();
  }

  public Transform transform() {
    return null;
  }

  public String metadataInJSON() {
    return null;
  }
}
