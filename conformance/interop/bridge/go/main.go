// refusals [-old] BOOTSTRAP TABLE: each kind of refused acknowledgement, with franz-go. After each the
// same producer aborts and commits its next transaction. -old: as clients before Kafka 4.0 do it, with
// transaction version 1.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// A line of the table.
type row struct {
	kind, group, topic, text, member string
	partition, generation            int32
	offset                           int64
}

func rowOf(line string) row {
	words := strings.Split(line, "\t")
	member := words[8]
	if member == "-" {
		member = ""
	}
	return row{
		kind: words[0], group: words[3], topic: words[4], text: words[7], member: member,
		partition: int32(number(words[5])), generation: int32(number(words[9])), offset: number(words[6]),
	}
}

// A transactional producer of one kind of client.
type producer struct {
	*kgo.Client
	id  string
	old bool
}

// What happens between the beginning of a transaction and its acknowledgements.
type meanwhile func(ctx context.Context)

var options []kgo.Opt

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	old := flag.Bool("old", false, "as a client before Kafka 4.0")
	flag.Parse()
	name := "refused-go"
	options = []kgo.Opt{kgo.SeedBrokers(flag.Arg(0)), kgo.DefaultProduceTopic("enriched")}
	if *old {
		name = "refused-old-go"
		options = append(options, kgo.MaxVersions(kversion.V3_9_0()))
	}
	made := newProducer(name, *old, time.Minute)
	defer made.Close()
	table, err := os.Open(flag.Arg(1))
	check(err)
	for lines := bufio.NewScanner(table); lines.Scan(); {
		row := rowOf(lines.Text())
		fmt.Printf("%s: %s\n", row.kind, try(ctx, made, row))
	}
}

func newProducer(id string, old bool, timeout time.Duration) producer {
	made, err := kgo.NewClient(append(options, kgo.TransactionalID(id), kgo.TransactionTimeout(timeout))...)
	check(err)
	return producer{made, id, old}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func try(ctx context.Context, common producer, row row) string {
	switch row.kind {
	case "timed-out": // The broker aborts first.
		own := newProducer(common.id+"-timed-out", common.old, time.Second)
		defer own.Close()
		return refused(ctx, own, row, own.untilAborted)
	case "fenced": // Another producer takes the transactional id.
		own := newProducer(common.id+"-fenced", common.old, time.Minute)
		defer own.Close()
		return refused(ctx, own, row, own.replace)
	default:
		return refused(ctx, common, row, func(context.Context) {})
	}
}

func (own producer) untilAborted(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		described, err := kadm.NewClient(own.Client).DescribeTransactions(ctx, own.id)
		check(err)
		if described[own.id].State == "CompleteAbort" {
			return
		}
	}
}

func (own producer) replace(ctx context.Context) {
	newer := newProducer(own.id, own.old, time.Minute)
	defer newer.Close()
	_, _, err := newer.ProducerID(ctx)
	check(err)
}

func refused(ctx context.Context, producer producer, row row, meanwhile meanwhile) string {
	check(producer.BeginTransaction())
	check(producer.ProduceSync(ctx, kgo.StringRecord("refused")).FirstErr())
	meanwhile(ctx)
	refusal := acknowledge(ctx, producer, row)
	if err := goOn(ctx, producer); err != nil {
		return fmt.Sprintf("fatal, %s, then %s", name(refusal), name(err))
	}
	if refusal == nil {
		return "accepted"
	}
	return "refused, aborted, went on"
}

func goOn(ctx context.Context, producer producer) error {
	if err := producer.EndTransaction(ctx, kgo.TryAbort); err != nil {
		return err
	}
	if err := producer.BeginTransaction(); err != nil {
		return err
	}
	if err := producer.ProduceSync(ctx, kgo.StringRecord("good")).FirstErr(); err != nil {
		return err
	}
	return producer.EndTransaction(ctx, kgo.TryCommit)
}

func name(err error) string {
	var code *kerr.Error
	if errors.As(err, &code) {
		return code.Message
	}
	return fmt.Sprint(err)
}

// With the requests themselves: franz-go commits offsets in a transaction only for groups of consumers.
func acknowledge(ctx context.Context, producer producer, row row) error {
	topics, err := kadm.NewClient(producer.Client).ListTopics(ctx, row.topic)
	check(err)
	id, epoch, err := producer.ProducerID(ctx)
	check(err)
	if producer.old && row.kind != "not-added" {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.Group = producer.id, row.group
		add.ProducerID, add.ProducerEpoch = id, epoch
		added, err := add.RequestWith(ctx, producer.Client)
		check(err)
		if added.ErrorCode != 0 {
			return kerr.ErrorForCode(added.ErrorCode)
		}
	}
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group = producer.id, row.group
	request.ProducerID, request.ProducerEpoch = id, epoch
	request.MemberID, request.Generation = row.member, row.generation
	switch row.kind {
	case "id-of-nobody":
		request.TransactionalID = "nobody"
	case "id-of-another":
		request.TransactionalID = "scene"
	}
	for already, text := range strings.Split(row.text, " ") {
		if row.kind == "restarted" && already > 0 {
			fmt.Println("waiting")
			fmt.Scanln()
		}
		request.Topics = []kmsg.TxnOffsetCommitRequestTopic{topicOf(row, topics[row.topic].ID, text)}
		response, err := request.RequestWith(ctx, producer.Client)
		check(err)
		for _, answered := range response.Topics[0].Partitions {
			if answered.ErrorCode != 0 {
				return kerr.ErrorForCode(answered.ErrorCode)
			}
		}
	}
	return nil
}

func topicOf(row row, id [16]byte, text string) kmsg.TxnOffsetCommitRequestTopic {
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = row.topic, id
	entry := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	entry.Partition, entry.Offset, entry.Metadata = row.partition, row.offset, &text
	topic.Partitions = append(topic.Partitions, entry)
	if row.kind == "partition-twice" {
		topic.Partitions = append(topic.Partitions, entry)
	}
	return topic
}

func number(text string) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	check(err)
	return number
}
