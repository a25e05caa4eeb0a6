import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * {@code ShareMember BOOTSTRAP TOPIC GROUP}: one consumer of a share group until standard input ends.
 * Prints a record once the broker has taken its acknowledgement.
 */
public class ShareMember {
    private static volatile boolean ended;

    public static void main(String[] arguments) {
        Thread input = new Thread(() -> {
            try {
                System.in.readAllBytes();
            } catch (java.io.IOException e) {
                System.err.println(e);
            }
            ended = true;
        });
        input.setDaemon(true);
        input.start();
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", arguments[0],
                "group.id", arguments[2],
                "share.acknowledgement.mode", "explicit");
        StringDeserializer text = new StringDeserializer();
        try (var consumer = new KafkaShareConsumer<>(settings, text, text)) {
            consumer.subscribe(List.of(arguments[1]));
            while (!ended) {
                var records = consumer.poll(Duration.ofMillis(500));
                records.forEach(consumer::acknowledge);
                Map<TopicIdPartition, Optional<KafkaException>> answers = consumer.commitSync();
                answers.values().forEach(answer -> answer.ifPresent(e -> {
                    throw e;
                }));
                records.forEach(record -> System.out.println(record.value()));
            }
        }
    }
}
