//! What the descriptions of messages promise: versions, defaults, nulls, tags, errors, prints.

use ackord_proto::api::{
    ApiKey, Request, RequestHeader, ResponseHeader, encode_request_frame, encode_response_frame,
};
use ackord_proto::coordinator_records::{
    ShareGroupStateRecord, ShareUpdateKey, ShareUpdateValue, StateBatch, TransactionLogKey,
    decode_key, decode_value, encode_key, encode_value, record_type,
};
use ackord_proto::frame::FrameBuffer;
use ackord_proto::kip1289::{ADD_SHARE_ACKS_TO_TXN_KEY, TX_PENDING, TXN_SHARE_ACKNOWLEDGE_KEY};
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::txn_share_acknowledge::{
    AcknowledgementBatch, TxnShareAcknowledgePartition, TxnShareAcknowledgeTopic,
};
use ackord_proto::messages::{txn_share_acknowledge_draft as draft, *};
use ackord_proto::{
    DecodeError, DecodeErrorKind, EncodeError, ErrorCode, Message, Reader, Records, Str, Uuid,
    Writer,
};
use bytes::Bytes;

fn encode<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    message.encode(version, &mut w)?;
    assert_eq!(w.len(), message.encoded_size(version));
    Ok(w.into_bytes())
}

fn decode<M: Message>(version: i16, bytes: impl Into<Bytes>) -> Result<M, DecodeError> {
    M::decode(version, &mut Reader::new(bytes.into()))
}

fn end_txn_response(producer_id: i64) -> EndTxnResponse {
    EndTxnResponse {
        producer_id,
        ..EndTxnResponse::default()
    }
}

#[test]
fn a_field_that_the_version_lacks_has_its_default() {
    let bytes = encode(&end_txn_response(77), 4).unwrap();
    assert_eq!(decode::<EndTxnResponse>(4, bytes).unwrap().producer_id, -1);
    let bytes = encode(&end_txn_response(77), 5).unwrap();
    assert_eq!(decode::<EndTxnResponse>(5, bytes).unwrap().producer_id, 77);
}

#[test]
fn a_value_that_must_not_get_lost_is_refused() {
    let request = InitProducerIdRequest {
        producer_id: 5,
        ..InitProducerIdRequest::default()
    };
    let lost = EncodeError::FieldNotInVersion {
        field: "producer_id",
        version: 2,
    };
    assert_eq!(encode(&request, 2), Err(lost));
    assert!(encode(&request, 3).is_ok());

    let response = ProduceResponse {
        node_endpoints: vec![Default::default()],
        ..ProduceResponse::default()
    };
    let lost = EncodeError::FieldNotInVersion {
        field: "node_endpoints",
        version: 9,
    };
    assert_eq!(encode(&response, 9), Err(lost));
    assert!(encode(&response, 10).is_ok());
}

#[test]
fn null_is_only_where_the_version_allows_it() {
    let all_topics = MetadataRequest {
        topics: None,
        ..MetadataRequest::default()
    };
    assert_eq!(
        encode(&all_topics, 0),
        Err(EncodeError::NullNotAllowed { field: "topics" })
    );
    let bytes = encode(&all_topics, 1).unwrap();
    assert_eq!(decode::<MetadataRequest>(1, bytes).unwrap(), all_topics);

    let error = decode::<MetadataRequest>(0, vec![0xff; 4]).unwrap_err();
    assert_eq!(
        (error.kind, error.field),
        (DecodeErrorKind::NullNotAllowed, "topics")
    );
}

#[test]
fn strings_and_versions_have_limits() {
    let long = Str::from("x".repeat(32_768));
    let request = EndTxnRequest {
        transactional_id: long,
        ..EndTxnRequest::default()
    };
    for version in [0, 3] {
        let too_long = Err(EncodeError::TooLong {
            field: "transactional_id",
        });
        assert_eq!(encode(&request, version), too_long);
    }
    let unsupported = Err(EncodeError::UnsupportedVersion { version: 6 });
    assert_eq!(encode(&EndTxnRequest::default(), 6), unsupported);
    let error = decode::<EndTxnRequest>(-1, vec![0; 100]).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::UnknownVersion { version: -1 });
}

#[test]
fn an_error_says_where() {
    let request = EndTxnRequest {
        transactional_id: "tx".into(),
        ..EndTxnRequest::default()
    };
    let bytes = encode(&request, 0).unwrap();
    let error = decode::<EndTxnRequest>(0, bytes.slice(..9)).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Incomplete { needed: 3 });
    assert_eq!((error.at, error.field), (4, "producer_id"));
    assert_eq!(error.message, "EndTxnRequest");
    let text = "the bytes end too early at byte 4, 3 more needed, in producer_id of EndTxnRequest";
    assert_eq!(error.to_string(), text);

    // The innermost field is named: a partition count inside a topic.
    let error = decode::<AddPartitionsToTxnRequest>(
        0,
        [
            &[0, 0][..],
            &[0; 10],
            &[0, 0, 0, 1],
            &[0, 1, b't'],
            &[0, 0, 0, 9],
        ]
        .concat(),
    );
    assert_eq!(error.unwrap_err().field, "partitions");
}

#[test]
fn counts_are_checked_before_anything_is_reserved() {
    let claim = |count: u32| {
        let error = decode::<MetadataRequest>(1, count.to_be_bytes().to_vec()).unwrap_err();
        assert_eq!(error.field, "topics");
        error.kind
    };
    assert_eq!(claim(1_000_001), DecodeErrorKind::TooManyElements);
    assert_eq!(
        claim(1_000_000),
        DecodeErrorKind::Incomplete { needed: 2_000_000 }
    );
    assert_eq!(
        claim(i32::MAX.cast_unsigned()),
        DecodeErrorKind::TooManyElements
    );
}

/// `EndTxnResponse` v5 up to its tagged fields.
const END_TXN_BODY: [u8; 16] = [0; 16];

#[test]
fn unknown_tags_are_kept_in_order() {
    let out_of_order = [
        &END_TXN_BODY[..],
        &[3, 70, 1, b'a', 66, 0, 70, 2, b'b', b'c'],
    ]
    .concat();
    let sorted = [&END_TXN_BODY[..], &[2, 66, 0, 70, 2, b'b', b'c']].concat();
    let response: EndTxnResponse = decode(5, out_of_order).unwrap();
    assert_eq!(response.unknown_tags.len(), 2);
    assert_eq!(encode(&response, 5).unwrap(), sorted);
    assert!(Message::to_text(&response, 5).ends_with("unknown_tags: [66: 0x, 70: 0x6263]}"));
    // There is no place for them in an older version.
    let lost = EncodeError::FieldNotInVersion {
        field: "unknown_tags",
        version: 2,
    };
    assert_eq!(
        encode(
            &EndTxnResponse {
                producer_id: -1,
                ..response
            },
            2
        ),
        Err(lost)
    );
}

#[test]
fn tagged_sections_are_checked() {
    let kind = |tags: &[u8]| {
        decode::<EndTxnResponse>(5, [&END_TXN_BODY[..], tags].concat())
            .unwrap_err()
            .kind
    };
    assert_eq!(kind(&[1, 70, 9]), DecodeErrorKind::Incomplete { needed: 9 });
    assert_eq!(kind(&[0x91, 0x4e]), DecodeErrorKind::TooManyElements);
    assert_eq!(kind(&[0x80; 6]), DecodeErrorKind::VarintOverflow);

    // Tag 0 of a produce response exists from version 10 on; its size has to be right.
    let response = |version, tags: &[u8]| {
        decode::<ProduceResponse>(version, [&[1, 0, 0, 0, 0][..], tags].concat())
    };
    let error = response(9, &[1, 0, 1, 1]).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TagNotInVersion);
    assert!(response(10, &[1, 0, 1, 1]).is_ok());
    assert_eq!(
        response(10, &[1, 0, 2, 1, 0]).unwrap_err().kind,
        DecodeErrorKind::BadLength
    );
}

fn produce(records: Bytes) -> ProduceRequest {
    ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData {
            name: "orders".into(),
            partition_data: vec![PartitionProduceData {
                index: 3,
                records: Some(Records::from(records)),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

#[test]
fn a_payload_is_never_copied() {
    let payload = Bytes::from(vec![7; 1 << 20]);
    let header = RequestHeader {
        api_key: ApiKey::Produce,
        api_version: 9,
        correlation_id: 12,
        client_id: Some("c".into()),
        unknown_tags: Default::default(),
    };
    let chunks = encode_request_frame(&header, &produce(payload.clone())).unwrap();
    assert_eq!(chunks.len(), 3);
    assert_eq!(chunks[1].as_ptr(), payload.as_ptr());

    let mut buffer = FrameBuffer::new(2 << 20);
    buffer.push(chunks.concat());
    let frame = buffer.next_frame().unwrap().unwrap();
    let mut r = Reader::new(frame.clone());
    assert_eq!(RequestHeader::decode(&mut r).unwrap(), header);
    let Request::Produce(request) = Request::decode(ApiKey::Produce, 9, &mut r).unwrap() else {
        panic!("not a produce request");
    };
    assert_eq!(r.remaining(), 0);
    let records = request.topic_data[0].partition_data[0]
        .records
        .as_ref()
        .unwrap();
    assert_eq!(
        records.chunks()[0].as_ptr(),
        frame[frame.len() - (1 << 20) - 3..].as_ptr()
    );
    assert_eq!(request, produce(payload));
}

#[test]
fn messages_print_on_one_line() {
    let text = "{transactional_id: null, acks: -1, timeout_ms: 30000, topic_data: [{name: \
                \"orders\", partition_data: [{index: 3, records: <4 bytes>}]}]}";
    let request = produce(Bytes::from_static(b"data"));
    assert_eq!(Message::to_text(&request, 9), text);
    let text = Message::to_text(&request, 13);
    assert!(
        text.contains("{topic_id: AAAAAAAAAAAAAAAAAAAAAA, partition_data"),
        "{text}"
    );
    let response = EndTxnResponse {
        error_code: ErrorCode(51),
        ..EndTxnResponse::default()
    };
    let text = "{throttle_time_ms: 0, error_code: CONCURRENT_TRANSACTIONS}";
    assert_eq!(Message::to_text(&response, 3), text);
}

#[test]
fn api_versions_is_answered_with_the_old_header() {
    for (key, version, size) in [
        (ApiKey::ApiVersions, 3, 4),
        (ApiKey::EndTxn, 3, 5),
        (ApiKey::EndTxn, 2, 4),
    ] {
        let mut w = Writer::new();
        ResponseHeader {
            correlation_id: 9,
            ..Default::default()
        }
        .encode(key, version, &mut w);
        assert_eq!(w.len(), size, "{key:?} v{version}");
    }
    let chunks = encode_response_frame(9, ApiKey::EndTxn, 0, &EndTxnResponse::default()).unwrap();
    assert_eq!(chunks.concat(), [0, 0, 0, 10, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_table_of_apis_holds_together() {
    assert!(ApiKey::ALL.is_sorted());
    for api in ApiKey::ALL {
        assert_eq!(ApiKey::from_key(api.key()), Some(*api));
        assert!(api.versions().start() <= api.versions().end());
    }
    assert_eq!(ApiKey::AddShareAcksToTxn.key(), ADD_SHARE_ACKS_TO_TXN_KEY);
    assert_eq!(ApiKey::TxnShareAcknowledge.key(), TXN_SHARE_ACKNOWLEDGE_KEY);
    assert_eq!(ApiKey::from_key(4), None);
    let error = RequestHeader::decode(&mut Reader::new(Bytes::from_static(&[
        0, 4, 0, 0, 0, 0, 0, 1,
    ])));
    assert_eq!(
        error.unwrap_err().kind,
        DecodeErrorKind::UnknownApi { key: 4 }
    );
}

/// The stage of one partition in both versions; the bytes are written out by hand.
#[test]
fn txn_share_acknowledge_has_two_forms() {
    let topic_id = Uuid::from_bytes([9; 16]);
    let request = |batch, member: &str, member_epoch| TxnShareAcknowledgeRequest {
        group_id: "g".into(),
        transactional_id: "t".into(),
        producer_id: 1,
        producer_epoch: 2,
        member_id: member.into(),
        member_epoch,
        topics: vec![TxnShareAcknowledgeTopic {
            topic_id,
            partitions: vec![TxnShareAcknowledgePartition {
                partition: 3,
                acknowledgement_batches: vec![batch],
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let range = AcknowledgementBatch {
        first_offset: 4,
        last_offset: 5,
        ..Default::default()
    };
    let start = [2, b'g', 2, b't', 0, 0, 0, 0, 0, 0, 0, 1, 0, 2];
    let path = [
        &[2][..],
        &[9; 16],
        &[
            2, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5,
        ],
    ]
    .concat();

    let v0 = request(
        AcknowledgementBatch {
            acknowledge_type: 1,
            ..range.clone()
        },
        "",
        -1,
    );
    let bytes = [&start[..], &path, &[1, 0, 0, 0, 0]].concat();
    assert_eq!(encode(&v0, 0).unwrap(), bytes);
    assert_eq!(decode::<TxnShareAcknowledgeRequest>(0, bytes).unwrap(), v0);

    let typed = AcknowledgementBatch {
        delivery_count: 6,
        acknowledge_types: [1, 3][..].into(),
        ..range
    };
    let v1 = request(typed, "m", 7);
    let member = [2, b'm', 0, 0, 0, 7];
    let bytes = [&start[..], &member, &path, &[0, 6, 3, 1, 3, 0, 0, 0, 0]].concat();
    assert_eq!(encode(&v1, 1).unwrap(), bytes);
    assert_eq!(decode::<TxnShareAcknowledgeRequest>(1, bytes).unwrap(), v1);
    assert!(encode(&v1, 0).is_err());
}

/// The draft's form (key 95), written out by hand: the transactional id first and perhaps null, no
/// delivery count.
#[test]
fn the_draft_of_txn_share_acknowledge_has_its_own_form() {
    let batch = draft::DraftBatch {
        first_offset: 4,
        last_offset: 5,
        acknowledge_types: vec![1, 3],
        ..Default::default()
    };
    let partition = draft::DraftPartition {
        partition_index: 3,
        acknowledgement_batches: vec![batch],
        ..Default::default()
    };
    let topic = draft::DraftTopic {
        topic_id: Uuid::from_bytes([9; 16]),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = TxnShareAcknowledgeDraftRequest {
        transactional_id: None,
        group_id: "g".into(),
        producer_id: 1,
        producer_epoch: 2,
        member_id: "m".into(),
        member_epoch: 7,
        topics: vec![topic],
        ..Default::default()
    };
    let bytes = [
        &[
            0, 2, b'g', 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 2, b'm', 0, 0, 0, 7, 2,
        ][..],
        &[9; 16],
        &[
            2, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5,
        ],
        &[3, 1, 3, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(encode(&request, 0).unwrap(), bytes);
    let decoded = decode::<TxnShareAcknowledgeDraftRequest>(0, bytes);
    assert_eq!(decoded.unwrap(), request);
    assert_eq!(ApiKey::TxnShareAcknowledgeDraft.key(), 95);
}

#[test]
fn a_staged_update_carries_the_type_and_a_plain_one_does_not() {
    let key = ShareUpdateKey {
        group_id: "g".into(),
        topic_id: Uuid::ZERO,
        partition: 1,
    };
    let plain = StateBatch {
        first_offset: 1,
        last_offset: 2,
        ..Default::default()
    };
    let staged = StateBatch {
        delivery_state: TX_PENDING,
        acknowledge_type: 3,
        producer_id: 4000,
        producer_epoch: 7,
        ..plain.clone()
    };
    let value = |batch| ShareUpdateValue {
        state_batches: vec![batch],
        ..Default::default()
    };
    let size = |batch| encode_value(&value(batch), 0).unwrap().len();
    assert_eq!(size(staged.clone()) - size(plain), 3 + 10 + 4);

    let (key_bytes, bytes) = (
        encode_key(&key).unwrap(),
        encode_value(&value(staged.clone()), 0),
    );
    let bytes = bytes.unwrap();
    assert_eq!(record_type(&key_bytes), Ok(1));
    assert_eq!(decode_value(&bytes), Ok((value(staged.clone()), 0)));
    let record = ShareGroupStateRecord::decode(&key_bytes, Some(&bytes)).unwrap();
    assert_eq!(
        record,
        ShareGroupStateRecord::ShareUpdate(key.clone(), Some(value(staged)))
    );
    let deleted = ShareGroupStateRecord::decode(&key_bytes, None);
    assert_eq!(deleted, Ok(ShareGroupStateRecord::ShareUpdate(key, None)));
}

#[test]
fn records_of_another_type_or_time_are_told_apart() {
    let wrong = decode_key::<TransactionLogKey>(&Bytes::from_static(&[0, 1, 0, 0]));
    assert_eq!(
        wrong.unwrap_err().kind,
        DecodeErrorKind::UnknownVersion { version: 1 }
    );
    let future = decode_value::<ShareUpdateValue>(&Bytes::from_static(&[0, 9, 0, 0]));
    assert_eq!(
        future.unwrap_err().kind,
        DecodeErrorKind::UnknownVersion { version: 9 }
    );
    let other = ShareGroupStateRecord::decode(&Bytes::from_static(&[0, 9]), None);
    assert_eq!(other, Ok(ShareGroupStateRecord::Other { record_type: 9 }));
    assert!(record_type(&Bytes::from_static(&[0])).is_err());
}

#[test]
fn messages_print_field_by_field_down_to_their_records() {
    use ackord_proto::printer::Printer;
    use ackord_proto::records::{BatchBuilder, Compression};

    let mut builder = BatchBuilder::new(0);
    let headers: [(&[u8], Option<&[u8]>); 2] = [(b"h", Some(b"\x01")), (b"i", None)];
    builder.push_with_headers(7, None, Some("h\u{fc}".as_bytes()), &headers);
    let request = produce(builder.build_compressed(Compression::Gzip).unwrap());
    let text = |limit| {
        let mut lines = Printer::by_lines(None, limit);
        Message::print(&request, 9, &mut lines);
        let fault = lines.fault().map(str::to_owned);
        (lines.finish(), fault)
    };
    let (lines, fault) = text(1 << 10);
    assert_eq!(fault, None);
    for part in [
        "{\n  transactional_id: null\n",
        "attributes: 1 (gzip)\n",
        "key: null\n",
        "value: \"h\u{fc}\"\n",
        "headers: [\"h\": 0x01, \"i\": null]\n",
    ] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
    // What a bomb unpacks to is bounded, over all batches.
    let (lines, fault) = text(5);
    let sentence = "more than 5 bytes of records in one batch";
    assert_eq!(fault.as_deref(), Some(sentence));
    assert!(lines.contains(&format!("records: <{sentence}>")), "{lines}");
}
