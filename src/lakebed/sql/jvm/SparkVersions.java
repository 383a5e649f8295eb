package lakebed;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Calls to methods and constructors of Spark that differ between the supported versions. */
public final class SparkVersions {

  /** Calls a static method that has gained flags from version to version; flags that are not given are false. */
  public static Object called(Class type, String name, Object[] given) throws Throwable {
    Method[] methods = type.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals(name)) {
        try {
          return methods[i].invoke(null, filled(methods[i].getParameterTypes(), given));
        } catch (InvocationTargetException error) {
          throw error.getCause();
        }
      }
    }
    throw new NoSuchMethodException(name);
  }

  /**
   * Makes an object of a class whose constructor has gained flags from version to version; flags that are not given are
   * false.
   */
  public static Object made(Class type, Object[] given) {
    Constructor constructor = type.getConstructors()[0];
    try {
      return constructor.newInstance(filled(constructor.getParameterTypes(), given));
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("cannot make a " + type.getName(), error);
    }
  }

  private static Object[] filled(Class[] types, Object[] given) {
    Object[] arguments = new Object[types.length];
    int next = 0;
    for (int i = 0; i < types.length; i++) {
      boolean fits = next < given.length && (types[i].isInstance(given[next]) || isFlag(types[i], given[next]));
      arguments[i] = fits ? given[next++] : Boolean.FALSE;
    }
    return arguments;
  }

  private static boolean isFlag(Class type, Object value) {
    return type == Boolean.TYPE && value instanceof Boolean;
  }
}
