import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Refusals BOOTSTRAP TABLE: each kind of refused acknowledgement, with Kafka's own clients. After
 * each the same producer aborts and commits its next transaction. The topics and groups are there.
 */
public final class Refusals {
    public static void main(String[] args) throws Exception {
        Properties sending = new Properties();
        sending.put("bootstrap.servers", args[0]);
        sending.put("transactional.id", "refused-java");
        sending.put("max.block.ms", "30000");
        // The last row waits for this.
        sending.put("transaction.timeout.ms", "8000");
        try (var member = member(args[0], "transactional");
             var other = member(args[0], "plain");
             var producer = new KafkaProducer<>(sending, new StringSerializer(), new StringSerializer())) {
            String id = memberId(args[0], member, other);
            producer.initTransactions();
            for (String line : Files.readAllLines(Path.of(args[1]))) {
                String[] row = line.split("\t");
                // A generation without a member does not leave this client.
                if (line.startsWith("#") || row[0].equals("half-a-member")) {
                    continue;
                }
                String name = row[4].equals("-") ? "" : row[4].equals("MEMBER") ? id : row[4];
                var metadata = metadata(row[1], Integer.parseInt(row[5]), name);
                var entry = Map.of(
                    new TopicPartition("orders", Integer.parseInt(row[2])), new OffsetAndMetadata(1, row[3]));
                System.out.println(row[0] + ": " + refused(producer, metadata, entry, 0));
            }
            var entry = Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(1, "acks:accept=0@1"));
            System.out.println("timed-out: " + refused(producer, metadata("transactional", -1, ""), entry, 10_000));
        }
    }

    private static String refused(
            KafkaProducer<String, String> producer,
            ConsumerGroupMetadata metadata,
            Map<TopicPartition, OffsetAndMetadata> entry,
            long wait) throws Exception {
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("enriched", "refused")).get();
        Thread.sleep(wait);
        try {
            producer.sendOffsetsToTransaction(entry, metadata);
            producer.commitTransaction();
            return "accepted";
        } catch (KafkaException refusal) {
            producer.abortTransaction();
        }
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("enriched", "good"));
        producer.commitTransaction();
        return "refused, aborted, went on";
    }

    /** As of a member that this program is not. */
    @SuppressWarnings("removal")
    private static ConsumerGroupMetadata metadata(String group, int generation, String member) {
        return new ConsumerGroupMetadata(group, generation, member, Optional.empty());
    }

    private static KafkaShareConsumer<String, String> member(String bootstrap, String group) {
        Properties reading = new Properties();
        reading.put("bootstrap.servers", bootstrap);
        reading.put("group.id", group);
        reading.put("share.acknowledgement.mode", "explicit");
        var consumer = new KafkaShareConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of("orders"));
        return consumer;
    }

    /** The id of a member that has joined; both have then. */
    private static String memberId(
            String bootstrap,
            KafkaShareConsumer<String, String> member,
            KafkaShareConsumer<String, String> other) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            for (int round = 0; round < 60; round++) {
                other.poll(Duration.ofMillis(250));
                if (!member.poll(Duration.ofMillis(250)).isEmpty()) {
                    break;
                }
            }
            return admin.describeShareGroups(List.of("transactional")).all().get()
                .get("transactional").members().iterator().next().consumerId();
        }
    }
}
