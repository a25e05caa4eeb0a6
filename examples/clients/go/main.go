// Copies a topic exactly once with franz-go as it is: a share consumer and a transactional producer.
// Acknowledgement and output commit together or not at all.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	bootstrap = flag.String("bootstrap", "127.0.0.1:9092", "broker")
	input     = flag.String("input", "orders", "topic to read")
	output    = flag.String("output", "enriched", "topic to write")
	group     = flag.String("group", "copiers", "share group")
	txnID     = flag.String("transactional-id", "copy-orders", "transactional id")
	abort     = flag.Int("abort", 0, "percent of transactions to abort")
	idle      = flag.Duration("idle", 0, "end after so long without a record; 0: never")
)

func main() {
	flag.Parse()
	ctx := context.Background()
	producer := client(kgo.TransactionalID(*txnID), kgo.DefaultProduceTopic(*output))
	defer producer.Close()
	requireTransactionalMode(ctx, producer)
	topicID := idOf(ctx, producer, *input)
	consumer := client(kgo.ShareGroup(*group), kgo.ConsumeTopics(*input))
	defer consumer.Close()

	heard := time.Now()
	for *idle == 0 || time.Since(heard) < *idle {
		records := poll(ctx, consumer)
		if len(records) == 0 {
			continue
		}
		heard = time.Now()
		verdict := kgo.AckRelease
		if copyRecords(ctx, producer, topicID, records) {
			verdict = kgo.AckAccept
		}
		// For the client's books only: in this mode a plain acceptance settles nothing, also the one
		// that the next poll makes of what is not marked here. What an abort gave back may be on its
		// way here again, and a release would free that delivery.
		consumer.MarkAcks(verdict, records...)
	}
}

func client(options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append(options, kgo.SeedBrokers(*bootstrap))...)
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func poll(ctx context.Context, consumer *kgo.Client) []*kgo.Record {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	return consumer.PollFetches(ctx).Records()
}

// copyRecords runs one transaction and says whether its acknowledgements were sent, whatever became
// of them.
func copyRecords(ctx context.Context, producer *kgo.Client, topicID [16]byte, records []*kgo.Record) bool {
	if err := producer.BeginTransaction(); err != nil {
		log.Fatal(err) // The next start fences this producer, which aborts.
	}
	err := write(ctx, producer, records)
	sent := err == nil
	if sent {
		err = acknowledge(ctx, producer, topicID, records)
	}
	if err == nil && rand.IntN(100) >= *abort {
		if err = producer.EndTransaction(ctx, kgo.TryCommit); err == nil {
			return sent
		}
	}
	if err != nil {
		log.Print("aborting: ", err)
	}
	if err := producer.EndTransaction(ctx, kgo.TryAbort); err != nil {
		log.Fatal(err)
	}
	return sent
}

// write comes before the acknowledgements: the client ends only transactions in which it has produced.
func write(ctx context.Context, producer *kgo.Client, records []*kgo.Record) error {
	outputs := make([]*kgo.Record, len(records))
	for i, record := range records {
		outputs[i] = &kgo.Record{Key: record.Key, Value: []byte(strings.ToUpper(string(record.Value)))}
	}
	return producer.ProduceSync(ctx, outputs...).FirstErr()
}

// acknowledge sends the request itself: the client has no call for offsets of a group in which it
// does not consume.
func acknowledge(ctx context.Context, producer *kgo.Client, topicID [16]byte, records []*kgo.Record) error {
	id, epoch, err := producer.ProducerID(ctx)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group = *txnID, *group
	request.ProducerID, request.ProducerEpoch = id, epoch
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = *input, topicID
	topic.Partitions = acknowledgements(records)
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, producer)
	if err != nil {
		return err
	}
	for _, topic := range response.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return fmt.Errorf("acknowledging partition %d: %w", partition.Partition, err)
			}
		}
	}
	return nil
}

// acknowledgements has one entry for each partition: acks:accept=0-9@1,12@3, offsets with their
// delivery counts.
func acknowledgements(records []*kgo.Record) []kmsg.TxnOffsetCommitRequestTopicPartition {
	type span struct {
		first, last int64
		count       int32
	}
	spans := map[int32][]span{}
	for _, record := range records {
		own := spans[record.Partition]
		count := record.DeliveryCount()
		if n := len(own); n > 0 && own[n-1].last == record.Offset-1 && own[n-1].count == count {
			own[n-1].last = record.Offset
		} else {
			own = append(own, span{record.Offset, record.Offset, count})
		}
		spans[record.Partition] = own
	}
	var entries []kmsg.TxnOffsetCommitRequestTopicPartition
	for partition, own := range spans {
		texts := make([]string, len(own))
		for i, span := range own {
			texts[i] = fmt.Sprintf("%d-%d@%d", span.first, span.last, span.count)
		}
		entry := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		entry.Partition = partition
		entry.Offset = own[len(own)-1].last + 1 // Not used.
		entry.Metadata = kmsg.StringPtr("acks:accept=" + strings.Join(texts, ","))
		entries = append(entries, entry)
	}
	return entries
}

// requireTransactionalMode ends the program on a broker that only knows plain acknowledgement, where
// the output could be committed without it.
func requireTransactionalMode(ctx context.Context, client *kgo.Client) {
	request := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, *group
	request.Resources = append(request.Resources, resource)
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	for _, resource := range response.Resources {
		for _, config := range resource.Configs {
			if config.Name == "share.acknowledgement.mode" && config.Value != nil && *config.Value == "transactional" {
				return
			}
		}
	}
	log.Fatalf("group %s needs share.acknowledgement.mode=transactional on this broker", *group)
}

func idOf(ctx context.Context, client *kgo.Client, topic string) [16]byte {
	topics, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err = errors.Join(err, topics.Error()); err != nil {
		log.Fatal(err)
	}
	return topics[topic].ID
}
