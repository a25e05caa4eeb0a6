import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Copies a topic exactly once with Kafka's own clients as they are: a share consumer and a
 * transactional producer. Acknowledgement and output commit together or not at all.
 *
 * <p>CopyOrders BOOTSTRAP INPUT OUTPUT GROUP [TRANSACTIONAL-ID [ABORT-PERCENT [IDLE-SECONDS]]]
 */
public final class CopyOrders {
    private final String bootstrap;
    private final String output;
    private final String group;
    private final int abortPercent;
    private final ConsumerGroupMetadata metadata;

    private CopyOrders(String bootstrap, String output, String group, int abortPercent) {
        this.bootstrap = bootstrap;
        this.output = output;
        this.group = group;
        this.abortPercent = abortPercent;
        this.metadata = metadataOf(bootstrap, group);
    }

    /**
     * The share consumer has no group metadata to give, so they are those of a consumer that never
     * joins. No more is needed: the delivery counts say which deliveries are meant.
     */
    private static ConsumerGroupMetadata metadataOf(String bootstrap, String group) {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "group.id", group);
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            return consumer.groupMetadata();
        }
    }

    public static void main(String[] args) throws Exception {
        String id = args.length > 4 ? args[4] : "copy-orders";
        int abortPercent = args.length > 5 ? Integer.parseInt(args[5]) : 0;
        long idle = args.length > 6 ? Long.parseLong(args[6]) : Long.MAX_VALUE / 1_000;
        new CopyOrders(args[0], args[2], args[3], abortPercent).run(args[1], id, idle);
    }

    private void run(String input, String transactionalId, long idleSeconds) throws Exception {
        requireTransactionalMode();
        Properties sending = new Properties();
        sending.put("bootstrap.servers", bootstrap);
        sending.put("transactional.id", transactionalId);
        Properties reading = new Properties();
        reading.put("bootstrap.servers", bootstrap);
        reading.put("group.id", group);
        // Explicit, so that nothing is acknowledged behind the program's back.
        reading.put("share.acknowledgement.mode", "explicit");
        try (var producer = new KafkaProducer<>(sending, new StringSerializer(), new StringSerializer());
             var consumer = new KafkaShareConsumer<>(reading, new StringDeserializer(), new StringDeserializer())) {
            producer.initTransactions();
            consumer.subscribe(List.of(input));
            long heard = System.currentTimeMillis();
            while (System.currentTimeMillis() - heard < idleSeconds * 1_000) {
                List<ConsumerRecord<String, String>> records = new ArrayList<>();
                consumer.poll(Duration.ofMillis(500)).forEach(records::add);
                if (records.isEmpty()) {
                    continue;
                }
                heard = System.currentTimeMillis();
                // For the client's books only: in this mode a plain acceptance settles nothing. What
                // an abort gave back may be on its way here again, and a release would free that.
                AcknowledgeType verdict =
                    copy(producer, records) ? AcknowledgeType.ACCEPT : AcknowledgeType.RELEASE;
                records.forEach(record -> consumer.acknowledge(record, verdict));
            }
        }
    }

    /** One transaction. Returns whether its acknowledgements were sent, whatever became of them. */
    private boolean copy(KafkaProducer<String, String> producer, List<ConsumerRecord<String, String>> records) {
        producer.beginTransaction();
        boolean sent = false;
        try {
            for (ConsumerRecord<String, String> record : records) {
                producer.send(new ProducerRecord<>(output, record.key(), record.value().toUpperCase()));
            }
            // Not by another process on this one's behalf: a producer that itself touched neither
            // partition nor group sends no end of its transaction.
            sent = true;
            producer.sendOffsetsToTransaction(acknowledgements(records), metadata);
            if (ThreadLocalRandom.current().nextInt(100) >= abortPercent) {
                commit(producer);
                return sent;
            }
        } catch (KafkaException refused) {
            System.err.println("aborting: " + refused);
        }
        // Where a newer producer has this transactional id, or nothing can be saved, this throws and
        // the program ends. The next start aborts what is open.
        producer.abortTransaction();
        return sent;
    }

    private static void commit(KafkaProducer<String, String> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException notYet) {
                System.err.println("committing again: " + notYet.getMessage());
            }
        }
    }

    /** One entry for each partition: {@code acks:accept=0-9@1,12@3}, offsets with delivery counts. */
    private static Map<TopicPartition, OffsetAndMetadata> acknowledgements(List<ConsumerRecord<String, String>> records) {
        Map<TopicPartition, List<long[]>> ranges = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            List<long[]> own = ranges.computeIfAbsent(
                new TopicPartition(record.topic(), record.partition()), partition -> new ArrayList<>());
            short count = record.deliveryCount().orElseThrow();
            long[] last = own.isEmpty() ? null : own.get(own.size() - 1);
            if (last != null && last[1] == record.offset() - 1 && last[2] == count) {
                last[1] = record.offset();
            } else {
                own.add(new long[] {record.offset(), record.offset(), count});
            }
        }
        Map<TopicPartition, OffsetAndMetadata> entries = new HashMap<>();
        ranges.forEach((partition, own) -> {
            String text = own.stream()
                .map(range -> range[0] + "-" + range[1] + "@" + range[2])
                .collect(Collectors.joining(",", "acks:accept=", ""));
            // The offset is not used.
            entries.put(partition, new OffsetAndMetadata(own.get(own.size() - 1)[1] + 1, text));
        });
        return entries;
    }

    /** On a broker that only knows plain acknowledgement the output could be committed without it. */
    private void requireTransactionalMode() throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            ConfigEntry mode = admin.describeConfigs(Collections.singleton(resource)).all().get()
                .get(resource).get("share.acknowledgement.mode");
            if (mode == null || !"transactional".equals(mode.value())) {
                System.err.println(
                    "group " + group + " needs share.acknowledgement.mode=transactional on this broker");
                System.exit(3);
            }
        }
    }
}
