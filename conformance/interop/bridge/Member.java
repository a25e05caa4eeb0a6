import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Member BOOTSTRAP GROUP TOPIC: a share consumer that does what each line says. `poll SECONDS` answers
 * `polling`, then what came, as VALUE@DELIVERY-COUNT; `acknowledge VALUE TYPE` what the broker said.
 */
public final class Member {
    private final Map<String, ConsumerRecord<String, String>> had = new HashMap<>();
    private final KafkaShareConsumer<String, String> consumer;

    private Member(KafkaShareConsumer<String, String> consumer) {
        this.consumer = consumer;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", args[0], "group.id", args[1], "share.acknowledgement.mode", "explicit");
        try (var consumer = new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(args[2]));
            var member = new Member(consumer);
            var lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                System.out.println(words[0].equals("poll")
                    ? member.poll(Long.parseLong(words[1]))
                    : member.acknowledge(words[1], AcknowledgeType.valueOf(words[2])));
            }
        }
    }

    private String poll(long seconds) {
        System.out.println("polling");
        long until = System.nanoTime() + Duration.ofSeconds(seconds).toNanos();
        ConsumerRecords<String, String> records = ConsumerRecords.empty();
        while (records.isEmpty() && System.nanoTime() < until) {
            records = consumer.poll(Duration.ofSeconds(1));
        }
        List<String> came = new ArrayList<>();
        records.forEach(record -> {
            had.put(record.value(), record);
            came.add(record.value() + "@" + record.deliveryCount().orElseThrow());
        });
        return String.join(" ", came);
    }

    private String acknowledge(String value, AcknowledgeType type) {
        consumer.acknowledge(had.get(value), type);
        return consumer.commitSync().values().stream()
            .map(refusal -> refusal.map(e -> Errors.forException(e).name()).orElse("NONE"))
            .collect(Collectors.joining(" "));
    }
}
