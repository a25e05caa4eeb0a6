use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ackord_proto::error_code::ErrorCode;

use super::super::state::{TxnEvent, TxnState};

const EVENTS: [TxnEvent; 7] = [
    TxnEvent::InitProducerId,
    TxnEvent::AddPartitions,
    TxnEvent::Commit,
    TxnEvent::Abort,
    TxnEvent::AbortNothing,
    TxnEvent::Fence,
    TxnEvent::MarkersWritten,
];

#[test]
fn every_state_by_every_event() {
    let mut table = format!("{:<18}", "state");
    for event in EVENTS {
        table += &format!(" {:<15}", format!("{event:?}"));
    }
    for state in TxnState::ALL {
        table += &format!("\n{:<18}", state.name());
        for event in EVENTS {
            let after = match state.after(event) {
                Ok(next) => next.name(),
                Err(ErrorCode::CONCURRENT_TRANSACTIONS) => "concurrent",
                Err(ErrorCode::INVALID_TXN_STATE) => "-",
                Err(other) => other.name(),
            };
            table += &format!(" {after:<15}");
        }
    }
    let table: Vec<_> = table.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    state              InitProducerId  AddPartitions   Commit          Abort           AbortNothing    Fence           MarkersWritten
    Empty              Empty           Ongoing         -               -               PrepareAbort    -               -
    Ongoing            concurrent      Ongoing         PrepareCommit   PrepareAbort    -               PrepareAbort    -
    PrepareCommit      concurrent      concurrent      -               -               -               -               CompleteCommit
    PrepareAbort       concurrent      concurrent      -               -               -               -               CompleteAbort
    CompleteCommit     Empty           Ongoing         -               -               PrepareAbort    -               -
    CompleteAbort      Empty           Ongoing         -               -               PrepareAbort    -               -
    Dead               -               -               -               -               -               -               -
    PrepareEpochFence  -               -               -               -               -               -               -
    ");
}

#[test]
fn the_graph() {
    let mut graph = String::from("digraph transaction {\n");
    for state in TxnState::ALL {
        for event in EVENTS {
            if let Ok(next) = state.after(event) {
                graph += &format!("  {state} -> {next} [label=\"{event:?}\"];\n");
            }
        }
    }
    graph.push('}');
    insta::assert_snapshot!(graph, @r#"
    digraph transaction {
      Empty -> Empty [label="InitProducerId"];
      Empty -> Ongoing [label="AddPartitions"];
      Empty -> PrepareAbort [label="AbortNothing"];
      Ongoing -> Ongoing [label="AddPartitions"];
      Ongoing -> PrepareCommit [label="Commit"];
      Ongoing -> PrepareAbort [label="Abort"];
      Ongoing -> PrepareAbort [label="Fence"];
      PrepareCommit -> CompleteCommit [label="MarkersWritten"];
      PrepareAbort -> CompleteAbort [label="MarkersWritten"];
      CompleteCommit -> Empty [label="InitProducerId"];
      CompleteCommit -> Ongoing [label="AddPartitions"];
      CompleteCommit -> PrepareAbort [label="AbortNothing"];
      CompleteAbort -> Empty [label="InitProducerId"];
      CompleteAbort -> Ongoing [label="AddPartitions"];
      CompleteAbort -> PrepareAbort [label="AbortNothing"];
    }
    "#);
}

#[test]
fn stored_numbers_are_kafkas() {
    for (number, state) in TxnState::ALL.into_iter().enumerate() {
        let number = number as i8;
        assert_eq!(state as i8, number);
        assert_eq!(TxnState::stored(number), (number < 6).then_some(state));
    }
    assert_eq!(TxnState::stored(-1), None);
    assert_eq!(TxnState::stored(8), None);
}
