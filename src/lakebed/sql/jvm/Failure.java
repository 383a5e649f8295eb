package lakebed;

/**
 * A Lakebed error: its message and the name of its Python class. It extends a class that Spark's commands pass on
 * unchanged, and is unchecked, as few methods of Spark declare exceptions.
 */
public final class Failure extends UnsupportedOperationException {

  private final String kind;

  public Failure(String message, String kind) {
    super(message);
    this.kind = kind;
  }

  /** The name of the Python class. */
  public String kind() {
    return kind;
  }
}
