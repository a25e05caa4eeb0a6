// refusals BOOTSTRAP TABLE: each kind of refused acknowledgement, with franz-go. After each the same
// producer aborts and commits its next transaction. The topics and groups are there.
package main

import (
	"bufio"
	"context"
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
)

const transactionalID = "refused-go"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	seeds := kgo.SeedBrokers(os.Args[1])
	holder := client(seeds, kgo.ShareGroup("transactional"), kgo.ConsumeTopics("orders"))
	plain := client(seeds, kgo.ShareGroup("plain"), kgo.ConsumeTopics("orders"))
	producer := client(seeds, kgo.TransactionalID(transactionalID), kgo.DefaultProduceTopic("enriched"))
	for _, own := range []*kgo.Client{holder, plain, producer} {
		defer own.Close()
	}
	admin := kadm.NewClient(producer)
	topics, err := admin.ListTopics(ctx, "orders")
	check(err)
	table, err := os.Open(os.Args[2])
	check(err)
	for rows := bufio.NewScanner(table); rows.Scan(); {
		row := strings.Split(rows.Text(), "\t")
		if strings.HasPrefix(row[0], "#") {
			continue
		}
		if row[4] == "MEMBER" {
			row[4] = memberOf(ctx, admin)
		}
		fmt.Printf("%s: %s\n", row[0], refused(ctx, producer, topics["orders"].ID, row))
	}
}

func client(options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(options...)
	check(err)
	return made
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func memberOf(ctx context.Context, admin *kadm.Client) string {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		groups, err := admin.DescribeShareGroups(ctx, "transactional")
		check(err)
		for _, member := range groups["transactional"].Members {
			return member.MemberID
		}
	}
	return ""
}

func refused(ctx context.Context, producer *kgo.Client, topicID [16]byte, row []string) string {
	check(producer.BeginTransaction())
	check(producer.ProduceSync(ctx, kgo.StringRecord("refused")).FirstErr())
	err := acknowledge(ctx, producer, topicID, row)
	check(producer.EndTransaction(ctx, kgo.TryAbort))
	if err == nil {
		return "accepted"
	}
	check(producer.BeginTransaction())
	check(producer.ProduceSync(ctx, kgo.StringRecord("good")).FirstErr())
	check(producer.EndTransaction(ctx, kgo.TryCommit))
	return "refused, aborted, went on"
}

func acknowledge(ctx context.Context, producer *kgo.Client, topicID [16]byte, row []string) error {
	id, epoch, err := producer.ProducerID(ctx)
	check(err)
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group = transactionalID, row[1]
	request.ProducerID, request.ProducerEpoch = id, epoch
	if row[4] != "-" {
		request.MemberID = row[4]
	}
	request.Generation = number(row[5])
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = "orders", topicID
	entry := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	entry.Partition, entry.Offset, entry.Metadata = number(row[2]), 1, &row[3]
	topic.Partitions = append(topic.Partitions, entry)
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, producer)
	check(err)
	return kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode)
}

func number(text string) int32 {
	number, err := strconv.ParseInt(text, 10, 32)
	check(err)
	return int32(number)
}
