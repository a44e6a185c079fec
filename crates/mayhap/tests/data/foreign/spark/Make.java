// Makes the golden files of this folder with Spark's own filter. See README.md one folder up.
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.util.sketch.BloomFilter;

public class Make {
    static final List<String> cases = new ArrayList<>();

    /** Keys by number: longs, texts, or byte arrays of every short length, high bytes included. */
    static Object key(String kind, long i) {
        switch (kind) {
            case "longs":
                return i * 0x9E3779B97F4A7C15L;
            case "texts":
                return "clé-" + i;
            default:
                byte[] bytes = new byte[(int) (i % 41)];
                for (int j = 0; j < bytes.length; j++) {
                    bytes[j] = (byte) (37 * j + 11 * i);
                }
                return bytes;
        }
    }

    static void make(int version, int seed, String kind, long keys, long bits) throws Exception {
        BloomFilter.Version v = version == 1 ? BloomFilter.Version.V1 : BloomFilter.Version.V2;
        BloomFilter filter = BloomFilter.create(v, keys, bits, seed);
        for (long i = 0; i < keys; i++) {
            filter.put(key(kind, i));
        }
        StringBuilder answers = new StringBuilder();
        for (long i = keys - 20; i < keys + 400; i++) {
            answers.append(filter.mightContain(key(kind, i)) ? '1' : '0');
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        filter.writeTo(out);
        String name = "v" + version + "-" + kind + "-" + keys + "-" + bits + "-" + seed + ".bin";
        Files.write(Path.of(name), out.toByteArray());
        cases.add(String.format(
            "    {\"file\": \"%s\", \"version\": %d, \"seed\": %d, \"kind\": \"%s\", \"keys\": %d, "
                + "\"bits\": %d, \"asked_from\": %d, \"answers\": \"%s\"}",
            name, version, seed, kind, keys, bits, keys - 20, answers));
    }

    public static void main(String[] arguments) throws Exception {
        for (String kind : new String[] {"longs", "texts", "bytes"}) {
            for (int version = 1; version <= 2; version++) {
                make(version, 0, kind, 300, BloomFilter.optimalNumOfBits(300, 0.03));
                make(version, 0, kind, 1000, BloomFilter.optimalNumOfBits(1000, 0.001));
                make(version, 0, kind, 40, 64);
            }
            make(2, 1, kind, 300, BloomFilter.optimalNumOfBits(300, 0.03));
            make(2, -123456789, kind, 300, BloomFilter.optimalNumOfBits(300, 0.25));
        }
        String json = "{\n  \"producer\": \"spark-sketch " + arguments[0] + "\",\n  \"cases\": [\n"
            + String.join(",\n", cases) + "\n  ]\n}\n";
        Files.write(Path.of("cases.json"), json.getBytes(StandardCharsets.UTF_8));
    }
}
