import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Refusals BOOTSTRAP TABLE: each kind of refused acknowledgement, with Kafka's own producer. After
 * each the same producer aborts and commits its next transaction.
 */
public final class Refusals {
    private static final String ID = "refused-java";

    /** A line of the table. */
    private record Row(String kind, String group, TopicPartition partition, long offset, String text,
                       String member, int generation) {
        static Row of(String line) {
            String[] words = line.split("\t");
            return new Row(words[0], words[3], new TopicPartition(words[4], Integer.parseInt(words[5])),
                Long.parseLong(words[6]), words[7], words[8].equals("-") ? "" : words[8],
                Integer.parseInt(words[9]));
        }

        /** As of a member that this program is not. */
        @SuppressWarnings("removal")
        ConsumerGroupMetadata metadata() {
            return new ConsumerGroupMetadata(group, generation, member, Optional.empty());
        }
    }

    /** What happens between the beginning of a transaction and its acknowledgements. */
    private interface Meanwhile {
        void happens() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (var producer = producer(bootstrap, ID, 60_000)) {
            for (String line : Files.readAllLines(Path.of(args[1]))) {
                Row row = Row.of(line);
                System.out.println(row.kind + ": " + switch (row.kind) {
                    case "timed-out" -> timedOut(bootstrap, row);
                    case "fenced" -> fenced(bootstrap, row);
                    default -> refused(producer, row, () -> { });
                });
            }
        }
    }

    private static KafkaProducer<String, String> producer(String bootstrap, String id, int timeout) {
        Properties sending = new Properties();
        sending.put("bootstrap.servers", bootstrap);
        sending.put("transactional.id", id);
        sending.put("max.block.ms", "30000");
        sending.put("transaction.timeout.ms", timeout);
        var producer = new KafkaProducer<>(sending, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private static String refused(KafkaProducer<String, String> producer, Row row, Meanwhile meanwhile)
            throws Exception {
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("enriched", "refused")).get();
        meanwhile.happens();
        try {
            String[] texts = row.text.split(" ");
            for (int i = 0; i < texts.length; i++) {
                if (row.kind.equals("restarted") && i > 0) {
                    System.out.println("waiting");
                    System.in.read();
                }
                String text = texts[i];
                var entry = Map.of(row.partition, new OffsetAndMetadata(row.offset, text));
                producer.sendOffsetsToTransaction(entry, row.metadata());
            }
            producer.commitTransaction();
            return "accepted";
        } catch (KafkaException refusal) {
            try {
                producer.abortTransaction();
            } catch (KafkaException fatal) {
                return "fatal, " + fatal.getClass().getSimpleName();
            }
        }
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("enriched", "good"));
        producer.commitTransaction();
        return "refused, aborted, went on";
    }

    /** The broker aborts first. */
    private static String timedOut(String bootstrap, Row row) throws Exception {
        String id = ID + "-timed-out";
        try (var producer = producer(bootstrap, id, 1_000);
             var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            return refused(producer, row, () -> {
                while (admin.describeTransactions(List.of(id)).description(id).get().state()
                        != TransactionState.COMPLETE_ABORT) {
                    Thread.sleep(100);
                }
            });
        }
    }

    /** Another producer takes the transactional id. */
    private static String fenced(String bootstrap, Row row) throws Exception {
        String id = ID + "-fenced";
        try (var producer = producer(bootstrap, id, 60_000)) {
            return refused(producer, row, () -> producer(bootstrap, id, 60_000).close());
        }
    }
}
