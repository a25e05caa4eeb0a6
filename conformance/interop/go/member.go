package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outcome is what the broker answered to the acknowledgements of one batch of records.
type outcome struct {
	mutex sync.Mutex
	err   error
}

func (o *outcome) add(_ *kgo.Client, results kgo.ShareAckResults) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.err == nil {
		o.err = results.Error()
	}
}

func (o *outcome) take() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	err := o.err
	o.err = nil
	return err
}

// member is one consumer of a share group until standard input ends. It prints a record once the
// broker has taken its acknowledgement.
func member(ctx context.Context, bootstrap, topic, group string) error {
	answers := new(outcome)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeTopics(topic),
		kgo.ShareGroup(group),
		kgo.ShareAckCallback(answers.add),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	reading, stop := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	for {
		fetches := client.PollFetches(reading)
		if reading.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		client.MarkAcks(kgo.AckAccept)
		if err := client.FlushAcks(ctx); err != nil {
			return err
		}
		if err := answers.take(); err != nil {
			return fmt.Errorf("acknowledgement: %w", err)
		}
		fetches.EachRecord(func(record *kgo.Record) { fmt.Println(string(record.Value)) })
	}
}
