//! A share consumer acknowledges plainly what a producer could not take into its transaction.

use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, ClientError, PlainAcknowledgements, Producer,
    ProducerCommand, ProducerOutput, ShareAcknowledgements, ShareCommand, ShareConsumer,
    ShareGroupMetadata,
};
use ackord_proto::error_code::ErrorCode;

use crate::bench::Bench;
use crate::producer::{begin, init, producer};
use crate::share_consumer::{acknowledged, acks, committed, holder, poll};

/// What a producer hands back whose broker is below transaction version 2.
fn handed_back(
    acknowledgements: ShareAcknowledgements,
    group: ShareGroupMetadata,
) -> PlainAcknowledgements {
    let mut bench: Bench<Producer> = producer();
    bench.transaction_version = 1;
    init(&mut bench, 40, 7);
    begin(&mut bench);
    let call = bench.call(ProducerCommand::SendShareAcksOrFallBack {
        acknowledgements,
        group,
    });
    match bench.result(call) {
        Ok(ProducerOutput::FallenBack(plain)) => plain,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_handed_back_is_sent_plainly_and_waited_for() {
    let (mut bench, polled) = holder(AcknowledgementMode::Transactional);
    let mut all = ShareAcknowledgements::from_records(&polled, AcknowledgeType::Accept);
    all.acknowledge(&polled.records[2], AcknowledgeType::Reject);
    let plain = handed_back(all, polled.group.clone());
    let call = bench.call(ShareCommand::AcknowledgePlainly(plain.clone()));
    let sent = bench.next();
    assert_eq!(acks(&sent), [(0, 1, 1), (2, 2, 3), (3, 3, 1)]);
    assert!(!bench.is_done(call), "the broker has the word");
    bench.answer(&sent, acknowledged(ErrorCode::NONE));
    assert_eq!(committed(&mut bench, call), [(0, ErrorCode::NONE)]);

    let again = bench.call(ShareCommand::AcknowledgePlainly(plain));
    assert!(matches!(
        bench.result(again),
        Err(ClientError::IllegalState(_))
    ));
    poll(&mut bench);
    assert!(acks(&bench.next()).is_empty(), "nothing is said twice");
}

#[test]
fn the_rest_is_held_still() {
    let (mut bench, polled) = holder(AcknowledgementMode::Transactional);
    let mut one = ShareAcknowledgements::new();
    one.acknowledge(&polled.records[1], AcknowledgeType::Accept);
    let call = bench.call(ShareCommand::AcknowledgePlainly(handed_back(
        one,
        polled.group.clone(),
    )));
    let sent = bench.next();
    assert_eq!(acks(&sent), [(1, 1, 1)]);
    bench.answer(&sent, acknowledged(ErrorCode::NONE));
    assert_eq!(committed(&mut bench, call), [(0, ErrorCode::NONE)]);
    let release = release(&mut bench, &polled.records[0]);
    assert!(release.is_ok());
}

fn release(
    bench: &mut Bench<ShareConsumer>,
    record: &ackord_client_core::ConsumerRecord,
) -> Result<(), ClientError> {
    let call = bench.call(ShareCommand::Acknowledge {
        topic_id: record.topic_id,
        partition: record.partition,
        offset: record.offset,
        kind: AcknowledgeType::Release,
    });
    bench.result(call).map(drop)
}

#[test]
fn what_is_not_held_by_this_member_in_this_mode_is_refused_whole() {
    let refused = |mode, forget: bool, stranger: bool| {
        let (mut bench, polled) = holder(mode);
        let all = ShareAcknowledgements::from_records(&polled, AcknowledgeType::Accept);
        let mut group = polled.group.clone();
        if stranger {
            group.member_id = "another".into();
        }
        if forget {
            release(&mut bench, &polled.records[3]).expect("a held record");
        }
        let call = bench.call(ShareCommand::AcknowledgePlainly(handed_back(all, group)));
        let error = bench.result(call).expect_err("a refusal");
        assert!(bench.is_silent(), "nothing is sent");
        error
    };
    let mode = AcknowledgementMode::Transactional;
    assert!(matches!(
        refused(mode, true, false),
        ClientError::IllegalState(_)
    ));
    assert!(matches!(
        refused(mode, false, true),
        ClientError::InvalidArgument(_)
    ));
    assert!(matches!(
        refused(AcknowledgementMode::Implicit, false, false),
        ClientError::IllegalState(_)
    ));
}
