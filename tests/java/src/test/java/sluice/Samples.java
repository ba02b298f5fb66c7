package sluice;

import static org.apache.fluss.types.DataTypes.*;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.GenericArray;
import org.apache.fluss.row.GenericMap;
import org.apache.fluss.row.TimestampLtz;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.types.DataType;

/** Values of each logical type, edges among them. */
record Samples(DataType type, List<Object> values) {
  /** Every type that can be a key or a partition column of its kind; no nesting. */
  static List<Samples> scalars() {
    List<Samples> all = new ArrayList<>(List.of(
        of(BOOLEAN(), true, false),
        of(TINYINT(), (byte) 0, Byte.MIN_VALUE, Byte.MAX_VALUE),
        of(SMALLINT(), (short) 0, Short.MIN_VALUE, Short.MAX_VALUE),
        of(INT(), 0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE),
        of(BIGINT(), 0L, -1L, Long.MIN_VALUE, Long.MAX_VALUE),
        of(FLOAT(), 0f, -0.5f, Float.MIN_VALUE, Float.MAX_VALUE, Float.NEGATIVE_INFINITY),
        of(DOUBLE(), 0d, -0.5d, Double.MIN_VALUE, Double.MAX_VALUE, Double.POSITIVE_INFINITY),
        of(CHAR(3), text("abc"), text("xyz")),  // ASCII: the client cannot put wider letters into INDEXED rows.
        of(STRING(), text("a"), text("longer than seven bytes"), text("流存储 🐿"), text("x".repeat(5000))),
        of(BINARY(4), new byte[] {0, 1, -1, 127}, new byte[] {-128, 0, 0, 1}),
        of(BYTES(), new byte[] {1}, new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, new byte[300]),
        of(DATE(), 0, -1, 20000, -719162),
        of(TIME(0), 0, 86399000),
        of(TIME(3), 1, 86399999)));
    for (int precision : new int[] {1, 9, 18, 19, 38}) {
      int scale = precision / 3;
      BigInteger nines = BigInteger.TEN.pow(precision).subtract(BigInteger.ONE);
      all.add(of(DECIMAL(precision, scale), decimal(BigInteger.ZERO, precision, scale),
          decimal(nines, precision, scale), decimal(nines.negate(), precision, scale)));
    }
    for (int precision = 0; precision <= 9; precision++) {
      all.add(timestamps(precision));
      all.add(zonedTimestamps(precision));
    }
    return all;
  }

  static List<Samples> nested() {
    return List.of(
        of(ARRAY(INT()), ints(), ints(1, 2, 3), GenericArray.of(1, null, 3)),
        of(ARRAY(STRING()), GenericArray.of(text("a"), null, text("behind the null"))),
        of(ARRAY(ARRAY(BIGINT())), GenericArray.of(GenericArray.of(1L, 2L), null, GenericArray.of())),
        of(ARRAY(DECIMAL(20, 2)), GenericArray.of(decimal(BigInteger.TEN.pow(19), 20, 2), null)),
        of(ARRAY(TIMESTAMP(9)), GenericArray.of(timestamp(9, "2026-12-31T23:59:59.123456789"))),
        of(MAP(STRING(), INT()), GenericMap.of(text("k"), 1, text("l"), null), GenericMap.of()),
        of(MAP(INT(), ARRAY(STRING())), GenericMap.of(7, GenericArray.of(text("x"), null))),
        of(ROW(FIELD("i", INT()), FIELD("s", STRING())), Rows.row(1, "one"), Rows.row(null, null)),
        of(ROW(FIELD("r", ROW(FIELD("b", BOOLEAN()))), FIELD("a", ARRAY(DOUBLE()))),
            Rows.row(Rows.row(true), GenericArray.of(1.5, -2.5)), Rows.row(null, null)),
        of(ARRAY(ROW(FIELD("k", STRING()), FIELD("v", MAP(STRING(), BIGINT())))),
            GenericArray.of(Rows.row("a", new GenericMap(Map.of(text("n"), 5L))), null)));
  }

  /** The values that can name a partition; none for types that cannot. A writer given another one never gives up. */
  List<Object> partitions() {
    return switch (type.getTypeRoot()) {
      case DECIMAL, ARRAY, MAP, ROW -> List.of();
      case STRING -> values.stream().filter(value -> value.toString().matches("[\\w-]{1,200}")).toList();
      case BYTES -> values.stream().filter(value -> ((byte[]) value).length <= 100).toList();
      default -> values;
    };
  }

  @Override
  public String toString() {
    return type.asSummaryString();
  }

  static Samples of(DataType type, Object... values) {
    return new Samples(type, List.of(values));
  }

  static BinaryString text(String value) {
    return BinaryString.fromString(value);
  }

  private static GenericArray ints(int... values) {
    return new GenericArray(values);
  }

  private static Decimal decimal(BigInteger unscaled, int precision, int scale) {
    return Decimal.fromBigDecimal(new BigDecimal(unscaled, scale), precision, scale);
  }

  /**
   * Before 1970 in whole milliseconds: the clients cannot read finer ones back from Arrow. From precision 7 on Arrow
   * counts nanoseconds, which reach back to 1677 only.
   */
  private static Samples timestamps(int precision) {
    return of(TIMESTAMP(precision), timestamp(precision, "1970-01-01T00:00:00"),
        timestamp(precision, "2026-11-30T10:20:30.123456789"), timestamp(precision, "1969-12-31T23:59:59.987"),
        timestamp(precision, precision < 7 ? "0001-01-01T00:00:00" : "1700-01-01T01:02:03.999"));
  }

  private static Samples zonedTimestamps(int precision) {
    return of(TIMESTAMP_LTZ(precision), zoned(precision, "1970-01-01T00:00:00Z"),
        zoned(precision, "2026-11-30T10:20:30.123456789Z"), zoned(precision, "1969-12-31T23:59:59.987Z"),
        zoned(precision, precision < 7 ? "0001-01-01T00:00:00Z" : "1700-01-01T01:02:03.999Z"));
  }

  static TimestampNtz timestamp(int precision, String value) {
    LocalDateTime time = LocalDateTime.parse(value);
    return TimestampNtz.fromLocalDateTime(time.withNano(cut(time.getNano(), precision)));
  }

  static TimestampLtz zoned(int precision, String value) {
    Instant time = Instant.parse(value);
    return TimestampLtz.fromInstant(time.with(java.time.temporal.ChronoField.NANO_OF_SECOND,
        cut(time.getNano(), precision)));
  }

  private static int cut(int nanos, int precision) {
    int step = (int) Math.pow(10, 9 - precision);
    return nanos / step * step;
  }
}
