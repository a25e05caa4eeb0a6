package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	source = "franz-source"
	target = "franz-target"
	group  = "franz-copy"
	batch  = 5
)

// transactions copies batches of records in transactions that also carry the group's offsets:
// one commits, one aborts, one commits.
func transactions(ctx context.Context, bootstrap string) error {
	plain, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return err
	}
	defer plain.Close()
	admin := kadm.NewClient(plain)
	if _, err := admin.CreateTopics(ctx, 1, 1, nil, source, target); err != nil {
		return err
	}
	for n := range 3 * batch {
		record := &kgo.Record{Topic: source, Value: fmt.Append(nil, n%batch)}
		if err := plain.ProduceSync(ctx, record).FirstErr(); err != nil {
			return err
		}
	}
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(bootstrap),
		kgo.TransactionalID(group),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	var offsets []string
	rounds := []struct {
		prefix  string
		outcome kgo.TransactionEndTry
	}{{"c", kgo.TryCommit}, {"x", kgo.TryAbort}, {"d", kgo.TryCommit}}
	for _, round := range rounds {
		if err := copyBatch(ctx, session, round.prefix, round.outcome); err != nil {
			return err
		}
		committed, err := admin.FetchOffsets(ctx, group)
		if err != nil {
			return err
		}
		at, _ := committed.Lookup(source, 0)
		offsets = append(offsets, fmt.Sprint(at.At))
	}
	committed, err := read(ctx, bootstrap, 2*batch, kgo.ReadCommitted())
	if err != nil {
		return err
	}
	all, err := read(ctx, bootstrap, 3*batch, kgo.ReadUncommitted())
	if err != nil {
		return err
	}
	fmt.Println("offsets:", strings.Join(offsets, " "))
	fmt.Println("committed:", strings.Join(committed, " "))
	fmt.Println("all:", len(all))
	return nil
}

func copyBatch(ctx context.Context, session *kgo.GroupTransactSession, prefix string, outcome kgo.TransactionEndTry) error {
	if err := session.Begin(); err != nil {
		return err
	}
	for copied := 0; copied < batch; {
		fetches := session.PollRecords(ctx, batch-copied)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			value := append([]byte(prefix), record.Value...)
			sent := session.ProduceSync(ctx, &kgo.Record{Topic: target, Value: value})
			if err := sent.FirstErr(); err != nil {
				return err
			}
			copied++
		}
	}
	committed, err := session.End(ctx, outcome)
	if err == nil && committed != bool(outcome) {
		err = fmt.Errorf("%s: committed: %t", prefix, committed)
	}
	return err
}

// read returns the values of the target in the order of the log.
func read(ctx context.Context, bootstrap string, count int, isolation kgo.IsolationLevel) ([]string, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.FetchIsolationLevel(isolation),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
			target: {0: kgo.NewOffset().AtStart()},
		}),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var values []string
	for len(values) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
	}
	return values, nil
}
