// Guava's own filter, for the interoperability tests: keys are lines of standard input.
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

public class Guava {
    /** create FILE KEYS RATE: makes a filter of the lines. check FILE: prints 1 or 0 for each. */
    public static void main(String[] arguments) throws Exception {
        var funnel = Funnels.stringFunnel(StandardCharsets.UTF_8);
        if (arguments[0].equals("create")) {
            var keys = Long.parseLong(arguments[2]);
            var rate = Double.parseDouble(arguments[3]);
            BloomFilter<CharSequence> filter = BloomFilter.create(funnel, keys, rate);
            lines(filter::put);
            try (var file = new FileOutputStream(arguments[1])) {
                filter.writeTo(file);
            }
            return;
        }
        try (var file = new FileInputStream(arguments[1])) {
            BloomFilter<CharSequence> filter = BloomFilter.readFrom(file, funnel);
            lines(key -> System.out.print(filter.mightContain(key) ? '1' : '0'));
        }
    }

    static void lines(Consumer<String> take) throws Exception {
        var input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
        new BufferedReader(input).lines().forEach(take);
    }
}
