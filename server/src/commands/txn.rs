//! `txn`: transactions that are under way, what they hold, and how to end one.

use std::thread;
use std::time::{Duration, Instant};

use ackord_proto::api::{ApiKey, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_transactions::TransactionState;
use ackord_proto::messages::{
    DescribePendingShareAcksRequest, DescribePendingShareAcksResponse, DescribeTransactionsRequest,
    InitProducerIdRequest, ListTransactionsRequest,
};
use clap::{Args, Subcommand};

use super::link::{BrokerFlags, Link, unexpected};
use super::table::Table;
use super::{Refusal, known, pending_table};
use crate::clock::Clock;

/// How long an abort may take: every participant has to be told.
const ABORT_PATIENCE: Duration = Duration::from_secs(30);
/// The wait before the broker is asked again whether it has aborted.
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// The timeout that the transactional id gets where it had none (two-phase commit), in milliseconds.
const TIMEOUT_MS: i32 = 60_000;
/// States of a transaction that has not ended.
const UNDER_WAY: [&str; 3] = ["Ongoing", "PrepareCommit", "PrepareAbort"];

/// Flags of `txn`.
#[derive(Args, Clone, Debug)]
pub struct TxnFlags {
    /// What to do
    #[command(subcommand)]
    pub action: TxnAction,
    /// Where the broker is.
    #[command(flatten)]
    pub broker: BrokerFlags,
}

/// What `txn` can do.
#[derive(Clone, Debug, Subcommand)]
pub enum TxnAction {
    /// List transactional ids and the states of their transactions
    List {
        /// Only transactions in this state, such as Ongoing; may be repeated
        #[arg(long, value_name = "STATE")]
        state: Vec<String>,
        /// Only transactions that have lasted for longer than this, in milliseconds
        #[arg(long, value_name = "MS")]
        longer_than_ms: Option<i64>,
        /// Only transactional ids that this regular expression matches whole
        #[arg(long, value_name = "REGEX")]
        pattern: Option<String>,
    },
    /// Describe a transaction: its partitions, and the acknowledgements that wait for its end
    Describe {
        /// Transactional id
        transactional_id: String,
    },
    /// Abort a transaction, all of it: outputs vanish, acknowledgements are given back, its producer
    /// is fenced
    Abort {
        /// Transactional id
        transactional_id: String,
    },
}

pub(super) fn run(flags: &TxnFlags) -> Result<String, Refusal> {
    let mut link = Link::open(&flags.broker)?;
    match &flags.action {
        TxnAction::List {
            state,
            longer_than_ms,
            pattern,
        } => {
            let request = ListTransactionsRequest {
                state_filters: state.iter().map(|own| own.as_str().into()).collect(),
                duration_filter: longer_than_ms.unwrap_or(-1),
                transactional_id_pattern: pattern.as_deref().map(Into::into),
                ..Default::default()
            };
            list(&mut link, request)
        }
        TxnAction::Describe { transactional_id } => describe(&mut link, transactional_id),
        TxnAction::Abort { transactional_id } => abort(&mut link, transactional_id),
    }
}

fn list(link: &mut Link, request: ListTransactionsRequest) -> Result<String, Refusal> {
    let Response::ListTransactions(answer) = link.ask(request, 2)? else {
        return Err(unexpected(ApiKey::ListTransactions));
    };
    match answer.error_code {
        ErrorCode::NONE => {}
        ErrorCode::INVALID_REGULAR_EXPRESSION => {
            let what =
                "--pattern is no regular expression; write it as in RE2, without look-around";
            return Err(Refusal(what.to_owned()));
        }
        code => return Err(later(code)),
    }
    if let Some(unknown) = answer.unknown_state_filters.first() {
        return Err(Refusal(format!(
            "--state {unknown} is no state of a transaction; choose Empty, {}, CompleteCommit or \
             CompleteAbort",
            UNDER_WAY.join(", ")
        )));
    }
    let mut table = Table::new(["TRANSACTIONAL-ID", "PRODUCER-ID", "STATE"]);
    let mut states = answer.transaction_states;
    states.sort_by(|a, b| a.transactional_id.cmp(&b.transactional_id));
    for own in states {
        table.row([
            own.transactional_id.to_string(),
            own.producer_id.to_string(),
            own.transaction_state.to_string(),
        ]);
    }
    Ok(table.to_string())
}

fn describe(link: &mut Link, id: &str) -> Result<String, Refusal> {
    let state = state(link, id)?;
    let mut text = transaction_table(&state, Clock::system().now().wall.as_millis());
    let pending = pending(link, id)?;
    if !pending.pending.is_empty() {
        text += "\nAcknowledgements that wait for its end:\n";
        text += &pending_table(&pending);
    }
    for last in &pending.refused {
        text += "\nAcknowledgements by TxnOffsetCommit that were refused last:\n";
        let mut table = Table::new(["GROUP", "TIME-MS", "REASON"]);
        table.row([
            last.group_id.to_string(),
            last.refused_at_ms.to_string(),
            last.reason.to_string(),
        ]);
        text += &table.to_string();
    }
    Ok(text)
}

fn transaction_table(state: &TransactionState, now_ms: i64) -> String {
    let mut table = Table::new([
        "TRANSACTIONAL-ID",
        "PRODUCER-ID",
        "PRODUCER-EPOCH",
        "STATE",
        "TIMEOUT-MS",
        "START-TIME-MS",
        "DURATION-MS",
        "PARTITIONS",
    ]);
    let start = state.transaction_start_time_ms;
    let open = UNDER_WAY.contains(&&*state.transaction_state) && start >= 0;
    let topics = state.topics.iter();
    let mut partitions: Vec<String> = topics
        .flat_map(|topic| {
            let label = |index: &i32| format!("{}-{index}", topic.topic);
            topic.partitions.iter().map(label).collect::<Vec<_>>()
        })
        .collect();
    partitions.sort();
    let timeout = match state.transaction_timeout_ms {
        // Two-phase commit.
        i32::MAX => "none".to_owned(),
        timeout => timeout.to_string(),
    };
    table.row([
        state.transactional_id.to_string(),
        state.producer_id.to_string(),
        state.producer_epoch.to_string(),
        state.transaction_state.to_string(),
        timeout,
        known((start >= 0).then(|| start.to_string()).as_deref()),
        known(
            open.then(|| now_ms.saturating_sub(start).to_string())
                .as_deref(),
        ),
        known(
            (!partitions.is_empty())
                .then(|| partitions.join(","))
                .as_deref(),
        ),
    ]);
    table.to_string()
}

/// Through the transaction coordinator, as fenceProducers does: it aborts every partition. Markers
/// to single partitions could part outputs from acknowledgements.
fn abort(link: &mut Link, id: &str) -> Result<String, Refusal> {
    let before = state(link, id)?;
    if !UNDER_WAY.contains(&&*before.transaction_state) {
        return Err(Refusal(format!(
            "transactional id {id} has no transaction under way (it is {}); nothing was changed",
            before.transaction_state
        )));
    }
    if &*before.transaction_state == "PrepareCommit" {
        return Err(Refusal(format!(
            "the transaction of {id} is decided to commit and cannot be aborted any more; where it \
             does not end by itself, look at the broker's log"
        )));
    }
    let held = pending(link, id)?.pending.len();
    let request = InitProducerIdRequest {
        transactional_id: Some(id.into()),
        transaction_timeout_ms: match before.transaction_timeout_ms {
            i32::MAX => TIMEOUT_MS,
            timeout => timeout,
        },
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    let begun = Instant::now();
    loop {
        let Response::InitProducerId(answer) = link.ask(request.clone(), 5)? else {
            return Err(unexpected(ApiKey::InitProducerId));
        };
        match answer.error_code {
            ErrorCode::NONE => break,
            ErrorCode::CONCURRENT_TRANSACTIONS | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
                if begun.elapsed() < ABORT_PATIENCE =>
            {
                thread::sleep(ASK_AGAIN);
            }
            code => return Err(later(code)),
        }
    }
    Ok(format!(
        "aborted the transaction of {id}: {} partitions, {held} ranges of acknowledgements given \
         back; its producer is fenced\n",
        before
            .topics
            .iter()
            .map(|own| own.partitions.len())
            .sum::<usize>()
    ))
}

fn state(link: &mut Link, id: &str) -> Result<TransactionState, Refusal> {
    let request = DescribeTransactionsRequest {
        transactional_ids: vec![id.into()],
        ..Default::default()
    };
    let Response::DescribeTransactions(answer) = link.ask(request, 0)? else {
        return Err(unexpected(ApiKey::DescribeTransactions));
    };
    let mut states = answer.transaction_states.into_iter();
    let state = states
        .next()
        .ok_or(unexpected(ApiKey::DescribeTransactions))?;
    match state.error_code {
        ErrorCode::NONE => Ok(state),
        ErrorCode::TRANSACTIONAL_ID_NOT_FOUND => Err(Refusal(format!(
            "the broker knows no transactional id {id}; `ackord txn list` shows those it knows"
        ))),
        ErrorCode::INVALID_REQUEST => {
            let what = "the transactional id must not be empty; `ackord txn list` shows all";
            Err(Refusal(what.to_owned()))
        }
        code => Err(later(code)),
    }
}

fn pending(link: &mut Link, id: &str) -> Result<DescribePendingShareAcksResponse, Refusal> {
    let request = DescribePendingShareAcksRequest {
        transactional_id: Some(id.into()),
        ..Default::default()
    };
    match link.ask(request, 0)? {
        Response::DescribePendingShareAcks(answer) => match answer.error_code {
            ErrorCode::NONE => Ok(answer),
            code => Err(later(code)),
        },
        _ => Err(unexpected(ApiKey::DescribePendingShareAcks)),
    }
}

fn later(code: ErrorCode) -> Refusal {
    Refusal(format!(
        "the broker refuses with {code}; try again, and look at its log where that lasts"
    ))
}
