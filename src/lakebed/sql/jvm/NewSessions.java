package lakebed;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import scala.runtime.AbstractFunction2;

/**
 * Attaches the lakes of a session to sessions that are made from it: newSession(), clients of Spark Connect, and the
 * session in which a stream calls foreachBatch.
 *
 * <p>Such sessions share the extensions of the first one, and an extension may replace the parser. The parser of a new
 * session calls Python before it parses its first text. At that time the session is complete, and nothing has looked for
 * a catalog yet.
 */
public final class NewSessions extends AbstractFunction2 {

  private static final Map KNOWN = Collections.synchronizedMap(new WeakHashMap());

  private final Consumer attach;

  private NewSessions(Consumer attach) {
    this.attach = attach;
  }

  /** Calls a function with every session that is made with these extensions from now on, unless it does so already. */
  public static void follow(SparkSessionExtensions extensions, Consumer attach) {
    if (KNOWN.put(extensions, Boolean.TRUE) == null) {
      extensions.injectParser(new NewSessions(attach));
    }
  }

  public Object apply(Object session, Object parser) {
    ClassLoader loader = ParserInterface.class.getClassLoader();
    return Proxy.newProxyInstance(loader, new Class[] {ParserInterface.class}, new First(session, parser, attach));
  }

  /** The parser of a new session. */
  private static final class First implements InvocationHandler {
    private final SparkSession session;
    private final Object parser;
    private Consumer attach;

    First(Object session, Object parser, Consumer attach) {
      this.session = (SparkSession) session;
      this.parser = parser;
      this.attach = attach;
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      try {
        return method.invoke(ready(), arguments);
      } catch (InvocationTargetException error) {
        throw error.getCause();
      }
    }

    /** Returns the parser to call: at the first call the one that Python has wrapped meanwhile. */
    private synchronized Object ready() {
      if (attach == null) {
        return parser;
      }
      Consumer now = attach;
      attach = null;
      try {
        now.accept(session);
      } catch (RuntimeException error) { // Python is gone; the session works without the catalogs
        return parser;
      }
      return session.sessionState().sqlParser();
    }
  }
}
