//! The commands against a broker that says what a test wants.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use ackord_proto::api::{ApiKey, Request, RequestHeader, Response, encode_response_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::frame::FrameBuffer;
use ackord_proto::messages::api_versions::ApiVersion;
use ackord_proto::messages::describe_pending_share_acks::{PendingShareAck, RefusedShareAck};
use ackord_proto::messages::describe_transactions::{TopicData, TransactionState};
use ackord_proto::messages::{
    ApiVersionsResponse, DescribePendingShareAcksResponse, DescribeTransactionsResponse,
    InitProducerIdResponse, ListTransactionsResponse, ShareGroupDescribeResponse,
    list_transactions, share_group_describe,
};
use ackord_proto::reader::Reader;
use clap::Parser;

use super::{Refusal, groups, txn};
use crate::flags::{Cli, Command};

/// A broker that serves one connection with every API but `missing`; its address.
fn broker(
    missing: Option<ApiKey>,
    mut answer: impl FnMut(Request) -> Response + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = FrameBuffer::new(1 << 20);
        let mut chunk = [0; 4096];
        loop {
            let Some(frame) = buffer.next_frame().unwrap() else {
                match stream.read(&mut chunk) {
                    Ok(count) if count > 0 => buffer.push_slice(&chunk[..count]),
                    _ => return,
                }
                continue;
            };
            let mut reader = Reader::new(frame);
            let header = RequestHeader::decode(&mut reader).unwrap();
            let (api, version) = (header.api_key, header.api_version);
            let request = Request::decode(api, version, &mut reader).unwrap();
            let response = match request {
                Request::ApiVersions(_) => served(missing),
                request => answer(request),
            };
            let chunks = encode_response_frame(header.correlation_id, api, version, &response);
            for chunk in chunks.unwrap() {
                stream.write_all(&chunk).unwrap();
            }
        }
    });
    address
}

fn served(missing: Option<ApiKey>) -> Response {
    let served = ApiKey::ALL.iter().filter(|api| Some(**api) != missing);
    let announce = |api: &ApiKey| ApiVersion {
        api_key: api.key(),
        min_version: *api.versions().start(),
        max_version: *api.versions().end(),
        ..Default::default()
    };
    ApiVersionsResponse {
        api_keys: served.map(announce).collect(),
        ..Default::default()
    }
    .into()
}

fn run(address: &str, args: &[&str]) -> Result<String, Refusal> {
    let args = ["ackord"].iter().chain(args).copied();
    let args = args.chain(["--bootstrap", address]);
    match Cli::try_parse_from(args).unwrap().into_command() {
        Command::Txn(flags) => txn::run(&flags),
        Command::Groups(flags) => groups::run(&flags),
        other => panic!("{other:?}"),
    }
}

fn transaction(state: &str) -> Response {
    let state = TransactionState {
        transactional_id: "txn-a".into(),
        transaction_state: state.into(),
        transaction_timeout_ms: i32::MAX,
        transaction_start_time_ms: -1,
        producer_id: 7,
        producer_epoch: 3,
        topics: vec![TopicData {
            topic: "enriched".into(),
            partitions: vec![1, 0],
            ..Default::default()
        }],
        ..Default::default()
    };
    DescribeTransactionsResponse {
        transaction_states: vec![state],
        ..Default::default()
    }
    .into()
}

fn pending() -> Response {
    let range = PendingShareAck {
        transactional_id: Some("txn-a".into()),
        producer_id: 7,
        producer_epoch: 3,
        group_id: "g".into(),
        topic_name: Some("orders".into()),
        partition_index: 2,
        first_offset: 10,
        last_offset: 19,
        acknowledge_type: 3,
        delivery_count: 1,
        transaction_age_ms: 1500,
        ..Default::default()
    };
    DescribePendingShareAcksResponse {
        pending: vec![range],
        refused: vec![RefusedShareAck {
            group_id: "g".into(),
            reason: "orders-0: the text says nothing".into(),
            refused_at_ms: 1234,
            ..Default::default()
        }],
        ..Default::default()
    }
    .into()
}

#[test]
fn transactions_are_listed_by_id() {
    let address = broker(None, |_| {
        let state = |id: &str| list_transactions::TransactionState {
            transactional_id: id.into(),
            producer_id: 1,
            transaction_state: "Ongoing".into(),
            ..Default::default()
        };
        ListTransactionsResponse {
            transaction_states: vec![state("b"), state("a")],
            ..Default::default()
        }
        .into()
    });
    let text = run(&address, &["txn", "list", "--state", "Ongoing"]).unwrap();
    assert_eq!(
        text,
        "TRANSACTIONAL-ID  PRODUCER-ID  STATE\n\
         a                 1            Ongoing\n\
         b                 1            Ongoing\n"
    );
}

#[test]
fn a_transaction_is_described_with_what_it_holds() {
    let address = broker(None, |request| match request {
        Request::DescribeTransactions(_) => transaction("Ongoing"),
        _ => pending(),
    });
    let text = run(&address, &["txn", "describe", "txn-a"]).unwrap();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let own = "txn-a 7 3 Ongoing none - - enriched-0,enriched-1";
    assert_eq!(lines[1].join(" "), own, "{text}");
    let held = "g orders 2 10-19 reject 1 - txn-a 7 3 1500";
    assert_eq!(lines[5].join(" "), held, "{text}");
    let refused = "g 1234 orders-0: the text says nothing";
    assert_eq!(lines[9].join(" "), refused, "{text}");
}

#[test]
fn an_abort_asks_until_the_coordinator_has_aborted() {
    let mut asked = 0;
    let address = broker(None, move |request| match request {
        Request::DescribeTransactions(_) => transaction("Ongoing"),
        Request::InitProducerId(request) => {
            assert_eq!(request.transactional_id.as_deref(), Some("txn-a"));
            assert_eq!((request.producer_id, request.producer_epoch), (-1, -1));
            // A participant of two-phase commit had no timeout.
            assert_eq!(request.transaction_timeout_ms, 60_000);
            asked += 1;
            InitProducerIdResponse {
                error_code: match asked {
                    1 => ErrorCode::CONCURRENT_TRANSACTIONS,
                    _ => ErrorCode::NONE,
                },
                ..Default::default()
            }
            .into()
        }
        _ => pending(),
    });
    let text = run(&address, &["txn", "abort", "txn-a"]).unwrap();
    assert_eq!(
        text,
        "aborted the transaction of txn-a: 2 partitions, 1 ranges of acknowledgements given back; \
         its producer is fenced\n"
    );
}

#[test]
fn refusals_say_what_to_do() {
    let refusal = |state: &'static str, args: &[&str], word: &str| {
        let address = broker(None, move |_| transaction(state));
        let Refusal(text) = run(&address, args).unwrap_err();
        assert!(text.contains(word), "{text}");
    };
    let abort = ["txn", "abort", "txn-a"];
    refusal("Empty", &abort, "nothing was changed");
    refusal("CompleteCommit", &abort, "no transaction under way");
    refusal("PrepareCommit", &abort, "decided to commit");

    let address = broker(None, |_| {
        let state = TransactionState {
            error_code: ErrorCode::TRANSACTIONAL_ID_NOT_FOUND,
            ..Default::default()
        };
        DescribeTransactionsResponse {
            transaction_states: vec![state],
            ..Default::default()
        }
        .into()
    });
    let Refusal(text) = run(&address, &["txn", "describe", "txn-a"]).unwrap_err();
    assert!(text.contains("`ackord txn list`"), "{text}");

    let address = broker(Some(ApiKey::DescribePendingShareAcks), |_| {
        transaction("Ongoing")
    });
    let Refusal(text) = run(&address, &["txn", "describe", "txn-a"]).unwrap_err();
    assert!(
        text.contains("does not serve DescribePendingShareAcks"),
        "{text}"
    );

    let address = broker(None, |_| {
        let group = share_group_describe::DescribedGroup {
            error_code: ErrorCode::GROUP_ID_NOT_FOUND,
            group_id: "g".into(),
            ..Default::default()
        };
        ShareGroupDescribeResponse {
            groups: vec![group],
            ..Default::default()
        }
        .into()
    });
    let Refusal(text) = run(&address, &["groups", "describe", "g", "--pending"]).unwrap_err();
    assert!(text.contains("there is no share group g"), "{text}");
}

#[test]
fn no_broker_is_a_sentence() {
    // Bound and dropped: nobody listens there now.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap().to_string();
    drop(gone);
    let Refusal(text) = run(&address, &["txn", "list"]).unwrap_err();
    assert!(text.contains("--bootstrap HOST:PORT"), "{text}");
}
