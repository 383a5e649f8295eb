package lakebed;

import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayTransform;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.MapFromArrays;
import org.apache.spark.sql.catalyst.expressions.MapKeys;
import org.apache.spark.sql.catalyst.expressions.MapValues;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;

/**
 * Gives values of structs, also inside arrays and maps, the fields of a wanted type. Types of single values do not change:
 * Spark casts and checks them afterwards. Names are compared without case.
 */
public final class Shapes {

  private final boolean byPosition;
  private final boolean fills;

  private Shapes(boolean byPosition, boolean fills) {
    this.byPosition = byPosition;
    this.fills = fills;
  }

  /**
   * Returns a value with its fields in the order of the wanted type, matched by name. The value stays as it is if it has
   * other fields, or lacks fields and {@code fills} is false. A field that it lacks is NULL, or comes from {@code kept}
   * if that is not null.
   */
  public static Expression byName(Expression value, DataType wanted, Expression kept, boolean fills) {
    Shapes shapes = new Shapes(false, fills);
    return shapes.canFit(value.dataType(), wanted) ? shapes.fitted(value, wanted, kept) : value;
  }

  /** Returns a value whose fields have the names of the fields at the same places of the wanted type. */
  public static Expression named(Expression value, DataType wanted) {
    return new Shapes(true, false).fitted(value, wanted, null);
  }

  private boolean canFit(DataType given, DataType wanted) {
    if (given instanceof StructType && wanted instanceof StructType) {
      StructField[] fields = ((StructType) given).fields();
      StructField[] places = ((StructType) wanted).fields();
      for (int i = 0; i < fields.length; i++) {
        int place = find(places, fields[i].name());
        if (place < 0 || find(fields, fields[i].name()) != i || !canFit(fields[i].dataType(), places[place].dataType())) {
          return false;
        }
      }
      return fills || fields.length == places.length;
    }
    if (given instanceof ArrayType && wanted instanceof ArrayType) {
      return canFit(((ArrayType) given).elementType(), ((ArrayType) wanted).elementType());
    }
    if (given instanceof MapType && wanted instanceof MapType) {
      return canFit(((MapType) given).keyType(), ((MapType) wanted).keyType())
          && canFit(((MapType) given).valueType(), ((MapType) wanted).valueType());
    }
    return true;
  }

  private boolean isSame(DataType given, DataType wanted) {
    if (given instanceof StructType && wanted instanceof StructType) {
      StructField[] fields = ((StructType) given).fields();
      StructField[] places = ((StructType) wanted).fields();
      if (!byPosition && fields.length != places.length) {
        return false;
      }
      for (int i = 0; i < fields.length && i < places.length; i++) {
        if (!fields[i].name().equalsIgnoreCase(places[i].name()) || !isSame(fields[i].dataType(), places[i].dataType())) {
          return false;
        }
      }
      return true;
    }
    if (given instanceof ArrayType && wanted instanceof ArrayType) {
      return isSame(((ArrayType) given).elementType(), ((ArrayType) wanted).elementType());
    }
    if (given instanceof MapType && wanted instanceof MapType) {
      return isSame(((MapType) given).keyType(), ((MapType) wanted).keyType())
          && isSame(((MapType) given).valueType(), ((MapType) wanted).valueType());
    }
    return true;
  }

  private Expression fitted(Expression value, DataType wanted, Expression kept) {
    DataType given = value.dataType();
    if (isSame(given, wanted)) {
      return value;
    }
    if (given instanceof StructType) {
      return byPosition ? renamed(value, (StructType) wanted) : reordered(value, (StructType) wanted, kept);
    }
    if (given instanceof ArrayType) {
      ArrayType array = (ArrayType) given;
      return each(value, array.elementType(), array.containsNull(), ((ArrayType) wanted).elementType());
    }
    MapType map = (MapType) given;
    return new MapFromArrays(
        each(new MapKeys(value), map.keyType(), false, ((MapType) wanted).keyType()),
        each(new MapValues(value), map.valueType(), map.valueContainsNull(), ((MapType) wanted).valueType()));
  }

  private Expression each(Expression array, DataType element, boolean nullable, DataType wanted) {
    if (isSame(element, wanted)) {
      return array;
    }
    NamedLambdaVariable variable =
        new NamedLambdaVariable("element", element, nullable, NamedExpression$.MODULE$.newExprId(), new AtomicReference());
    ArrayBuffer arguments = new ArrayBuffer();
    arguments.addOne(variable);
    return new ArrayTransform(array, new LambdaFunction(fitted(variable, wanted, null), (Seq) arguments.toSeq(), false));
  }

  private Expression reordered(Expression value, StructType wanted, Expression kept) {
    StructField[] fields = ((StructType) value.dataType()).fields();
    StructField[] places = wanted.fields();
    ArrayBuffer parts = new ArrayBuffer();
    for (int i = 0; i < places.length; i++) {
      int from = find(fields, places[i].name());
      Expression old = kept == null ? null : field(kept, i, places[i]);
      parts.addOne(text(places[i].name()));
      if (from >= 0) {
        parts.addOne(fitted(field(value, from, fields[from]), places[i].dataType(), old));
      } else {
        parts.addOne(old == null ? new Literal(null, places[i].dataType()) : old);
      }
    }
    Expression none = new IsNull(value);
    return nullIf(kept == null || !lacks(value.dataType(), wanted) ? none : new And(none, new IsNull(kept)), parts);
  }

  private Expression renamed(Expression value, StructType wanted) {
    StructField[] fields = ((StructType) value.dataType()).fields();
    StructField[] places = wanted.fields();
    ArrayBuffer parts = new ArrayBuffer();
    for (int i = 0; i < fields.length; i++) {
      Expression part = field(value, i, fields[i]);
      parts.addOne(text(i < places.length ? places[i].name() : fields[i].name()));
      parts.addOne(i < places.length ? fitted(part, places[i].dataType(), null) : part);
    }
    return nullIf(new IsNull(value), parts);
  }

  private static Expression nullIf(Expression condition, ArrayBuffer parts) {
    CreateNamedStruct struct = new CreateNamedStruct((Seq) parts.toSeq());
    return new If(condition, new Literal(null, ((Expression) struct).dataType()), struct);
  }

  /** Whether values of a type lack fields of the wanted type, outside of arrays and maps. */
  private static boolean lacks(DataType given, DataType wanted) {
    if (!(given instanceof StructType) || !(wanted instanceof StructType)) {
      return false;
    }
    StructField[] fields = ((StructType) given).fields();
    StructField[] places = ((StructType) wanted).fields();
    for (int i = 0; i < places.length; i++) {
      int from = find(fields, places[i].name());
      if (from < 0 || lacks(fields[from].dataType(), places[i].dataType())) {
        return true;
      }
    }
    return false;
  }

  private static Expression text(String name) {
    return (Expression) Literal$.MODULE$.apply(name);
  }

  private static Expression field(Expression struct, int place, StructField field) {
    return new GetStructField(struct, place, Option.apply(field.name()));
  }

  /** Returns the place of a field by its name, -1 if there is none. */
  static int find(StructField[] fields, String name) {
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].name().equalsIgnoreCase(name)) {
        return i;
      }
    }
    return -1;
  }
}
